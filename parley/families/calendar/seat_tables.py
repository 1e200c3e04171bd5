"""Tables about seats: scores, ties of the optimum, regret, messages against cost, and spending (docs/calendar.md).

Each table has a row per player and cost setting, models first; means are over seats, and intervals are clustered by task.
Protocol-semantic VPS and reflection-calibrated VPS are measured differently and never share a column (paper, Table 2, caption).
Unmeasured values are shown as a dash, because 0 would be the best value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, median, quantiles

from parley.families.calendar.seat_rows import (
    ALL,
    COLUMNS,
    SOURCE,
    Block,
    Held,
    HeldSeat,
    head,
    held,
    held_table,
    mean,
    measured,
    model_rows,
    over_settings,
    protocol_rows,
    published_row,
)
from parley.reports.evidence import Evidence
from parley.reports.table import Column, Row, Table, Value, row_of, titled, with_interval
from parley.statistics import BOUNDED, line_through


def _schedules(row: Held) -> bool:
    """Return True if any meeting was scheduled; otherwise there is no value of scheduled ones, rather than the best one."""
    return any(seat.measured.scheduled for seat in row.seats)


def _total(counted: Callable[[HeldSeat], int | None]) -> Callable[[Held], int | None]:
    def total(row: Held) -> int | None:
        known = [count for one in row.seats if (count := counted(one)) is not None]
        return sum(known) if known else None

    return total


_COLUMNS = (
    Column("tasks", "Tasks", of=lambda row: len(row.by_task)),
    Column("meetings", "Meetings", "rate", of=lambda row: mean(row.values(lambda seat: seat.measured.scheduled))),
    *measured("coordination", "Coord. %", lambda seat: seat.measured.coordination, "percent"),
    *measured("excess", "Excess", lambda seat: seat.measured.excess, counts=_schedules),
    *measured("adjusted", "Adj. cost", lambda seat: seat.measured.adjusted_cost),
    *measured("messages", "Msgs", lambda seat: seat.measured.messages_per_scheduled, counts=_schedules),
    *measured("fairness", "Fairness", lambda seat: seat.measured.fairness, "number", _schedules),
    *measured("protocol_vps", "Protocol VPS", lambda seat: seat.vps, counts=lambda row: not row.has_prose),
    *measured("reflection_vps", "Reflection VPS", lambda seat: seat.measured.excess_reflection_vps),
    SOURCE,
)
_COUNTS = (
    Column(
        "costed", "Seats with a known optimum", shown=False,
        of=lambda row: sum(seat.measured.excess is not None for seat in row.seats),
    ),
    Column("beliefs", "Answers about beliefs", shown=False, of=_total(lambda seat: seat.measured.beliefs)),
    Column("unreadable", "Unreadable answers", shown=False, of=_total(lambda seat: seat.measured.unreadable)),
)  # fmt: skip
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
        rows = [row for row in every if row.who.block == block]
        subjects = [one for row in rows for one in (row, *(_published(row, rows) if published else ()))]
        notes = (*_NOTES, _DASH, *_unread(rows), BOUNDED)
        made += held_table(name, title, _COLUMNS, subjects, notes, paper=paper, last=_COUNTS)
    return made


def _unread(rows: list[Held]) -> Iterator[str]:
    """Yield notes on answers about others' calendars that could not be parsed, if such questions were asked."""
    # a script that plays all seats, such as a task's own solution, never answers such questions
    seats = [one.measured for row in rows for one in row.seats if one.holder and one.measured.beliefs is not None]
    if seats:
        unread, read = sum(one.unreadable or 0 for one in seats), sum(one.beliefs or 0 for one in seats)
        yield f"{unread} of {unread + read} answers about beliefs could not be parsed, and add nothing to reflection VPS"
    known = [one for one in seats if one.weighed is not None]
    if known:
        weighed, read = sum(one.weighed or 0 for one in known), sum(one.beliefs or 0 for one in known)
        yield f"{weighed} of {read} answers that could be read count by token probabilities, the others as written"


def _published(row: Held, rows: Sequence[Held]) -> Iterator[Row]:
    """Yield the paper's values under the first row of a name in a setting: its models in mixed teams, its protocols alone."""
    who, is_model = row.who, row.who.block == "model"
    alike = (one for one in rows if (one.who.setting, one.who.player) == (who.setting, who.player))
    if next((one for one in alike if is_model or not one.who.others), None) is not row:
        return
    vps = "reflection_vps" if is_model else "protocol_vps"
    for one in model_rows("models", who.setting, row.model) if is_model else protocol_rows(who.setting, who.player):
        numbers = {key: one[key] for key in ("n", "meetings", "excess", "messages", "fairness") if key in one}
        yield published_row(row, {**numbers, "coordination": one["coordination"] / 100, vps: one["vps"]})


