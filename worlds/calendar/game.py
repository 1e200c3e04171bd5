"""The calendar game, round by round: talk, voluntary moves, decisions that commit together, resolution.

One round is one meeting (paper, Algorithm 1). `play` is the whole game as a script of barriers; what is asked independently is
asked together. The rules themselves are pure and live in `worlds.calendar.rules`; this module only keeps the state:
calendars, costs, mail, and the meetings that once stood and must go on standing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from worlds.calendar.decisions import Decided, decide
from worlds.calendar.labels import Label, reason
from worlds.calendar.reflection import reflect
from worlds.calendar.rules.batch import Batch, apply
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.outcome import outcome_line
from worlds.calendar.rules.resolution import Resolution, resolve
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import Settings
from worlds.calendar.state import GameState
from worlds.calendar.talk import talk
from worlds.core.texts import Texts
from worlds.core.turns import Game

Note = Callable[..., None]
Spend = Callable[[str], None]
"""Moves the clock by a named cost."""


@dataclass
class Round:
    """What happens to be known of the round that is being played."""

    number: int
    meeting: Meeting
    calendars: list[Cells]
    """At its start, or after voluntary moves that cannot be undone."""

    voluntary: list[Decided] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)


class CalendarGame:
    """One game; `note(what, seat, **data)` hears everything that happens, `spend(cost)` moves virtual time."""

    def __init__(self, scenario: Scenario, settings: Settings, note: Note, spend: Spend, texts: Texts) -> None:
        self.settings, self.note, self.spend = settings, note, spend
        self.state = GameState(scenario, settings, texts)
        self._registered: list[Meeting] = list(scenario.prior)
        self._scenario = scenario

    def play(self) -> Game:
        """Every round, in the order in which meetings arrive."""
        for number, meeting in enumerate(self._scenario.meetings, start=1):
            self.note(
                "round_start", round=number, meeting=meeting.id, participants=list(meeting.participants),
                speakers=list(meeting.order), duration=meeting.duration,
            )  # fmt: skip
            yield from self._round(Round(number, meeting, list(self.state.calendars)))
        self.note("game_end", spent=list(self.state.spent), sent=[self.state.post.sent[s] for s in self._scenario.agents])

    def _round(self, now: Round) -> Game:
        contacted = yield from talk(self.state, now.number, now.meeting, self.note, self.spend)
        if contacted:
            self.spend("decision")
            now.voluntary = yield from decide(self.state, now.number, now.meeting, contacted, self.note, schedule=False)
            if self.settings.voluntary == "immediate":
                self._commit(now, now.voluntary, None)
                now.calendars = list(self.state.calendars)
        self.spend("decision")
        now.decided = yield from decide(self.state, now.number, now.meeting, now.meeting.order, self.note, schedule=True)
        self._resolve(now)
        if self.settings.asks:
            yield from reflect(self.state, now.number, self._scenario.agents, self.note)

    def _resolve(self, now: Round) -> None:
        spent = list(self.state.spent)
        exhausted = [decided for decided in now.decided if decided.batch is None]
        doomed = self.settings.blocked_attempts == "doom" and any(d.blocked for d in (*now.voluntary, *now.decided))
        if not doomed and not (exhausted and self.settings.exhausted == "rollback"):
            if self.settings.voluntary == "staged":
                self._commit(now, now.voluntary, None)
            self._commit(now, now.decided, now.meeting)
        resolution = resolve(self.state.calendars, now.meeting, self._registered)
        label = reason(resolution, [decided.conflicts for decided in exhausted], doomed=doomed)
        charged = [after - before for after, before in zip(self.state.spent, spent, strict=True)]
        kept = label is Label.SUCCESS or self.settings.failed_rounds == "keep"
        if not kept:
            self.state.calendars, self.state.spent = list(now.calendars), spent
        elif resolution.agreed:
            self._registered.append(now.meeting)
        if self.settings.outcomes == "told":
            line = outcome_line(now.number, now.meeting, resolution, success=label is Label.SUCCESS)
            self.state.tell(now.meeting.participants, line)
        self._log(now, resolution, label, charged, kept=kept)

    def _log(self, now: Round, resolution: Resolution, label: Label, charged: Sequence[int], *, kept: bool) -> None:
        self.note(
            "resolution", round=now.number, meeting=now.meeting.id, label=str(label), broken=list(resolution.broken), kept=kept,
            slots={str(agent): slot for agent, slot in resolution.slots.items()}, charged=list(charged),
            standing={str(meeting): slot for meeting, slot in resolution.standing.items()},
        )  # fmt: skip

    def _commit(self, now: Round, decided: Sequence[Decided], meeting: Meeting | None) -> None:
        for one in decided:
            if isinstance(one.batch, Batch):
                item = meeting.item() if meeting else None
                self.state.calendars[one.seat] = apply(self.state.calendars[one.seat], one.batch, item)
                self.state.spent[one.seat] += one.batch.cost
                if one.batch.moves or meeting:
                    moves = [[move.item.name, move.source, move.target] for move in one.batch.moves]
                    self.note("committed", one.seat, round=now.number, slot=one.batch.slot, moves=moves, cost=one.batch.cost)
