"""Tables of accuracy: before and after the talk, by task, and by variant and structure (docs/hidden-profile.md).

The table `accuracy` is Figure 4: the accuracy of each player's groups before and after the talk, and with full information, one
row per rule. If only some of the tasks are hidden profiles for a player, a third row covers these. `tasks` shows which tasks
are hidden profiles for which player: the player is wrong alone and right with all facts (rulings, 3.14).

The tables of what an instruction variant (paper, Tables A1 and A2) or a structure of the talk changes are paired: sessions with
the same task and seed have the same deal. A ceiling is what scripted seats reach that tell all that the structure permits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from statistics import fmean

from harness.frames import grouped
from harness.records import Result
from oracles.hidden_profile.decks import texts_in_hand
from oracles.hidden_profile.session import find_ceiling
from parley.families.hidden_profile.arms import (
    CONDITIONS,
    HIDDEN,
    HOLDS_BEFORE,
    HOLDS_FULL,
    MANIFEST,
    METHOD,
    Arm,
    Tasks,
    accuracy,
    arms,
    condition_of,
    figures,
    fisher,
    holds,
    informed,
    interval,
    replicates,
    resampled,
    row,
    standing_notes,
)
from parley.families.hidden_profile.published import BESIDE_ALL, accuracy_rows, numbers, people, source, variant_rows
from parley.reports.causes import bounds_cells, bounds_columns
from parley.reports.evidence import Evidence, pass_k, plan_words
from parley.reports.table import Column, Row, Table, Value, table_of, titled, with_interval
from parley.statistics import rank_correlation
from worlds.core.chance import PUBLISHED_KEY, Chance
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import Deck, Draws, deck_for_size, read_sizes, read_task
from worlds.hidden_profile.rules.settings import Settings
from worlds.hidden_profile.session import draw_deal

COLUMNS = (
    *titled(player="Player", setup="Set-up", rule="Rule", scope="Tasks", tasks="n", hidden="Hidden", known="Full"),
    Column("pre", "Ypre", "percent"),
    *with_interval("post", "Ypost", "percent", "interval"),
    *bounds_columns("Ypost"),
    Column("pass_k", "pass^k", "rate"),
    *titled("percent", full="Yfull", full_post="Yfull after", manifest="Manifest"),
    *with_interval("informedness", "J", "signed", "signed_interval"),
    *with_interval("gain", "Gain, pp", "points", "interval"),
    *with_interval("gap", "Gap, pp", "points", "interval"),
    Column("recovered", "Recovered %", "percent"),
    *titled(strong="Strong", valid="Profiles"),
    *titled("p", p_gain="p gain*", p_gap="p gap*"),
    *titled(memorisable="Memorisable"),
    *titled("percent", by_key="By heart", by_hand="By heart, hand"),
    *titled(source="Source"),
    Column("informedness_pre", "J before the talk", "signed", shown=False),
    Column("manifest_sessions", "Sessions with manifest deals", shown=False),
    *titled("interval", pre_interval="Ypre 95 %", full_interval="Yfull 95 %", post_wilson="Ypost 95 %, Wilson", shown=False),
    Column("floor", "Shared facts only", "percent", shown=False),
    *titled(floor_sessions="Sessions with shared facts only", invalid="Invalid votes", shown=False),
    Column("broken", "Sessions that broke off", shown=False),
    Column("ungraded", "Ungraded"),
    Column("k", "k", shown=False),
)
_NOTES = (
    "n: number of tasks; hidden, full: numbers of sessions",
    "Ypre, Ypost: accuracy before and after the talk in the hidden profile; Yfull, Yfull after: with full information",
    "all figures are means over tasks",
    "manifest: accuracy after the talk on deals whose leader is right; J: Ypost + manifest - 1, on tasks with both deals",
    "gap, recovered and strong: on tasks played in both conditions; strong: Yfull > 80 % and gain > 0.4 (Yfull - Ypre)",
    "profiles: number of tasks with Ypre <= 20 % and Yfull >= 80 %, of the tasks played in both conditions",
    "memorisable: drawn with the published key, so a model may have memorised the instances; use harness run --key fresh",
    "by heart: hidden deals of the public seeds 0-9 that are right by memory, with each deck's commonest key, or by one's hand",
    METHOD,
    "p*: Fisher's exact test of Ypost against Ypre and against Yfull, as in the paper; it treats votes as independent",
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return one table; none without graded sessions."""
    ours = [arm for arm in arms(evidence) if any(group.graded for group in arm.groups)]
    if not ours:
        return []
    of_arm: list[tuple[Arm, Row]] = [(arm, {**one, **_by_heart(arm, evidence)}) for arm in ours for one in _rows(arm)]
    rows = [one for _, one in of_arm]
    alike = [one for arm, one in of_arm if arm.standing == ours[0].standing]
    notes = [*_NOTES, *plan_words(evidence.played), *_correlation(alike), *standing_notes(arm.standing for arm in ours)]
    if published:
        rows += [one for one in accuracy_rows() if one["player"] in BESIDE_ALL or evidence.shows(str(one["player"]))]
        notes += [
            source("sections 4.3 and 5.2, Figures 2 and 4, and the abstract of the edition of 2026"),
            people(),
            _ranges(),
        ]
    return [Table("accuracy", "Accuracy before and after the talk, hidden-profile", COLUMNS, tuple(rows), tuple(notes))]


