"""What the models of an episode may use up: one table for a lone agent and for a whole game."""

from __future__ import annotations

from collections.abc import Callable

from harness.agents.base import Budget, Usage


def used_up(
    budget: Budget, usage: Usage, *, turns: int, seconds: float, models: str, say_once: Callable[[str], None]
) -> str | None:
    """The budget that forbids another query, or None; `pod.stop` takes its name.

    `turns`: of the seat that had most; `seconds`: without those in which a provider kept everybody waiting. `say_once` is told
    where `models` have no price to count.
    """
    if budget.cost_usd is not None and usage.calls and usage.cost_usd is None:
        say_once(f"{models} has no known price, so its budget of cost cannot hold")
    spent = {
        "turns": turns >= budget.turns,
        "tokens": budget.tokens is not None and usage.prompt_tokens + usage.completion_tokens >= budget.tokens,
        "cost": budget.cost_usd is not None and (usage.cost_usd or 0.0) >= budget.cost_usd,
        "wall": seconds >= budget.wall_s,
    }
    return next((cause for cause, over in spent.items() if over), None)
