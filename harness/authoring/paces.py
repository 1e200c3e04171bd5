"""Three ways to play a task as its own oracle does, but not with its calm: what a level is harder for shows in who still wins.

`careful`   the oracle as it is: no time to think, no character lost.
`hasty`     it asks again a second later, however long it was told to wait.
`careless`  it thinks for one to three seconds before each request, and of the characters of long drawn values that it sends
            (`LONG` and more, with a digit among them) one in `ONE_IN`, on the average, comes out as another one.
All draws are from the task and the seed, so that a level changes what is played and nothing of who plays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from harness.authoring.plays import SOLVE, judge, play
from harness.registry import Task
from worlds.core import wire
from worlds.core.chance import PUBLISHED_KEY, Chance, Stream
from worlds.core.levels import FIRST, LEVEL
from worlds.core.models import Strict
from worlds.core.wire import Transport, WireRequest, WireResponse

HASTE_S = 1
"""The longest wait of who is in a hurry, in virtual seconds."""

THINKING_S = (1, 3)
"""The least and the most seconds that thought takes before a request."""

LONG, ONE_IN = 16, 10_000

_WAIT = b"/clock/wait"
_DIGIT = re.compile(rb"[0-9]")
_VALUE = re.compile(rb"[A-Za-z0-9+=_%%~-]{%d,}" % LONG)

Altered = Callable[[Transport], Transport]


def careful(_: Chance) -> Altered:
    """A path that changes nothing."""
    return lambda inner: inner


def hasty(_: Chance) -> Altered:
    """A path on which no wait is longer than a second."""

    def hurried(request: WireRequest) -> WireRequest:
        if request.path != _WAIT:
            return request
        seconds = min(json.loads(request.body)["seconds"], HASTE_S)
        return request._replace(body=json.dumps({"seconds": seconds}).encode())

    return lambda inner: lambda request: inner(hurried(request))


def careless(draw: Chance) -> Altered:
    """A path on which each request comes late, and long values not always whole."""
    thinking, copying = draw("careless: thinking"), _Copying(draw("careless: copying"))

    def send(inner: Transport, request: WireRequest) -> WireResponse:
        if request.path.startswith(b"/clock"):
            return inner(request)
        inner(wire.request("POST", _WAIT.decode(), body=json.dumps({"seconds": thinking.between(*THINKING_S)})))
        return inner(copying.request(request))

    return lambda inner: lambda request: send(inner, request)


PACES: Mapping[str, Callable[[Chance], Altered]] = {"careful": careful, "hasty": hasty, "careless": careless}
"""By name, in the order in which they are told."""


def at_pace(name: str, task_id: str, seed: int) -> Altered:
    """The path on which somebody plays a task at this pace."""
    return PACES[name](Chance(PUBLISHED_KEY, task_id, seed))


class _Copying:
    """Somebody who copies by hand: between two mistakes there are 1 to 2 * ONE_IN - 1 characters, each number as likely."""

    def __init__(self, draw: Stream) -> None:
        self._draw = draw
        self._left = self._next()

    def request(self, sent: WireRequest) -> WireRequest:
        """The request as it is written down."""
        headers = tuple((name, self._text(value.encode("latin-1")).decode("latin-1")) for name, value in sent.headers)
        return sent._replace(target=self._text(sent.target), headers=headers, body=self._text(sent.body))

    def _text(self, text: bytes) -> bytes:
        return _VALUE.sub(lambda match: self._value(match[0]), text)

    def _value(self, value: bytes) -> bytes:
        """A value with its mistakes; words are none to copy."""
        if not _DIGIT.search(value):
            return value
        written, place = bytearray(value), self._left - 1
        while place < len(written):
            written[place] = _mistaken(written[place])
            self._left = self._next()
            place += self._left
        self._left = place - len(written) + 1
        return bytes(written)

    def _next(self) -> int:
        return self._draw.between(1, 2 * ONE_IN - 1)


def _mistaken(character: int) -> int:
    """A letter in its other case, the next digit, a dash for any other sign."""
    text = chr(character)
    if text.isdigit():
        return ord("0") + (int(text) + 1) % 10
    return ord(text.swapcase()) if text.isalpha() else ord("-" if text != "-" else "_")


SEEDS = (0, 1, 2, 3, 4)
"""The seeds of a curve that names none."""


class CurvePoint(Strict):
    """One client on one task at one level: how many of its episodes it won."""

    task_id: str
    level: int
    client: str
    wins: int
    episodes: int


def curve(tasks: Sequence[Task], seeds: Sequence[int], progress: Callable[[str], object]) -> list[CurvePoint]:
    """The points of each task, level by level and client by client; games with seats have no one client, and no points."""
    points = []
    for task in tasks:
        if task.parley is None or task.is_seated:
            continue
        points += _points(task, seeds)
        progress(f"{task.task_id}: {', '.join(f'{one.wins}' for one in points if one.task_id == task.task_id)}")
    return points


def _points(task: Task, seeds: Sequence[int]) -> list[CurvePoint]:
    assert task.parley is not None
    kinds = [(level, client) for level in (FIRST, *task.parley.levels) for client in PACES]
    plays = {
        kind: [play(task, SOLVE, seed, {LEVEL: kind[0]}, altered=at_pace(kind[1], task.task_id, seed)) for seed in seeds]
        for kind in kinds
    }
    judge(task, [played for same in plays.values() for played in same])
    return [
        CurvePoint(task_id=task.task_id, level=level, client=client, episodes=len(same),
                   wins=sum(played.outcome.success for played in same))
        for (level, client), same in plays.items()
    ]  # fmt: skip
