"""Scripted seats with known results (specification, 2.5): each plays one seat of a live session by the Turn protocol.

1. A seat acts on its own hand, found in its own rules by the texts of the facts, and on the messages in its own turns. The
   policies are those of `oracles.hidden_profile.groups`.
2. Players: `pool`, `silent`, `shared`, `conform`, `contra`, `liar`, and `one_fact`, which passes once it has nothing to tell;
   `coin:Q` pools with probability Q; `withhold:H` and `one_liar:H` pool, except for the seat with hand H, which is silent or
   lies. Without a number, `coin` means coin:0.5, and the others mean hand 1.
3. Hands are numbered as in the scenario, from 1 (`person` below). If hands are equal (`full`, `shared_only`), or a deck is
   dealt to another number of people, the seat's own number is used.
4. A seat tells its facts verbatim, then its stance as a fixed sentence; on the structured track it also cites the facts. Other
text in messages is matched by cues as in the validator, so a scripted seat also understands models.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from harness.agents.seats.lineup import Maker
from harness.errors import UsageError
from harness.registry import Task
from oracles.hidden_profile.groups import ONE_FACT, POLICIES, Policy, SeatView, Turn
from worlds.core.replies import PASS
from worlds.core.turns import OpenTurn
from worlds.hidden_profile.rules.deck import Deck, read_task
from worlds.hidden_profile.rules.hearing import classify_fact, fold_text
from worlds.hidden_profile.rules.scenario import FactSheet
from worlds.hidden_profile.rules.worlds import WorldTable, tabulate

_MESSAGE = re.compile(r"^Person (\d+): (.*(?:\n {4}.*)*)", re.MULTILINE)
_CITES = re.compile(r" ?\[cites [g\d, ]+\]")

UNDECIDED = "I cannot decide."
"""Message of a seat without a stance."""


def leaning(option: str) -> str:
    """Return the sentence by which a scripted seat takes a stance."""
    return f"I lean to [{option}]."


@dataclass(frozen=True, slots=True)
class Heard:
    """Facts and stance recognized in one message."""

    told: tuple[str, ...]
    """Ids of facts, in the file's order."""

    stance: str | None


def read_hand(scenario: FactSheet, system: str) -> dict[str, str]:
    """Return the facts in a seat's rules, in the order shown, each with its handle, or "" if facts have no handles."""
    shown = []
    for fact in scenario.facts:
        line = re.search(rf"^(?:- |(F\d+)\. ){re.escape(fact.text)}$", system, re.MULTILINE)
        if line:
            shown.append((line.start(), fact.id, line[1] or ""))
    return {fact: handle for _, fact, handle in sorted(shown)}


def messages(text: str) -> list[tuple[int, str]]:
    """Return the messages that the text of a turn repeats, in order: the person's number, from 1, and the text."""
    return [(int(message[1]), message[2].replace("\n    ", "\n")) for message in _MESSAGE.finditer(text)]


class Ear:
    """Recognizer of facts and stances in messages of one scenario's session."""

    def __init__(self, scenario: FactSheet) -> None:
        self._scenario = scenario
        texts = {fact.id: fold_text(fact.text) for fact in scenario.facts}
        self._texts = sorted(texts.items(), key=lambda item: -len(item[1]))
        self._stances = {option: fold_text(leaning(option)) for option in scenario.option_ids}

    def hear(self, message: str) -> Heard:
        """Return the facts in a message, and its last stance."""
        left = fold_text(message)
        places = {option: left.rfind(sentence) for option, sentence in self._stances.items()}
        last = max(places, key=lambda option: places[option])
        told = set()
        for fact, text in self._texts:
            if text in left:
                told.add(fact)
                left = left.replace(text, "\n")
        told.update(self._hinted(left))
        ordered = tuple(fact.id for fact in self._scenario.facts if fact.id in told)
        return Heard(ordered, last if places[last] >= 0 else None)

    def _hinted(self, left: str) -> list[str]:
        """Return the facts that a paraphrase mentions."""
        for sentence in (*self._stances.values(), fold_text(UNDECIDED)):
            left = left.replace(sentence, "\n")
        left = _CITES.sub("\n", left)
        return [fact.id for fact in self._scenario.facts if classify_fact(fact, left) == "asserted"] if left.strip() else []


@dataclass(frozen=True, slots=True)
class Sitting:
    """Data by which the policy of a seat is chosen."""

    task_id: str
    agents: int
    seat: int
    """Number from 0."""

    person: int
    """Number from 1."""

    hand: tuple[str, ...]


Choice = Callable[[Sitting], Policy]