Envelope = tuple[float, float]
"""Least and greatest value."""

Ends = Callable[[HeldSeat], Envelope | None]


def excess_envelope(seat: HeldSeat) -> Envelope | None:
    """Return the least and greatest excess of a seat over all optimal schedules; None if the certificate does not have it."""
    if seat.measured.excess_range is not None:
        return seat.measured.excess_range
    if seat.measured.excess is not None and seat.result.metrics.get("optimum") == 0:
        return seat.measured.excess, seat.measured.excess
    return None


def adjusted_envelope(seat: HeldSeat) -> Envelope | None:
    """Return the least and greatest adjusted cost over ties; None if the seat missed a meeting, or its excess is unknown."""
    ends, meetings = excess_envelope(seat), seat.measured.meetings
    if ends is None or not meetings or seat.measured.scheduled < meetings:
        return None
    return ends[0] / meetings, ends[1] / meetings


def bounds(seat: HeldSeat) -> Envelope | None:
    """Return the bounds of a seat's excess, whatever its share of the optimum is; None without an optimum."""
    optimum = seat.result.metrics.get("optimum")
    if optimum is None or seat.measured.excess is None:
        return None
    return max(0, seat.measured.paid - optimum), seat.measured.paid


def _with(row: Held, ends: Ends) -> list[HeldSeat]:
    return [seat for seat in row.seats if ends(seat)]


def _mean_of(ends: Ends, of: Callable[[HeldSeat], float | None]) -> Callable[[Held], float | None]:
    """Return the mean of a measure over the seats with an envelope that have it."""
    return lambda row: mean([[value for seat in _with(row, ends) if (value := of(seat)) is not None]])


def _mean_ends(ends: Ends) -> Callable[[Held], Envelope | None]:
    """Return the mean of the least values and the mean of the greatest values."""

    def means(row: Held) -> Envelope | None:
        known = [both for seat in row.seats if (both := ends(seat))]
        return (fmean(low for low, _ in known), fmean(high for _, high in known)) if known else None

    return means


_TIE_COLUMNS = (
    Column("known", "Known", of=lambda row: len(_with(row, excess_envelope)) or None),
    Column("excess", "Excess", "rate", of=_mean_of(excess_envelope, lambda seat: seat.measured.excess or 0)),
    Column("ties", "Over ties", "span", of=_mean_ends(excess_envelope)),
    Column("fairest", "Fairest", "rate", of=_mean_of(excess_envelope, lambda seat: seat.measured.excess_fairest)),
    Column("adjusted_known", "Known", of=lambda row: len(_with(row, adjusted_envelope)) or None),
    Column("adjusted", "Adj. cost", "rate", of=_mean_of(adjusted_envelope, lambda seat: seat.measured.adjusted_cost or 0.0)),
    Column("adjusted_ties", "Over ties", "span", of=_mean_ends(adjusted_envelope)),
    Column("all_excess", "Excess of all", "rate", of=_mean_of(bounds, lambda seat: seat.measured.excess)),
    Column("bounds", "Bounds", "span", of=_mean_ends(bounds)),
)
_TIE_NOTES = (
    "known = seats whose excess is proved over all best schedules: of games without failed meetings or with an optimum of 0",
    "excess and its least..most over ties are of these seats; fairest = against the fairest best schedule, if known",
    "adj. cost: only of seats that missed no meeting, as ties of the worst schedule, which prices a missed one, are not proved",
    "bounds: of all seats with an optimum, since a seat's share lies between 0 and the whole optimum",
)


def tie_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper prints no envelopes
    """Return one table; none without seats that have an optimum."""
    rows = [row for row in held(evidence) if _with(row, bounds)]
    return held_table("ties", "Costs over ties of the optimum", _TIE_COLUMNS, rows, _TIE_NOTES)


def _is_full(seat: HeldSeat) -> bool:
    """Return True if all meetings of a seat were scheduled; False for a seat without meetings."""
    return 0 < seat.measured.meetings == seat.measured.scheduled


def _is_whole(seat: HeldSeat) -> bool:
    """Return True if all meetings of the seat and all others of its game were scheduled."""
    metrics = seat.result.metrics
    return _is_full(seat) and bool(metrics["scheduled"] == metrics["meetings"])


_SCOPES: Mapping[str, Callable[[HeldSeat], bool]] = {"seats": _is_full, "games": _is_whole}


def _excess_a_meeting(seat: HeldSeat) -> float | None:
    return None if seat.measured.excess is None else seat.measured.excess / seat.measured.scheduled


def _has_regret(seat: HeldSeat) -> float | None:
    return None if seat.measured.excess is None else float(seat.measured.excess > 0)


