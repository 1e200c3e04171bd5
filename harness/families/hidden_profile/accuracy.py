"""Figure 4 as a table: what each player's groups decide before and after they talk, beside what a seat that knows all decides.

A player and set-up has one row for each rule. Where it was played in both conditions, and only some of the tasks are hidden
profiles for it, a third row is about these tasks alone. The paper's rows
of people and of the same models follow; those of all its models where they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.families.hidden_profile import standing
from harness.families.hidden_profile.arms import CONDITIONS, MANIFEST, RULES, Arm, Tasks, accuracy, arms, condition_of
from harness.families.hidden_profile.bootstrap import METHOD
from harness.families.hidden_profile.figures import fisher, holds, informed, row
from harness.families.hidden_profile.published import PEOPLE, accuracy_rows, numbers, people, source
from harness.records import Result
from harness.report.causes import bounds_cells, bounds_columns
from harness.report.evidence import Evidence, pass_k, plan_words
from harness.report.statistics import rank_correlation
from harness.report.table import Column, Row, Table

COLUMNS = (
    Column("player", "Player"),
    Column("setup", "Set-up"),
    Column("rule", "Rule"),
    Column("scope", "Tasks"),
    Column("tasks", "n"),
    Column("hidden", "Hidden"),
    Column("known", "Full"),
    Column("pre", "Ypre", "percent"),
    Column("post", "Ypost", "percent"),
    Column("post_interval", "95 %", "interval"),
    *bounds_columns("Ypost"),
    Column("pass_k", "pass^k", "rate"),
    Column("full", "Yfull", "percent"),
    Column("manifest", "Manifest", "percent"),
    Column("informedness", "J", "signed"),
    Column("informedness_interval", "95 %", "signed_interval"),
    Column("gain", "Gain, pp", "points"),
    Column("gain_interval", "95 %", "interval"),
    Column("gap", "Gap, pp", "points"),
    Column("gap_interval", "95 %", "interval"),
    Column("recovered", "Recovered %", "percent"),
    Column("strong", "Strong"),
    Column("valid", "Profiles"),
    Column("p_gain", "p gain*", "p"),
    Column("p_gap", "p gap*", "p"),
    Column("memorisable", "Memorisable"),
    Column("source", "Source"),
    Column("informedness_pre", "J before the talk", "signed", shown=False),
    Column("manifest_sessions", "Sessions with manifest deals", shown=False),
    Column("pre_interval", "Ypre 95 %", "interval", shown=False),
    Column("full_interval", "Yfull 95 %", "interval", shown=False),
    Column("post_wilson", "Ypost 95 %, Wilson", "interval", shown=False),
    Column("full_post", "After the talk, full", "percent", shown=False),
    Column("floor", "Shared facts only", "percent", shown=False),
    Column("floor_sessions", "Sessions with shared facts only", shown=False),
    Column("invalid", "Invalid votes", shown=False),
    Column("broken", "Sessions that broke off", shown=False),
    Column("ungraded", "Ungraded"),
    Column("k", "k", shown=False),
)
_NOTES = (
    "n: tasks; hidden, full: sessions",
    "Ypre, Ypost: hidden profile, before and after the talk; Yfull: full information, before it; means over tasks of sessions",
    "manifest: after the talk where the option that all speak for is right; J: Ypost + manifest - 1, of tasks played both ways",
    "gap, recovered and strong are of the tasks played in both conditions; strong: Yfull > 80 % and gain > 0.4 (Yfull - Ypre)",
    "profiles: tasks on which Ypre <= 20 % and Yfull >= 80 %, of those played in both conditions",
    "memorisable: drawn with the key that everybody has, so a model may know the instances by heart; run --key fresh",
    METHOD,
    "p*: Fisher's exact test of Ypost against Ypre and against Yfull, as the paper has it; treats votes as independent",
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """One table; none without graded sessions."""
    ours = [arm for arm in arms(evidence) if any(group.graded for group in arm.groups)]
    if not ours:
        return []
    of_arm = [(arm, one) for arm in ours for one in _rows(arm)]
    rows = [one for _, one in of_arm]
    alike = [one for arm, one in of_arm if arm.standing == ours[0].standing]
    notes = [*_NOTES, *plan_words(evidence.played), *_correlation(alike), *standing.notes(arm.standing for arm in ours)]
    if published:
        rows += [one for one in accuracy_rows() if one["player"] == PEOPLE or evidence.shows(str(one["player"]))]
        notes += [source("sections 4.3 and 5.2, Figures 2 and 4"), people(), _ranges()]
    return [Table("accuracy", "Accuracy before and after the talk, hidden-profile", COLUMNS, tuple(rows), tuple(notes))]


def _rows(arm: Arm) -> Iterator[Row]:
    hidden, full, floor = (arm.tasks(condition) for condition in ("hidden", "full", "shared_only"))
    manifest = arm.tasks("hidden", MANIFEST)
    both = [task for task in hidden if task in full]
    valid = [task for task in both if holds(hidden[task], full[task])]
    for rule in RULES:
        counted = {**_counts(arm, hidden, full, floor), "valid": f"{len(valid)} of {len(both)}" if both else None}
        counted |= {"manifest_sessions": _sessions(manifest) or None}
        tests = _tests(hidden, full) if rule == "average" else {}
        figures = {**row(hidden, full, floor, rule), **informed(hidden, manifest, rule), **_reliability(arm, hidden, rule)}
        yield {**_head(arm, rule, "all"), **figures, **counted, **tests}
    if valid and len(valid) < len({*hidden, *full}):
        mine, theirs = ({task: tasks[task] for task in valid} for tasks in (hidden, full))
        counts = {"tasks": len(valid), "hidden": _sessions(mine), "known": _sessions(theirs)}
        yield {**_head(arm, "average", "profiles"), **row(mine, theirs, {}, "average"), **counts}


def _head(arm: Arm, rule: str, scope: str) -> Row:
    return {"player": arm.title, "setup": arm.how, "rule": rule, "scope": scope, "source": "ours",
            "memorisable": "yes" if arm.is_public else "no"}  # fmt: skip


def _counts(arm: Arm, hidden: Tasks, full: Tasks, floor: Tasks) -> Row:
    conditions = (hidden, full, floor)
    results = [result for tasks in conditions for mine in tasks.values() for result in mine]
    return {
        "tasks": len({task for tasks in conditions for task in tasks}),
        "hidden": _sessions(hidden) or None,
        "known": _sessions(full) or None,
        "floor_sessions": _sessions(floor) or None,
        "invalid": sum(map(_invalid, results)),
        "broken": sum(not result.metrics.get("finished") for result in results),
        "ungraded": arm.ungraded or None,
    }


def _reliability(arm: Arm, hidden: Tasks, rule: str) -> Row:
    """Return pass^k of the sessions with hidden deals, and Ypost if the ungraded ones had voted all wrong or all right."""
    cells: dict[tuple[str, int], list[Result]] = {}
    for task, mine in hidden.items():
        for result in mine:
            cells.setdefault((task, result.seed), []).append(result)
    lost = [one for group in arm.groups for one in group.ungraded if condition_of(one) == CONDITIONS[0]]
    graded = [result for mine in hidden.values() for result in mine]
    bounds = bounds_cells(graded, lost, lambda one: accuracy(one, "after", rule), lambda one: one.task_id)
    k = max(group.attempts for group in arm.groups)
    return {"k": k, "pass_k": pass_k(cells.values(), k), **bounds}


def _sessions(tasks: Tasks) -> int:
    return sum(map(len, tasks.values()))


def _invalid(result: Result) -> int:
    return sum(vote["invalid"] for vote in (result.metrics.get("votes") or {}).values() if vote)


def _tests(hidden: Tasks, full: Tasks) -> Row:
    """Fisher's p of the gain and of the gap, each on all the votes there are."""
    mine, theirs = ([result for some in tasks.values() for result in some] for tasks in (hidden, full))
    return {
        "p_gain": fisher((mine, "after"), (mine, "before")),
        "p_gap": fisher((mine, "after"), (theirs, "before")),
    }


def _correlation(rows: Sequence[Row]) -> Iterator[str]:
    """Whether who decides well alone decides well together, over three players or more on tasks of one standing."""
    pairs: list[tuple[float, float]] = [
        (one["full"], one["post"])
        for one in rows
        if one["rule"] == "average"
        and one["scope"] == "all"
        and isinstance(one["full"], float)
        and isinstance(one["post"], float)
    ]
    rho = rank_correlation([full for full, _ in pairs], [post for _, post in pairs]) if len(pairs) > 2 else None
    if rho is not None:
        yield f"Yfull and Ypost over {len(pairs)} rows: Spearman's rho {rho:+.2f}"


def _ranges() -> str:
    theirs = numbers()["study2"]
    parts = (f"{name} {low:.3f}..{high:.3f}" for name, (low, high) in theirs["ranges"].items())
    return f"published: over its {theirs['models']} models, {', '.join(parts)}"
