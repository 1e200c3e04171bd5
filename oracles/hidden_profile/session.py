"""Session of scripted seats without a world: deal, vote, talk in rounds, vote, and the resulting scores.

This is the reference for live runs: the same seats through the Turn protocol must give exactly the same figures. Seats speak in
the same order in every round and hear everything. Seats here are those of the file; a deal that gives their hands to other
persons is an `order` in which they speak (specification, 1.2 and 2.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from oracles.hidden_profile.groups import ONE_FACT, POLICIES, Policy, SeatView, Turn, build_group
from worlds.hidden_profile.rules.deck import Draws
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.settings import Settings
from worlds.hidden_profile.rules.worlds import WorldTable, tabulate

Condition = Literal["hidden", "full", "shared_only"]


@dataclass(frozen=True, slots=True)
class SessionResult:
    """Result of a session; votes are by seat in order, None if a seat abstains."""

    before: tuple[str | None, ...]
    after: tuple[str | None, ...]
    turns: tuple[Turn, ...]
    average: Fraction
    """Fraction of seats whose last vote is the key."""

    majority: bool
    """True if more than half of the seats voted for the key."""

    grounded: Fraction
    """Fraction of seats that voted for the key and whose known facts entail it."""

    integration: Fraction | None
    """Fraction of private facts that were told; None if there are none."""

    first_consensus: int | None
    """The first round after which all seats had the same stance."""


def deal_hands(scenario: Scenario, condition: Condition = "hidden") -> tuple[tuple[str, ...], ...]:
    """Return the hand of each seat: the shared facts, and by condition its own facts, all facts, or no others."""
    shared = scenario.of_scope("shared")
    if condition == "full":
        rest = tuple(fact.id for fact in scenario.facts if fact.scope != "shared")
        return ((*shared, *rest),) * scenario.agents
    if condition == "shared_only":
        return (shared,) * scenario.agents
    return tuple((*shared, *scenario.hand(seat)) for seat in scenario.seats)


def play_session(
    table: WorldTable,
    policies: Sequence[Policy],
    rounds: int = 3,
    condition: Condition = "hidden",
    order: Sequence[int] = (),
) -> SessionResult:
    """Play a session.

    Args:
        table: the worlds of the scenario.
        policies: for each seat of the file, 1 to N.
        rounds: number of turns of each seat.
        condition: which facts are dealt.
        order: the seats of the file in the order in which they speak; by default 1 to N.

    Raises:
        ValueError: there is not one policy for each seat, or `order` does not have each seat once.
    """
    scenario = table.scenario
    order = order or scenario.seats
    if sorted(order) != list(scenario.seats):
        raise ValueError(f"an order of {scenario.agents} seats has each of them once, not {list(order)}")
    if len(policies) != scenario.agents:
        raise ValueError(f"{len(policies)} policies for {scenario.agents} seats")
    dealt = [SeatView(table, seat, hand) for seat, hand in zip(scenario.seats, deal_hands(scenario, condition), strict=True)]
    before = tuple(policy.before(view) for policy, view in zip(policies, dealt, strict=True))
    turns: list[Turn] = []
    consensus = None
    for number in range(1, rounds + 1):
        for seat in order:
            view = SeatView(table, seat, dealt[seat - 1].hand, tuple(turns))
            turns.append(policies[seat - 1].speak(view, number))
        stances = {turn.stance for turn in turns[-scenario.agents :]}
        if consensus is None and len(stances) == 1 and None not in stances:
            consensus = number
    views = [SeatView(table, view.seat, view.hand, tuple(turns)) for view in dealt]
    after = tuple(policy.vote(view) for policy, view in zip(policies, views, strict=True))
    return _summary(scenario, views, before, after, consensus)


def _summary(
    scenario: Scenario,
    views: list[SeatView],
    before: tuple[str | None, ...],
    after: tuple[str | None, ...],
    consensus: int | None,
) -> SessionResult:
    turns = views[0].turns
    right = [vote == scenario.key for vote in after]
    grounded = [
        hit and view.table.settled_option(view.known_facts) == scenario.key for hit, view in zip(right, views, strict=True)
    ]
    private = scenario.of_scope("private")
    told = {fact for turn in turns for fact in turn.told}
    return SessionResult(
        before,
        after,
        turns,
        average=Fraction(sum(right), len(right)),
        majority=2 * sum(right) > len(right),
        grounded=Fraction(sum(grounded), len(right)),
        integration=Fraction(len(told.intersection(private)), len(private)) if private else None,
        first_consensus=consensus,
    )


def score_group(table: WorldTable, name: str) -> SessionResult:
    """Play a session of a group; raises KeyError for an unknown name."""
    return play_session(table, build_group(name, table.scenario.agents))


def chance_accuracy(scenario: Scenario) -> Fraction:
    """Return the accuracy of a random vote."""
    return Fraction(1, len(scenario.options))


def find_ceiling(draws: Draws, settings: Settings) -> tuple[Fraction, Fraction | None]:
    """Return the best mean accuracy that a structure of the talk permits on hidden deals, and the mean round of agreement.

    Every deal is played by seats that tell all that the structure lets them tell, and vote by all that they have heard. The
    round is the first from which on all seats stand for the key; None if that is not reached in every deal.
    """
    policy = ONE_FACT if settings.structure == "round_robin" else POLICIES["pool"]
    total, agreed, is_certain = Fraction(0), Fraction(0), True
    for draw in draws.of_kind("hidden"):
        scenario = draws.deck.scenario(draw.versions, draw.key or "", draw.leader or "")
        played = play_session(tabulate(scenario), (policy,) * scenario.agents, settings.rounds)
        total += draws.chance[draw] * played.average
        wrong = max((turn.round for turn in played.turns if turn.stance != draw.key), default=0)
        is_certain &= wrong < settings.rounds
        agreed += draws.chance[draw] * max(wrong, settings.without_stances) + draws.chance[draw]
    return total, agreed if is_certain and settings.rounds else None
