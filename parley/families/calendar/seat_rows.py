"""Seats of graded games, grouped by player: the rows of the paper's tables of models (docs/calendar.md).

A row has the seats of one player with the same other players under one set-up; the seats of a rotating line-up are pooled. A
seat of a game counts once, and seats of one task are correlated, so a row groups them by task. Only typed messages have
protocol-semantic VPS. A mean over only the seats without prose would count silence as privacy, so a row with prose has no such
VPS.

The paper's own numbers, from published.toml, are always marked as published, never ranked against ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

import tomli
from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass as lean_dataclass

from harness.frames import grouped
from harness.headline import PublishedHeadline
from harness.records import Result, SeatResult
from parley.reports.evidence import Evidence, Group
from parley.reports.models import find_model, printed_name
from parley.reports.table import Column, Form, Row, Table, Value, WithInterval, row_of, table_of, with_interval
from parley.statistics import Interval, positive_mean_interval, share_interval
from worlds.calendar.rules.measures import Role

PATH = Path(__file__).with_name("published.toml")
MARK = "published"


@cache
def numbers() -> Mapping[str, Any]:
    """Return the whole file."""
    return tomli.loads(PATH.read_text(encoding="utf-8"))


def protocol_rows(setting: str, method: str) -> Sequence[Mapping[str, Any]]:
    """Return the rows of Table 2 for one protocol in one cost setting."""
    return [row for row in numbers()["protocols"] if (row["setting"], row["method"]) == (setting, method)]


def model_rows(table: str, setting: str | None, model: str | None) -> Sequence[Mapping[str, Any]]:
    """Return the rows of one list for a model as LiteLLM names it, in a cost setting if the list has them; none for others."""
    name = printed_name(model, "calendar")
    return [row for row in numbers()[table] if row["model"] == name and row.get("setting") == setting]


def source(place: str) -> str:
    """Return the source of published numbers, for a note under a table."""
    return f"{MARK}: {place} of {numbers()['source']}; the authors' tasks and harness"


def published_headline() -> PublishedHeadline:
    """Return the coordination of Table 1: the mean over the two cost settings, of seats in mixed teams."""
    by_model = grouped(numbers()["models"], lambda row: str(row["model"]))
    means = {model: fmean(row["coordination"] / 100 for row in rows) for model, rows in by_model.items()}
    return PublishedHeadline(means, source("Table 1 (seats in mixed teams)"))


_lean = lean_dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="ignore"))
"""Decorator for compact models, because a report may have a million of them."""

Block = Literal["model", "protocol"]
"""Kind of a seat's player: a model, or a program."""

ALL = "all"
"""Name of the cost setting in rows over all cost settings."""


@_lean
class SeatMeasured:
    """Measures of a seat in a verdict, as far as tables need them; other versions may have more or fewer."""

    seat: int
    meetings: int = 0
    scheduled: int = 0
    coordination: float | None = None
    paid: int = 0
    oracle_cost: int | None = None
    excess: int | None = None
    excess_range: tuple[int, int] | None = None
    excess_fairest: int | None = None
    adjusted_cost: float | None = None
    fairness: float | None = None
    messages: int = 0
    messages_per_scheduled: float | None = None
    excess_vps: float | None = None
    excess_reflection_vps: float | None = None
    beliefs: int | None = None
    """Parsed answers about others' calendars; None if there were no questions."""

    unreadable: int | None = None
    weighed: int | None = None
    """Answers that counted as expectations over tokens; None if these were not requested."""


@_lean
class RoundMeasured:
    """Measures of a seat in one round, from a verdict."""

    round: int
    seat: int
    role: Role
    messages: int
    prose: int
    vps: float
    reflection_vps: float | None = None
    moves: int
    cost: int
    moved: tuple[int, ...]
    alone: tuple[int, ...]
    oracle_cost: int | None


_SEATS, _SEAT_ROUNDS = TypeAdapter(list[SeatMeasured]), TypeAdapter(list[RoundMeasured])


@dataclass(frozen=True)
class HeldSeat:
    """A seat of a graded game."""

    result: Result
    holder: SeatResult | None
    """None if the agent was not a line-up: a task's own solution, a scripted client."""

    measured: SeatMeasured
    prose: bool
    """True if the seat wrote messages that are not typed, or may have, because older verdicts do not record this."""

    @cached_property
    def rounds(self) -> list[RoundMeasured]:
        """The seat's measures in each round; empty if the verdict does not have them."""
        rows = self.result.metrics.get("seat_rounds", ())
        return _SEAT_ROUNDS.validate_python([row for row in rows if row["seat"] == self.measured.seat])

    @property
    def vps(self) -> float | None:
        """Slots told by typed messages above the floor; None for a seat that wrote prose."""
        return None if self.prose else self.measured.excess_vps


