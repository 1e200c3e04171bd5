"""Scripted assistants that talk in sentences: silent, prose, greedy and planner.

What the scripted assistants share: a seat that reads its texts, talks in sentences, and decides by one batch.

1. A seat tells the other participants once a round what it can use. The participant with the lowest id decides, and says so, as
   soon as everybody has told; on its second turn it does not wait any longer.
2. At the decision the slot that was said counts, else the one that follows from what everybody told: all have heard the same.
   Where somebody has told nothing a seat takes no more than a free slot, for a guess may fail and should cost nothing.
3. It keeps to the options: the channels that are open, the cap of messages, a reason for each move. A group is told by its chat
   where that is open, else by direct messages, else by the chat of all.

Two floors that weigh nothing: an assistant that is silent, and one that tells what it can use and takes the first slot.

The sentences that the scripted assistants say and understand: a small grammar of plain English, the same both ways.

| sentence | what it says |
|---|---|
| I am free at 3, 5 and 9 | nothing stands in these slots |
| I could make 1 and 2 | these slots can be made free, who knows at what price |
| 1, 2 would be easy / awkward / hard for me | likewise, and how inconvenient that is |
| M2 is with 1 and 4 | who else takes part in an earlier meeting |
| Moving M2 from 4 to 9 and 11 would be easy for me | where an earlier meeting could go, and how inconvenient that is |
| Where could you move M2 from 4? | asks for such a sentence |
| Let us take 7 | the round's meeting goes there |
| Please move M2 from 4 to 9 | so that it can |

1. Sentences end with a full stop, a question mark, a semicolon or a line. What fits none is passed over, so people and models
   may say more. `slot` may stand before numbers; `I'm`, `let's`, `go with` and the like are understood; 3-5 is 3, 4, 5.
2. No cost is ever told, as the rules demand: a price below 5 is easy, below 50 awkward, above hard.

The planner: all tell how inconvenient each slot would be, and the least sum wins, earlier meetings moved where it pays.

1. A slot is free, easy, awkward or hard for a seat, and counts 0, 1, 2 or 3 (`WEIGHTS`); the least sum over the
   participants wins, the lowest slot among equals.
2. A slot where one earlier meeting stands can be had too, if all its participants move that meeting to one other slot. Who has
   it says where it could go. Who decides asks its other participants, once, where the sum could become less than the best
   without, and counts what each of them says; who does not answer does not move.
3. The meeting is moved by its participants alone: in DECISION by those who take part in the new one, in VOLUNTARY by those who
   were asked and had said that they could. One that is told to move something which it had not offered does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pydantic_core import to_json

from oracles.calendar.protocols.client import AskedTurn, Mail, Seat, TypedClient, read_mail, read_sweep, schedule
from oracles.calendar.protocols.repair import Moves, batch, insertion, moving, price, relocation
from worlds.calendar.rules.items import Item

FREE, EASY, COULD, AWKWARD, HARD = "free", "easy", "could", "awkward", "hard"
WEIGHTS = {FREE: 0, EASY: 1, COULD: 2, AWKWARD: 2, HARD: 3}
"""What a word counts for where inconvenience is added up."""


class Suits(NamedTuple):
    """Slots that somebody can use, and how inconvenient they are."""

    slots: tuple[int, ...]
    degree: str


class Company(NamedTuple):
    """Who else takes part in a meeting that stands."""

    meeting: int
    agents: tuple[int, ...]


class Movable(NamedTuple):
    """Where a meeting that stands could go, and how inconvenient that is for the speaker."""

    meeting: int
    source: int
    targets: tuple[int, ...]
    degree: str


class MoveQuestion(NamedTuple):
    """Where could you move this meeting?"""

    meeting: int
    source: int


class Settled(NamedTuple):
    """The slot of the round's meeting."""

    slot: int


class MoveRequest(NamedTuple):
    """A meeting that stands is to be moved."""

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
"""Each pattern with what it means; of those that fit a sentence the first counts."""


def read(text: str) -> Iterator[Sentence]:
    """Yield what a message says, as far as the grammar goes, in its order."""
    for part in _END.split(text.lower()):
        fits = ((pattern.search(part), meaning) for pattern, meaning in _READ)
        sentence = next((meaning(match) for match, meaning in fits if match), None)
        if sentence is not None:
            yield sentence


