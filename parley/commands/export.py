"""`harness export`: tasks and episodes in formats of other programs, or a family's texts as a start for --templates."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from os.path import commonpath
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from harness.atomic_write import make_folder, write_file, writing
from harness.cli.tasks import Names, selected
from harness.errors import UsageError, quoted
from harness.headline import setup_caveat
from harness.limits import TEXT_BYTES
from harness.output import say
from harness.plugins import family_part, family_part_or_none
from harness.records import RunFolder
from harness.run_files import is_packed
from harness.runs.request import Planned, read_record
from harness.tables import show_table
from parley.commands.kinds import Kinds
from parley.interop.atif import whole_trajectory
from parley.interop.harbor_job import HarborJob
from parley.interop.inspect_log import LogTally, write_log
from parley.interop.scout import ScoutDatabase
from parley.places import read_recorded, run_name
from parley.reports.evidence import planned_runs
from parley.reports.reading import FILES, RecordedEpisode, read_episode
from parley.requests.texts import with_texts
from parley.sharing.bases import PLAIN_BASE, Bases, LocalBases, PinnedBases, StandaloneBases
from parley.sharing.catalogue import write_harbor
from parley.sharing.publishing import refuse_secrets_in
from worlds.core.texts import placeholders, read_own_texts

Folder = Annotated[Path, typer.Option("--out", help="Folder for the output, new or empty.")]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or folders that contain runs.")]


class _Exported:
    """A run to export."""

    def __init__(self, path: Path, planned: Planned, number: int) -> None:
        self.path, self.planned, self.folder = path, planned, RunFolder(path)
        words = re.split(r"[^A-Za-z0-9]+", f"{path.parent.name}-{run_name(path)}")
        self.name = f"{'-'.join(filter(None, words))}-{number}"
        """Unique name among the exported runs."""

        record = read_record(self.folder)
        stint = record.stints[0].begun if record and record.stints else None
        changed = (path if is_packed(path) else path / "run.json").stat().st_mtime
        self.began = datetime.fromisoformat(stint) if stint else datetime.fromtimestamp(int(changed)).astimezone()
        """Start time; for runs of versions that did not record one, the time of the last change to the plan."""

    @cached_property
    def caveat(self) -> str:
        """Caveat that the set-up was at fault in more than 10 % of the episodes; "" if it was not."""
        return setup_caveat(self.folder.results())

    def episodes(self) -> Iterator[RecordedEpisode]:
        """Yield every finished episode, by path."""
        for result in self.folder.results():
            yield read_episode(self.folder.episode(result.key))


def inspect_command(runs: Runs, out: Folder) -> None:
    """Write one Inspect log per run, for its viewer (inspect view --log-dir DIR) and for Scout."""
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
    """Write one Harbor job per run, for its viewer (harbor view DIR)."""
    read, episodes = _exported(runs, out), 0
    with writing(out):
        for run in read:
            job = HarborJob(out / run.name, run.name, run.began, run.planned.tasks)
            for episode in run.episodes():
                recorded = _file(episode, "trajectory.json")
                trajectory = whole_trajectory(episode, json.loads(recorded) if recorded else None)
                job.add(episode, trajectory, _file(episode, "verifier.log"))
                episodes += 1
            job.close()
    say(f"{len(read)} jobs, {episodes} trials in {out}; try: harbor view {out}")


def scout_command(runs: Runs, out: Folder) -> None:
    """Write runs as one transcript database for Inspect Scout (scout view -T DIR, scout scan -T DIR)."""
    read, episodes = _exported(runs, out), 0
    with writing(out):
        database = ScoutDatabase(out)
        for run in read:
            for episode in run.episodes():
                database.add(episode, run.name, run.began)
                episodes += 1
        database.close(read[-1].began)
    say(f"{episodes} transcripts of {len(read)} runs in {out}; try: scout view -T {out}")


def _publishable(runs: Sequence[Path]) -> list[tuple[Path, Planned]]:
    """Return the selected runs, after checking that none holds a secret."""
    planned = planned_runs(runs)
    for path, _ in planned:
        refuse_secrets_in(path)
    return planned


def make_new(out: Path) -> None:
    """Make an empty folder. Raises UsageError if it exists and is not empty."""
    with writing(out):
        if out.exists() and any(out.iterdir()):
            raise UsageError(f"{out} is not empty, and existing files are never overwritten", hint="--out NEW_FOLDER")
        make_folder(out)


def _exported(runs: list[Path], out: Path) -> list[_Exported]:
    """Return the selected runs, after making the folder."""
    read = [_Exported(path, planned, number) for number, (path, planned) in enumerate(_publishable(runs), start=1)]
    make_new(out)
    for run in read:
        if run.caveat:
            say(f"{run.name}: {run.caveat}")
    return read


def _file(episode: RecordedEpisode, name: str) -> bytes:
    """Return a file of an episode as recorded, or b"" if it is missing."""
    try:
        return read_recorded(Path(episode.path), name, FILES.get(name, TEXT_BYTES))
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UsageError(f"{episode.path}/{name} cannot be read: {error.strerror}") from None


def harbor_command(
    ctx: typer.Context,
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the output, new or empty.")],
    names: Names = None,
    images: list[str] | None = typer.Option(
        None,
        "--images",
        metavar="REF",
        help="Images that harness images --push printed: a file with its output, or PREFIX/NAME@sha256:... once per image.",
    ),
    standalone: bool = typer.Option(
        False, "--standalone", help="Write tasks that build without Parley's images: each contains the files of those images."
    ),
    base: str | None = typer.Option(
        None, "--base", metavar="IMAGE", help=f"Base image for --standalone. Default: {PLAIN_BASE}."
    ),
) -> None:
    """Write tasks in Harbor's format into a flat folder, with registry.json, dataset.toml, a card, eval.yaml and metric.py."""
    bases = _bases(images or [], base, standalone=standalone)
    tasks = selected(ctx, names)
    size = write_harbor(out, tasks, bases)
    say(f"{len(tasks)} tasks in {out}, {size / 1e6:.1f} MB; they build {bases.told}")
    say(f"next: harbor run -p {out / 'tasks' / tasks[0].task_id} -a oracle")


