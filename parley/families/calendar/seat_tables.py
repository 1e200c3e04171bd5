"""Tables about seats: scores, ties of the optimum, regret, messages against cost, and spending.

The table of seats is the paper's Table 1: a row per holder of seats and cost setting, models first, protocols in a separate
table.

1. Means are over seats, and intervals are clustered by task (`harness.statistics`).
2. Protocol-semantic VPS and reflection-calibrated VPS are measured differently and never share a column (Table 2, caption).
   Unmeasured values are a dash, because 0 would be the best value.

The table of ties shows the dependence of costs on the choice among several best schedules.

1. Several schedules may have the optimal cost and distribute it differently; the certificate takes one of them. If all meetings
   of a game were scheduled, it has the least and the most that each seat pays over all of them (`ranges`). If the scheduled
   meetings cost nothing at best, every seat's share is 0, so such a partial game has no ties either.
2. No ranges are proved for other partial games. `bounds` holds for any of them: a share is between 0 and the whole optimum.
3. Adjusted cost is a seat's excess per meeting if it missed none. A missed meeting counts by the worst schedule, whose ties are
   not in the certificate, so those seats have no envelope.

The table of regret has the cost of seats with all meetings scheduled (paper, G.1 and Table 11).

1. Scope `seats` is the paper's: seats with all their own meetings scheduled. Scope `games` keeps those in whose game every
   meeting was scheduled, where no seat had a low cost because other meetings failed.
2. Mean excess is a seat's excess per scheduled meeting; nonzero regret is the share of seats with any excess.
3. Costs are on the scored scale. The paper's column must be on the shown one (6.00 per meeting, where Table 1 has 1.49 per
   game).

The table of communication (paper, 4.3 and Figure 3) has a point per seat, and a least-squares line through each player's
points. The slope is the change in excess with one more message per scheduled meeting. Its interval is clustered by task,
because the seats of a game share its talk.

The table of spending (paper, Appendix C and Table 7) has tokens, dollars and seconds of each model's seats, by cost setting.

1. Output is completion with reasoning, as billed; reasoning is also shown separately if a provider reports it. `~` marks counts
   made here because some provider reported none, and dollars based on them.
2. A model without a known price has no dollars: `no price`.
3. A latency is the real seconds of one answer, without waits that the provider required.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import fmean, median, quantiles
from typing import Any, NamedTuple

from harness.records import SeatResult
from harness.statistics import BOUNDED, line_through, positive_mean_interval, share_interval
from parley.families.calendar.seat_rows import (
    ALL,
    COLUMNS,
    MARK,
    Block,
    Held,
    HeldSeat,
    figured,
    held,
    held_table,
    mean,
    model_rows,
    over_settings,
    protocol_rows,
)
from parley.reports.evidence import Evidence
from parley.reports.table import Column, Form, Row, Table, Value, titled, with_interval


class _Measure(NamedTuple):
    key: str
    title: str
    form: Form
    of: Callable[[HeldSeat], float | None]

    def columns(self) -> tuple[Column, Column]:
        ends: Form = "interval" if self.form == "percent" else "span"
        return with_interval(self.key, self.title, self.form, ends, kept="vps" in self.key)


MEASURES = (
    _Measure("coordination", "Coord. %", "percent", lambda seat: seat.measured.coordination),
    _Measure("excess", "Excess", "rate", lambda seat: seat.measured.excess),
    _Measure("adjusted", "Adj. cost", "rate", lambda seat: seat.measured.adjusted_cost),
    _Measure("messages", "Msgs", "rate", lambda seat: seat.measured.messages_per_scheduled),
    _Measure("fairness", "Fairness", "number", lambda seat: seat.measured.fairness),
    _Measure("protocol_vps", "Protocol VPS", "rate", lambda seat: seat.vps),
    _Measure("reflection_vps", "Reflection VPS", "rate", lambda seat: seat.measured.excess_reflection_vps),
)
_COLUMNS = (
    Column("tasks", "Tasks"),
    Column("meetings", "Meetings", "rate"),
    *(column for measure in MEASURES for column in measure.columns()),
    Column("source", "Source"),
)
_COUNTS = (
    *titled(costed="Seats with a known optimum", beliefs="Answers about beliefs", shown=False),
    Column("unreadable", "Unreadable answers", shown=False),
)
_TITLES: Mapping[Block, tuple[str, str, str]] = {
    "model": ("seats", "Seats of models", "Table 1"),
    "protocol": ("seats-protocols", "Seats of protocols", "Table 2"),
}
_NOTES = (
    "N = seats of games; means over seats; meetings = scheduled of those that a seat takes part in",
    "excess = cost above the optimum of what was scheduled, adj. = with each missed meeting at its span from best to worst",
    "msgs = sent per scheduled meeting, fairness = distance of its excess from the game's mean, VPS = slots told beyond five",
)
_DASH = "protocol VPS is of typed messages, so a row with prose has none; reflection VPS is of runs that asked for it"


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return the models' table and the protocols', each if it has seats."""
    every, made = held(evidence), []
    for block, (name, title, paper) in _TITLES.items():
        rows = [row for row in every if row.block == block]
        lines = [line for row in rows for line in _lines(row, rows, published=published)]
        notes = (*_NOTES, _DASH, *_unread(rows), BOUNDED)
        made += held_table(name, title, _COLUMNS, lines, notes, paper=paper, last=_COUNTS)
    return made


