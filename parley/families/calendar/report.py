"""The tables of the calendar family, by the name that `--table` takes; a short report is for runs without models.

Here are those of outcomes: the paper's five measures (Tables 1 and 2), and the reasons of failed meetings (Figure 5).
1. Each measure is the mean over seats of a game, then over the games of a task, then over tasks: a task counts once.
2. VPS is the protocol-semantic VPS, from typed messages. A row with games in which a seat wrote prose does not have it.
3. Games with a model at any seat form a block; games of protocols alone form another below it. Each is split by cost setting.
4. A failed meeting counts for the players whose seats caused it, by the verdict's faults; in other players' rows, as others'.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from harness.records import Result
from parley.families.calendar import ratings, round_tables, seat_tables
from parley.families.calendar.headline import coordination
from parley.families.calendar.seat_rows import MARK, Block, block_of, name_of, prose_writers, protocol_rows, setting_of, source
from parley.reports import components
from parley.reports.causes import bounds_cells, bounds_columns
from parley.reports.evidence import Evidence, Group, Maker, make, pass_k, plan_words
from parley.reports.table import Column, Row, Table, table_of, titled, with_interval
from parley.statistics import BOUNDED, positive_mean_interval, share_interval
from worlds.calendar.labels import LETTERS, Label

_COLUMNS = (
    *titled(setting="Costs", method="Player", setup="Set-up", tasks="Tasks", episodes="Games"),
    Column("coordination", "Coord. %", "percent"),
    Column("interval", "95 %", "interval"),
    Column("k", "k", shown=False),
    Column("pass_k", "pass^k", "rate"),
    *bounds_columns("Coord. %"),
    *with_interval("excess", "Excess"),
    *with_interval("messages", "Msgs"),
    *with_interval("fairness", "Fairness", "number"),
    *with_interval("vps", "VPS", kept=True),
    *with_interval("adjusted", "Adj. cost"),
    Column("reward", "Reward", "rate"),
    Column("reward_interval", "95 %", "interval", shown=False),
    Column("source", "Source"),
    *titled("rate", excess_kept="Excess without failed rounds", vps_raw="VPS before the floor", shown=False),
    Column("ungraded", "Ungraded"),
    Column("block", "Block", shown=False),
)
_BLOCKS: tuple[Block, ...] = ("model", "protocol")
_MEASURES = {
    "coordination": "coordination",
    "excess": "excess",
    "messages": "messages_per_scheduled",
    "fairness": "fairness",
    "vps": "excess_vps",
    "adjusted": "adjusted_cost",
    "excess_kept": "excess_kept",
    "vps_raw": "vps",
}
"""For each column, the measure of a game as the verdict names it."""

_OF_SCHEDULED = ("excess", "messages", "fairness", "excess_kept")
"""Columns about scheduled meetings. A player without scheduled meetings has no value there, instead of the best value."""

_NOTE = (
    "means over seats, games and tasks; Coord. = meetings scheduled of those a seat takes part in, Excess = cost above the "
    "optimum of what was scheduled, Msgs = sent per scheduled meeting, VPS = slots told beyond five by typed messages"
)


def outcome_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return one table; none without graded games."""
    settings = sorted({setting_of(evidence, result) for group in evidence.played for result in group.graded})
    rows = [row for block in _BLOCKS for setting in settings for row in _rows(evidence, block, setting, published=published)]
    notes = (_NOTE, BOUNDED, *plan_words(evidence.played), *([source("Table 2")] if published else []))
    return table_of("outcomes", "Outcomes, calendar", _COLUMNS, rows, notes)


def _rows(evidence: Evidence, block: Block, setting: str, *, published: bool) -> Iterator[Row]:
    shown: set[str] = set()
    for group in evidence.played:
        tasks = {task: mine for task, mine in group.tasks.items() if setting_of(evidence, mine[0]) == setting}
        if block_of(group) != block or not tasks:
            continue
        lost = [result for result in group.ungraded if setting_of(evidence, result) == setting]
        graded = [one for mine in tasks.values() for one in mine]
        bounds = bounds_cells(graded, lost, coordination, lambda one: one.task_id)
        yield {**_ours(group, setting, tasks), "ungraded": len(lost) or None, **bounds, "block": block}
        for row in protocol_rows(setting, group.title) if published and group.title not in shown else ():
            yield {**row, "coordination": row["coordination"] / 100, "source": MARK, "block": block}
        shown.add(group.title)


def _ours(group: Group, setting: str, tasks: Mapping[str, list[Result]]) -> Row:
    known = {column: _by_task(tasks, name) for column, name in _MEASURES.items()}
    results = [result for mine in tasks.values() for result in mine]
    if any(map(prose_writers, results)):
        known |= {"vps": [], "vps_raw": []}
    if not any(known["coordination"]):
        known |= {column: [] for column in _OF_SCHEDULED}
    seats = sum(len(result.metrics.get("seats", ())) for result in results)
    rewards = [fmean(result.reward or 0.0 for result in mine) for mine in tasks.values()]
    bounded = ("excess", "messages", "fairness", "vps", "adjusted")
    return {
        "setting": setting,
        "method": group.title,
        "setup": ", ".join(group.setup.how) or None,
        "tasks": len(tasks),
        "episodes": len(results),
        **{column: fmean(values) if values else None for column, values in known.items()},
        "interval": share_interval([[value] for value in known["coordination"]], seats),
        **{f"{column}_interval": positive_mean_interval([[value] for value in known[column]]) for column in bounded},
        "k": group.attempts,
        "pass_k": pass_k((cell for (task, _), cell in group.cells.items() if task in tasks), group.attempts),
        "reward": fmean(rewards),
        "reward_interval": share_interval([[value] for value in rewards]),
        "source": "ours",
    }


