"""Attack 8: a link, or something that is no file, in the place of what the agent hands in.

1. A symbolic link leads to what the verifier compares with: hidden tests, and what other services hand in. It leads nowhere
   in `main`, and to the answer where the verifier follows it. Relative links, and a link instead of the folder above, do too.
2. A FIFO, a device and a loop hold up or starve who reads them; a hard link makes an archive name another file.
3. Nothing of this host may come back in the record.
What is handed in are the declared artifacts of `main`; where the verifier shares the agent's machine also every file that the
task names in a folder of the agent's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from shlex import quote
from typing import ClassVar

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.host import UNTOUCHED
from harness.attacks.named import named_paths
from harness.attacks.target import Target, shell
from harness.pod import Pod
from harness.registry import Task, files_of

MOST = 8
"""So many targets of links are tried, one episode each, since a file can be one link only."""

LIMIT_S = 20.0
"""Real seconds the verifier gets: a FIFO holds it for as long as it may run."""

_REPLACE = 'rm -rf "$place"; mkdir -p "$(dirname "$place")"; '
_UP = "../" * 12

WAYS = {
    "a hard link": 'echo 1 > /tmp/linked; ln /tmp/linked "$place" || ln /etc/passwd "$place"',
    "a FIFO": 'mkfifo "$place"',
    "a device": 'mknod "$place" c 1 5 || ln -s /dev/zero "$place"',
    "a loop": 'ln -s "$place" "$place"',
    "a folder of links": 'mkdir "$place" && ln -s / "$place/root" && ln -s ../.. "$place/up" && ln -s /tests "$place/tests"',
    "a link instead of its folder": (
        'above=$(dirname "$place"); rm -rf "$above" || mv "$above" "$above.old"; ln -s /tests "$above"'
    ),
}
"""What is put in the place of a file, by a line of bash for `$place`."""


class Links:
    """An artifact that is something else."""

    number: ClassVar[int] = 8
    name: ClassVar[str] = "links and devices as artifact"
    scope: ClassVar[Scope] = "machine"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V3",), abc=("T.5", "T.10"))

    def inapplicable(self, target: Target) -> Reason | None:
        """It needs a file that leaves `main`."""
        return None if handed_in(target) else Reason.NO_ARTIFACT

    def strike(self, target: Target) -> Exam:
        """Every way in an episode of its own, for all files that are handed in at once."""
        exam, places = Exam(), handed_in(target)
        hurried = _hurried(target.task)
        for way, line in self._ways(target):
            script = "; ".join(f"place={quote(place)}; {_REPLACE}{line}" for place in places)
            outcome = target.strike(partial(_act, script), task=hurried)
            gained = target.gain(outcome)
            leaked = [name for name, data in outcome.files.items() if UNTOUCHED.encode() in data]
            exam.look(
                f"{way} at {', '.join(places)}: {gained}" if gained else None,
                f"{way} at {', '.join(places)}: {leaked[0]} of the record holds a file of the host" if leaked else None,
            )
        return exam

    def _ways(self, target: Target) -> Iterator[tuple[str, str]]:
        for aim in aims(target.task):
            yield f"a link to {aim}", f'ln -s {quote(aim)} "$place"'
        for aim in aims(target.task)[:1]:
            yield f"a relative link to {aim}", f'ln -s {quote(_UP + aim.lstrip("/"))} "$place"'
        yield "a link to a file of the host", f'ln -s {quote(str(target.host.file))} "$place"'
        yield from WAYS.items()


def handed_in(target: Target) -> list[str]:
    """The files that reach the verifier from the agent's hands."""
    named = [path for path in named_paths(target.task) if _is_the_agents(path)] if target.shares_verifier else []
    return sorted({*target.artifacts, *named})


def aims(task: Task) -> list[str]:
    """What a verifier may hold an answer against: its own files, and what services hand in."""
    tests = task.path / "tests"
    own = [f"/tests/{path.relative_to(tests).as_posix()}" for path in files_of(tests) if _is_data(path.name)]
    served = [artifact.source for artifact in task.file.artifacts if (artifact.service or "main") != "main"]
    return [*served, *own][:MOST]


def _is_data(name: str) -> bool:
    return name not in {"Dockerfile", "test.sh"} and not name.endswith((".py", ".sh"))


def _is_the_agents(path: str) -> bool:
    """Whether a path that a task names is a file in a folder which agents work in."""
    others = ("/tests/", "/logs/", "/solution/", "/etc/", "/var/", "/srv/")
    return bool(PurePosixPath(path).suffix) and not path.startswith(others)


def _act(script: str, pod: Pod) -> None:
    shell(pod, f"exec 2> /dev/null; {script}; true")


def _hurried(task: Task) -> Task:
    """The folder with less time for its verifier."""
    verifier = task.file.verifier.model_copy(update={"timeout_sec": min(task.file.verifier.timeout_sec, LIMIT_S)})
    return replace(task, file=task.file.model_copy(update={"verifier": verifier}))
