"""A report in five lines: who is best and by how much, successes, what was ungraded, what stopped episodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from parley.reports.brief import brief_lines
from parley.reports.evidence import read_runs

Record = Callable[..., Path]


def told(*runs: Path) -> list[str]:
    """The lines about these runs, without a registry."""
    return list(brief_lines(read_runs(runs), [], runs))


def test_the_best_stands_with_its_lead(record: Record) -> None:
    """Rows of most tasks are ranked; ungraded episodes leave a range, and causes that ended failed ones are counted."""
    good = record("good", {(task, 0): "SUCCESS SUCCESS" for task in "abc"})
    mixed = {("a", 0): "SUCCESS OTHER", ("b", 0): "OTHER OTHER", ("c", 0): "OTHER ungraded"}
    poor = record("poor", mixed, agent="nop", ended_by="turns")
    fewer = record("fewer", {("a", 0): "SUCCESS"}, agent="late")
    best, successes, ungraded, stopped, more = told(good, poor, fewer)

    assert best.startswith("contract: best is oracle with 100.0 % (95 % 29.2..100.0) success rate; 83.3 points over nop (95 % ")
    assert successes == "8 of 12 graded episodes succeeded, mean reward 0.667"
    assert ungraded == (
        "ungraded: the success rate is 61.5% to 69.2% if the ungraded episode had failed / succeeded: provider 1"
    )
    assert stopped.endswith("(5)")
    assert more == f"every table: harness report {good} {poor} {fewer} --table all"


def test_nobody_to_compare_with(record: Record) -> None:
    """One that is alone is not called best, equals are level, and many folders are not named."""
    one, fewer = record("one", {("a", 0): "OTHER", ("b", 0): "OTHER"}), record("fewer", {("a", 0): "OTHER"}, agent="late")
    same = record("same", {("a", 0): "OTHER", ("b", 0): "OTHER"}, agent="nop")

    assert told(one)[0] == "contract: only oracle is ranked, with 0.0 % (95 % 0.0..84.2) success rate"
    assert told(one, fewer)[0].endswith("; players with fewer tasks are left out: 1")
    assert "level with nop (95 % -" in told(one, same)[0]
    assert told(one, one, one, one)[2:] == ["ungraded: none", "stopped: none", "every table: harness report RUN... --table all"]


def test_nothing_is_graded(record: Record) -> None:
    """Where nothing has a grade, nobody is best; retries are no first tries."""
    lost = record("lost", {("a", 0): "ungraded"})
    again = record("again", {("a", 0): "SUCCESS"}, hint="none")

    assert told(lost)[:2] == ["contract: no player that can be ranked has a graded episode", "0 of 0 graded episodes succeeded"]
    assert told(again)[:3] == [
        "contract: no player that can be ranked has a graded episode",
        "0 of 0 graded episodes succeeded",
        "ungraded: none",
    ]
