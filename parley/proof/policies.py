"""Three variants of the oracle (paces). Their success rates at a level show why the level is harder.

`careful`   the unchanged oracle, without delays or typing errors.
`hasty`     retries after one second, regardless of how long it was told to wait.
`careless`  waits 1 to 3 seconds before each request, and replaces about one in `ONE_IN` characters of the long random
            values that it sends (`LONG` or more characters, with a digit).
All random values depend only on the task and the seed, so a level changes the task but not the player.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from harness.registry import Task
from parley.proof.plays import SOLVE, judge, play
from worlds.core import wire
from worlds.core.chance import PUBLISHED_KEY, Chance, Stream
from worlds.core.levels import FIRST, LEVEL
from worlds.core.models import Strict
from worlds.core.wire import Transport, WireRequest, WireResponse

HASTE_S = 1
"""Maximum wait of the hasty pace, in virtual seconds."""

THINKING_S = (1, 3)
"""Minimum and maximum seconds before a request of the careless pace."""

LONG, ONE_IN = 16, 10_000

_WAIT = b"/clock/wait"
_DIGIT = re.compile(rb"[0-9]")
_VALUE = re.compile(rb"[A-Za-z0-9+=_%%~-]{%d,}" % LONG)

Altered = Callable[[Transport], Transport]


def careful(_: Chance) -> Altered:
    """Return a transport wrapper that changes nothing."""
    return lambda inner: inner


def hasty(_: Chance) -> Altered:
    """Return a transport wrapper that shortens waits to one second."""

    def hurried(request: WireRequest) -> WireRequest:
        if request.path != _WAIT:
            return request
        seconds = min(json.loads(request.body)["seconds"], HASTE_S)
        return request._replace(body=json.dumps({"seconds": seconds}).encode())

    return lambda inner: lambda request: inner(hurried(request))


def careless(draw: Chance) -> Altered:
    """Return a transport wrapper that delays each request and puts errors into long values."""
    thinking, copying = draw("careless: thinking"), _Copying(draw("careless: copying"))

    def send(inner: Transport, request: WireRequest) -> WireResponse:
        if request.path.startswith(b"/clock"):
            return inner(request)
        inner(wire.request("POST", _WAIT.decode(), body=json.dumps({"seconds": thinking.between(*THINKING_S)})))
        return inner(copying.request(request))

    return lambda inner: lambda request: send(inner, request)


PACES: Mapping[str, Callable[[Chance], Altered]] = {"careful": careful, "hasty": hasty, "careless": careless}
"""Paces by name, in the order of reports."""


def at_pace(name: str, task_id: str, seed: int) -> Altered:
    """Return the transport wrapper of a pace for a task and seed."""
    return PACES[name](Chance(PUBLISHED_KEY, task_id, seed))


class _Copying:
    """A source of copying errors, with uniformly distributed distances of 1 to 2 * ONE_IN - 1 characters between errors."""

    def __init__(self, draw: Stream) -> None:
        self._draw = draw
        self._left = self._next()

    def request(self, sent: WireRequest) -> WireRequest:
        """Return the request with copying errors."""
        headers = tuple((name, self._text(value.encode("latin-1")).decode("latin-1")) for name, value in sent.headers)
        return sent._replace(target=self._text(sent.target), headers=headers, body=self._text(sent.body))

    def _text(self, text: bytes) -> bytes:
        return _VALUE.sub(lambda match: self._value(match[0]), text)

    def _value(self, value: bytes) -> bytes:
        """Return a value with copying errors. Words without a digit are unchanged."""
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
    """Return another character: a letter in its other case, the next digit, or a dash for any other sign."""
    text = chr(character)
    if text.isdigit():
        return ord("0") + (int(text) + 1) % 10
    return ord(text.swapcase()) if text.isalpha() else ord("-" if text != "-" else "_")


SEEDS = (0, 1, 2, 3, 4)
"""Default seeds of a curve."""


class CurvePoint(Strict):
    """Number of episodes that a client won on a task at a level."""

    task_id: str
    level: int
    client: str
    wins: int
    episodes: int


def curve(tasks: Sequence[Task], seeds: Sequence[int], progress: Callable[[str], object]) -> list[CurvePoint]:
    """Return the points of each task by level and client. Games are omitted, because they have no single client."""
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