def availability(meeting: int, suits: Iterable[Suits]) -> str:
    """The sentence that tells all slots that one can use: free ones, then those that would cost something."""
    parts = [_suit(one) for one in suits if one.slots]
    return f"For M{meeting} {'; '.join(parts)}." if parts else f"I can make no slot for M{meeting}."


def movable(moves: Iterable[Movable], company: Company) -> str:
    """The sentences that tell where one could move an earlier meeting, and whose it is too."""
    others = f"M{company.meeting} is with {_listed(company.agents)}. " if company.agents else ""
    told = (f"Moving M{m.meeting} from {m.source} to {_listed(m.targets)} would be {m.degree} for me." for m in moves)
    return others + " ".join(told)


def choice(slot: int, shift: MoveRequest | None = None) -> str:
    """The sentences that end the talk."""
    return f"Let us take {slot}." + (f" {request(shift)}" if shift else "")


def request(shift: MoveRequest) -> str:
    """Asks for an earlier meeting to be moved."""
    return f"Please move M{shift.meeting} from {shift.source} to {shift.target}."


def question(asked: MoveQuestion) -> str:
    """Asks where an earlier meeting could go."""
    return f"Where could you move M{asked.meeting} from {asked.source}?"


def degree(price: int) -> str:
    """Return how inconvenient a price is, in a word."""
    return EASY if price < 5 else AWKWARD if price < 50 else HARD


def _suit(one: Suits) -> str:
    if one.degree == FREE:
        return f"I am free at {_listed(one.slots)}"
    return f"I could make {_listed(one.slots)}" if one.degree == COULD else f"{_listed(one.slots)} would be {one.degree} for me"


