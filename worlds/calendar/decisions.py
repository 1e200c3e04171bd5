"""Decisions: each seat sends one batch for its own calendar; all are asked together, each may try again, none sees another.

Voluntary moves of outsiders and decisions of participants differ only in whether a meeting is to be scheduled. A batch is
checked when it arrives, so a retry is offered at once; nothing is applied before everybody has decided.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from worlds.calendar.rules.batch import Batch, Conflict, Refusal, check
from worlds.calendar.rules.replies import refusal
from worlds.calendar.rules.scenario import Meeting
from worlds.calendar.state import GameState, split
from worlds.calendar.view import RoundOpening
from worlds.core.replies import ReadAnswer
from worlds.core.turns import Answer, Answers, Ask

TOOLS = {True: ("schedule", "reschedule"), False: ("reschedule",)}
"""Whether there is a meeting to schedule -> the actions of the phase."""


class Decided(NamedTuple):
    """What one seat's attempts came to; without a batch they all failed."""

    seat: int
    batch: Batch | None
    conflicts: tuple[Conflict, ...]
    """Of the last attempt."""

    blocked: bool
    """Whether any attempt touched a blocked item."""


class _Attempt(NamedTuple):
    outcome: Batch | list[Refusal]
    actions: list[Any]
    dropped: list[str]
    said: ReadAnswer


Deciding = Generator[Sequence[Ask], Answers, list[Decided]]


def decide(
    state: GameState, number: int, meeting: Meeting, seats: Sequence[int], note: Callable[..., None], *, schedule: bool
) -> Deciding:
    """Ask all `seats` for their batch; returns what each came to, in the order of `seats`."""
    desk = _Desk(state, number, meeting, schedule=schedule)
    answers = yield [desk.ask(seat) for seat in seats]
    decided: list[Decided] = []
    for seat in seats:
        attempts = desk.attempts(seat, answers[seat])
        for place, attempt in enumerate(attempts, start=1):
            _tell(note, seat, {"round": number, "phase": desk.phase, "attempt": place}, attempt)
        decided.append(_decided(seat, attempts))
    return decided


class _Desk:
    """Judges the batches of one phase against the calendars as they are now."""

    def __init__(self, state: GameState, number: int, meeting: Meeting, *, schedule: bool) -> None:
        self._state, self._number, self._meeting, self._schedule = state, number, meeting, schedule
        self.phase = "DECISION" if schedule else "VOLUNTARY"
        self._judged: dict[int, list[_Attempt]] = {}

    def ask(self, seat: int) -> Ask:
        """The question, with the rule by which its answers are refused."""
        return Ask(
            seat,
            self.phase,
            self._number,
            self._state.with_notice(seat, self._text(seat)),
            refuse=lambda answers: self._refuse(seat, answers),
        )

    def attempts(self, seat: int, answers: Sequence[Answer]) -> list[_Attempt]:
        """What a seat's answers so far come to; each is judged once."""
        judged = self._judged.setdefault(seat, [])
        judged += [self._attempt(seat, answer) for answer in answers[len(judged) :]]
        return judged

    def _text(self, seat: int) -> str:
        state = self._state
        cells, mail = state.calendars[seat], state.post.drain(seat)
        if not self._schedule:
            return state.view.voluntary(seat, self._meeting, cells, mail)
        # what begins a round is told with its first turn
        told = [] if state.settings.channels else state.told(seat)
        return state.view.decision(seat, RoundOpening(self._number, state.spent[seat], told), self._meeting, cells, mail)

    def _attempt(self, seat: int, answer: Answer) -> _Attempt:
        """One answer as a batch, or as what is wrong with it."""
        said = self._state.actions(answer.text)
        actions, dropped = split(said.value or [], TOOLS[self._schedule])
        item = self._meeting.item() if self._schedule else None
        justify = self._state.settings.justification == "required"
        return _Attempt(check(self._state.calendars[seat], actions, item, justify=justify), actions, dropped, said)

    def _refuse(self, seat: int, answers: Sequence[Answer]) -> str | None:
        last = self.attempts(seat, answers)[-1]
        if isinstance(last.outcome, Batch) or len(answers) > self._state.settings.decision_retries:
            return None
        why = [refusal(last.said.problem)] if last.said.problem else [one.text for one in last.outcome]
        return self._state.view.retry(len(answers), why, schedule=self._schedule)


def _decided(seat: int, attempts: Sequence[_Attempt]) -> Decided:
    last = attempts[-1].outcome
    conflicts = () if isinstance(last, Batch) else tuple(one.conflict for one in last)
    refusals = [one for attempt in attempts if not isinstance(attempt.outcome, Batch) for one in attempt.outcome]
    blocked = any(one.conflict is Conflict.BLOCKED for one in refusals)
    return Decided(seat, last if isinstance(last, Batch) else None, conflicts, blocked)


def _tell(note: Callable[..., None], seat: int, where: dict[str, Any], attempt: _Attempt) -> None:
    if attempt.said.how != "strict":
        note("parsed", seat, **where, how=attempt.said.how)
    for tool in attempt.dropped:
        note("invalid_tool_call", seat, **where, tool=tool, why="no action of this phase")
    if isinstance(attempt.outcome, Batch):
        return
    refused = [[str(one.conflict), one.text] for one in attempt.outcome]
    note("batch_rejected", seat, **where, conflicts=refused, actions=attempt.actions)