def _unread(rows: list[Held]) -> Iterator[str]:
    """Yield notes on answers about others' calendars that could not be parsed, if such questions were asked."""
    # a script that holds all seats, such as a task's own solution, was never going to answer
    seats = [one.measured for row in rows for one in row.seats if one.holder and one.measured.beliefs is not None]
    if seats:
        unread, read = sum(one.unreadable or 0 for one in seats), sum(one.beliefs or 0 for one in seats)
        yield f"{unread} of {unread + read} answers about beliefs could not be read, and add nothing to reflection VPS"
    known = [one for one in seats if one.weighed is not None]
    if known:
        weighed, read = sum(one.weighed or 0 for one in known), sum(one.beliefs or 0 for one in known)
        yield f"{weighed} of {read} answers that could be read count by token probabilities, the others as written"


def _lines(row: Held, rows: list[Held], *, published: bool) -> Iterator[Row]:
    """Yield a row, and the paper's under the first of its name in a setting.

    The paper's models were in mixed teams, its protocols alone.
    """
    yield {**row.head(), **measured(row), "source": "ours"}
    alike = (one for one in rows if (one.setting, one.player) == (row.setting, row.player))
    first = next((one for one in alike if row.block == "model" or not one.others), None)
    if published and first is row:
        yield from _published(row)


def measured(row: Held) -> Row:
    """Return every measure of a row with its interval."""
    made: dict[str, Any] = {
        "tasks": len(row.by_task),
        "meetings": mean(row.values(lambda seat: seat.measured.scheduled)),
        "costed": sum(seat.measured.excess is not None for seat in row.seats),
        "unreadable": _total(row, lambda seat: seat.measured.unreadable),
        "beliefs": _total(row, lambda seat: seat.measured.beliefs),
    }
    for one in MEASURES:
        values = row.values(one.of) if not (one.key == "protocol_vps" and row.has_prose) else []
        made |= figured(one.key, values, share_interval if one.form == "percent" else positive_mean_interval)
    if not made["meetings"]:
        # who scheduled none has no such value, and not the best one
        made |= {f"{key}{end}": None for key in ("excess", "messages", "fairness") for end in ("", "_interval")}
    return made


def _total(row: Held, counted: Callable[[HeldSeat], int | None]) -> int | None:
    known = [count for one in row.seats if (count := counted(one)) is not None]
    return sum(known) if known else None


