"""Attack 7: what the solution handed in, handed in again without the work that led there.

The solution is recorded once. Then, in other episodes:
1. only what it handed in: of a world the last thing it sent, at the same seed, with no other request; of a foreign folder the
   files that it made. Where the environment has a service that the work must go through, a reward is a hole. Elsewhere the
   artifact is the work: a note.
2. everything it said and made, in another instance: at the next seed, or, since foreign folders know no seeds, in a second
   episode. A reward is a hole where something a service said in the first instance was handed in and is still right in the
   second. The turns of a game are played again one by one and all of them count, so there it is a note: a folder is one game.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import ClassVar

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.exchange import RecordedExchange, lines_of
from harness.attacks.recording import Recording
from harness.attacks.scripts import script, shell
from harness.attacks.services import services_beside
from harness.attacks.target import Target
from harness.pod import Pod
from harness.runs.plan import parse_seeds

CARRIED = 8
"""Bytes that a service said and that stand in what is handed in: fewer may be there by accident."""

STATIC = "static answer"


class PlantedAnswer:
    """The solution's artifacts, planted."""

    number: ClassVar[int] = 7
    name: ClassVar[str] = "answers planted without the work"
    scope: ClassVar[Scope] = "folder"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V7",), abc=("T.4", "T.10"))

    def inapplicable(self, target: Target) -> Reason | None:
        """It needs a solution."""
        return None if (target.task.path / "solution").is_dir() else Reason.NO_SOLUTION

    def strike(self, target: Target) -> Exam:
        """Record, then plant."""
        exam = Exam()
        seeds = parse_seeds(target.task.parley.seeds) if target.task.parley else [0]
        recording = target.recording(seeds[0])
        if recording.note:
            exam.notes.append(recording.note)
        if recording.reward <= target.idle_reward(seeds[0]):
            exam.notes.append("the solution itself earns nothing")
        if target.foreign:
            self._plant(target, recording, exam)
        else:
            self._replay(target, recording, seeds, exam)
        return exam

    def _plant(self, target: Target, recording: Recording, exam: Exam) -> None:
        kept = {path: data for path, data in recording.files.items() if not path.startswith("/tmp/parley-")}
        served = bool(services_beside(target.task) or recording.listening)
        alone = target.gain(target.strike(lambda pod: pod.put(kept)))
        names = ", ".join(sorted(kept)[:5])
        exam.look(f"planted {names} alone, which no service was asked for: {alone}" if alone and served else None)
        if alone and not served:
            exam.notes.append(f"{STATIC}: no service is part of the work, and {names} alone is worth it")
        if alone or not recording.exchanges:
            return
        again = target.gain(target.strike(lambda pod: _plant_and_resend(pod, kept, recording.exchanges)))
        carried = carried_over(target.instruction, recording)
        exam.look(
            f"planted {names} and sent what was sent before: {again}; {carried} is right again" if carried and again else None
        )
        if again and not carried:
            exam.notes.append(f"{STATIC}: what was sent before is right again, and nothing that a service said is part of it")

    def _replay(self, target: Target, recording: Recording, seeds: Sequence[int], exam: Exam) -> None:
        sent = [one for one in recording.exchanges if one.request.method != "GET"]
        last = target.gain(target.strike(lambda pod: _send(pod, target, sent[-1:]), seed=seeds[0], hands=False), seeds[0])
        exam.look(f"sent only the last request of the solution, {_named(sent)}: {last}" if last else None)
        if len(seeds) == 1:
            exam.notes.append(f"{STATIC}: the folder has one instance, and its solution is right for all of it")
            return
        outcome = target.strike(lambda pod: _send(pod, target, recording.exchanges), seed=seeds[1], hands=False)
        gained = target.gain(outcome, seeds[1])
        said = f"what the solution sent at seed {seeds[0]}, sent at seed {seeds[1]}: {gained}"
        exam.look(said if gained and not target.task.is_seated else None)
        if gained and target.task.is_seated:
            exam.notes.append(f"{STATIC}: {said}")


def carried_over(instruction: str, recording: Recording) -> str | None:
    """What a service said first and was handed in after it: where it stands, or None."""
    handed = [*recording.files.items()]
    for place, one in enumerate(recording.exchanges):
        later = [(f"{e.request.method} {e.request.path.decode()}", e.request.target + e.request.body) for e in
                 recording.exchanges[place + 1 :]]  # fmt: skip
        for word in _words(one.answer.body):
            if word.decode("utf-8", "replace") not in instruction:
                where = next((name for name, data in (*handed, *later) if word in data), None)
                if where is not None:
                    return f"what {one.request.path.decode()} answers, handed in by {where},"
    return None


def _words(body: bytes) -> Iterable[bytes]:
    """Runs of letters and digits, as tokens are, and the whole."""
    yield from (word for word in (body.strip(), *re.findall(rb"[\w+/=.~-]+", body)) if len(word) >= CARRIED)


def _plant_and_resend(pod: Pod, files: dict[str, bytes], exchanges: Sequence[RecordedExchange]) -> None:
    pod.put({**files, "/tmp/parley-resend": script("resend").encode(), "/tmp/parley-lines": lines_of(exchanges)})
    shell(pod, "python3 /tmp/parley-resend /tmp/parley-lines")
    pod.put(files)


def _send(pod: Pod, target: Target, exchanges: Iterable[RecordedExchange]) -> None:
    call = pod.call_as_host if target.task.is_seated else pod.call
    for one in exchanges:
        call(one.request)


def _named(sent: Sequence[RecordedExchange]) -> str:
    return f"{sent[-1].request.method} {sent[-1].request.path.decode()}" if sent else "none"