Measure = Callable[[HeldSeat], float | None]
Clusters = Sequence[Sequence[float]]
"""Values of the seats of each task."""


class Who(NamedTuple):
    """Properties that all seats of a row share."""

    setting: str
    block: Block
    player: str
    others: str
    setup: str
    group: str
    """The name of its set-up in this report."""


@dataclass(frozen=True)
class Held:
    """The seats of one row."""

    who: Who
    model: str | None
    """Name as in LiteLLM."""

    seats: list[HeldSeat]

    @cached_property
    def by_task(self) -> dict[str, list[HeldSeat]]:
        """The seats of each task."""
        return grouped(self.seats, lambda one: one.result.task_id)

    @cached_property
    def rounds(self) -> list[list[RoundMeasured]]:
        """The measures of the row's seats in each round, by task; tasks without any are left out."""
        by_task = [[one for seat in mine for one in seat.rounds] for mine in self.by_task.values()]
        return [mine for mine in by_task if mine]

    @property
    def holders(self) -> list[SeatResult]:
        """The players of the row's seats, if the agent was a line-up."""
        return [seat.holder for seat in self.seats if seat.holder is not None]

    @property
    def has_prose(self) -> bool:
        """True if any seat wrote prose."""
        return any(one.prose for one in self.seats)

    def values(self, measure: Measure) -> list[list[float]]:
        """Return a measure of the seats that have it, by task; tasks without any are left out."""
        known = [[value for one in mine if (value := measure(one)) is not None] for mine in self.by_task.values()]
        return [mine for mine in known if mine]


COLUMNS = (
    Column("setting", "Costs", of=lambda row: row.who.setting),
    Column("player", "Player", of=lambda row: row.who.player),
    Column("seats", "Seats", of=lambda row: spans(sorted({one.measured.seat for one in row.seats}))),
    Column("others", "With", of=lambda row: row.who.others or None),
    Column("setup", "Set-up", of=lambda row: row.who.setup),
    Column("n", "N", of=lambda row: len(row.seats)),
)
"""The columns that identify a row, first in every table by player."""

_LAST = (
    Column("group", "Row of", shown=False, of=lambda row: row.who.group),
    Column("block", "Block", shown=False, of=lambda row: row.who.block),
)
SOURCE = Column("source", "Source", of=lambda row: "ours")


def head(row: Held) -> Row:
    """Return the columns that identify a row."""
    return row_of((*COLUMNS, *_LAST), row)


def held_table(
    name: str, title: str, columns: Iterable[Column], subjects: Iterable[Held | Row], notes: Iterable[str], *, paper: str = "",
    head: Iterable[Column] = COLUMNS, last: Iterable[Column] = (),
) -> list[Table]:  # fmt: skip
    """Return a table with a row per player; no table without rows. `paper` is the source of published rows in the paper."""
    subjects = list(subjects)
    theirs = [source(paper)] if any(isinstance(one, Mapping) and one.get("source") == MARK for one in subjects) else []
    return table_of(name, f"{title}, calendar", (*head, *columns, *_LAST, *last), subjects, (*notes, *theirs))


def published_row(row: Held, numbers: Row, **told: Value) -> Row:
    """Return a row with the paper's numbers of the same player."""
    return {"setting": row.who.setting, "player": row.who.player, "block": row.who.block, **told, **numbers, "source": MARK}


def setting_of(evidence: Evidence, result: Result) -> str:
    """Return the cost setting of a game: from its verdict, else its task's pattern in the registry, else "".

    A verdict records its scenario's setting, so tasks outside the registry (imports, other folders) are distinguished too.
    """
    known = evidence.registry.get(result.task_id)
    pattern = (known.parley.pattern or "").lower().replace(" costs", "", 1) if known and known.parley else ""
    return str(result.metrics.get("setting") or pattern)


def block_of(group: Group) -> Block:
    """Return the block of a group's games: that of models if any game had a model at a seat."""
    models = (seat.model for result in (*group.graded, *group.ungraded) for seat in result.seats)
    return "model" if group.setup.model or any(models) else "protocol"


