"""Usage of runs: dollars, tokens and wall-clock time per model, over every family and episode, also ungraded ones and retries.

In a game each model is charged for its own seats, and its hours are those of the games in which it had a seat. Dollars are
never estimated: if some episode called a model without a known price, the sum covers the others and is marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.frames import grouped
from harness.records import Result, Tokens
from parley.reports.evidence import Run
from parley.reports.models import find_model
from parley.reports.table import Column, Row, Table, titled

NAME = "spent"
_COLUMNS = (
    *titled(player="Model or agent", episodes="Episodes", calls="Calls", prompt="Tokens in", cached="Cached"),
    Column("completion", "Tokens out"),
    Column("estimated", "Tokens estimated in", shown=False),
    Column("usd", "Dollars", "usd"),
    Column("unpriced", "Without a price"),
    Column("hours", "Hours", "rate"),
    Column("seconds", "Seconds", shown=False),
)
_NOTE = "hours: sum over episodes, also of those played in parallel; earlier attempts that were replaced are not counted"


@dataclass
class _Spent:
    """The sums of one row."""

    episodes: int = 0
    tokens: list[Tokens] = field(default_factory=list)
    usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0

    def add(self, result: Result, tokens: Iterable[Tokens], usd: float | None) -> None:
        """Add an episode with these calls; `usd` is None if they have no price."""
        mine = list(tokens)
        self.episodes += 1
        self.seconds += result.timings.total
        self.tokens += mine
        self.usd += usd or 0.0
        self.unpriced += usd is None and any(one.calls for one in mine)

    def row(self, player: str) -> Row:
        calls = sum(one.calls for one in self.tokens)
        priced = calls and not (self.unpriced and not self.usd)
        return {
            "player": player,
            "episodes": self.episodes,
            "calls": calls or None,
            **{name: sum(getattr(one, name) for one in self.tokens) or None for name in ("prompt", "cached", "completion")},
            "estimated": sum(one.estimated for one in self.tokens) or None,
            "usd": (f"${self.usd:.2f}+" if self.unpriced else self.usd) if priced else None,
            "unpriced": self.unpriced or None,
            "hours": self.seconds / 3600,
            "seconds": self.seconds,
        }


def table(runs: Sequence[Run]) -> Table:
    """Return one row per model or agent, and a total if there are several."""
    spent: dict[str, _Spent] = {}
    whole = _Spent()
    for run in runs:
        for result in run.results:
            whole.add(result, [result.tokens], result.cost_usd)
            for player, tokens, usd in _shares(run, result):
                spent.setdefault(player, _Spent()).add(result, tokens, usd)
    rows = [one.row(player) for player, one in spent.items()]
    notes = [_NOTE]
    if whole.unpriced:
        notes.append(f"{whole.unpriced} episodes called a model without a known price; sums without them are marked +")
    if any(one.estimated for one in whole.tokens):
        notes.append("some tokens were counted by the harness, because the provider reported none")
    return Table(NAME, "What it took", _COLUMNS, (*rows, *([whole.row("all")] if len(rows) > 1 else [])), tuple(notes))


def lines(spent: Table) -> Iterator[str]:
    """Yield one line per row, for the end of a report on a terminal."""
    for row in spent.rows:
        parts = [f"{row['episodes']} episode{'s' * (row['episodes'] != 1)}"]
        if row["calls"]:
            dollars = row["usd"]
            parts.append(
                "no price" if dollars is None else dollars if isinstance(dollars, str) else f"${float(str(dollars)):.4g}"
            )
            parts.append(f"{int(str(row['prompt'] or 0)):,} tokens in, {int(str(row['completion'] or 0)):,} out")
        parts.append(_told(float(str(row["seconds"]))))
        yield f"{row['player']}: {', '.join(parts)}"


def _told(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _shares(run: Run, result: Result) -> Iterator[tuple[str, list[Tokens], float | None]]:
    """Yield the models or agents charged for an episode, with their tokens and dollars."""
    by_model = grouped((seat for seat in result.seats if seat.model), lambda seat: _named(seat.model))
    for model, seats in by_model.items():
        dollars = [seat.cost_usd for seat in seats if seat.tokens.calls]
        known = [one for one in dollars if one is not None]
        yield model, [seat.tokens for seat in seats], sum(known) if len(known) == len(dollars) else None
    if not by_model:
        agent = run.planned.agent
        yield _named(result.model or agent.model) or agent.name or result.agent, [result.tokens], result.cost_usd


def _named(model: str | None) -> str:
    entry = find_model(model)
    return entry.name if entry else model or ""
