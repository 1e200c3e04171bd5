"""The calendar game: rounds and phases, state, mail, and the texts that seats are shown (docs/calendar.md, "The game").

One round is one meeting (paper, Algorithm 1): talk, voluntary moves, simultaneous decisions, resolution. `play` is the whole
game as a generator of barriers; independent questions are asked together. The rules are pure functions in
`worlds.calendar.rules`; this module keeps the state: calendars, costs, mail, and earlier meetings that must remain scheduled.

1. Messages are delivered at once, so later speakers of the same sweep see them. Mail that arrives while outsiders speak waits
for the next sweep. A message that is not allowed, or exceeds the bounds of a turn, is dropped with a reason.
2. A batch is checked on arrival, so a retry is offered at once; nothing is applied before all seats have decided.
3. A reflection only measures: it is logged, is not part of a conversation, and takes no virtual time. All seats are asked
together, in as many barriers as there are others: first each of the next seat, then of the one after.
4. The values of texts are decided here from one seat's point of view, so other calendars, costs or labels, later meetings and
sensitivity tiers cannot be shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from worlds.calendar.labels import Label, failure_reason
from worlds.calendar.rules.batch import Batch, Conflict, Refusal, apply_batch, check_batch
from worlds.calendar.rules.items import Cells, render_calendar
from worlds.calendar.rules.replies import (
    find_weighed_reply,
    notice_line,
    read_actions,
    read_expected,
    refusal_text,
    scores_shape,
    split_actions,
)
from worlds.calendar.rules.resolution import Resolution, outcome_line, resolve
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import CHANNELS, Settings, TurnBounds, turn_bounds
from worlds.core.mending import mend, read_reply
from worlds.core.replies import ReadAnswer, load_json, quote_message
from worlds.core.texts import Texts
from worlds.core.turns import Answer, Answers, Ask, Game

TOOLS = {"dm": "dm", "participant_groupchat": "participants", "all_groupchat": "all"}
"""Tool -> the channel that it uses."""


class Message(NamedTuple):
    """One delivered message."""

    sender: int
    to: tuple[int, ...]
    """All recipients."""

    channel: str
    meeting: int
    """The round's meeting, regardless of the sender's text."""

    content: str


class PostOffice:
    """Inboxes of a game, with the number of messages that each seat has sent in the game and in its current turn."""

    def __init__(self, seats: Sequence[int], settings: Settings, bounds: TurnBounds) -> None:
        self._seats, self._settings, self._bounds = tuple(seats), settings, bounds
        self._inboxes: dict[int, list[Message]] = {seat: [] for seat in seats}
        self.sent = dict.fromkeys(seats, 0)
        self._now = 0
        self._told: Counter[int] = Counter()
        """Characters sent to each reader in the current turn."""

    def begin_turn(self) -> None:
        """Reset the counts of the current turn."""
        self._now, self._told = 0, Counter()

    def send(self, sender: int, action: Mapping[str, Any], meeting: Meeting) -> Message | str:
        """Deliver one action of cheap talk; return the message, or the reason why it was dropped."""
        channel, content = TOOLS[action["type"]], action.get("content")
        if channel not in self._settings.channels:
            return f"the channel {channel} is closed"
        if not isinstance(content, str) or not content.strip():
            return "content must be a text that is not empty"
        to = self._recipients(sender, channel, action, meeting)
        if isinstance(to, str):
            return to
        if self._settings.message_cap is not None and self.sent[sender] >= self._settings.message_cap:
            return f"the cap of {self._settings.message_cap} messages is reached"
        if why := self._beyond(to, content):
            return why
        message = Message(sender, to, channel, meeting.id, content)
        self.sent[sender] += 1
        self._now += 1
        for reader in to:
            self._inboxes[reader].append(message)
            self._told[reader] += len(content)
        return message

    def drain(self, seat: int) -> list[Message]:
        """Empty an inbox and return its messages."""
        mail, self._inboxes[seat] = self._inboxes[seat], []
        return mail

    def _beyond(self, to: Sequence[int], content: str) -> str:
        """Return the limit of a turn that a message would exceed, or ""."""
        if self._now >= self._bounds.messages:
            return f"a turn has at most {self._bounds.messages} messages"
        if any(self._told[reader] + len(content) > self._bounds.characters for reader in to):
            return f"a turn has at most {self._bounds.characters} characters to each reader"
        return ""

    def _recipients(self, sender: int, channel: str, action: Mapping[str, Any], meeting: Meeting) -> tuple[int, ...] | str:
        if channel == "all":
            return tuple(seat for seat in self._seats if seat != sender)
        if channel == "participants":
            if sender not in meeting.participants:
                return "only participants of the meeting may use its chat"
            return tuple(seat for seat in meeting.participants if seat != sender)
        to = action.get("to")
        if not isinstance(to, int) or isinstance(to, bool) or to not in self._seats or to == sender:
            return f"to must be the id of another agent, not {to!r}"[:120]
        return (to,)


RULES = (
    "turn_cap", "decision_retries", "failed_rounds", "outsiders", "blocked_attempts", "exhausted", "voluntary", "justification",
    "outcomes",
)  # fmt: skip
"""Settings that texts name unchanged."""


class RoundOpening(NamedTuple):
    """Information for a seat at the beginning of a round."""

    round: int
    spent: int
    """Total cost of the seat so far."""

    results: Sequence[str]
    """One line on each earlier round, if outcomes are told."""


class View:
    """The texts of one game."""

    def __init__(self, scenario: Scenario, settings: Settings, texts: Texts) -> None:
        self._scenario, self._settings, self._texts = scenario, settings, texts
        bounds = turn_bounds(len(scenario.agents), scenario.slots)
        self._game = {
            "agents": list(scenario.agents), "slots": scenario.slots, "rounds": len(scenario.meetings),
            "channels": [channel for channel in CHANNELS if channel in settings.channels],
            "message_cap": settings.message_cap or 0, "turn_messages": bounds.messages,
            "turn_characters": bounds.characters, **{name: getattr(settings, name) for name in RULES},
        }  # fmt: skip

    def system(self, seat: int) -> str:
        """Return the system prompt of a seat (paper, Appendix A.2)."""
        # of the scale alone: which costs calendars hold is each one's own
        other = (seat + 1) % len(self._scenario.agents)
        return self._render("system", seat=seat, other=other, costs=sorted(self._scenario.scale))

    def round_start(
        self, seat: int, opening: RoundOpening, meeting: Meeting, cells: Cells, sweep: int, mail: Sequence[Message]
    ) -> str:
        """Return the text of a participant's first turn in a round."""
        seen = self._seen(seat, meeting, cells, mail)
        return self._render("round_start", turn=sweep + 1, **opening._asdict(), **seen)

    def turn(self, meeting: Meeting, sweep: int, mail: Sequence[Message]) -> str:
        """Return the text of a later turn of cheap talk."""
        return self._render("turn", meeting=meeting.id, mail=_letters(mail), turn=sweep + 1)

    def activation(self, seat: int, number: int, meeting: Meeting, cells: Cells, sweep: int, mail: Sequence[Message]) -> str:
        """Return the text of the first turn in round `number` of an outsider who received a message."""
        return self._render("activation", round=number, turn=sweep + 1, **self._seen(seat, meeting, cells, mail))

    def voluntary(self, seat: int, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> str:
        """Return the text that asks an outsider who received a message for voluntary moves."""
        return self._render("voluntary", **self._seen(seat, meeting, cells, mail))

    def decision(self, seat: int, opening: RoundOpening, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> str:
        """Return the text that asks a participant to decide; it is the first turn of the round if there is no talk."""
        return self._render("decision", **opening._asdict(), **self._seen(seat, meeting, cells, mail))

    def retry(self, attempt: int, why: Sequence[str], *, schedule: bool) -> str:
        """Return the text that gives the reasons for a refused batch and asks for a complete new one."""
        attempts = self._settings.decision_retries + 1
        return self._render("retry", attempt=attempt, attempts=attempts, why=list(why), schedule=schedule)

    def reflection(self, seat: int, target: int, number: int) -> str:
        """Return the question about another seat's calendar after a round (paper, Appendix F.3)."""
        return self._render("reflection", seat=seat, target=target, round=number)

    def _render(self, name: str, **values: Any) -> str:
        return self._texts.render(name, **self._game, **values)

    def _seen(self, seat: int, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> dict[str, Any]:
        """Return the meeting, the own calendar and the mail, as this seat may see them."""
        return {
            "seat": seat, "meeting": meeting.id, "participants": list(meeting.participants), "duration": meeting.duration,
            "label": meeting.label if seat in meeting.participants else "", "calendar": render_calendar(cells),
            "mail": _letters(mail),
        }  # fmt: skip


def _letters(mail: Sequence[Message]) -> list[tuple[int, str, int, str]]:
    return [(one.sender, one.channel, one.meeting, quote_message(one.content)) for one in mail]


class GameState:
    """State that the phases of a game share."""

    def __init__(self, scenario: Scenario, settings: Settings, texts: Texts) -> None:
        self.settings = settings
        self.post = PostOffice(scenario.agents, settings, turn_bounds(len(scenario.agents), scenario.slots))
        self.view = View(scenario, settings, texts)
        self.calendars: list[Cells] = list(scenario.calendars)
        self.spent = [0] * len(scenario.agents)
        """Total cost of each seat, on the shown scale."""

        self.unread: dict[int, str] = {}
        """Seat -> reason why its last reply in talk was not read, for a notice at its next turn."""

        self._untold: dict[int, list[str]] = {agent: [] for agent in scenario.agents}

    def queue_line(self, seats: Sequence[int], line: str) -> None:
        """Queue a line for these seats, which each receives when it begins its next round."""
        for seat in seats:
            self._untold[seat].append(line)

    def take_lines(self, seat: int) -> list[str]:
        """Remove and return the lines for a seat at the beginning of a round."""
        lines, self._untold[seat] = self._untold[seat], []
        return lines

    def actions(self, reply: str) -> ReadAnswer:
        """Parse the actions of a reply."""
        return read_actions(reply, None if self.settings.strict_replies else mend)

    def with_notice(self, seat: int, text: str) -> str:
        """Return the text of a turn, preceded by the seat's pending notice, if any."""
        return notice_line(problem) + text if (problem := self.unread.pop(seat, "")) else text


REFLECTION = "REFLECTION"
Reflecting = Generator[Sequence[Ask], Answers, None]


def reflect(state: GameState, number: int, seats: Sequence[int], note: Callable[..., None]) -> Reflecting:
    """Ask every seat about every other one after a round."""
    for step in range(1, len(seats)):
        targets = {seat: (seat + step) % len(seats) for seat in seats}
        texts = {seat: state.view.reflection(seat, target, number) for seat, target in targets.items()}
        answers = yield [Ask(seat, REFLECTION, number, texts[seat], ephemeral=True) for seat in seats]
        for seat, target in targets.items():
            answer = answers[seat][-1]
            read = _read(state, answer.text, len(state.calendars[target]))
            note("reflection", seat, round=number, target=target, **read, no_reply=answer.no_reply)


def _read(state: GameState, reply: str, slots: int) -> dict[str, Any]:
    outer = load_json(reply) if state.settings.reflection == "expected" else None
    said = find_weighed_reply(outer)
    reading = read_reply(reply if said is None else said, scores_shape(slots), strict=state.settings.strict_replies)
    scores, expected = reading.value, read_expected(outer, slots)
    read = {"scores": None if scores is None else list(scores), "how": "strict" if reading.how == "bare_list" else reading.how}
    if state.settings.reflection != "expected":
        return read
    return {**read, "expected": None if scores is None or expected is None else list(expected)}


_MAY = {True: ("schedule", "reschedule"), False: ("reschedule",)}
"""True if there is a meeting to schedule -> the actions of the phase."""


class Decided(NamedTuple):
    """Outcome of one seat's attempts; without a batch they all failed."""

    seat: int
    batch: Batch | None
    conflicts: tuple[Conflict, ...]
    """Conflicts of the last attempt."""

    blocked: bool
    """True if any attempt touched a blocked item."""


class _Attempt(NamedTuple):
    outcome: Batch | list[Refusal]
    actions: list[Any]
    dropped: list[str]
    said: ReadAnswer


Deciding = Generator[Sequence[Ask], Answers, list[Decided]]


def decide(
    state: GameState, number: int, meeting: Meeting, seats: Sequence[int], note: Callable[..., None], *, schedule: bool
) -> Deciding:
    """Ask all `seats` for their batch; return the outcome of each, in the order of `seats`."""
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
    """Judge of the batches of one phase, based on the current calendars."""

    def __init__(self, state: GameState, number: int, meeting: Meeting, *, schedule: bool) -> None:
        self._state, self._number, self._meeting, self._schedule = state, number, meeting, schedule
        self.phase = "DECISION" if schedule else "VOLUNTARY"
        self._judged: dict[int, list[_Attempt]] = {}

    def ask(self, seat: int) -> Ask:
        """Return the question for a seat, with the rule that refuses its answers."""
        return Ask(
            seat,
            self.phase,
            self._number,
            self._state.with_notice(seat, self._text(seat)),
            refuse=lambda answers: self._refuse(seat, answers),
        )

    def attempts(self, seat: int, answers: Sequence[Answer]) -> list[_Attempt]:
        """Return the judged answers of a seat so far; each is judged once."""
        judged = self._judged.setdefault(seat, [])
        judged += [self._attempt(seat, answer) for answer in answers[len(judged) :]]
        return judged

    def _text(self, seat: int) -> str:
        state = self._state
        cells, mail = state.calendars[seat], state.post.drain(seat)
        if not self._schedule:
            return state.view.voluntary(seat, self._meeting, cells, mail)
        # what begins a round is told with its first turn
        told = [] if state.settings.channels else state.take_lines(seat)
        return state.view.decision(seat, RoundOpening(self._number, state.spent[seat], told), self._meeting, cells, mail)

    def _attempt(self, seat: int, answer: Answer) -> _Attempt:
        """Parse one answer and check it as a batch."""
        said = self._state.actions(answer.text)
        actions, dropped = split_actions(said.value or [], _MAY[self._schedule])
        item = self._meeting.item() if self._schedule else None
        justify = self._state.settings.justification == "required"
        return _Attempt(check_batch(self._state.calendars[seat], actions, item, justify=justify), actions, dropped, said)

    def _refuse(self, seat: int, answers: Sequence[Answer]) -> str | None:
        last = self.attempts(seat, answers)[-1]
        if isinstance(last.outcome, Batch) or len(answers) > self._state.settings.decision_retries:
            return None
        why = [refusal_text(last.said.problem)] if last.said.problem else [one.text for one in last.outcome]
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


PHASE = "CHEAP_TALK"
Talk = Generator[Sequence[Ask], Answers, list[int]]
Turn = Generator[Sequence[Ask], Answers, bool]


def talk(state: GameState, number: int, meeting: Meeting, note: Callable[..., None], spend: Callable[[str], None]) -> Talk:
    """Run the talk of one round; return the outsiders who received a message, ascending."""
    floor = _Floor(state, number, meeting, note)
    for sweep in range(state.settings.turn_cap if state.settings.channels else 0):
        spend("sweep")
        delivered = False
        for seat in floor.active:
            delivered |= yield from floor.turn(seat, sweep)
        for seat in floor.called():
            delivered |= yield from floor.turn(seat, sweep)
        if not delivered:
            break
    return sorted(floor.contacted)


class _Floor:
    """Seats that may speak in a round."""

    def __init__(self, state: GameState, number: int, meeting: Meeting, note: Callable[..., None]) -> None:
        self._state, self._number, self._meeting, self._note = state, number, meeting, note
        self.active = list(meeting.order)
        self.contacted: set[int] = set()
        self._waiting: set[int] = set()
        self._spoken: set[int] = set()

    def called(self) -> list[int]:
        """Return the outsiders who speak after the active seats."""
        seats, self._waiting = sorted(self._waiting), set()
        if self._state.settings.outsiders == "stay":
            # a new list: the sweep that is running goes over the old one
            self.active = [*self.active, *seats]
        return seats

    def turn(self, seat: int, sweep: int) -> Turn:
        """Run one turn; return True if it delivered a message."""
        answers = yield [Ask(seat, PHASE, self._number, self._state.with_notice(seat, self._text(seat, sweep)))]
        answer = answers[seat][-1]
        said = self._state.actions(answer.text)
        if said.how != "strict":
            self._note("parsed", seat, round=self._number, phase=PHASE, how=said.how)
        if said.problem and answer.no_reply is None:
            self._state.unread[seat] = said.problem
        messages, dropped = split_actions(said.value or [], tuple(TOOLS))
        self._state.post.begin_turn()
        for tool in dropped:
            self._drop(seat, tool, "no action of this phase")
        return sum(self._send(seat, sweep, action) for action in messages) > 0

    def _text(self, seat: int, sweep: int) -> str:
        state, meeting = self._state, self._meeting
        mail, first = state.post.drain(seat), seat not in self._spoken
        self._spoken.add(seat)
        if not first:
            return state.view.turn(meeting, sweep, mail)
        if seat in meeting.participants:
            opening = RoundOpening(self._number, state.spent[seat], state.take_lines(seat))
            return state.view.round_start(seat, opening, meeting, state.calendars[seat], sweep, mail)
        return state.view.activation(seat, self._number, meeting, state.calendars[seat], sweep, mail)

    def _send(self, seat: int, sweep: int, action: object) -> bool:
        # a type may be anything, a list included: a tuple asks for equality alone
        if not isinstance(action, dict) or action.get("type") not in tuple(TOOLS):
            self._drop(seat, "", "every action must be an object with a type")
            return False
        sent = self._state.post.send(seat, action, self._meeting)
        if isinstance(sent, str):
            self._drop(seat, action["type"], sent)
            return False
        self._delivered(sent, sweep)
        return True

    def _delivered(self, sent: Message, sweep: int) -> None:
        self._note(
            "message", sent.sender, round=self._number, sweep=sweep, channel=sent.channel, to=list(sent.to),
            meeting=sent.meeting, content=sent.content,
        )  # fmt: skip
        if sent.channel != "participants":
            reached = set(sent.to) - set(self._meeting.participants)
            self.contacted |= reached
            self._waiting |= reached - set(self.active)

    def _drop(self, seat: int, tool: str, why: str) -> None:
        self._note("invalid_tool_call", seat, round=self._number, phase=PHASE, tool=tool, why=why)


Note = Callable[..., None]
Spend = Callable[[str], None]
"""Advances the clock by a named cost."""


@dataclass
class Round:
    """State of the round that is being played."""

    number: int
    meeting: Meeting
    calendars: list[Cells]
    """Calendars at the start of the round, or after voluntary moves that cannot be reverted."""

    voluntary: list[Decided] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)


class CalendarGame:
    """One game; `note(what, seat, **data)` logs events, `spend(cost)` advances virtual time."""

    def __init__(self, scenario: Scenario, settings: Settings, note: Note, spend: Spend, texts: Texts) -> None:
        self.settings, self.note, self.spend = settings, note, spend
        self.state = GameState(scenario, settings, texts)
        self._registered: list[Meeting] = list(scenario.prior)
        self._scenario = scenario

    def play(self) -> Game:
        """Play every round, in the order in which meetings arrive."""
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
        if self.settings.asks_beliefs:
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
        label = failure_reason(resolution, [decided.conflicts for decided in exhausted], doomed=doomed)
        charged = [after - before for after, before in zip(self.state.spent, spent, strict=True)]
        kept = label is Label.SUCCESS or self.settings.failed_rounds == "keep"
        if not kept:
            self.state.calendars, self.state.spent = list(now.calendars), spent
        elif resolution.is_agreed:
            self._registered.append(now.meeting)
        if self.settings.outcomes == "told":
            line = outcome_line(now.number, now.meeting, resolution, success=label is Label.SUCCESS)
            self.state.queue_line(now.meeting.participants, line)
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
                self.state.calendars[one.seat] = apply_batch(self.state.calendars[one.seat], one.batch, item)
                self.state.spent[one.seat] += one.batch.cost
                if one.batch.moves or meeting:
                    moves = [[move.item.name, move.source, move.target] for move in one.batch.moves]
                    self.note("committed", one.seat, round=now.number, slot=one.batch.slot, moves=moves, cost=one.batch.cost)