class ScriptedSeat:
    """A seat that follows a policy; its hand maps facts to handles, "" if there are none."""

    def __init__(
        self, table: WorldTable[FactSheet], policy: Policy, seat: int, hand: Mapping[str, str], *, structured: bool
    ) -> None:
        self._policy, self._structured, self._handles = policy, structured, hand
        self._ear = Ear(table.scenario)
        self.view = SeatView(table, seat + 1, tuple(hand))

    def reply(self, turn: OpenTurn) -> str:
        """Return the reply to a turn: a message, or a ballot.

        Messages that a poll shows are shown and processed again in the seat's own turn.
        """
        before = self.view
        self._listen(turn)
        if turn.phase == "DISCUSSION":
            return self._speak(turn.round)
        vote = self._policy.before if turn.phase == "PRE_VOTE" else self._policy.vote
        ballot = json.dumps({"vote": vote(self.view), "rationale": ""})
        if turn.phase == "POLL":
            self.view = before
        return ballot

    def _listen(self, turn: OpenTurn) -> None:
        for person, text in messages(turn.text):
            if person != self.view.seat:
                heard = self._ear.hear(text)
                self._remember(Turn(turn.round, person, heard.told, heard.stance))

    def _speak(self, number: int) -> str:
        turn = self._policy.speak(self.view, number)
        self._remember(turn)
        if self._policy is ONE_FACT and not turn.told:
            return PASS
        facts = self.view.table.scenario.by_id
        stance = leaning(turn.stance) if turn.stance else UNDECIDED
        text = " ".join((*(facts[fact].text for fact in turn.told), stance))
        if not self._structured:
            return text
        return json.dumps({"text": text, "cites": [self._handles[fact] for fact in turn.told], "stance": turn.stance})

    def _remember(self, turn: Turn) -> None:
        old = self.view
        self.view = SeatView(old.table, old.seat, old.hand, (*old.turns, turn))


def sit(choose: Choice, task: Task, seat: int, session: Mapping[str, Any]) -> ScriptedSeat:
    """Return the seat with its chosen policy. Raises UsageError for a task without a scenario that scripts can play."""
    table = _table_of(task)
    (system,) = (row["system"] for row in session["seats"] if row["seat"] == seat)
    hand = read_hand(table.scenario, system)
    people = session["public"]["people"]
    # a deck dealt to another number of people has other hands than in its file
    person = _person(table.scenario, frozenset(hand), seat) if people == table.scenario.agents else seat + 1
    policy = choose(Sitting(task.task_id, people, seat, person, tuple(hand)))
    return ScriptedSeat(table, policy, seat, hand, structured=session["public"]["track"] == "structured")


class Players(Mapping[str, Maker]):
    """The seat players by name. Players with a number after a colon can be looked up too, but are not listed."""

    def __getitem__(self, name: str) -> Maker:
        kind, colon, value = name.partition(":")
        if colon:
            return partial(sit, _KINDS[kind](value))
        return partial(sit, _LISTED[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_LISTED)

    def __len__(self) -> int:
        return len(_LISTED)


def heads(sitting: Sitting, q: Fraction) -> bool:
    """Return True if a seat's coin shows heads, which has probability q; the result is always the same for a seat."""
    digest = hashlib.sha256(json.dumps([sitting.task_id, sitting.seat, *sitting.hand]).encode()).digest()
    return int.from_bytes(digest[:8], "big") < q * 2**64


def _always(policy: Policy) -> Choice:
    return lambda sitting: policy


def _coin(value: str) -> Choice:
    """Return the choice that lets a seat pool with this probability, else be silent. Raises KeyError for an invalid one."""
    if not re.fullmatch(r"0|1|[01]?\.\d{1,12}", value) or (q := Fraction(value)) > 1:
        raise KeyError(f"coin:{value}")
    return lambda sitting: POLICIES["pool" if heads(sitting, q) else "silent"]


def _odd_one(name: str, value: str) -> Choice:
    """Return the choice that gives one hand another policy and lets the others pool. Raises KeyError for an invalid number."""
    if not re.fullmatch(r"[1-9]\d?", value):
        raise KeyError(value)

    def choose(sitting: Sitting) -> Policy:
        if int(value) > sitting.agents:
            raise UsageError(f"{sitting.task_id} has {sitting.agents} hands, numbered from 1, and no hand {value}")
        return POLICIES[name if sitting.person == int(value) else "pool"]

    return choose


_KINDS: dict[str, Callable[[str], Choice]] = {
    "coin": _coin,
    "withhold": partial(_odd_one, "silent"),
    "one_liar": partial(_odd_one, "liar"),
}
_LISTED: dict[str, Choice] = {
    **{policy.name: _always(policy) for policy in (*POLICIES.values(), ONE_FACT)},
    "coin": _coin(".5"),
    "withhold": _odd_one("silent", "1"),
    "one_liar": _odd_one("liar", "1"),
}

PLAYERS: Mapping[str, Maker] = Players()


def _person(scenario: FactSheet, hand: frozenset[str], seat: int) -> int:
    """Return the person with this hand, or the seat's own number if no person or several have it."""
    own = hand.difference(scenario.of_scope("shared"))
    same = [person for person in scenario.seats if own and own <= frozenset(scenario.hand(person))]
    return same[0] if len(same) == 1 else seat + 1


def _table_of(task: Task) -> WorldTable[FactSheet]:
    path = task.world_folder / "scenario.json"
    try:
        return _tabulated(path, path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{task.task_id} has nothing for scripted seats to play: {error}") from None


@lru_cache(maxsize=128)
def _tabulated(path: Path, text: bytes) -> WorldTable[FactSheet]:  # noqa: ARG001 - part of the cache key, for edited files
    """Return a table of all possible deals. It is slow to make and used by every seat of every session, and so cached."""
    read = read_task(path)
    return tabulate(read.sheet if isinstance(read, Deck) else read)