def _listed(numbers: Iterable[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


def _numbers(text: str) -> tuple[int, ...]:
    """Each number of a list, of `3-5` all between."""
    ends = (re.findall("[0-9]+", one) for one in re.findall(_ONE, text))
    return tuple(number for one in ends for number in range(int(one[0]), int(one[-1]) + 1))


_CAP = re.compile(r"may send (\d+) messages")
_TOOLS = {"participants": "participant_groupchat", "dm": '"type": "dm"', "all": "all_groupchat"}
"""Channel -> by what the rules show that it is open."""

Action = dict[str, Any]
Degrees = dict[int, str]
"""Slots that somebody can use, and how inconvenient each is."""


class SaidBy(NamedTuple):
    """One sentence, and who said it."""

    sender: int
    sentence: Sentence


class ProseSeat(TypedClient):
    """One seat; `suits` says how much of its calendar it tells, and `best` which slot follows from what all told."""

    def __init__(self, seat: Seat, rules: str) -> None:
        """`rules`: the system prompt of the seat, which says how one may talk."""
        super().__init__(seat)
        self._open = {channel for channel, shown in _TOOLS.items() if shown in rules}
        cap = _CAP.search(rules)
        self._allowed = int(cap[1]) if cap else None
        self.begin()

    def begin(self) -> None:
        """Forget the round before."""
        self._told, self._turns = False, 0
        self.degrees: dict[int, Degrees] = {}
        """By participant, what they told."""

        self.said: dict[int, int] = {}
        """By participant, the slot that they said last."""

    def reply(self, turn: AskedTurn) -> str:
        """The reply to one turn."""
        self._look(turn.text)
        mail = read_mail(turn.text)
        heard = [one for letter in mail if letter.meeting == self.facts.meeting for one in _heard(letter)]
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
        """Take in one sentence."""
        sender, sentence = heard
        if sender not in self.facts.participants:
            return
        if isinstance(sentence, Suits):
            self.degrees.setdefault(sender, {}).update(dict.fromkeys(sentence.slots, sentence.degree))
        elif isinstance(sentence, Settled):
            self.said[sender] = sentence.slot

    def suits(self) -> list[Suits]:
        """Return what this seat tells of the own calendar."""
        raise NotImplementedError

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """The slot that follows from what some seats told, each of which can use it; None where there is none."""
        raise NotImplementedError

    def more(self) -> str:
        """Return what it tells besides, "" for nothing."""
        return ""

    def lead(self, left: int) -> list[Action]:
        """What the one who decides says, once everybody told or was waited for; `left` turns of talk come after this one."""
        slot = self.best(list(self._known().values()))
        return [] if slot is None else self.announce(slot)

    def answer(self, heard: Sequence[SaidBy]) -> list[Action]:
        """Return what somebody says who takes no part in the meeting and was written to."""
        return []

    def decide(self, mail: Sequence[Mail], attempt: int) -> list[Action]:
        """The batch for the slot that was said, or follows; empty where there is none that this seat can use."""
        slot = self.chosen()
        moves = None if slot is None else insertion(self.calendar, slot, self.facts.duration)
        return [] if slot is None or moves is None else batch(self.facts.meeting, slot, moves)

    def chosen(self) -> int | None:
        """The slot that was said by who decides, or by somebody else, or follows from what all told."""
        said = self.said.get(self.initiator, next(reversed(self.said.values()), None) if self.said else None)
        if said is not None:
            return said
        known = self._known()
        slot = self.best(list(known.values()))
        if slot is not None and len(known) < len(self.facts.participants) and known[self.me].get(slot) != FREE:
            return None
        return slot

    def announce(self, slot: int, text: str = "") -> list[Action]:
        """Say the slot to all participants; nobody is told, and nothing is settled, where a cap forbids it."""
        sent = self.tell(self.others, text or choice(slot))
        if sent or not self.others:
            self.said[self.me] = slot
        return sent

    def tell(self, to: Sequence[int], text: str) -> list[Action]:
        """The actions that send a text to some agents; none where no channel reaches them, or a cap forbids one of them."""
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
        """Return what each participant told that did, and the own calendar as it is told."""
        own = {slot: one.degree for one in self.suits() for slot in one.slots}
        return {**{agent: told for agent, told in self.degrees.items() if agent != self.me}, self.me: own}

    def _speak(self, heard: Sequence[SaidBy], text: str) -> list[Action]:
        if self.me not in self.facts.participants:
            return self.answer(heard)
        self._turns += 1
        sent: list[Action] = []
        if not self._told:
            self._told = True
            sent = self.tell(self.others, " ".join(filter(None, (availability(self.facts.meeting, self.suits()), self.more()))))
        waited = self._turns > 1 or self.degrees.keys() >= {*self.others}
        if self.me == self.initiator and self.me not in self.said and waited:
            turn, most = read_sweep(text) or (1, 1)
            sent += self.lead(most - turn)
        return sent


def usable(seat: TypedClient) -> dict[int, Moves]:
    """Every slot that a seat can use for the round's meeting, with the moves that make room there: none where it is free."""
    room = {slot: insertion(seat.calendar, slot, seat.facts.duration) for slot in range(len(seat.calendar))}
    return {slot: moves for slot, moves in room.items() if moves is not None}


def common(degrees: Iterable[Degrees]) -> set[int]:
    """The slots that all of them can use."""
    return set.intersection(*map(set, degrees))


def _heard(letter: Mail) -> list[SaidBy]:
    return [SaidBy(letter.sender, sentence) for sentence in read(letter.text)]


class SilentSeat(ProseSeat):
    """Sends nothing, reads nothing, and takes its own lowest free slot, or the lowest that it can make free."""

    def hear(self, heard: SaidBy) -> None:
        """It does not listen."""

    def suits(self) -> list[Suits]:
        """Nothing is told."""
        return []

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """The own slot."""
        room = usable(self)
        return min(room, key=lambda slot: (bool(room[slot]), slot), default=None)

    def chosen(self) -> int | None:
        """The own slot, whatever the others may do."""
        return self.best(())

    def _speak(self, heard: Sequence[SaidBy], text: str) -> list[Action]:
        return []


class GreedySeat(ProseSeat):
    """Tells its free slots and those it could make free; the lowest slot that is free for all wins, else that all can use."""

    def suits(self) -> list[Suits]:
        """Two kinds of slots, without a word on how dear the second are."""
        room = usable(self)
        free = tuple(slot for slot, moves in room.items() if not moves)
        return [Suits(free, FREE), Suits(tuple(slot for slot in room if slot not in free), COULD)]

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """The lowest slot free for all, else the lowest that all can use."""
        slots = common(degrees)
        return min(slots, key=lambda slot: (any(told[slot] != FREE for told in degrees), slot), default=None)


class Placement(NamedTuple):
    """One way to have the round's meeting; plans are compared by their sums, one without a shift first, then by slots."""

    weight: int
    shift: tuple[MoveRequest, ...]
    """The earlier meeting that has to go, or nothing."""

    slot: int


class PlannerSeat(ProseSeat):
    """Tells degrees, and weighs what it heard."""

    def begin(self) -> None:
        """Forget the round before."""
        super().begin()
        self._offers: dict[tuple[int, int, int], Degrees] = {}
        """Seat, meeting, where it stands -> where that seat could move it, and how inconvenient that is."""

        self._company: dict[int, set[int]] = {}
        """Meeting -> its participants, as far as they were told."""

        self._asked: set[MoveQuestion] = set()
        self._shift: MoveRequest | None = None
        """What was agreed to be moved."""

    def hear(self, heard: SaidBy) -> None:
        """Take in one sentence; what somebody outside says counts for the meeting that was asked about."""
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
        """The slots of each degree."""
        told = self._degrees()
        return [Suits(tuple(slot for slot in told if told[slot] == word), word) for word in WEIGHTS]

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """The slot with the least sum."""
        sums = {slot: sum(WEIGHTS[told[slot]] for told in degrees) for slot in common(degrees)}
        return min(sums, key=lambda slot: (sums[slot], slot), default=None)

    def more(self) -> str:
        """Return where the meetings could go that stand in the way."""
        return " ".join(self._offer(item, slot) for slot, item in self._meetings())

    def lead(self, left: int) -> list[Action]:
        """Ask outsiders where that could pay, else say the slot, and what has to be moved for it."""
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
        """Tell who asked where an own meeting could go."""
        sent: list[Action] = []
        for sender, sentence in heard:
            item = self._standing(sentence.meeting, sentence.source) if isinstance(sentence, MoveQuestion) else None
            if item is not None and isinstance(sentence, MoveQuestion):
                text = self._offer(item, sentence.source) or f"I cannot move {item.name}."
                sent += self.tell([sender], text)
                self._note(item, sentence.source)
        return sent

    def volunteer(self, mail: Sequence[Mail], attempt: int) -> list[Action]:
        """Move what this seat had offered to move, if it was asked to in the end."""
        shift = self._shift
        if shift is None or self._standing(shift.meeting, shift.source) is None:
            return []
        if shift.target not in self._offers.get((self.me, shift.meeting, shift.source), {}):
            return []
        moves = relocation(self.calendar, shift.source, shift.target, ())
        return moving(self.facts.meeting, moves) if moves else []

    def decide(self, mail: Sequence[Mail], attempt: int) -> list[Action]:
        """The batch for the slot that was said, with the move of an own meeting where that is part of it."""
        shift, slot = self._shift, self.chosen()
        item = self._standing(shift.meeting, shift.source) if shift else None
        if shift is None or item is None or slot != shift.source:
            return super().decide(mail, attempt)
        moves = relocation(self.calendar, shift.source, shift.target, (slot,))
        return [*moving(self.facts.meeting, moves), schedule(self.facts.meeting, slot)] if moves else []

    def _degrees(self) -> Degrees:
        return {slot: degree(price(moves)) if moves else FREE for slot, moves in usable(self).items()}

    def _meetings(self) -> Iterator[tuple[int, Item]]:
        """Every earlier meeting on the own calendar that could be moved for this one: both take one slot."""
        if self.facts.duration == 1:
            for slot, item in enumerate(self.calendar):
                if item is not None and item.kind == "meeting" and item.duration == 1:
                    yield slot, item

    def _standing(self, meeting: int, source: int) -> Item | None:
        return next((item for slot, item in self._meetings() if item.id == meeting and slot == source), None)

    def _targets(self, item: Item, source: int) -> Degrees:
        """Return where an own meeting could go, the slot kept that it leaves, and how inconvenient that is."""
        slots = (slot for slot in range(len(self.calendar)) if slot != source)
        room = {slot: relocation(self.calendar, source, slot, (source,)) for slot in slots}
        return {slot: degree(price(moves)) for slot, moves in room.items() if moves}

    def _offer(self, item: Item, source: int) -> str:
        """The sentences on an own meeting; "" where it cannot be moved."""
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
        """Every plan that moves an earlier meeting; who is outside and has told nothing counts as `unasked`, or prevents it."""
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
        """Ask everybody outside whose word is missing for a plan that could pay, about each meeting once."""
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
        if sent or not self.others:
            self._shift = shift
            sent += self.tell(outside, text)
        return sent
