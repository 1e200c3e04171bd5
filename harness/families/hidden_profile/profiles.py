"""Which tasks are hidden profiles for whom: alone the player goes wrong, with everything it is right (rulings, 3.14).

A certificate proves this of ideal readers. Of a model it is measured: one row a task, with one column a player and condition.
"""

from __future__ import annotations

from harness.families.hidden_profile import standing
from harness.families.hidden_profile.arms import Arm, arms
from harness.families.hidden_profile.figures import HOLDS_BEFORE, HOLDS_FULL, figures, holds
from harness.report.evidence import Evidence
from harness.report.table import Column, Row, Table

_NOTE = (
    f"a task is a hidden profile for a player where Ypre <= {HOLDS_BEFORE:.1f} and Yfull >= {HOLDS_FULL:.1f}, average rule; "
    "Ypre, Ypost and Yfull are means over its sessions"
)
_COLUMNS = (
    Column("task", "Task"),
    Column("player", "Player"),
    Column("setup", "Set-up"),
    Column("sessions", "Sessions"),
    Column("pre", "Ypre", "percent"),
    Column("post", "Ypost", "percent"),
    Column("full", "Yfull", "percent"),
    Column("holds", "Profile"),
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper prints nothing by task
    """One row for each task and player, tasks in the registry's order; none without graded sessions."""
    known_arms = arms(evidence)
    marked = standing.notes(arm.standing for arm in known_arms)
    rows = [row for task in evidence.tasks for arm in known_arms if (row := _row(arm, task))]
    return [Table("tasks", "Sessions by task, hidden-profile", _COLUMNS, tuple(rows), (_NOTE, *marked))] if rows else []


def _row(arm: Arm, task: str) -> Row | None:
    mine, theirs = (arm.tasks(condition).get(task, []) for condition in ("hidden", "full"))
    if not mine and not theirs:
        return None
    shown = figures({task: mine} if mine else {}, {task: theirs} if theirs else {}, "average")
    return {
        "task": task,
        "player": arm.title,
        "setup": arm.how,
        "sessions": len(mine) + len(theirs),
        "pre": shown.pre,
        "post": shown.post,
        "full": shown.full,
        "holds": holds(mine, theirs) if mine and theirs else None,
    }
