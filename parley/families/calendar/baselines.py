"""Scripted assistants that talk in sentences: silent, prose, greedy and planner.

They share a base class that parses the texts of a seat, talks in sentences, and decides by one batch. A seat tells the other
participants once per round which slots it can use. The participant with the lowest id announces a slot as soon as all have told
theirs, or on its second turn in any case. If a participant has told nothing, a seat takes only a free slot, so that a wrong
guess costs nothing.

The sentences that the scripted assistants write and understand are a small grammar of plain English.

| sentence | meaning |
|---|---|
| I am free at 3, 5 and 9 | these slots are empty |
| I could make 1 and 2 | these slots can be freed, at an unknown price |
| 1, 2 would be easy / awkward / hard for me | likewise, with the degree of inconvenience |
| M2 is with 1 and 4 | the other participants of an earlier meeting |
| Moving M2 from 4 to 9 and 11 would be easy for me | possible slots of an earlier meeting, with the inconvenience |
| Where could you move M2 from 4? | asks for such a sentence |
| Let us take 7 | the slot of the round's meeting |
| Please move M2 from 4 to 9 | requests the move |

1. Sentences end with a full stop, a question mark, a semicolon or the end of a line. Other sentences are ignored, so people and
models may write more. `slot` may precede numbers; `I'm`, `let's`, `go with` and similar forms are understood; 3-5 is 3, 4, 5.
2. Costs are never told, as the rules require. A price below 5 is called easy, below 50 awkward, and otherwise hard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pydantic_core import to_json

from oracles.calendar.protocols.client import AskedTurn, Mail, Seat, TypedClient, read_mail, read_sweep, schedule_action
from oracles.calendar.protocols.repair import (
    Moves,
    batch_actions,
    cost_of_moves,
    move_actions,
    moves_for_insertion,
    moves_for_relocation,
)
from worlds.calendar.rules.items import Item

FREE, EASY, COULD, AWKWARD, HARD = "free", "easy", "could", "awkward", "hard"
WEIGHTS = {FREE: 0, EASY: 1, COULD: 2, AWKWARD: 2, HARD: 3}
"""Weight of each word in the sum of inconvenience."""


class Suits(NamedTuple):
    """Slots that an agent can use, and their inconvenience."""

    slots: tuple[int, ...]
    degree: str


class Company(NamedTuple):
    """The other participants of a scheduled meeting."""

    meeting: int
    agents: tuple[int, ...]


class Movable(NamedTuple):
    """Possible slots of a scheduled meeting, and the inconvenience for the speaker."""

    meeting: int
    source: int
    targets: tuple[int, ...]
    degree: str


class MoveQuestion(NamedTuple):
    """Question for possible slots of a meeting."""

    meeting: int
    source: int


class Settled(NamedTuple):
    """The slot of the round's meeting."""

    slot: int


class MoveRequest(NamedTuple):
    """Request to move a scheduled meeting."""

    meeting: int
    source: int
    target: int


Sentence = Suits | Company | Movable | MoveQuestion | Settled | MoveRequest

_END = re.compile(r"[.;?!\n]+")
_ONE = r"(?<![0-9])[0-9]{1,3}(?: ?[-\u2013] ?[0-9]{1,3})?(?![0-9])"
_MANY = rf"(?:slots? )?({_ONE}(?:(?:,? and |,? or |, ?)(?:slots? )?{_ONE})*)"
_MEETING = r"(?:meeting )?m([0-9]{1,4})"
_FROM = r"(?:away )?from (?:slot )?([0-9]{1,3})"
_DEGREE = "would be (easy|awkward|hard)"


def _suits(degree: str) -> Callable[[re.Match[str]], Sentence]:
    return lambda match: Suits(_numbers(match[1]), degree)


