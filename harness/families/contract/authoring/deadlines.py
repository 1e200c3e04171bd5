"""What an answer says about the end of an artifact is the end that its world judges by.

A number in an answer that is called `expires_at`, `deadline`, `..._before` or `kept_until` is the end of something that was
issued by then, in virtual seconds or since 1970; one that is called `expires_in` or `ttl` is how long it lives, or lives still,
to the second. A wrong one costs an honest client its contract and shows in no verdict of a client that is quick enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from harness.authoring.evidence import TaskEvidence
from harness.authoring.plays import Play
from harness.authoring.report import ProofCheck, failed, passed
from harness.authoring.routes import handler_place
from worlds.core.events import Issued, Opened, Requested
from worlds.core.wire import WireRequest

_END = re.compile(r"(.*_)?(expires_at|deadline|before|kept_until)")
_LIFE = re.compile(r"(.*_)?(expires_in|ttl)")
_TOLD = re.compile(rb'(expires_at|deadline|before|kept_until|expires_in|ttl)" *:')


def checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """The first answer of each client and seed that tells a time at which nothing ends; one check where none does."""
    told = 0
    for played in evidence.plays:
        for request, name, value, right in _times(played):
            told += 1
            if not right:
                place = handler_place(evidence.task, request.method, request.path.decode("ascii", "replace"))
                what = f"the answer to {request.method} tells {name} {value:g}, when nothing ends that was issued"
                hint = "tell the end of a contract that `issue` returned, in seconds"
                yield failed("deadlines", played.seed, place, f"{what} (to {played.player}); {hint}")
                return
    if told:
        yield passed("deadlines", None, f"{told} times told")


def _times(played: Play) -> Iterator[tuple[WireRequest, str, float, bool]]:
    """Each end and each life that an answer tells: the request, its name, its value, whether it is right."""
    if not any(_TOLD.search(answer.body) for _, answer in played.exchanges):
        return
    opened = played.events[0]
    assert isinstance(opened, Opened)
    epoch_s = datetime.fromisoformat(opened.epoch).timestamp()
    issued: list[Issued] = []
    for event, exchange in played.judged():
        issued += event.issued
        for name, value in _numbers(exchange.response.body) if event.kind in ("ok", "protocol", "goal") else ():
            if _END.fullmatch(name):
                ends = {made.expires_at / 1000 for made in issued}
                yield exchange.request, name, value, value in ends or value - epoch_s in ends
            elif _LIFE.fullmatch(name):
                yield exchange.request, name, value, any(_lives(made, event, value) for made in issued)


def _lives(made: Issued, event: Requested, seconds: float) -> bool:
    """Whether an artifact lives so long in all, or from a request on, but for a part of a second."""
    lives_ms = made.expires_at - made.issued_at, made.expires_at - event.vt
    return any(abs(ms - 1000 * seconds) < 1000 for ms in lives_ms)


def _numbers(body: bytes) -> Iterator[tuple[str, float]]:
    """Every number in a JSON document that has a name."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return
    yield from _named("", document)


def _named(name: str, document: Any) -> Iterator[tuple[str, float]]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _named(key, value)
    elif isinstance(document, list):
        for value in document:
            yield from _named(name, value)
    elif name and isinstance(document, int | float) and not isinstance(document, bool):
        yield name, document