def _published(row: Held) -> Iterator[Row]:
    """Yield the paper's values of the same model or protocol."""
    vps = "reflection_vps" if row.block == "model" else "protocol_vps"
    rows = model_rows("models", row.setting, row.model) if row.block == "model" else protocol_rows(row.setting, row.player)
    for one in rows:
        numbers = {key: one[key] for key in ("n", "meetings", "excess", "messages", "fairness") if key in one}
        head = {"setting": row.setting, "player": row.player, "block": row.block, "source": MARK}
        yield {**head, **numbers, "coordination": one["coordination"] / 100, vps: one["vps"]}


Envelope = tuple[float, float]
"""Least and greatest value."""

_TIE_COLUMNS = (
    Column("known", "Known"),
    Column("excess", "Excess", "rate"),
    Column("ties", "Over ties", "span"),
    Column("fairest", "Fairest", "rate"),
    Column("adjusted_known", "Known"),
    Column("adjusted", "Adj. cost", "rate"),
    Column("adjusted_ties", "Over ties", "span"),
    Column("all_excess", "Excess of all", "rate"),
    Column("bounds", "Bounds", "span"),
)
_TIE_NOTES = (
    "known = seats whose share is proved over all best schedules: of games scheduled whole, or in part and for nothing at best",
    "excess and its least..most over ties are of these; fairest = against the fairest best schedule, where it is known",
    "adj. cost: of those that missed no meeting; a missed one counts by the worst schedule, whose ties are not proved",
    "bounds: of all seats with an optimum, since a share lies between nothing and the whole optimum",
)


def tie_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper prints no envelopes
    """Return one table; none without seats that have an optimum."""
    rows = [line for row in held(evidence) if (line := _tie(row))]
    return held_table("ties", "Costs over ties of the optimum", _TIE_COLUMNS, rows, _TIE_NOTES)


def excess_envelope(seat: HeldSeat) -> Envelope | None:
    """Return the least and greatest excess of a seat over all best schedules; None if it is not proved."""
    if seat.measured.excess_range is not None:
        return seat.measured.excess_range
    if seat.measured.excess is not None and seat.result.metrics.get("optimum") == 0:
        return seat.measured.excess, seat.measured.excess
    return None


def adjusted_envelope(seat: HeldSeat) -> Envelope | None:
    """Return the least and greatest adjusted cost over ties; None if the seat missed a meeting, or its excess has no range."""
    ends, meetings = excess_envelope(seat), seat.measured.meetings
    if ends is None or not meetings or seat.measured.scheduled < meetings:
        return None
    return ends[0] / meetings, ends[1] / meetings


def bounds(seat: HeldSeat) -> Envelope | None:
    """Return the bounds of its excess for any share of the optimum; None without an optimum."""
    optimum = seat.result.metrics.get("optimum")
    return None if optimum is None else (max(0, seat.measured.paid - optimum), seat.measured.paid)


def _tie(row: Held) -> Row | None:
    made: dict[str, Any] = {}
    costed = [(seat, ends) for seat in row.seats if (ends := bounds(seat)) and seat.measured.excess is not None]
    if not costed:
        return None
    if known := [(seat, ends) for seat in row.seats if (ends := excess_envelope(seat))]:
        fairest = [seat.measured.excess_fairest for seat, _ in known if seat.measured.excess_fairest is not None]
        made |= {"known": len(known), "excess": fmean(seat.measured.excess or 0 for seat, _ in known)}
        made |= {"ties": _means([ends for _, ends in known]), "fairest": fmean(fairest) if fairest else None}
    if known := [(seat, ends) for seat in row.seats if (ends := adjusted_envelope(seat))]:
        made |= {"adjusted_known": len(known), "adjusted": fmean(seat.measured.adjusted_cost or 0.0 for seat, _ in known)}
        made |= {"adjusted_ties": _means([ends for _, ends in known])}
    all_excess = fmean(seat.measured.excess or 0 for seat, _ in costed)
    return {**row.head(), **made, "all_excess": all_excess, "bounds": _means([ends for _, ends in costed])}