def _rows(arm: Arm) -> Iterator[Row]:
    hidden, full, floor = (arm.tasks(condition) for condition in ("hidden", "full", "shared_only"))
    manifest = arm.tasks("hidden", MANIFEST)
    both = [task for task in hidden if task in full]
    valid = [task for task in both if holds(hidden[task], full[task])]
    for rule in arm.rules:
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


def _by_heart(arm: Arm, evidence: Evidence) -> Row:
    """Return what knowing the public edition by heart earns on the decks of an arm that was drawn with its key."""
    names = sorted({task for group in arm.groups for task in group.tasks if task in evidence.registry} if arm.is_public else ())
    known = [score for name in names if (score := _memory(evidence.registry[name].world_folder / SCENARIO, name))]
    return {key: fmean(float(score[place]) for score in known) for place, key in enumerate(("by_key", "by_hand")) if known}


@cache
def _memory(path: Path, name: str) -> tuple[Fraction, Fraction] | None:
    read = read_task(path)
    return score_memory(Draws(read), name) if isinstance(read, Deck) else None


def score_memory(draws: Draws, task: str) -> tuple[Fraction, Fraction]:
    """Return what knowing the public seeds 0-9 by heart earns before the talk, as shares of their hidden deals.

    The first names the commonest key without reading, the second recalls the keys of one's own hand, as a mean over seats.
    """
    seeds = (draw_deal(draws, "mixed", Chance(PUBLISHED_KEY, task, seed), seed) for seed in range(10))
    hidden = [draw for draw in seeds if draw.kind == "hidden"]

    def recalled(seat: int | None) -> Fraction:
        hands: defaultdict[tuple[str, ...], Counter[str | None]] = defaultdict(Counter)
        for draw in hidden:
            hands[texts_in_hand(draws.deck, draw, seat) if seat else ()][draw.key] += 1
        return Fraction(sum(max(keys.values()) for keys in hands.values()), len(hidden))

    return recalled(None), sum(map(recalled, draws.deck.seats), Fraction(0)) / draws.deck.agents


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
    """Return pass^k of the sessions with hidden deals, and Ypost if all ungraded votes counted as wrong, or as right."""
    graded = [result for mine in hidden.values() for result in mine]
    lost = [one for group in arm.groups for one in group.ungraded if condition_of(one) == CONDITIONS[0]]
    bounds = bounds_cells(graded, lost, lambda one: accuracy(one, "after", rule), lambda one: one.task_id)
    k = max(group.attempts for group in arm.groups)
    return {"k": k, "pass_k": pass_k(grouped(graded, lambda one: (one.task_id, one.seed)).values(), k), **bounds}


def _sessions(tasks: Tasks) -> int:
    return sum(map(len, tasks.values()))


def _invalid(result: Result) -> int:
    return sum(vote["invalid"] for vote in (result.metrics.get("votes") or {}).values() if vote)


def _tests(hidden: Tasks, full: Tasks) -> Row:
    """Return Fisher's p of the gain and of the gap, each on all votes."""
    mine, theirs = ([result for some in tasks.values() for result in some] for tasks in (hidden, full))
    return {"p_gain": fisher((mine, "after"), (mine, "before")), "p_gap": fisher((mine, "after"), (theirs, "before"))}


