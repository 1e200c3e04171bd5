"""Additional checks of contract tasks: correct times in answers, and Proposition 1 of the paper, task by task.

Proposition 1: validity and integrity fail separately, and together. A task that issues artifacts with a window names three of
its violations in CELLS:

`validity`   the right bytes too late: a validity label, and no integrity failure beside it (`also` is empty);
`integrity`  the wrong bytes in time: an integrity label;
`both`       wrong and too late: validity is judged first (Appendix F), and `also` names the integrity label.

An end time in an answer must be equal to the time at which the world ends the artifact. A number called `expires_at`,
`deadline`, `..._before` or `kept_until` is the end time of an artifact issued earlier, in virtual seconds or seconds since
1970. A number called `expires_in` or `ttl` is the total or remaining lifetime, to the second. A wrong value makes an honest
client fail, and verdicts of quick clients do not show it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from harness.agents.solutions import declared
from parley.proof.findings import ProofCheck, definition, failed, handler_place, passed
from parley.proof.plays import SOLVE, Play, TaskEvidence
from validators.verdict import Verdict
from worlds.contract.labels import LABELS, Axis, Label
from worlds.core.events import Issued, Opened, Requested
from worlds.core.wire import WireRequest

_END = re.compile(r"(.*_)?(expires_at|deadline|before|kept_until)")
_LIFE = re.compile(r"(.*_)?(expires_in|ttl)")
_TOLD = re.compile(rb'(expires_at|deadline|before|kept_until|expires_in|ttl)" *:')


def deadline_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield the first wrong time in an answer, or one passed check if there are times and all are right."""
    told = 0
    for played in evidence.plays:
        for request, name, value, right in _times(played):
            told += 1
            if not right:
                place = handler_place(evidence.task, request.method, request.path.decode("ascii", "replace"))
                what = f"the answer to {request.method} gives {name} {value:g}, but no issued artifact ends then"
                hint = "give the end of an artifact that `issue` returned, in seconds"
                yield failed("deadlines", played.seed, place, f"{what} (to {played.player}); {hint}")
                return
    if told:
        yield passed("deadlines", None, f"{told} times told")


def _times(played: Play) -> Iterator[tuple[WireRequest, str, float, bool]]:
    """Yield each end and each lifetime in an answer: the request, its name, its value, and True if it is right."""
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
    """Return True if an artifact has this lifetime in total, or remaining at a request, to within a second."""
    lives_ms = made.expires_at - made.issued_at, made.expires_at - event.vt
    return any(abs(ms - 1000 * seconds) < 1000 for ms in lives_ms)


def _numbers(body: bytes) -> Iterator[tuple[str, float]]:
    """Yield every named number in a JSON document."""
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


CELLS = {"validity": (Axis.VALIDITY, None), "integrity": (Axis.INTEGRITY, None), "both": (Axis.VALIDITY, Axis.INTEGRITY)}
"""The axis that each cell fails on, and the second axis, if any."""


def checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield the checks of times, and of the three cells if a task declares cells or issues artifacts."""
    yield from deadline_checks(evidence)
    named = declared(evidence.task, "CELLS")
    table = definition(evidence.task.path / "solution" / "violations.py", "CELLS")
    if not named and not any(_issues(played) for played in evidence.of(SOLVE)):
        return
    for cell in CELLS:
        name, check = named.get(cell), f"cell:{cell}"
        if name is None:
            yield failed(check, None, table, f"CELLS must name a violation for {cell}: this world issues artifacts")
        elif name not in evidence.violations:
            yield failed(check, None, table, f"CELLS names {name!r}, which is no violation of this task")
        for played in evidence.of(name or ""):
            wrong = _wrong_in_cell(cell, played.outcome)
            yield (
                failed(check, played.seed, evidence.place(played.player), wrong)
                if wrong
                else passed(check, played.seed, played.player)
            )


def _issues(played: Play) -> bool:
    return any(isinstance(event, Requested) and event.issued for event in played.events)


def _wrong_in_cell(cell: str, verdict: Verdict) -> str | None:
    """Return the reason why an episode does not match its cell, or None if it does."""
    worst = next((broken for broken in verdict.violations if broken.label == verdict.failure_label), None)
    if worst is None:
        return f"broke no rule, and ended as {verdict.failure_label}"
    axes = _axis(worst.label), _axis(worst.also)
    told = worst.label + (f", also {worst.also}" if worst.also else "")
    return None if axes == CELLS[cell] else f"must fail in {_words(*CELLS[cell])}, not in {_words(*axes)} ({told})"


def _axis(label: str | None) -> Axis | None:
    return LABELS[Label(label)].axis if label is not None else None


def _words(axis: Axis | None, also: Axis | None) -> str:
    return f"{axis} and {also}" if also else f"{axis} alone"
