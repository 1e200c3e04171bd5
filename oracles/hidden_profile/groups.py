"""Scripted seats with known results: facts that a seat tells in each round, and its votes. No model, no randomness.

1. A seat sees its hand and every turn so far; its knowledge is its hand and all facts told. It acts on its knowledge only.
2. `pool` tells its whole hand once; `silent` tells nothing; `shared` tells one shared fact per round; `conform` adopts the last
stance of most others, or keeps its own on a tie; `contra` chooses the worst option by its hand; `liar` withholds its hand,
tells a shared fact in favour of its favourite each round, and never changes its vote; `follow` chooses the best option by the
shared facts, `reject` the best by its hand without that one.
3. `coin(q)` and `withhold` are groups: each seat pools or is silent by a coin that the caller throws; one seat is silent.
4. Stances are public votes; the vote after the talk is the stance that the seat would then take (specification, 2.5).
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
    """One seat's message in one round."""

    round: int
    """From 1."""

    seat: int
    told: tuple[str, ...]
    """Ids of facts."""

    stance: str | None
    """The preferred option, or None."""


@dataclass(frozen=True, slots=True)
class SeatView:
    """Information that a seat may act on."""

    table: WorldTable[FactSheet]
    seat: int
    hand: tuple[str, ...]
    """The facts that it was dealt, including shared ones."""

    turns: tuple[Turn, ...] = ()
    """All turns so far, including its own, in order."""

    @property
    def known_facts(self) -> frozenset[str]:
        """Facts of its hand, and all facts told."""
        return frozenset(self.hand).union(*(turn.told for turn in self.turns))

    @property
    def latest_stances(self) -> dict[int, str | None]:
        """Each seat's latest stance, without seats that have not spoken."""
        return {turn.seat: turn.stance for turn in self.turns}


Vote = Callable[[SeatView], str | None]
Tell = Callable[[SeatView, int], tuple[str, ...]]


def vote_by_elimination(view: SeatView) -> str | None:
    """Return the naive eliminator's vote, based on all that the seat knows."""
    return worlds.eliminator_vote(view.table, view.known_facts)


def vote_by_majority(view: SeatView) -> str | None:
    """Return the last stance of most others; on a tie its own stance, or the first one in the file if its own is not tied.

    Its own stance is the last that it took, or its vote by its own hand before it spoke.
    """
    own = view.latest_stances.get(view.seat) or worlds.eliminator_vote(view.table, view.hand)
    counts = Counter(stance for seat, stance in view.latest_stances.items() if seat != view.seat and stance is not None)
    top = max(counts.values(), default=0)
    leading = [option for option in view.table.scenario.option_ids if top and counts[option] == top]
    return own if own in leading or not leading else leading[0]


def vote_by_first_impression(view: SeatView) -> str | None:
    """Return its vote by its own hand, whatever it heard."""
    return worlds.eliminator_vote(view.table, view.hand)


def _shared(view: SeatView) -> tuple[str, ...]:
    """Return the shared facts on its hand, in the file's order, without those that only another deal shows."""
    return tuple(fact for fact in view.table.scenario.of_scope("shared") if fact in view.hand)


def tell_nothing(_view: SeatView, _round: int) -> tuple[str, ...]:
    """Tell no fact."""
    return ()


def tell_whole_hand(view: SeatView, round_: int) -> tuple[str, ...]:
    """Tell the whole hand without the shared facts in round 1, in the hand's order."""
    shared = set(view.table.scenario.of_scope("shared"))
    return tuple(fact for fact in view.hand if fact not in shared) if round_ == 1 else ()


def tell_one_shared(view: SeatView, round_: int) -> tuple[str, ...]:
    """Tell the shared facts, one per round, repeatedly."""
    shared = _shared(view)
    return shared[(round_ - 1) % len(shared) :][:1] if shared else ()


def tell_one_unheard(view: SeatView, _round: int) -> tuple[str, ...]:
    """Tell the first fact on the hand that nobody has told, shared or not, as a seat cannot know which facts are shared."""
    told = {fact for turn in view.turns for fact in turn.told}
    return tuple(fact for fact in view.hand if fact not in told)[:1]


def tell_one_flattering(view: SeatView, round_: int) -> tuple[str, ...]:
    """Tell one shared fact per round that makes its favourite look better."""
    favourite = vote_by_first_impression(view) or ""
    facts = view.table.scenario.by_id
    kind = [one for one in _shared(view) if facts[one].weights.get(favourite, 0) > 0]
    return (kind[(round_ - 1) % len(kind)],) if kind else ()


@dataclass(frozen=True, slots=True)
class Policy:
    """A scripted seat."""

    name: str
    tell: Tell
    vote: Vote
    before: Vote = field(default=vote_by_elimination)
    """The vote before the talk."""

    def speak(self, view: SeatView, round_: int) -> Turn:
        """Return the seat's turn in a round: the facts that it tells, and its stance."""
        return Turn(round_, view.seat, self.tell(view, round_), self.vote(view))


def _opinionated(name: str, vote: Vote) -> Policy:
    """Return a seat that tells nothing, and votes by the same rule before and after the talk."""
    return Policy(name, tell_nothing, vote, vote)


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("pool", tell_whole_hand, vote_by_elimination),
        Policy("silent", tell_nothing, vote_by_elimination),
        Policy("shared", tell_one_shared, vote_by_elimination),
        Policy("conform", tell_nothing, vote_by_majority),
        Policy("contra", tell_nothing, lambda view: worlds.least_favoured(view.table.scenario, view.hand)),
        Policy("liar", tell_one_flattering, vote_by_first_impression),
        _opinionated("follow", lambda view: worlds.leading_option(view.table.scenario, _shared(view))),
        _opinionated("reject", lambda view: worlds.second_best_option(view.table.scenario, view.hand)),
    )
}
"""Scripted seats by name."""

ONE_FACT = Policy("one_fact", tell_one_unheard, vote_by_elimination)
"""A seat that does what a round robin asks for: one fact a turn that nobody has told."""

UNIFORM = tuple(POLICIES)
"""Groups in which all seats follow one policy."""


def build_group(name: str, agents: int) -> tuple[Policy, ...]:
    """Return the seats of a group: one policy for all, or `withhold` or `one_liar`, in which only seat 1 does not pool.

    Raises KeyError for an unknown name.
    """
    odd = {"withhold": "silent", "one_liar": "liar"}.get(name)
    if odd is None:
        return (POLICIES[name],) * agents
    return (POLICIES[odd], *(POLICIES["pool"],) * (agents - 1))


def build_coin_group(discloses: Sequence[bool]) -> tuple[Policy, ...]:
    """Return the seats of `coin(q)` for thrown coins: each pools, or is silent."""
    return tuple(POLICIES["pool" if heads else "silent"] for heads in discloses)
