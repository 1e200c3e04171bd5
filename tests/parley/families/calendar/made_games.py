"""Graded games as a report finds them, their measures written down by hand: what tables compute is worked out beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.records import Result, SeatResult, Tokens
from parley.reports.evidence import Evidence, Group, Setup
from tests.shipped import SHIPPED

TASKS = {task.task_id: task for task in SHIPPED if task.family == "calendar"}
UNIFORM, VARIED = ([name for name in sorted(TASKS) if name.startswith(setting)] for setting in ("uniform", "varied"))

SCHEDULED = [{"coordinated": True}] * 3
"""What became of three rounds."""


def seat(number: int, **measured: Any) -> dict[str, Any]:
    """What a verdict says of a seat: three meetings of three scheduled for nothing, unless told."""
    usual = {
        "seat": number, "meetings": 3, "scheduled": 3, "coordination": 1.0, "paid": 0, "oracle_cost": 0, "excess": 0,
        "excess_range": None, "excess_fairest": None, "adjusted_cost": 0.0, "fairness": 0.0, "messages": 6,
        "messages_per_scheduled": 2.0, "vps": 0.0, "excess_vps": 0.0,
    }  # fmt: skip
    return {**usual, **measured}


def part(number: int, seat_number: int, role: str = "participant", **measured: Any) -> dict[str, Any]:
    """What a verdict says of a seat's part in a round: nothing sent, moved or paid, unless told."""
    usual = {
        "round": number, "seat": seat_number, "role": role, "messages": 0, "prose": 0, "vps": 0.0, "moves": 0, "cost": 0,
        "moved": [], "alone": [], "oracle_cost": 0,
    }  # fmt: skip
    return {**usual, **measured}


def policy(number: int, name: str = "imap") -> SeatResult:
    """A seat held by a protocol."""
    return SeatResult(seat=number, kind="policy", name=name)


def model(number: int, name: str = "openai/one", **spent: Any) -> SeatResult:
    """A seat held by a model."""
    tokens = Tokens(**spent.pop("tokens", {}))
    return SeatResult(seat=number, kind="model", name=name, model=name, tokens=tokens, **spent)


def game(
    task: str, seats: Sequence[Mapping[str, Any]], holders: Sequence[SeatResult],
    parts: Sequence[Mapping[str, Any]] | None = (), attempt: int = 1, **metrics: Any,
) -> Result:  # fmt: skip
    """One graded game; `parts` None is of a version that said nothing of rounds."""
    usual = {"meetings": 3, "scheduled": 3, "optimum": 0, "labels": {"SUCCESS": 3}, "means": {}, "rounds": SCHEDULED}
    said = {} if parts is None else {"seat_rounds": [*parts]}
    return Result(
        run="made", task_id=task, family="calendar", seed=0, attempt=attempt, agent="seats", interface="seats",
        runtime="inprocess", status="graded", reward=1.0, success=True, key_digest="",
        metrics={**usual, **said, "seats": [*seats], **metrics}, seats=tuple(holders),
    )  # fmt: skip


def evidence(**groups: Sequence[Result]) -> Evidence:
    """These games, a group for each name; its first result says whether a model or a protocol gave it its name."""
    made = []
    for name, results in groups.items():
        first = results[0].seats[0]
        how = () if name == "alone" else (name,)
        setup = Setup(first.name, first.model, how, ())
        made.append(Group(setup, f"{first.name} ({name})", None, graded=[*results]))
    return Evidence("calendar", tuple(made), TASKS)
