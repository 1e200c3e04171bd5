"""What the scripted assistants share: a seat that reads its texts, talks in sentences, and decides by one batch.

1. A seat tells the other participants once a round what it can use. The participant with the lowest id decides, and says so, as
   soon as everybody has told; on its second turn it does not wait any longer.
2. At the decision the slot that was said counts, else the one that follows from what everybody told: all have heard the same.
   Where somebody has told nothing a seat takes no more than a free slot, for a guess may fail and should cost nothing.
3. It keeps to the options: the channels that are open, the cap of messages, a reason for each move. A group is told by its chat
   where that is open, else by direct messages, else by the chat of all.

Two floors that weigh nothing: an assistant that is silent, and one that tells what it can use and takes the first slot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pydantic_core import to_json

from harness.families.calendar.baselines.grammar import COULD, FREE, Sentence, Settled, Suits, availability, choice, read
from oracles.calendar.protocols.client import AskedTurn, Seat, TypedClient
from oracles.calendar.protocols.insertion import Moves, batch, insertion
from oracles.calendar.protocols.reading import Mail, read_mail, read_sweep

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
        """What this seat tells of the own calendar."""
        raise NotImplementedError

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """The slot that follows from what some seats told, each of which can use it; None where there is none."""
        raise NotImplementedError

    def more(self) -> str:
        """What it tells besides, "" for nothing."""
        return ""

    def lead(self, left: int) -> list[Action]:
        """What the one who decides says, once everybody told or was waited for; `left` turns of talk come after this one."""
        slot = self.best(list(self._known().values()))
        return [] if slot is None else self.announce(slot)

    def answer(self, heard: Sequence[SaidBy]) -> list[Action]:
        """What somebody says who takes no part in the meeting and was written to."""
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
        """What each participant told that did, and the own calendar as it is told."""
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