def _correlation(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the rank correlation of full-information and group accuracy, over three rows or more of one standing."""
    both = [(one["full"], one["post"]) for one in rows if (one["rule"], one["scope"]) == ("average", "all")]
    pairs = [(full, post) for full, post in both if isinstance(full, float) and isinstance(post, float)]
    rho = rank_correlation([full for full, _ in pairs], [post for _, post in pairs]) if len(pairs) > 2 else None
    if rho is not None:
        yield f"Yfull and Ypost over {len(pairs)} rows: Spearman's rho {rho:+.2f}"


def _ranges() -> str:
    theirs = numbers()["study2"]
    parts = (f"{name} {low:.3f}..{high:.3f}" for name, (low, high) in theirs["ranges"].items())
    return f"published: over the paper's {theirs['models']} models, {', '.join(parts)}"


_PROFILE_NOTE = (
    f"a task is a hidden profile for a player where Ypre <= {HOLDS_BEFORE:.1f} and Yfull >= {HOLDS_FULL:.1f}, average rule; "
    "Ypre, Ypost and Yfull are means over the task's sessions"
)
_PROFILE_COLUMNS = (
    *titled(task="Task", player="Player", setup="Set-up", sessions="Sessions"),
    *titled("percent", pre="Ypre", post="Ypost", full="Yfull"),
    Column("holds", "Profile"),
)


def profile_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper prints nothing by task
    """Return one row per task and player, tasks in the registry's order; no table without graded sessions."""
    known_arms = arms(evidence)
    rows = (row for task in evidence.tasks for arm in known_arms if (row := _profile(arm, task)))
    notes = (_PROFILE_NOTE, *standing_notes(arm.standing for arm in known_arms))
    return table_of("tasks", "Sessions by task, hidden-profile", _PROFILE_COLUMNS, rows, notes)


def _profile(arm: Arm, task: str) -> Row | None:
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


PLAIN = {"variant": "none", "structure": "none", "rules": "told"}
"""Option -> the value to which the others are compared."""

_COLUMNS = (
    *titled(tasks="Tasks", sessions="Sessions"),
    Column("average", "Average %", "percent"),
    Column("interval", "95 %", "interval"),
    Column("majority", "Majority %", "percent"),
    *with_interval("difference", "Difference, pp", "points", "interval"),
)
_VARIANT_COLUMNS = (
    *titled(player="Player", setup="Set-up", variant="Variant"),
    *_COLUMNS,
    Column("pre", "Ypre", "percent", shown=False),
    Column("source", "Source"),
)
_MANIFEST = with_interval("manifest", "Manifest difference, pp", "points", "interval")
_RULE_COLUMNS = (*titled(player="Player", setup="Set-up", rules="Rules"), *_COLUMNS, *_MANIFEST)
_STRUCTURE_COLUMNS = (
    *titled(player="Player", setup="Set-up", structure="Structure"),
    *_COLUMNS,
    *_MANIFEST,
    Column("ceiling", "Ceiling %", "percent"),
    Column("round", "by round", "rate"),
)
_NOTE = (
    "accuracy after the talk in the hidden profile; difference: average rule, paired by task and seed with sessions of none, "
    "or of told rules"
)
_CEILING = (
    "ceiling: all hidden deals of these tasks, played by seats that tell all that the structure lets them tell; by round: the "
    "mean round from which on all stand for the right option, blank if the rounds do not suffice for every deal"
)


def variant_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return one table; none unless a variant was played in the condition `hidden`."""
    order = [str(row["variant"]) for row in variant_rows()]
    rows = [row for _, row in _compared(evidence, "variant", order)]
    notes = [_NOTE, *standing_notes(arm.standing for arm in arms(evidence)), f"{METHOD}; wording of the variants is our own"]
    if rows and published and evidence.shows(numbers()["variants"]["player"]):
        rows += variant_rows()
        notes.append(source("Tables A1 and A2, 30 sessions on each of three tasks"))
    return table_of("variants", "Instruction variants, hidden-profile", _VARIANT_COLUMNS, rows, notes)


def structure_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper has no such table
    """Return one table; none unless a structure was played in the condition `hidden`."""
    rows = [{**row, **_ceiling(evidence, arm)} for arm, row in _compared(evidence, "structure", [PLAIN["structure"]])]
    notes = [_NOTE, _CEILING, *standing_notes(arm.standing for arm in arms(evidence)), METHOD]
    return table_of("structures", "Structures of the talk, hidden-profile", _STRUCTURE_COLUMNS, rows, notes)


def rule_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper has no such table
    """Return one table; none unless the natural edition was played in the condition `hidden`."""
    rows = [row for _, row in _compared(evidence, "rules", [PLAIN["rules"]])]
    notes = [_NOTE, *standing_notes(arm.standing for arm in arms(evidence)), METHOD]
    return table_of("rules", "With and without rules in the brief, hidden-profile", _RULE_COLUMNS, rows, notes)


def _compared(evidence: Evidence, option: str, order: Sequence[str]) -> Iterator[tuple[Arm, Row]]:
    """Yield the rows of arms that differ in one option only, for players that played more than one value of it."""
    played = [(arm, *_split(arm, option)) for arm in arms(evidence) if arm.tasks(HIDDEN)]
    for mine in grouped(played, lambda one: (one[0].title, one[1])).values():
        plain = next((arm for arm, _, value in mine if value == PLAIN[option]), None)
        if all(value == PLAIN[option] for _, _, value in mine):
            continue
        for arm, setup, value in sorted(
            mine, key=lambda one: (one[2] not in order, one[2] in order and order.index(one[2]), one[2])
        ):
            yield (
                arm,
                {
                    "player": arm.title,
                    "setup": setup or None,
                    option: value,
                    **_measured(arm, plain if arm is not plain else None),
                },
            )


def _split(arm: Arm, option: str) -> tuple[str, str]:
    """Return the set-up of an arm without one option, and the value of that option."""
    words = arm.setup.split(", ")
    mine = [word for word in words if word.startswith(f"{option}=")]
    return ", ".join(word for word in words if word not in mine), "".join(mine).removeprefix(f"{option}=") or PLAIN[option]


def _measured(arm: Arm, plain: Arm | None) -> Row:
    tasks = arm.tasks(HIDDEN)
    shown, drawn = figures(tasks, {}, "average"), resampled(_after, tasks)
    row: dict[str, Value] = {
        "tasks": len(tasks),
        "sessions": sum(map(len, tasks.values())),
        "pre": shown.pre,
        "average": shown.post,
        "interval": interval(drawn[0][:, 0]) if drawn else None,
        "majority": figures(tasks, {}, "majority").post,
        "source": "ours",
    }
    if plain is not None:
        row |= _paired("difference", tasks, plain.tasks(HIDDEN))
        row |= _paired("manifest", arm.tasks(HIDDEN, MANIFEST), plain.tasks(HIDDEN, MANIFEST))
    return row


def _paired(column: str, tasks: Tasks, plain: Tasks) -> Row:
    """Return the mean difference between sessions of the same task and seed, with its interval."""
    cells = []
    for task in tasks:
        mine, base = (grouped(some, lambda one: one.seed) for some in (tasks[task], plain.get(task, ())))
        if both := [[fmean(map(_right, mine[seed])) - fmean(map(_right, base[seed]))] for seed in mine if seed in base]:
            cells.append([both])
    if not cells:
        return {}
    is_enough = len(cells) > 1 or len(cells[0][0]) > 1
    return {
        column: fmean(fmean(one for (one,) in both) for (both,) in cells),
        f"{column}_interval": interval(replicates(cells)[0][:, 0]) if is_enough else None,
    }


def _right(result: Result) -> float:
    return accuracy(result, "after", "average")


def _after(sessions: Sequence[Result]) -> list[list[float]]:
    return [[_right(result)] for result in sessions]


def _ceiling(evidence: Evidence, arm: Arm) -> Row:
    """Return the mean ceiling over the decks of an arm, and the mean round in which it is reached."""
    reached = []
    for name, mine in arm.tasks(HIDDEN).items():
        settings = Settings(**{option: value for option, value in mine[0].options.items() if option in Settings.__slots__})
        if name in evidence.registry and (one := _of_deck(evidence.registry[name].world_folder, settings)):
            reached.append(one)
    if not reached:
        return {}
    rounds = [number for _, number in reached if number is not None]
    return {"ceiling": fmean(share for share, _ in reached), "round": fmean(rounds) if len(rounds) == len(reached) else None}


@lru_cache(maxsize=1024)
def _of_deck(folder: Path, settings: Settings) -> tuple[float, float | None] | None:
    read = read_task(folder / SCENARIO)
    if not isinstance(read, Deck) or settings.talk == "chat":
        return None
    share, number = find_ceiling(Draws(deck_for_size(read, settings.size, read_sizes(folder))), settings)
    return float(share), None if number is None else float(number)
