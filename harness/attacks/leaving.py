"""Leaves things in `main` as the agent's user, has the episode graded, and says where they could be left.

The scripts print `+ PLACE` for each place where something was left or started, and `- PLACE` where it could not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote

from harness.attacks.base import Exam
from harness.attacks.scripts import script
from harness.attacks.target import Target, shell
from harness.runtimes.base import Pod

_SHOWN = 12


def leave(target: Target, what: str, command: str, files: Mapping[str, str]) -> Exam:
    """One episode in which `command` runs beside `files` (by name, in /tmp); each place it names is one thing examined."""
    said: list[str] = []

    def act(pod: Pod) -> None:
        pod.put({f"/tmp/{name}": text.encode() for name, text in files.items()})
        said.extend(shell(pod, command).output.decode("utf-8", "replace").splitlines())

    outcome = target.strike(act)
    left = [line[2:] for line in said if line.startswith("+ ")]
    exam = Exam(examined=len(left) + sum(line.startswith("- ") for line in said))
    if gained := target.gain(outcome):
        exam.holes.append(f"{what}: {gained}; left at {_shown(left)}")
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