_READ: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Sentence]], ...] = (
    (
        re.compile(rf"moving {_MEETING} {_FROM} to {_MANY} {_DEGREE}"),
        lambda match: Movable(int(match[1]), int(match[2]), _numbers(match[3]), match[4]),
    ),
    (re.compile(rf"where could you move {_MEETING} {_FROM}"), lambda match: MoveQuestion(int(match[1]), int(match[2]))),
    (
        re.compile(rf"please move {_MEETING} {_FROM} to (?:slot )?([0-9]{{1,3}})"),
        lambda match: MoveRequest(int(match[1]), int(match[2]), int(match[3])),
    ),
    (re.compile(rf"{_MEETING} is with (?:agents? )?{_MANY}"), lambda match: Company(int(match[1]), _numbers(match[2]))),
    (
        re.compile(r"let(?: us|[\u2019']s) (?:take|use|go with|meet at|meet in) (?:slot )?([0-9]{1,3})(?![0-9])"),
        lambda match: Settled(int(match[1])),
    ),
    (re.compile(rf"\bi(?: am|[\u2019']m) (?:also )?free (?:at|in|on) {_MANY}"), _suits(FREE)),
    (re.compile(rf"\bi (?:can|could) (?:also )?(?:make|do|manage) {_MANY}"), _suits(COULD)),
    (re.compile(rf"{_MANY} {_DEGREE}"), lambda match: Suits(_numbers(match[1]), match[2])),
)
"""Each pattern with its meaning; only the first pattern that matches a sentence is used."""