def held(evidence: Evidence) -> list[Held]:
    """Return the seats of each row and cost setting: models before protocols, then by setting, then in the order of groups."""
    seats = [
        (_who(group, setting_of(evidence, result), one), group.setup.model, one)
        for group in evidence.played
        for result in group.graded
        for one in seats_of(result)
    ]
    rows = [_row(who, mine) for who, mine in grouped(seats, lambda seat: seat[0]).items()]
    return sorted(rows, key=lambda row: (row.who.block, row.who.setting))


def over_settings(rows: Iterable[Held]) -> list[Held]:
    """Return these rows over all cost settings."""
    joined = grouped(rows, lambda row: row.who._replace(setting=ALL)).items()
    whole = [Held(who, mine[0].model, [seat for row in mine for seat in row.seats]) for who, mine in joined]
    return sorted(whole, key=lambda row: row.who.block)


def seats_of(result: Result) -> list[HeldSeat]:
    """Return the seats of a graded game; none if nothing could be measured."""
    holders, writers = {one.seat: one for one in result.seats}, prose_writers(result)
    measured = _SEATS.validate_python(result.metrics.get("seats", ()))
    return [HeldSeat(result, holders.get(one.seat), one, one.seat in writers) for one in measured]


def prose_writers(result: Result) -> set[int]:
    """Return the seats that wrote prose, or may have: if the verdict does not record it, all but those of policies."""
    rounds = result.metrics.get("seat_rounds")
    if rounds is not None:
        return {row["seat"] for row in rounds if row["prose"]}
    policies = {one.seat for one in result.seats if one.kind == "policy"}
    return {row["seat"] for row in result.metrics.get("seats", ())} - policies


def mean(values: Clusters) -> float | None:
    """Return the mean over all seats; None without any."""
    flat = [value for mine in values for value in mine]
    return fmean(flat) if flat else None


def estimate(values: Clusters, interval: Callable[[Clusters], Interval | None] = positive_mean_interval) -> WithInterval:
    """Return the mean over all seats and its interval."""
    return WithInterval(mean(values), interval(values))


def measured(
    key: str, title: str, of: Measure, form: Form = "rate", counts: Callable[[Held], bool] = lambda row: True
) -> tuple[Column, Column]:
    """Return two columns: the mean of a measure over the seats of a row for which `counts` is true, and its interval."""
    is_share = form == "percent"
    interval = share_interval if is_share else positive_mean_interval
    return with_interval(
        key, title, form, "interval" if is_share else "span",
        lambda row: estimate(row.values(of) if counts(row) else [], interval), kept="vps" in key,
    )  # fmt: skip


def spans(numbers: Sequence[int]) -> str:
    """Return ascending numbers as ranges: 0-2, 4."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)


def _who(group: Group, setting: str, one: HeldSeat) -> Who:
    """Return what identifies the row that a seat belongs to."""
    model = one.holder.model if one.holder else group.setup.model
    own, names = name_of(one.holder), tuple(map(name_of, one.result.seats))
    # leave out the team of a set-up, because the row already names its player and the other players
    setup = ", ".join(condition for condition in group.setup.how if condition not in names)
    return Who(setting, "model" if model else "protocol", own or group.title, company(own, names), setup, group.name)


def _row(who: Who, seats: Sequence[tuple[Who, str | None, HeldSeat]]) -> Held:
    _, agent, first = seats[0]
    return Held(who, first.holder.model if first.holder else agent, [seat for *_, seat in seats])


@cache
def company(own: str, names: tuple[str, ...]) -> str:
    """Return the other players of a game; "" if one player played all seats."""
    if set(names) <= {own}:
        return ""
    counted = {name: number - (name == own) for name, number in Counter(names).items()}
    return ", ".join(f"{name} x{number}" if number > 1 else name for name, number in sorted(counted.items()) if number)


def name_of(holder: SeatResult | None) -> str:
    """Return the name of a seat's player in reports, with its prompt variant; "" without a player."""
    if holder is None:
        return ""
    if holder.kind == "replay":
        return "recording"
    return _title(holder.model) + _variant(holder) if holder.model else holder.name


def _variant(holder: SeatResult) -> str:
    """Return the prompt variant of a seat; a model with a variant is another player than the same model without it."""
    return f" [{holder.variant.name} {holder.variant.digest[:8]}]" if holder.variant else ""


@cache
def _title(model: str) -> str:
    """Return the name of a model in reports."""
    entry = find_model(model)
    return entry.name if entry else model
