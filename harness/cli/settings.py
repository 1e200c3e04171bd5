"""What the flags of a run say about its options: names and values, toggles of the path, and sweeps.

A comma in `--set tier=1k,4k`, or in `--agent imap,dsm-private`, makes a sweep: one run for each combination, in a folder named
after it inside the run's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from harness.agents.base import Agent
from harness.errors import UsageError

Overrides = dict[str, str]


def overrides(
    options: Sequence[str] | None, mutate: Sequence[str] | None, mitigate: Sequence[str] | None, *, handles: bool
) -> list[Overrides]:
    """Every combination of option values that the flags ask for, at least one; raises UsageError for a malformed --set."""
    pairs = [option.partition("=") for option in options or []]
    for name, equals, _ in pairs:
        if not equals or not name:
            raise UsageError(f"--set must look like name=value, not {name!r}")
    toggles = {"mutate": "+".join(mutate or ()), "mitigate": "+".join(mitigate or ()), "handles": "true" if handles else ""}
    chosen = {name: value.split(",") for name, _, value in pairs}
    chosen |= {name: [value] for name, value in toggles.items() if value}
    return [dict(zip(chosen, values, strict=True)) for values in product(*chosen.values())]


def offers_handles(combinations: Sequence[Overrides]) -> bool:
    """Whether the agent is given value handles; raises UsageError for a sweep over them, since one agent plays all of it."""
    asked = {combination.get("handles", "false").lower() == "true" for combination in combinations}
    if len(asked) > 1:
        raise UsageError(
            "handles cannot be swept: they change what the agent itself is given", hint="two runs, one with --handles"
        )
    return asked == {True}


def named(players: Sequence[Agent], combinations: Sequence[Overrides]) -> Iterator[tuple[str, Agent, Overrides]]:
    """Each player with each combination, and the name of their folder: what differs from the others, "" where there is one."""
    for player, combination in product(players, combinations):
        swept = [name for name, value in combination.items() if any(other[name] != value for other in combinations)]
        told = [f"agent={player.name}"] if len(players) > 1 else []
        yield ",".join([*told, *(f"{name}={combination[name]}" for name in swept)]), player, combination
