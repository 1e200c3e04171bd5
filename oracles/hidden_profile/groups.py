"""Scripted seats with known results: what a seat says in each round, as ids of facts, and what it votes. No model, no chance.

1. A seat sees its hand and every turn so far; what it knows is its hand and all that was told. It acts by what it knows alone.
2. `pool` tells its whole hand once; `silent` nothing; `shared` one shared fact a round; `conform` adopts what most of the
   others last stood for, its own on a tie; `contra` stands for what looks worst on its hand; `liar` keeps its hand back, tells
   a shared fact that flatters its favourite each round, and stands for the favourite whatever it hears; `follow` stands for
   what looks best by the shared facts, `reject` for what looks best on its hand once that is struck out.
3. `coin(q)` and `withhold` are groups: each seat pools or is silent by a coin that the caller throws; one seat is silent.
4. Stances are votes that are said aloud; the vote after the talk is what the seat would then stand for (specification, 2.5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from worlds.hidden_profile.rules import worlds
from worlds.hidden_profile.rules.scenario import FactSheet
from worlds.hidden_profile.rules.worlds import WorldTable


@dataclass(frozen=True, slots=True)
class Turn:
    """What one seat said in one round."""

    round: int
    """From 1."""

    seat: int
    told: tuple[str, ...]
    """Ids of facts."""

    stance: str | None
    """The option stood for; None for none."""


@dataclass(frozen=True, slots=True)
class SeatView:
    """All that a seat may act on."""

    table: WorldTable[FactSheet]
    seat: int
    hand: tuple[str, ...]
    """What it was dealt, shared facts included."""

    turns: tuple[Turn, ...] = ()
    """Everything said so far, its own turns included, in order."""

    @property
    def known(self) -> frozenset[str]:
        """Its hand, and all that was told."""
        return frozenset(self.hand).union(*(turn.told for turn in self.turns))

    @property
    def latest(self) -> dict[int, str | None]:
        """Each seat's latest stance; seats that have not spoken are not in it."""
        return {turn.seat: turn.stance for turn in self.turns}


Vote = Callable[[SeatView], str | None]
Tell = Callable[[SeatView, int], tuple[str, ...]]


def by_elimination(view: SeatView) -> str | None:
    """The naive eliminator on all that it knows."""
    return worlds.eliminator(view.table, view.known)


def by_majority(view: SeatView) -> str | None:
    """What most others last stood for: its own stance on a tie, and the file's first of the tied where it has none of them.

    Its own stance is the last that it took, or its vote on its own hand before it spoke.
    """
    own = view.latest.get(view.seat) or worlds.eliminator(view.table, view.hand)
    counts = Counter(stance for seat, stance in view.latest.items() if seat != view.seat and stance is not None)
    top = max(counts.values(), default=0)
    leading = [option for option in view.table.scenario.option_ids if top and counts[option] == top]
    return own if own in leading or not leading else leading[0]


def by_contradiction(view: SeatView) -> str | None:
    """Return what looks worst on its own hand."""
    return worlds.contrarian(view.table.scenario, view.hand)


def by_fame(view: SeatView) -> str | None:
    """Return what looks best by the shared facts, whatever else is known: the leader."""
    return worlds.leading(view.table.scenario, _shared(view))


def by_distrust(view: SeatView) -> str | None:
    """Return what looks best on its own hand once the leader is struck out: a group that rejects the favourite out of habit."""
    return worlds.second_best(view.table.scenario, view.hand)


def by_first_impression(view: SeatView) -> str | None:
    """Its vote on its own hand, whatever it heard."""
    return worlds.eliminator(view.table, view.hand)


def _shared(view: SeatView) -> tuple[str, ...]:
    """The shared facts on its hand, in the file's order: of a deck, not those that another deal would show."""
    return tuple(fact for fact in view.table.scenario.of_scope("shared") if fact in view.hand)


def nothing(_view: SeatView, _round: int) -> tuple[str, ...]:
    """Says no fact."""
    return ()


def whole_hand(view: SeatView, round_: int) -> tuple[str, ...]:
    """Says in round 1 all that it holds and not everybody was given, in the hand's order."""
    shared = set(view.table.scenario.of_scope("shared"))
    return tuple(fact for fact in view.hand if fact not in shared) if round_ == 1 else ()


def one_shared(view: SeatView, round_: int) -> tuple[str, ...]:
    """Says the shared facts, one a round, over and over."""
    shared = _shared(view)
    return shared[(round_ - 1) % len(shared) :][:1] if shared else ()


def one_flattering(view: SeatView, round_: int) -> tuple[str, ...]:
    """Says one a round of the shared facts that make its favourite look better."""
    favourite = by_first_impression(view) or ""
    facts = view.table.scenario.by_id
    kind = [one for one in _shared(view) if facts[one].weights.get(favourite, 0) > 0]
    return (kind[(round_ - 1) % len(kind)],) if kind else ()


@dataclass(frozen=True, slots=True)
class Policy:
    """A scripted seat."""

    name: str
    tell: Tell
    vote: Vote
    before: Vote = field(default=by_elimination)
    """The vote before the talk."""

    def speak(self, view: SeatView, round_: int) -> Turn:
        """Return what the seat says in a round: it tells, then takes a stance."""
        return Turn(round_, view.seat, self.tell(view, round_), self.vote(view))


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("pool", whole_hand, by_elimination),
        Policy("silent", nothing, by_elimination),
        Policy("shared", one_shared, by_elimination),
        Policy("conform", nothing, by_majority),
        Policy("contra", nothing, by_contradiction),
        Policy("liar", one_flattering, by_first_impression),
        Policy("follow", nothing, by_fame, by_fame),
        Policy("reject", nothing, by_distrust, by_distrust),
    )
}
"""Scripted seats by name."""

UNIFORM = tuple(POLICIES)
"""Groups in which all seats follow one policy."""


def group(name: str, agents: int) -> tuple[Policy, ...]:
    """The seats of a group: a policy's name for all, or `withhold` or `one_liar`: seat 1 is silent, or lies, among poolers.

    Raises KeyError for a name that is none.
    """
    odd = {"withhold": "silent", "one_liar": "liar"}.get(name)
    if odd is None:
        return (POLICIES[name],) * agents
    return (POLICIES[odd], *(POLICIES["pool"],) * (agents - 1))


def coin(discloses: Sequence[bool]) -> tuple[Policy, ...]:
    """The seats of `coin(q)` once the coins are thrown: each pools, or is silent."""
    return tuple(POLICIES["pool" if heads else "silent"] for heads in discloses)
