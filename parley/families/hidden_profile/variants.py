"""Tables of what an instruction variant (paper, Tables A1 and A2) or a structure of the talk changes, against none.

Differences are paired: sessions with the same task and seed have the same deal. A ceiling is what scripted seats that tell all
that the structure lets them tell reach, by enumeration of all hidden deals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean

from harness.frames import grouped
from harness.records import Result
from oracles.hidden_profile.session import find_ceiling
from parley.families.hidden_profile.arms import (
    HIDDEN,
    MANIFEST,
    METHOD,
    Arm,
    Tasks,
    accuracy,
    arms,
    figures,
    interval,
    replicates,
    resampled,
    standing_notes,
)
from parley.families.hidden_profile.published import numbers, source, variant_rows
from parley.reports.evidence import Evidence
from parley.reports.table import Column, Row, Table, Value, table_of, titled, with_interval
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import Deck, Draws, deck_for_size, read_sizes, read_task
from worlds.hidden_profile.rules.settings import Settings

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