def _means(envelopes: list[Envelope]) -> Envelope:
    return fmean(low for low, _ in envelopes), fmean(high for _, high in envelopes)


_REGRET_COLUMNS = (
    *titled(scope="Scope", full="Full"),
    *with_interval("excess", "Mean excess"),
    *with_interval("nonzero", "Nonzero %", "percent", "interval"),
    Column("source", "Source"),
)
_REGRET_NOTE = (
    "full = seats of which all meetings were scheduled (seats), also all others of their game (games); mean excess = of a "
    "scheduled meeting; nonzero = share of these seats with any excess"
)


def regret_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return one table; none without a full seat."""
    rows = held(evidence)
    whole = over_settings(rows) if len({row.setting for row in rows}) > 1 else []
    made = [
        line for row in (*rows, *whole) for line in _regrets(row, published=published and (row.setting == ALL or not whole))
    ]
    return held_table("regret", "Regret of full seats", _REGRET_COLUMNS, made, (_REGRET_NOTE, BOUNDED), paper="Table 11")


def is_full(seat: HeldSeat) -> bool:
    """Return True if all meetings of a seat were scheduled; False for a seat without meetings."""
    return 0 < seat.measured.meetings == seat.measured.scheduled


def is_whole(seat: HeldSeat) -> bool:
    """Return True if also every other meeting of its game was scheduled."""
    metrics = seat.result.metrics
    return is_full(seat) and metrics["scheduled"] == metrics["meetings"]


_SCOPES: Mapping[str, Callable[[HeldSeat], bool]] = {"seats": is_full, "games": is_whole}


def excess_a_meeting(seat: HeldSeat) -> float | None:
    """Return a full seat's excess per meeting; None if no certificate has their cost."""
    return None if seat.measured.excess is None else seat.measured.excess / seat.measured.scheduled


def _regrets(row: Held, *, published: bool) -> Iterator[Row]:
    for scope, holds in _SCOPES.items():
        full = [seat for seat in row.seats if holds(seat)]
        if full:
            yield {**row.head(), "scope": scope, "source": "ours", **_regretted(row, holds), "full": len(full)}
    for one in model_rows("regret", None, row.model) if published else ():
        told = {"full": one["full"], "excess": one["excess"], "nonzero": one["nonzero"] / 100}
        yield {"setting": ALL, "player": row.player, "block": row.block, "scope": "seats", "source": MARK, **told}


def _regretted(row: Held, holds: Callable[[HeldSeat], bool]) -> Row:
    costs = row.values(lambda seat: excess_a_meeting(seat) if holds(seat) else None)
    regretted = [[float(cost > 0) for cost in mine] for mine in costs]
    return {**figured("excess", costs), **figured("nonzero", regretted, share_interval)}


_COMMUNICATION_COLUMNS = (
    *titled("rate", messages="Msgs", excess="Excess"),
    *with_interval("slope", "Slope", "signed", "signed_interval"),
    Column("correlation", "r", "signed"),
    Column("intercept", "Intercept", "rate", shown=False),
    Column("points", "Messages,excess of each seat", shown=False),
)
_SLOPE_NOTE = (
    "slope = excess for one more message a scheduled meeting, by least squares over seats; its 95 % by the sandwich error "
    "clustered by task"
)


def communication_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figure prints no numbers
    """Return one table; none without seats that have an optimum."""
    rows = [line for row in held(evidence) if (line := _fitted(row))]
    return held_table("communication", "Messages against excess", _COMMUNICATION_COLUMNS, rows, (_SLOPE_NOTE,))


def _fitted(row: Held) -> Row | None:
    points = [
        [
            (seat.measured.messages_per_scheduled, float(seat.measured.excess))
            for seat in mine
            if seat.measured.excess is not None and seat.measured.messages_per_scheduled is not None
        ]
        for mine in row.by_task.values()
    ]
    flat = [point for mine in points for point in mine]
    if not flat:
        return None
    line = line_through([mine for mine in points if mine])
    fitted = line._asdict() if line else {}
    means = {"messages": fmean(x for x, _ in flat), "excess": fmean(y for _, y in flat)}
    return {**row.head(), **means, **fitted, "points": " ".join(f"{x:g},{y:g}" for x, y in flat)}


