"""The sentences that the scripted assistants say and understand: a small grammar of plain English, the same both ways.

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
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

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
    """What a message says, as far as the grammar goes, in its order."""
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
    """How inconvenient a price is, in a word."""
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