def read(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a message that the grammar understands, in order."""
    for part in _END.split(text.lower()):
        fits = ((pattern.search(part), meaning) for pattern, meaning in _READ)
        sentence = next((meaning(match) for match, meaning in fits if match), None)
        if sentence is not None:
            yield sentence


def availability(meeting: int, suits: Iterable[Suits]) -> str:
    """Return the sentence with all usable slots: free ones, then those that would cost something."""
    parts = [_suit(one) for one in suits if one.slots]
    return f"For M{meeting} {'; '.join(parts)}." if parts else f"I can make no slot for M{meeting}."


def movable(moves: Iterable[Movable], company: Company) -> str:
    """Return the sentences with the possible slots of an earlier meeting, and its other participants."""
    others = f"M{company.meeting} is with {_listed(company.agents)}. " if company.agents else ""
    told = (f"Moving M{m.meeting} from {m.source} to {_listed(m.targets)} would be {m.degree} for me." for m in moves)
    return others + " ".join(told)


def choice(slot: int, shift: MoveRequest | None = None) -> str:
    """Return the sentences that end the talk."""
    return f"Let us take {slot}." + (f" {request(shift)}" if shift else "")


def request(shift: MoveRequest) -> str:
    """Return a request to move an earlier meeting."""
    return f"Please move M{shift.meeting} from {shift.source} to {shift.target}."


def question(asked: MoveQuestion) -> str:
    """Return a question for the possible slots of an earlier meeting."""
    return f"Where could you move M{asked.meeting} from {asked.source}?"


def degree(price: int) -> str:
    """Return the word for the inconvenience of a price."""
    return EASY if price < 5 else AWKWARD if price < 50 else HARD


def _suit(one: Suits) -> str:
    if one.degree == FREE:
        return f"I am free at {_listed(one.slots)}"
    return f"I could make {_listed(one.slots)}" if one.degree == COULD else f"{_listed(one.slots)} would be {one.degree} for me"


def _listed(numbers: Iterable[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


def _numbers(text: str) -> tuple[int, ...]:
    """Return each number of a list, with ranges such as `3-5` expanded."""
    ends = (re.findall("[0-9]+", one) for one in re.findall(_ONE, text))
    return tuple(number for one in ends for number in range(int(one[0]), int(one[-1]) + 1))


_CAP = re.compile(r"may send (\d+) messages")
_TOOLS = {"participants": "participant_groupchat", "dm": '"type": "dm"', "all": "all_groupchat"}
"""For each channel, the text in the rules that shows that it is open."""

Action = dict[str, Any]
Degrees = dict[int, str]
"""Slots that an agent can use, and the inconvenience of each."""


class SaidBy(NamedTuple):
    """A sentence and its sender."""

    sender: int
    sentence: Sentence


class ProseSeat(TypedClient):
    """A scripted seat; `suits` returns the slots that it tells, and `best` the slot that follows from all messages."""

    def __init__(self, seat: Seat, rules: str) -> None:
        """Set up the seat; `rules` is its system prompt, which has the channels and the cap of messages."""
        super().__init__(seat)
        self._open = {channel for channel, shown in _TOOLS.items() if shown in rules}
        cap = _CAP.search(rules)
        self._allowed = int(cap[1]) if cap else None
        self.begin()

    def begin(self) -> None:
        """Reset the state of the previous round."""
        self._told, self._turns = False, 0
        self.degrees: dict[int, Degrees] = {}
        """Usable slots that each participant has told."""

        self.said: dict[int, int] = {}
        """The last slot announced by each participant."""

    def reply(self, turn: AskedTurn) -> str:
        """Return the reply to one turn."""
        self._look(turn.text)
        mail = read_mail(turn.text)
        ours = [letter for letter in mail if letter.meeting == self.facts.meeting]
        heard = [SaidBy(letter.sender, sentence) for letter in ours for sentence in read(letter.text)]
        for one in heard:
            self.hear(one)
        if turn.phase == "CHEAP_TALK":
            actions = self._speak(heard, turn.text)
        elif turn.phase == "VOLUNTARY":
            actions = self.volunteer(mail, turn.attempt)
        else:
            actions = self.decide(mail, turn.attempt)
        return to_json({"thinking": "", "actions": actions}).decode()

    def hear(self, heard: SaidBy) -> None:
        """Process one sentence."""
        sender, sentence = heard
        if sender not in self.facts.participants:
            return
        if isinstance(sentence, Suits):
            self.degrees.setdefault(sender, {}).update(dict.fromkeys(sentence.slots, sentence.degree))
        elif isinstance(sentence, Settled):
            self.said[sender] = sentence.slot

    def suits(self) -> list[Suits]:
        """Return the slots of its own calendar that this seat tells."""
        raise NotImplementedError

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """Return the slot that follows from the messages of some seats and suits each of them; None if there is none."""
        raise NotImplementedError

    def more(self) -> str:
        """Return additional text to tell, or ""."""
        return ""

    def lead(self, left: int) -> list[Action]:
        """Return the actions of the deciding seat once all told or it has waited; `left` turns of talk come after this one."""
        slot = self.best(list(self._known().values()))
        return [] if slot is None else self.announce(slot)

    def answer(self, heard: Sequence[SaidBy]) -> list[Action]:
        """Return the actions of a seat outside the meeting that received messages."""
        return []

    def decide(self, mail: Sequence[Mail], attempt: int) -> list[Action]:
        """Return the batch for the announced or derived slot; empty if this seat cannot use the slot."""
        slot = self.chosen()
        moves = None if slot is None else moves_for_insertion(self.calendar, slot, self.facts.duration)
        return [] if slot is None or moves is None else batch_actions(self.facts.meeting, slot, moves)

    def chosen(self) -> int | None:
        """Return the slot announced by the deciding seat, or else by another seat, or else derived from all messages."""
        said = self.said.get(self.initiator, next(reversed(self.said.values()), None) if self.said else None)
        if said is not None:
            return said
        known = self._known()
        slot = self.best(list(known.values()))
        if slot is not None and len(known) < len(self.facts.participants) and known[self.me].get(slot) != FREE:
            return None
        return slot

    def announce(self, slot: int, text: str = "") -> list[Action]:
        """Announce the slot to all participants; if a cap forbids it, nothing is sent or recorded."""
        sent = self.tell(self.other_participants, text or choice(slot))
        if sent or not self.other_participants:
            self.said[self.me] = slot
        return sent

    def tell(self, to: Sequence[int], text: str) -> list[Action]:
        """Return the actions that send a text to some agents; none if no channel reaches them, or a cap forbids a message."""
        inside = set(to) <= set(self.facts.participants) and self.me in self.facts.participants
        if inside and len(to) > 1 and "participants" in self._open:
            sent: list[Action] = [{"type": "participant_groupchat", "content": text}]
        elif "dm" in self._open:
            sent = [{"type": "dm", "to": agent, "content": text} for agent in to]
        elif inside and to and "participants" in self._open:
            sent = [{"type": "participant_groupchat", "content": text}]
        else:
            sent = [{"type": "all_groupchat", "content": text}] if to and "all" in self._open else []
        if self._allowed is None:
            return sent
        if len(sent) > self._allowed:
            return []
        self._allowed -= len(sent)
        return sent

    def _known(self) -> dict[int, Degrees]:
        """Return the slots told by each participant, and those of this seat."""
        own = {slot: one.degree for one in self.suits() for slot in one.slots}
        return {**{agent: told for agent, told in self.degrees.items() if agent != self.me}, self.me: own}

    def _speak(self, heard: Sequence[SaidBy], text: str) -> list[Action]:
        if self.me not in self.facts.participants:
            return self.answer(heard)
        self._turns += 1
        sent: list[Action] = []
        if not self._told:
            self._told = True
            sent = self.tell(
                self.other_participants, " ".join(filter(None, (availability(self.facts.meeting, self.suits()), self.more())))
            )
        waited = self._turns > 1 or self.degrees.keys() >= {*self.other_participants}
        if self.me == self.initiator and self.me not in self.said and waited:
            turn, most = read_sweep(text) or (1, 1)
            sent += self.lead(most - turn)
        return sent


def usable(seat: TypedClient) -> dict[int, Moves]:
    """Return every slot that a seat can use for the round's meeting, with the moves that make room, if needed."""
    room = {slot: moves_for_insertion(seat.calendar, slot, seat.facts.duration) for slot in range(len(seat.calendar))}
    return {slot: moves for slot, moves in room.items() if moves is not None}


def common(degrees: Iterable[Degrees]) -> set[int]:
    """Return the slots that all these seats can use."""
    return set.intersection(*map(set, degrees))


class SilentSeat(ProseSeat):
    """Seat that sends and reads nothing, and takes its lowest free slot, or the lowest that it can free."""

    def hear(self, heard: SaidBy) -> None:
        """Ignore the sentence."""

    def suits(self) -> list[Suits]:
        """Return nothing."""
        return []

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """Return the slot of its own calendar."""
        room = usable(self)
        return min(room, key=lambda slot: (bool(room[slot]), slot), default=None)

    def chosen(self) -> int | None:
        """Return the slot of its own calendar, regardless of the others."""
        return self.best(())

    def _speak(self, heard: Sequence[SaidBy], text: str) -> list[Action]:
        return []


class GreedySeat(ProseSeat):
    """Seat that tells free slots and those it could free; takes the lowest slot free for all, else usable by all."""

    def suits(self) -> list[Suits]:
        """Return two kinds of slots, without the price of the second."""
        room = usable(self)
        free = tuple(slot for slot, moves in room.items() if not moves)
        return [Suits(free, FREE), Suits(tuple(slot for slot in room if slot not in free), COULD)]

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """Return the lowest slot free for all, else the lowest that all can use."""
        slots = common(degrees)
        return min(slots, key=lambda slot: (any(told[slot] != FREE for told in degrees), slot), default=None)


class Placement(NamedTuple):
    """A way to schedule the round's meeting; ordered by sum, then with placements without a shift first, then by slot."""

    weight: int
    shift: tuple[MoveRequest, ...]
    """The earlier meeting that has to move, or nothing."""

    slot: int


class PlannerSeat(ProseSeat):
    """Seat that tells the inconvenience of slots, and takes the slot with the lowest sum over participants, the first if tied.

    A slot with one earlier meeting can be used too, if all its participants move that meeting to one other slot. The deciding
    seat asks outside agents, once, if that could lower the sum; agents that do not answer do not move. A request to move
    something that was not offered is ignored.
    """

    def begin(self) -> None:
        """Reset the state of the previous round."""
        super().begin()
        self._offers: dict[tuple[int, int, int], Degrees] = {}
        """Possible slots of a meeting and their inconvenience, by seat, meeting and current slot."""

        self._company: dict[int, set[int]] = {}
        """Participants of each meeting, as far as they were told."""

        self._asked: set[MoveQuestion] = set()
        self._shift: MoveRequest | None = None
        """The move that was agreed."""

    def hear(self, heard: SaidBy) -> None:
        """Process one sentence; sentences of outside agents apply to the meeting that was asked about."""
        super().hear(heard)
        sender, sentence = heard
        if isinstance(sentence, Movable):
            told = self._offers.setdefault((sender, sentence.meeting, sentence.source), {})
            told.update(dict.fromkeys(sentence.targets, sentence.degree))
            self._company.setdefault(sentence.meeting, set()).add(sender)
        elif isinstance(sentence, Company):
            others = (agent for agent in sentence.agents if agent < self.seat.agents)
            self._company.setdefault(sentence.meeting, set()).update((sender, *others))
        elif isinstance(sentence, MoveRequest) and sender == self.initiator:
            self._shift = sentence

    def suits(self) -> list[Suits]:
        """Return the slots of each degree."""
        told = self._degrees()
        return [Suits(tuple(slot for slot in told if told[slot] == word), word) for word in WEIGHTS]

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """Return the slot with the lowest sum."""
        sums = {slot: sum(WEIGHTS[told[slot]] for told in degrees) for slot in common(degrees)}
        return min(sums, key=lambda slot: (sums[slot], slot), default=None)

    def more(self) -> str:
        """Return the possible slots of meetings in the way, as text."""
        return " ".join(self._offer(item, slot) for slot, item in self._meetings())

    def lead(self, left: int) -> list[Action]:
        """Ask outside agents if that could lower the sum, else announce the slot, and the moves that it needs."""
        known = self._known()
        slot = self.best(list(known.values()))
        plain = [] if slot is None else [Placement(sum(WEIGHTS[told[slot]] for told in known.values()), (), slot)]
        self._note_own()
        hoped = [plan for plan in self._shifts(known, EASY) if not plain or plan.weight < plain[0].weight]
        if left > 0 and not self._asked and (asked := self._ask(hoped)):
            return asked
        plans = [*plain, *(plan for plan in self._shifts(known, None) if not plain or plan.weight < plain[0].weight)]
        return self._say(min(plans)) if plans else []

    def answer(self, heard: Sequence[SaidBy]) -> list[Action]:
        """Return answers to questions for the possible slots of this seat's meetings."""
        sent: list[Action] = []
        for sender, sentence in heard:
            item = self._standing(sentence.meeting, sentence.source) if isinstance(sentence, MoveQuestion) else None
            if item is not None and isinstance(sentence, MoveQuestion):
                text = self._offer(item, sentence.source) or f"I cannot move {item.name}."
                sent += self.tell([sender], text)
                self._note(item, sentence.source)
        return sent

    def volunteer(self, mail: Sequence[Mail], attempt: int) -> list[Action]:
        """Return the moves that this seat had offered, if they were requested."""
        shift = self._shift
        if shift is None or self._standing(shift.meeting, shift.source) is None:
            return []
        if shift.target not in self._offers.get((self.me, shift.meeting, shift.source), {}):
            return []
        moves = moves_for_relocation(self.calendar, shift.source, shift.target, ())
        return move_actions(self.facts.meeting, moves) if moves else []

    def decide(self, mail: Sequence[Mail], attempt: int) -> list[Action]:
        """Return the batch for the announced slot, with the move of this seat's earlier meeting if it is part of it."""
        shift, slot = self._shift, self.chosen()
        item = self._standing(shift.meeting, shift.source) if shift else None
        if shift is None or item is None or slot != shift.source:
            return super().decide(mail, attempt)
        moves = moves_for_relocation(self.calendar, shift.source, shift.target, (slot,))
        return [*move_actions(self.facts.meeting, moves), schedule_action(self.facts.meeting, slot)] if moves else []

    def _degrees(self) -> Degrees:
        return {slot: degree(cost_of_moves(moves)) if moves else FREE for slot, moves in usable(self).items()}

    def _meetings(self) -> Iterator[tuple[int, Item]]:
        """Yield every earlier meeting on this seat's calendar that could be moved for this one: both take one slot."""
        if self.facts.duration == 1:
            for slot, item in enumerate(self.calendar):
                if item is not None and item.kind == "meeting" and item.duration == 1:
                    yield slot, item

    def _standing(self, meeting: int, source: int) -> Item | None:
        return next((item for slot, item in self._meetings() if item.id == meeting and slot == source), None)

    def _targets(self, item: Item, source: int) -> Degrees:
        """Return the possible new slots of this seat's meeting, except the slot that it leaves, with their inconvenience."""
        slots = (slot for slot in range(len(self.calendar)) if slot != source)
        room = {slot: moves_for_relocation(self.calendar, source, slot, (source,)) for slot in slots}
        return {slot: degree(cost_of_moves(moves)) for slot, moves in room.items() if moves}

    def _offer(self, item: Item, source: int) -> str:
        """Return the sentences on this seat's meeting; "" if it cannot be moved."""
        targets = self._targets(item, source)
        words = dict.fromkeys(targets.values())
        told = [Movable(item.id, source, tuple(t for t in targets if targets[t] == word), word) for word in words]
        others = Company(item.id, tuple(agent for agent in item.participants if agent != self.me))
        return movable(told, others) if told else ""

    def _note(self, item: Item, source: int) -> None:
        self._offers[self.me, item.id, source] = self._targets(item, source)
        self._company.setdefault(item.id, set()).update(item.participants)

    def _note_own(self) -> None:
        for slot, item in self._meetings():
            self._note(item, slot)

    def _shifts(self, known: dict[int, Degrees], unasked: str | None) -> Iterator[Placement]:
        """Yield every plan that moves an earlier meeting; outsiders without an answer count as `unasked`, or prevent it."""
        for meeting, source in sorted({(meeting, source) for _, meeting, source in self._offers}):
            people = self._company[meeting]
            staying = [told.get(source) for agent, told in known.items() if agent not in people]
            offers = [self._offers.get((agent, meeting, source)) for agent in sorted(people)]
            silent = [agent for agent, told in zip(sorted(people), offers, strict=True) if told is None]
            blind = unasked is None or not known.keys().isdisjoint(silent)
            if None in staying or (silent and blind) or len(known) < len(self.facts.participants):
                continue
            told = [one for one in offers if one is not None]
            waiting = WEIGHTS[unasked or FREE] * len(silent)
            stay = sum(WEIGHTS[word] for word in staying if word is not None)
            for target in common(told):
                weight = stay + waiting + sum(WEIGHTS[one[target]] for one in told)
                yield Placement(weight, (MoveRequest(meeting, source, target),), source)

    def _ask(self, hoped: Sequence[Placement]) -> list[Action]:
        """Ask all outside agents whose answers a promising plan lacks, once per meeting."""
        sent: list[Action] = []
        for shift in sorted({one._replace(target=0) for plan in hoped for one in plan.shift}):
            asked = MoveQuestion(shift.meeting, shift.source)
            missing = [one for one in sorted(self._company[shift.meeting]) if (one, *asked) not in self._offers]
            told = self.tell(missing, question(asked)) if missing else []
            if told:
                self._asked.add(asked)
                sent += told
        return sent

    def _say(self, plan: Placement) -> list[Action]:
        if not plan.shift:
            return self.announce(plan.slot)
        (shift,) = plan.shift
        outside = sorted(self._company[shift.meeting] - {*self.facts.participants})
        text = choice(plan.slot, shift)
        sent = self.announce(plan.slot, text)
        if sent or not self.other_participants:
            self._shift = shift
            sent += self.tell(outside, text)
        return sent