def _bases(images: list[str], base: str | None, *, standalone: bool) -> Bases:
    if images and standalone:
        raise UsageError("--images and --standalone exclude each other", hint="harness export harbor --help")
    if base is not None and not standalone:
        raise UsageError(
            "--base is used only with --standalone, which is missing",
            hint="harness export harbor DIR --standalone --base IMAGE",
        )
    if standalone:
        return StandaloneBases(base or PLAIN_BASE)
    return PinnedBases([reference for given in images for reference in _references(given)]) if images else LocalBases()


def _references(given: str) -> list[str]:
    """Return one reference, or those of a file."""
    if "@" in given:
        return [given]
    try:
        return Path(given).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        raise UsageError(
            f"--images {given} is neither a reference nor a file of references",
            hint=f"harness images --push PREFIX > {quoted(given)}",
        ) from None


export_command = typer.Typer(cls=Kinds, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@export_command.command("episodes")
def episodes_command(
    runs: Runs,
    form: Annotated[
        str, typer.Option("--format", help="Format of the records: contractbench, as in Appendix G of the paper.")
    ] = "contractbench",
    out: Annotated[Path | None, typer.Option(help="File to write, atomically. Default: stdout.")] = None,
) -> None:
    """Write graded first attempts, one JSON object per line. Retries, ungraded episodes and other families are only counted."""
    counted = Counter[str]()
    with _lines_of(out) as file:
        for record in _records(runs, form, counted):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    left = ", ".join(f"{counted[what]} {what}" for what in _LEFT_OUT if counted[what])
    say(f"{counted[_EXPORTED]} episodes exported{f' to {out}' if out else ''}{f'; left out: {left}' if left else ''}")


@export_command.command("trace")
def trace_command(runs: Runs, out: Folder) -> None:
    """Write games as traces for harness replay, one file per episode. Episodes without a trace are counted and named."""
    planned = _publishable(runs)
    root, traced, other, refused = commonpath([path for path, _ in planned]), 0, 0, list[tuple[str, str]]()
    # one episode after the other, because there may be 100,000
    for (path, plan), result in ((run, result) for run in planned for result in RunFolder(run[0]).results()):
        part = family_part_or_none(result.family, "trace")
        if part is None:
            other += 1
            continue
        if not traced:
            make_new(out)
        traced += 1
        try:
            text = part.exported_text(read_episode(RunFolder(path).episode(result.key)), plan.tasks.get(result.task_id, ""))
        except UsageError as error:
            # keep only the text: an exception refers to its frames, and so to the whole episode
            refused.append((str(error), error.hint or ""))
            continue
        folder = out / os.path.relpath(path, root)
        with writing(folder):
            make_folder(folder)
            write_file(folder / f"{result.task_id}-s{result.seed}-a{result.attempt}.json", text.encode())
    if not traced:
        raise UsageError("these runs have no episode of a family that has traces", hint="harness run calendar --agent imap")
    say(f"{traced - len(refused)} traces in {out}{f', without {other} episodes of other families' if other else ''}")
    for refusal, _ in refused:
        say(f"left out: {refusal}")
    if refused:
        raise UsageError(f"{len(refused)} episodes have no trace", hint=refused[0][1])


@export_command.command("templates")
def templates_command(
    family: Annotated[str, typer.Argument(metavar="FAMILY", help="Family of the texts: calendar or hidden-profile.")],
    out: Folder,
) -> None:
    """Write a family's own texts, to be edited for --templates, and list the placeholders of each."""
    known = placeholders(family) if family in with_texts() else None
    if known is None:
        raise UsageError(f"the family {family} has no texts for seats; {', '.join(with_texts())} have them")
    make_new(out)
    with writing(out):
        for name, text in read_own_texts(family).items():
            write_file(out / name, text.encode())
    rows = [(name, placeholder, held.doc) for name, may in known.items() for placeholder, held in may.items()]
    show_table(("file", "placeholder", "meaning"), rows)
    say(f"{len(known)} texts written to {out}")


export_command.command("harbor")(harbor_command)
export_command.command("inspect")(inspect_command)
export_command.command("harbor-job")(harbor_job_command)
export_command.command("scout")(scout_command)

_LEFT_OUT = _UNGRADED, _RETRIES, _OTHERS = "ungraded", "retries", "of families without such records"
_EXPORTED = "exported"


def _records(runs: Sequence[Path], form: str, counted: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield a record per episode; `counted` gets the number of exported episodes, and of those left out by reason."""
    other = ""
    for result in (result for path, _ in _publishable(runs) for result in RunFolder(path).results()):
        part = family_part_or_none(result.family, "episodes")
        if part is None:
            other = other or result.family
            counted[_OTHERS] += 1
        elif result.status == "ungraded":
            counted[_UNGRADED] += 1
        elif result.hint is not None:
            counted[_RETRIES] += 1
        elif form not in part.FORMATS:
            raise UsageError(f"the family {result.family} has no format {form!r}; it has {', '.join(part.FORMATS)}")
        else:
            counted[_EXPORTED] += 1
            yield part.FORMATS[form](result)
    if other and set(counted) == {_OTHERS}:
        family_part(other, "episodes")


@contextmanager
def _lines_of(out: Path | None) -> Iterator[TextIO]:
    """Open the file to write, which appears once it is complete; without a path, stdout."""
    if out is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            yield file
        os.replace(beside, out)
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
