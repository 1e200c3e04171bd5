"""What models cost (paper, Appendix C and Table 7): tokens, dollars and seconds of each model's seats, by cost setting.

1. Output is completion with reasoning, as billed; reasoning is shown apart where a provider says it. `~` marks counts made
   here, because some provider reported none, and dollars that rest on them.
2. A model without a known price has no dollars: `no price`.
3. A latency is one answer's real seconds, without those in which its provider kept it waiting.
"""

from __future__ import annotations

from statistics import median, quantiles

from harness.families.calendar.held import COLUMNS, Held, held, over_settings
from harness.families.calendar.published import MARK, model_rows, source
from harness.records import SeatResult
from harness.report.evidence import Evidence
from harness.report.table import Column, Row, Table, Value

_TOKENS = {"prompt": "Tokens in", "cached": "Cached", "completion": "Out", "reasoning": "Reasoning"}
_COLUMNS = (
    *(column for column in COLUMNS if column.key != "setting"),
    Column("games", "Games"),
    Column("calls", "Calls"),
    *(Column(name, title) for name, title in _TOKENS.items()),
    Column("uniform", "Uniform", "usd"),
    Column("varied", "Varied", "usd"),
    Column("total", "Total", "usd"),
    Column("a_seat", "A seat's game", "usd"),
    Column("median", "Median s", "rate"),
    Column("p90", "p90 s", "rate"),
    Column("source", "Source"),
    Column("group", "Row of", shown=False),
    Column("block", "Block", shown=False),
)
_NOTES = (
    "tokens and dollars of all seats in the row; out = completion with reasoning; ~ = some tokens were counted here",
    "seconds of one answer, without waiting for the provider",
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """One table; none without seats of models."""
    by_setting = [row for row in held(evidence) if row.block == "model" and any(seat.holder for seat in row.seats)]
    made: list[Row] = []
    for row in over_settings(by_setting):
        parts = [one for one in by_setting if (one.player, one.others, one.group) == (row.player, row.others, row.group)]
        made.append({**_line(row), **{part.setting: _dollars(_holders(part)) for part in parts}})
        made += _published(row) if published else []
    notes = (*_NOTES, *([source("Table 7")] if any(row["source"] == MARK for row in made) else []))
    return [Table("spending", "Tokens, dollars and seconds, calendar", _COLUMNS, tuple(made), notes)] if made else []


def latencies(holders: list[SeatResult]) -> tuple[float, float] | None:
    """Median and 90th percentile of the seconds of all answers; None for fewer than two, and where they are not recorded."""
    seconds = [one for holder in holders for one in holder.latencies_s]
    return (median(seconds), quantiles(seconds, n=10, method="inclusive")[-1]) if len(seconds) > 1 else None


def _line(row: Held) -> Row:
    holders = _holders(row)
    games = {(seat.result.run, seat.result.key) for seat in row.seats}
    seconds = latencies(holders)
    total = _dollars(holders)
    tokens = {name: sum(getattr(one.tokens, name) for one in holders) for name in _TOKENS}
    return {
        **row.head(),
        "games": len(games),
        "calls": sum(one.tokens.calls for one in holders),
        **{name: _counted(number, holders) for name, number in tokens.items()},
        "total": total,
        "a_seat": sum(one.cost_usd or 0.0 for one in holders) / len(holders) if _is_priced(holders) else None,
        "median": seconds[0] if seconds else None,
        "p90": seconds[1] if seconds else None,
        "source": "ours",
    }


def _holders(row: Held) -> list[SeatResult]:
    return [seat.holder for seat in row.seats if seat.holder is not None]


def _is_priced(holders: list[SeatResult]) -> bool:
    return all(one.cost_usd is not None for one in holders if one.tokens.calls)


def _dollars(holders: list[SeatResult]) -> Value:
    """The sum, as a text where it is no exact number."""
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


def _published(row: Held) -> list[Row]:
    """The paper's row of the same model."""
    made: list[Row] = []
    for one in model_rows("dollars", None, row.model):
        told = {name: f"~${one[name]:.2f}" if one.get("estimated") else one[name] for name in ("uniform", "varied", "total")}
        made.append({"player": row.player, "block": row.block, "games": one["games"], **told, "source": MARK})
    return made
