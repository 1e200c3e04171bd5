"""Leaves things in `main` as the agent's user, has the episode graded, and says where they could be left.

The scripts print `+ PLACE` for each place where something was left or started, and `- PLACE` where it could not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from shlex import quote

from harness.attacks.base import Exam
from harness.attacks.scripts import script
from harness.attacks.target import Target, shell
from harness.pod import Pod

_SHOWN = 12


@dataclass(frozen=True)
class Leaving:
    """One thing to do in `main`: a command, and the files it needs, by name in /tmp."""

    what: str
    command: str
    files: Mapping[str, str]

    def put(self) -> dict[str, bytes]:
        """The files, ready to be put there."""
        return {f"/tmp/{name}": text.encode() for name, text in self.files.items()}


def leave(target: Target, leaving: Leaving) -> Exam:
    """One episode of it; each place that its command names is one thing examined."""
    said: list[str] = []

    def act(pod: Pod) -> None:
        pod.put(leaving.put())
        said.extend(shell(pod, leaving.command).output.decode("utf-8", "replace").splitlines())

    outcome = target.strike(act)
    left = [line[2:] for line in said if line.startswith("+ ")]
    exam = Exam(examined=len(left) + sum(line.startswith("- ") for line in said))
    if gained := target.gain(outcome):
        exam.holes.append(f"{leaving.what}: {gained}; left at {_shown(left)}")
    return exam


def scatter(source: str, *places: str, keep: Iterable[str] = (), as_file: bool = False) -> str:
    """The command that copies what lies in /tmp/<source> to every place; one with a $ in it is for bash to work out.

    A place that does not exist becomes a folder, or a file where that is asked for; tools named in `keep` stay as they are.
    """
    where = " ".join(place if "$" in place else quote(place) for place in places)
    return f"AS={'file' if as_file else 'folder'} KEEP={quote(' '.join(keep))} bash /tmp/scatter /tmp/{source} {where}"


SCATTER = {"scatter": script("scatter")}
"""The file that `scatter` needs."""


def _shown(places: list[str]) -> str:
    more = f" and {len(places) - _SHOWN} more places" if len(places) > _SHOWN else ""
    return (", ".join(places[:_SHOWN]) or "no place") + more
