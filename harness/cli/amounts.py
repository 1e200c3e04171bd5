"""Formatting of dollars, tokens and times, shared by all output of a run."""

from __future__ import annotations

from collections.abc import Iterable

from harness.agents.llm.meter import Spent
from harness.records import Result


def dollars(amount: float) -> str:
    """Return $0.0123 for amounts below a dollar, $1,234.56 above."""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def short(count: float) -> str:
    """Return a count in three digits: 950, 12.3k, 4.56M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{unit}" if count < 999.5 * size else f"{count / size:.0f}{unit}"
    return f"{count:.0f}"


def size(count: int) -> str:
    """Return bytes in three digits: 950 B, 12.3 kB, 4.56 MB."""
    told = short(count)
    return f"{told[:-1]} {told[-1]}B" if told[-1].isalpha() else f"{told} B"


def counted(number: int, what: str) -> str:
    """Return a number with its noun, such as `1 task` or `2 tasks`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return 0:07, 12:30 or 3:05:00."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def spent_by(results: Iterable[Result]) -> Spent:
    """Return the usage of these episodes in total."""
    total = Spent()
    for result in results:
        tokens, is_free = result.tokens, result.cost_usd is not None
        unpriced = 0 if is_free else tokens.calls
        money = (result.cost_usd or 0.0, unpriced, tokens.kept, result.kept_usd)
        total += Spent(tokens.calls, tokens.prompt, tokens.completion, *money)
    return total


def cost_told(spent: Spent) -> str:
    """Return the dollars of these calls and the number of calls without a price; "" if no model was called."""
    if not spent.calls:
        return ""
    if spent.unpriced == spent.calls:
        return "no price"
    kept = f" ({dollars(spent.kept_usd)} saved by the cache)" if spent.kept_usd else ""
    unpriced = f" and {counted(spent.unpriced, 'call')} without a price" if spent.unpriced else ""
    return dollars(spent.cost_usd) + kept + unpriced