_REGRET_COLUMNS = (
    Column("scope", "Scope"),
    Column("full", "Full", of=lambda row: len(row.seats)),
    *measured("excess", "Mean excess", _excess_a_meeting),
    *measured("nonzero", "Nonzero %", _has_regret, "percent"),
    SOURCE,
)
_REGRET_NOTE = (
    "full = seats of which all meetings were scheduled (seats), also all others of their game (games); mean excess = of a "
    "scheduled meeting; nonzero = share of these seats with any excess"
)


def regret_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return one table; none without a full seat."""
    rows = held(evidence)
    whole = over_settings(rows) if len({row.who.setting for row in rows}) > 1 else []
    made = [
        line for row in (*rows, *whole) for line in _regrets(row, published=published and (row.who.setting == ALL or not whole))
    ]
    return held_table("regret", "Regret of full seats", _REGRET_COLUMNS, made, (_REGRET_NOTE, BOUNDED), paper="Table 11")


def _regrets(row: Held, *, published: bool) -> Iterator[Row]:
    for scope, counts in _SCOPES.items():
        if full := [seat for seat in row.seats if counts(seat)]:
            yield {**head(row), "scope": scope, **row_of(_REGRET_COLUMNS, Held(row.who, row.model, full))}
    for one in model_rows("regret", None, row.model) if published else ():
        numbers = {"full": one["full"], "excess": one["excess"], "nonzero": one["nonzero"] / 100}
        yield published_row(row, numbers, setting=ALL, scope="seats")


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
    return {**head(row), **means, **fitted, "points": " ".join(f"{x:g},{y:g}" for x, y in flat)}


def _is_priced(row: Held) -> bool:
    return all(one.cost_usd is not None for one in row.holders if one.tokens.calls)


def _is_estimated(row: Held) -> bool:
    return any(one.tokens.estimated for one in row.holders)


def _dollars(row: Held) -> Value:
    """Return the sum of dollars, as text if it is not exact."""
    if not any(one.tokens.calls for one in row.holders):
        return None
    if not _is_priced(row):
        return "no price"
    dollars = sum(one.cost_usd or 0.0 for one in row.holders)
    return f"~${dollars:.4g}" if _is_estimated(row) else dollars


def _a_seat(row: Held) -> float | None:
    return sum(one.cost_usd or 0.0 for one in row.holders) / len(row.holders) if _is_priced(row) else None


def _tokens(name: str, title: str) -> Column:
    def counted(row: Held) -> Value:
        number = sum(getattr(one.tokens, name) for one in row.holders)
        return (f"~{number}" if _is_estimated(row) else number) if number else None

    return Column(name, title, of=counted)


def _latency(of: Callable[[Sequence[float]], float]) -> Callable[[Held], float | None]:
    """Return a statistic of the seconds per answer; None for fewer than two recorded answers."""

    def figure(row: Held) -> float | None:
        seconds = [one for holder in row.holders for one in holder.latencies_s]
        return of(seconds) if len(seconds) > 1 else None

    return figure


_SPENDING_COLUMNS = (
    Column("games", "Games", of=lambda row: len({(seat.result.run, seat.result.key) for seat in row.seats})),
    Column("calls", "Calls", of=lambda row: sum(one.tokens.calls for one in row.holders)),
    _tokens("prompt", "Tokens in"),
    _tokens("cached", "Cached"),
    _tokens("completion", "Out"),
    _tokens("reasoning", "Reasoning"),
    *titled("usd", uniform="Uniform", varied="Varied"),
    Column("total", "Total", "usd", of=_dollars),
    Column("a_seat", "A seat's game", "usd", of=_a_seat),
    Column("median", "Median s", "rate", of=_latency(median)),
    Column("p90", "p90 s", "rate", of=_latency(lambda seconds: quantiles(seconds, n=10, method="inclusive")[-1])),
    SOURCE,
)
_SPENDING_NOTES = (
    "tokens and dollars of all seats in the row; out = completion with reasoning; ~ = some tokens were counted here",
    "seconds of one answer, without waiting for the provider",
)


def spending_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return one table; none without seats of models."""
    by_setting = [row for row in held(evidence) if row.who.block == "model" and row.holders]
    made: list[Row] = []
    for row in over_settings(by_setting):
        parts = [part for part in by_setting if part.who._replace(setting=ALL, setup=row.who.setup) == row.who]
        made.append({**head(row), **row_of(_SPENDING_COLUMNS, row), **{part.who.setting: _dollars(part) for part in parts}})
        for one in model_rows("dollars", None, row.model) if published else ():
            told = {
                name: f"~${one[name]:.2f}" if one.get("estimated") else one[name] for name in ("uniform", "varied", "total")
            }
            made.append(published_row(row, {"games": one["games"], **told}))
    columns, title = [column for column in COLUMNS if column.key != "setting"], "Tokens, dollars and seconds"
    return held_table("spending", title, _SPENDING_COLUMNS, made, _SPENDING_NOTES, paper="Table 7", head=columns)