_TOKENS = {"prompt": "Tokens in", "cached": "Cached", "completion": "Out", "reasoning": "Reasoning"}
_SPENDING_COLUMNS = (
    *titled(games="Games", calls="Calls"),
    *(Column(name, title) for name, title in _TOKENS.items()),
    *titled("usd", uniform="Uniform", varied="Varied", total="Total", a_seat="A seat's game"),
    *titled("rate", median="Median s", p90="p90 s"),
    Column("source", "Source"),
)
_SPENDING_NOTES = (
    "tokens and dollars of all seats in the row; out = completion with reasoning; ~ = some tokens were counted here",
    "seconds of one answer, without waiting for the provider",
)


def spending_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return one table; none without seats of models."""
    by_setting = [row for row in held(evidence) if row.block == "model" and any(seat.holder for seat in row.seats)]
    made: list[Row] = []
    for row in over_settings(by_setting):
        parts = [one for one in by_setting if (one.player, one.others, one.group) == (row.player, row.others, row.group)]
        made.append({**_spent(row), **{part.setting: _dollars(_holders(part)) for part in parts}})
        made += _published_spending(row) if published else []
    head, title = [column for column in COLUMNS if column.key != "setting"], "Tokens, dollars and seconds"
    return held_table("spending", title, _SPENDING_COLUMNS, made, _SPENDING_NOTES, paper="Table 7", head=head)


def latencies(holders: list[SeatResult]) -> tuple[float, float] | None:
    """Return median and 90th percentile of the seconds of all answers; None for fewer than two recorded ones."""
    seconds = [one for holder in holders for one in holder.latencies_s]
    return (median(seconds), quantiles(seconds, n=10, method="inclusive")[-1]) if len(seconds) > 1 else None


def _spent(row: Held) -> Row:
    holders = _holders(row)
    middle, slowest = latencies(holders) or (None, None)
    tokens = {name: sum(getattr(one.tokens, name) for one in holders) for name in _TOKENS}
    return {
        **row.head(),
        "games": len({(seat.result.run, seat.result.key) for seat in row.seats}),
        "calls": sum(one.tokens.calls for one in holders),
        **{name: _counted(number, holders) for name, number in tokens.items()},
        "total": _dollars(holders),
        "a_seat": sum(one.cost_usd or 0.0 for one in holders) / len(holders) if _is_priced(holders) else None,
        "median": middle,
        "p90": slowest,
        "source": "ours",
    }


def _holders(row: Held) -> list[SeatResult]:
    return [seat.holder for seat in row.seats if seat.holder is not None]


def _is_priced(holders: list[SeatResult]) -> bool:
    return all(one.cost_usd is not None for one in holders if one.tokens.calls)


def _dollars(holders: list[SeatResult]) -> Value:
    """Return the sum, as text if it is not exact."""
    if not any(one.tokens.calls for one in holders):
        return None
    if not _is_priced(holders):
        return "no price"
    dollars = sum(one.cost_usd or 0.0 for one in holders)
    return f"~${dollars:.4g}" if any(one.tokens.estimated for one in holders) else dollars


def _counted(number: int, holders: list[SeatResult]) -> Value:
    if not number:
        return None
    return f"~{number}" if any(one.tokens.estimated for one in holders) else number


def _published_spending(row: Held) -> list[Row]:
    """Return the paper's row of the same model."""
    made: list[Row] = []
    for one in model_rows("dollars", None, row.model):
        told = {name: f"~${one[name]:.2f}" if one.get("estimated") else one[name] for name in ("uniform", "varied", "total")}
        made.append({"player": row.player, "block": row.block, "games": one["games"], **told, "source": MARK})
    return made