def _by_task(tasks: Mapping[str, list[Result]], name: str) -> list[float]:
    """Return the mean of a measure over the games of each task. Games without a scheduled meeting may not have the measure."""
    games = ([result.metrics.get("means", {}).get(name) for result in mine] for mine in tasks.values())
    known = ([value for value in values if value is not None] for values in games)
    return [fmean(values) for values in known if values]


OTHERS = "others"
_REASONS_NOTE = (
    "a failed meeting counts for all players whose seats caused the failure (docs/calendar.md, Whose failure it is), and so "
    "may count twice; by others: caused only by other players of the line-up"
)


def failure_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figure prints no numbers
    """Return a table with a row for each player of each line-up, line-ups with models first; no table without graded games."""
    groups = [group for group in sorted(evidence.played, key=block_of) if group.graded]
    rows = [row for group in groups for row in _reasons(group)]
    reasons = [Column(label, f"{LETTERS.get(label, '')} {label}".strip(), "tally") for label in Label]
    columns = (
        *titled(player="Player", seats_of="Seats of", meetings="Meetings"), *reasons,
        Column(OTHERS, "By others", "tally"),
    )  # fmt: skip
    return table_of("failures", "Meetings by outcome, calendar", columns, rows, (_REASONS_NOTE,))


def _reasons(group: Group) -> Iterator[Row]:
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in group.graded:
        for player, outcome, count in _outcomes_of(result):
            counted[player][outcome] += count
    for player, outcomes in counted.items():
        total = sum(outcomes.values())
        shares = {name: (outcomes[name], outcomes[name] / total) for name in (*Label, OTHERS) if outcomes[name]}
        yield {"player": group.name, "seats_of": player if len(counted) > 1 else None, "meetings": total, **shares}


def _outcomes_of(result: Result) -> Iterator[tuple[str, str, int]]:
    """Yield the outcomes of meetings for each player of a game, including failures by others, and the number of meetings."""
    players = {one.seat: name_of(one) for one in result.seats}
    names, named = sorted(set(players.values())) or [""], Counter[str]()
    for row in result.metrics.get("rounds", ()):
        if lost_by := {players.get(fault["seat"], "") for fault in row.get("faults", ())}:
            named[row["label"]] += 1
            yield from ((player, row["label"] if player in lost_by else OTHERS, 1) for player in names)
    # scheduled meetings, failures that no seat caused, and all meetings if the verdict does not name seats
    for label, count in (Counter(result.metrics.get("labels", {})) - named).items():
        yield from ((player, label, count) for player in names)


SHORT: dict[str, tuple[Maker, ...]] = {
    "outcomes": (outcome_tables,),
    "seats": (seat_tables.tables,),
    "failures": (failure_tables,),
}
TABLES: dict[str, tuple[Maker, ...]] = {
    **SHORT,
    "ties": (seat_tables.tie_tables,),
    "regret": (seat_tables.regret_tables,),
    "communication": (seat_tables.communication_tables,),
    "first-speaker": (round_tables.tables,),
    "volume": (round_tables.volume_tables,),
    "moves": (round_tables.move_tables,),
    "spending": (seat_tables.spending_tables,),
}
BY_NAME: dict[str, tuple[Maker, ...]] = {"ratings": (ratings.tables,), "components": (components.tables,)}
"""Tables made only when named: `ratings` takes a while for its 200 orders of games, and `components` helps to plan a run."""

_ROUNDS = ("verdicts that say what each seat did in each round", "harness run calendar, with this version")
NEEDS = {
    "components": components.NEEDED,
    "ties": ("seats with a certificate's optimum", "harness run calendar"),
    "regret": ("seats with all their meetings scheduled", "harness run calendar"),
    "communication": ("seats with a certificate's optimum", "harness run calendar"),
    "first-speaker": _ROUNDS,
    "volume": _ROUNDS,
    "moves": _ROUNDS,
    "spending": ("seats held by models", "harness run calendar --model NAME"),
    "ratings": ("games that two models or more played together", "harness run calendar --model A --seat 1=B"),
}
"""For each table, what it needs and the command that provides it."""


def report(evidence: Evidence, wanted: Sequence[str], *, published: bool) -> list[Table]:
    """Return the wanted tables, or every table that is not empty. Raises UsageError for a named one that is empty."""
    has_models = any(block_of(group) == "model" for group in evidence.groups)
    known = TABLES if wanted or has_models else SHORT
    return make(known, NEEDS, evidence, wanted, published=published, by_name=BY_NAME)
