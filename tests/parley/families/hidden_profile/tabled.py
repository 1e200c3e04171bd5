"""Made-up sessions for the tables of the hidden-profile family: who voted what, and what a table says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.records import Result
from parley.families.hidden_profile.report import report
from parley.reports.evidence import Evidence, Group, Setup
from parley.reports.table import Table
from worlds.core.chance import PUBLISHED_KEY, key_digest


def table(evidence: Evidence, name: str, *, published: bool = False, place: int = 0) -> Table:
    """One table."""
    return report(evidence, [name], published=published)[place]


def session(task: str, before: str, after: str, condition: str = "hidden", **metrics: Any) -> Result:
    """A graded session, from who voted the key: `10 0` is two of three seats wrong; an empty vote was not held."""
    ballots = {"before": before, "after": after}
    counted = {
        when: {
            "average": vote.count("1") / len(vote),
            "majority": int(2 * vote.count("1") > len(vote)),
            "plurality": 1,
            "invalid": 0,
        }
        for when, vote in ballots.items()
        if vote
    }
    votes = {when: counted.get(when) for when in ballots}
    return Result(
        run="r", task_id=task, family="hidden-profile", seed=0, attempt=1, agent="x", runtime="inprocess", status="graded",
        reward=0.0, failure_label="OTHER", key_digest=key_digest(PUBLISHED_KEY),
        metrics={"condition": condition, "finished": bool(after), "votes": votes, "seats": [{}] * len(before), **metrics},
    )  # fmt: skip


def of(*results: Result, how: tuple[str, ...] = (), name: str = "x", seeds: Sequence[int] = range(99)) -> Group:
    """A group of sessions of one player, each a deal of its own unless told otherwise."""
    dealt = [result.model_copy(update={"seed": seed}) for seed, result in zip(seeds, results, strict=False)]
    return Group(Setup(name, None, how, ()), name, None, graded=dealt)


def seen(*groups: Group) -> Evidence:
    """Groups without a registry."""
    return Evidence("hidden-profile", groups, {})


def rows(made: Table, **wanted: Any) -> list[Any]:
    """The rows of a table that have these values."""
    return [row for row in made.rows if all(row.get(key) == value for key, value in wanted.items())]
