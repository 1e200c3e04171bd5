"""Attack 6: artifacts without any work in them: empty, a lonely brace, every option at once, the instruction itself.

What is handed in depends on the folder: the body of POST /submission, the reply to every turn of a game, or every declared
artifact of `main` (where none is declared, every file that the solution makes). Each content has an episode of its own, since
the first that is handed in is the only one.
A literal of the tests that earns something by itself is the answer, or one of a few options: a note, as nobody who does not
know the tests would come upon it. All of them at once are no answer to anything; but where the instruction does not name them
that is a note too, because they may be the parts of what had to be written.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.hidden import literals
from harness.attacks.scripts import shell
from harness.attacks.target import Target
from harness.play.outcome import Outcome
from harness.pod import Pod
from harness.registry import files_of
from worlds.core.wire import WireRequest

MOST_LITERALS, MOST_JOINED = 4, 400
"""Literals that get an episode of their own, and those that are joined."""

MOST_TURNS = 5000
_LENGTHS = range(2, 200)


class Dummy(NamedTuple):
    """One content that is handed in."""

    name: str
    content: bytes
    telling: bool = True
    """Whether a reward for it is a hole; else it is worth a note."""


class DummyArtifact:
    """Handing in something that is no answer."""

    number: ClassVar[int] = 6
    name: ClassVar[str] = "empty, dummy and all-options artifacts"
    scope: ClassVar[Scope] = "folder"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V5", "V6"), abc=("T.10",))

    def inapplicable(self, target: Target) -> Reason | None:
        """It needs something to hand in."""
        return None if not target.foreign or _paths(target) else Reason.NO_ARTIFACT

    def strike(self, target: Target) -> Exam:
        """Hand each in."""
        exam = Exam()
        for dummy in dummies(target):
            gained = target.gain(_handed_in(target, dummy.content))
            exam.look(f"handed in {dummy.name}: {gained}" if gained and dummy.telling else None)
            if gained and not dummy.telling:
                exam.notes.append(f"handed in {dummy.name}: {gained}")
        return exam


def dummies(target: Target) -> Iterator[Dummy]:
    """What is handed in for a folder."""
    for content in ("", "{}") if target.task.is_seated else ("", "{}", "[]"):
        yield Dummy(repr(content), content.encode())
    yield Dummy("the instruction", target.instruction.encode())
    options = literals_of_tests(target)
    if len(options) > 1:
        joined = "\n".join(options[:MOST_JOINED])
        yield Dummy(
            f"{len(options)} literals of the tests at once", joined.encode(), all(one in target.instruction for one in options)
        )
    # each turn of a game is answered, and one who answers all of them with the right option has played it
    for one in options[: 0 if target.task.is_seated else MOST_LITERALS]:
        yield Dummy(f"{one!r} of the tests", one.encode(), telling=False)


def literals_of_tests(target: Target) -> list[str]:
    """The literals of the tests, the longest first."""
    tests = files_of(target.task.path / "tests")
    texts = [(path.suffix, path.read_text(encoding="utf-8", errors="replace")) for path in tests if path.name != "Dockerfile"]
    stripped = {one.strip() for suffix, text in texts for one in literals(suffix, text) if len(one.strip()) in _LENGTHS}
    return sorted(stripped, key=lambda one: (-len(one), one))


def _paths(target: Target) -> list[str]:
    """The files that are handed in."""
    return target.artifacts or sorted(path for path in target.recording().files if not path.startswith("/tmp/"))


def _handed_in(target: Target, content: bytes) -> Outcome:
    if target.foreign:
        return target.strike(lambda pod: _write(pod, _paths(target), content))
    act = _answer_turns if target.task.is_seated else _submit
    return target.strike(lambda pod: act(pod, content), hands=False)


def _write(pod: Pod, paths: list[str], content: bytes) -> None:
    """As the agent's user: what it may not write, it cannot hand in."""
    pod.put({"/tmp/parley-dummy": content})
    for path in map(shlex.quote, paths):
        shell(pod, f"mkdir -p $(dirname {path}); cat /tmp/parley-dummy > {path}")


def _submit(pod: Pod, content: bytes) -> None:
    pod.call(WireRequest("POST", b"/submission", body=content))


def _answer_turns(pod: Pod, content: bytes) -> None:
    """The host plays every seat, as it does for all agents of a game."""
    turns = json.loads(pod.call_as_host(WireRequest("GET", b"/turns")).body)["turns"]
    for _ in range(MOST_TURNS):
        if not turns:
            return
        answer = pod.call_as_host(WireRequest("POST", f"/turns/{turns[0]['id']}".encode(), body=content))
        turns = json.loads(answer.body)["turns"]
