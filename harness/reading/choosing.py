"""Which recorded episodes a command line means: an episode's folder, a run, or a run with a task and an attempt.

RUN/episodes/<family>/<task>/s0-a1   that episode; also one that was kept under attempts/
RUN                                  all of a run, in a folder or packed, or of the runs in a folder of runs
RUN TASK [s0-a1]                     those of a task, by its id

The request that broke the rule, read off an episode's folder at a glance: two files, and one line of the log. Lists show it for
each failed episode, so the log is not parsed: an event's number is that of its line. A folder that cannot be read so has no
request here; the episode's own page names the file at fault.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from harness.bounds import RESULT_BYTES
from harness.errors import UsageError, quoted
from harness.packs import files_of
from harness.run_files import is_packed, run_and_place, runs_in
from validators.verdict import Verdict
from worlds.core.events import Requested

_EPISODE = re.compile(r"s\d+-a\d+(\.\d+)?")


def is_recorded(word: str) -> bool:
    """Return whether a word names a run or an episode, and no task."""
    path = Path(word)
    return _is_there(path) and not (path / "task.toml").exists() and (is_episode(path) or any(runs_in(path)))


def is_episode(path: Path) -> bool:
    """Return whether a folder is an episode's, damaged or not."""
    return _EPISODE.fullmatch(path.name) is not None or (path / "result.json").exists()


def recorded_episodes(words: Sequence[str]) -> list[Path]:
    """The folders of the episodes that the words name, by path; raises UsageError where there is none."""
    first, *rest = words
    path = Path(first)
    if not _is_there(path):
        raise UsageError(f"there is no run in {first}", hint="harness show TASK, or harness show RUN [TASK [s0-a1]]")
    if is_episode(path):
        if rest:
            raise UsageError(
                f"{first} is one episode, and {' '.join(rest)} names another", hint=f"harness show {quoted(first)}"
            )
        return [path]
    task, attempt = (*rest, "*", "*")[:2]
    folders = [folder for run in runs_in(path) for folder in _finished(run) if _fits(folder, task, attempt)]
    if not folders:
        what = " ".join(["", *rest])
        raise UsageError(f"{first} has no finished episode{what}", hint=f"harness show {quoted(first)}" if rest else "")
    return folders


def _is_there(path: Path) -> bool:
    """Return whether a path is a folder, a packed run or an episode in one."""
    try:
        return path.is_dir() or is_packed(path) or is_packed(run_and_place(path)[0])
    except OSError:
        # a name that no file system takes
        return False


def _finished(run: Path) -> list[Path]:
    return [run / Path(name).parent for name in files_of(run).finished()]


def _fits(folder: Path, task: str, attempt: str) -> bool:
    return task in {"*", folder.parent.name} and attempt in {"*", folder.name}


def breaking_request(run: Path, episode: str) -> str:
    """`POST /api/submit at 8 s` of an episode of a run, packed or not; empty where no request broke a rule that can be read."""
    try:
        files = files_of(run)
        verdict = Verdict.model_validate_json(files.read(f"{episode}/verdict.json", RESULT_BYTES))
        broken = next((one for one in verdict.violations if one.label == verdict.failure_label), None)
        if broken is None:
            return ""
        line = files.read(f"{episode}/events.jsonl", RESULT_BYTES).split(b"\n")[broken.seq]
        request = Requested.model_validate_json(line)
    except (OSError, ValidationError, IndexError):
        return ""
    return f"{request.method} {request.path} at {request.vt / 1000:g} s"
