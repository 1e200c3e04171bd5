"""`harness export inspect`, `harbor-job` and `scout`: recorded runs as other programs' viewers open them.

Runs may be packed. Episodes are read one after the other, so memory does not grow with their number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.console import say
from harness.errors import UsageError
from harness.headline import setup_caveat
from harness.interop.atif import whole_trajectory
from harness.interop.harbor_job import HarborJob
from harness.interop.inspect_log import LogTally, write_log
from harness.interop.scout import ScoutDatabase
from harness.packs import read_recorded
from harness.reading import LONGEST_FILE, RecordedEpisode, read_episode
from harness.records import RunFolder
from harness.report.evidence import planned_runs
from harness.run_files import is_packed, run_name
from harness.runs.request import Planned, read_record
from harness.writing import make_folder, writing

Folder = Annotated[Path, typer.Option("--out", help="The folder to write them into, new or empty.")]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or of folders of runs.")]


class _Exported:
    """One run that is being exported."""

    def __init__(self, path: Path, planned: Planned, number: int) -> None:
        self.path, self.planned, self.folder = path, planned, RunFolder(path)
        words = re.split(r"[^A-Za-z0-9]+", f"{path.parent.name}-{run_name(path)}")
        self.name = f"{'-'.join(filter(None, words))}-{number}"
        """By which it is known among those that are exported with it."""

        record = read_record(self.folder)
        stint = record.stints[0].begun if record and record.stints else None
        changed = (path if is_packed(path) else path / "run.json").stat().st_mtime
        self.began = datetime.fromisoformat(stint) if stint else datetime.fromtimestamp(int(changed)).astimezone()
        """When it was begun; in versions that did not write that down, when its plan was last changed."""

    @cached_property
    def caveat(self) -> str:
        """That its set-up was at fault in more than 10 % of the episodes; "" where it was not."""
        return setup_caveat(self.folder.results())

    def episodes(self) -> Iterator[RecordedEpisode]:
        """Every finished episode, by path."""
        for result in self.folder.results():
            yield read_episode(self.folder.episode(result.key))


def inspect_command(runs: Runs, out: Folder) -> None:
    """Write runs as logs of Inspect, one a run, for its viewer (inspect view --log-dir DIR) and for Scout."""
    read, episodes = _exported(runs, out), 0
    for run in read:
        tally = LogTally.of(run.folder.results())
        tally.caveat = run.caveat
        file = out / f"{run.began.isoformat().replace(':', '-')}_parley_{run.name}.eval"
        with writing(file):
            write_log(file, run.name, run.began, tally, run.episodes())
        episodes += tally.episodes
    say(f"{len(read)} logs, {episodes} episodes in {out}; try: inspect view --log-dir {out}")


def harbor_job_command(runs: Runs, out: Folder) -> None:
    """Write runs as jobs of Harbor, one a run, for its viewer (harbor view DIR)."""
    read, episodes = _exported(runs, out), 0
    with writing(out):
        for run in read:
            job = HarborJob(out / run.name, run.name, run.began, run.planned.tasks)
            for episode in run.episodes():
                recorded = _file(episode, "trajectory.json")
                trajectory = whole_trajectory(episode, _object(recorded))
                job.add(episode, trajectory, _file(episode, "verifier.log"))
                episodes += 1
            job.close()
    say(f"{len(read)} jobs, {episodes} trials in {out}; try: harbor view {out}")


def scout_command(runs: Runs, out: Folder) -> None:
    """Write runs as one database of transcripts for Inspect Scout (scout view -T DIR, scout scan -T DIR)."""
    read, episodes = _exported(runs, out), 0
    with writing(out):
        database = ScoutDatabase(out)
        for run in read:
            for episode in run.episodes():
                database.add(episode, run.name, run.began)
                episodes += 1
        database.close(read[-1].began)
    say(f"{episodes} transcripts of {len(read)} runs in {out}; try: scout view -T {out}")


FOR_VIEWERS = {"inspect": inspect_command, "harbor-job": harbor_job_command, "scout": scout_command}


def make_new(out: Path) -> None:
    """A folder that holds nothing; raises UsageError for one that does."""
    with writing(out):
        if out.exists() and any(out.iterdir()):
            raise UsageError(f"{out} is not empty, and nothing in it is written over", hint="--out NEW_FOLDER")
        make_folder(out)


def _exported(runs: list[Path], out: Path) -> list[_Exported]:
    """The runs that are meant, with the folder made."""
    read = [_Exported(path, planned, number) for number, (path, planned) in enumerate(planned_runs(runs), start=1)]
    make_new(out)
    for run in read:
        if run.caveat:
            say(f"{run.name}: {run.caveat}")
    return read


def _file(episode: RecordedEpisode, name: str) -> bytes:
    """A file of an episode, as it was recorded; nothing where there is none."""
    try:
        return read_recorded(Path(episode.path), name, LONGEST_FILE)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UsageError(f"{episode.path}/{name} cannot be read: {error.strerror}") from None


def _object(recorded: bytes) -> dict[str, Any] | None:
    """A trajectory, which was read once already and is an object."""
    return json.loads(recorded) if recorded else None
