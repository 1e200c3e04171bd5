"""Finds the deals of a deck: of all the ways to choose its texts, a list on which no hand tells the key, or the nearest to it.

1. A choice of texts is a deal where all facts leave one option and exclude the others, one option leads on every hand, no hand
   settles anything, and enough seats hold something without which the key is not proved.
2. Among these the solver takes as many hidden as manifest ones, and every key of the hidden ones equally often, so that the
   worst seat's hand is worth as little as possible, and then all hands together (C9, `tells`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from oracles.hidden_profile.decks import LEAST_DEALS, necessary, seats_needed
from oracles.hidden_profile.logic import Tabulated
from worlds.hidden_profile.rules.deck import Deals, Deck, leader_of

MOST_DEALS = 24
"""Deals of a kind that are tried for; fewer where that is not possible."""

_SECONDS = 20.0


class Candidate(NamedTuple):
    """A choice of texts that could be a deal."""

    versions: str
    key: str
    leader: str
    hands: tuple[tuple[str, ...], ...]
    """By seat, what it reads."""

    @property
    def manifest(self) -> bool:
        """Whether the option that leads is right."""
        return self.key == self.leader


def candidates(deck: Deck) -> Iterator[Candidate]:
    """Every choice of texts that could be a deal; raises ValueError where the deck has too many atoms for a table."""
    yield from (one for one in _tried(deck) if isinstance(one, Candidate))


def refused(deck: Deck) -> Counter[str]:
    """Why the other choices of texts could be no deals, and how many of them for each reason."""
    return Counter(one for one in _tried(deck) if isinstance(one, str))


def _tried(deck: Deck) -> Iterator[Candidate | str]:
    """Of each choice of texts the candidate, or why it is none."""
    logic = Tabulated(deck)
    for digits in product(*(range(len(card.texts)) for card in deck.open)):
        versions = "".join(map(str, digits))
        texts = deck.texts(versions)
        key, leader = logic.settled(texts), leader_of(deck, versions)
        hands = tuple(deck.texts(versions, deck.seen_by(seat)) for seat in deck.seats)
        if not logic.consistent(texts):
            yield "the facts contradict each other"
        elif key is None or logic.excluded(texts) != set(deck.option_ids) - {key}:
            yield "all facts leave none or several options"
        elif leader is None:
            yield "no option leads by the shared facts"
        elif any(leader_of(deck, versions, seat) != leader for seat in deck.seats):
            yield "another option leads on some hand"
        elif any(leader in logic.excluded(hand) or logic.settled(hand) is not None for hand in hands):
            yield "one hand excludes the leader or settles the choice"
        elif len({seat for card in necessary(deck, logic, versions) for seat in card.holders}) < seats_needed(deck):
            yield f"fewer than {seats_needed(deck)} seats hold a necessary fact"
        else:
            yield Candidate(versions, key, leader, hands)


def find_deals(deck: Deck, most: int = MOST_DEALS) -> Deals:
    """The deals on which hands tell least, `most` of a kind or as many as there can be; what stands in the deck is not read.

    Raises ValueError where there are no hidden or no manifest deals, or only one option is ever the key of hidden ones.
    """
    known = list(candidates(deck))
    hidden = [one for one in known if not one.manifest]
    manifest = [one for one in known if one.manifest]
    keys = sorted({one.key for one in hidden}, key=deck.option_ids.index)
    if not manifest or len(keys) < 2:
        raise ValueError(f"{deck.id} has {len(hidden)} hidden deals with keys {keys}, and {len(manifest)} manifest ones")
    each = min(most // len(keys), *(sum(one.key == key for one in hidden) for key in keys))
    for count in (each * len(keys), each // 2 * len(keys)):
        for beside in (min(most, len(manifest)), min(count, len(manifest))):
            search = _Search(deck, hidden, manifest)
            if min(count, beside) >= LEAST_DEALS and (chosen := search.chosen(keys, count, beside)):
                return chosen
    raise ValueError(f"{deck.id} has no {LEAST_DEALS} deals of each kind with keys {keys} equally often")


class _Search:
    """One question to the solver: which of the candidates are deals?"""

    def __init__(self, deck: Deck, hidden: Sequence[Candidate], manifest: Sequence[Candidate]) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415 - heavy

        self._cp = cp_model
        self._model = cp_model.CpModel()
        self._deck, self._hidden, self._manifest = deck, hidden, manifest
        self._taken = {one.versions: self._model.new_bool_var(one.versions) for one in (*hidden, *manifest)}

    def chosen(self, keys: Sequence[str], count: int, beside: int) -> Deals | None:
        """So many different hidden and manifest deals that tell least; None where there are not so many."""
        for key in keys:
            self._model.add(self._number(one for one in self._hidden if one.key == key) == count // len(keys))
        self._model.add(self._number(self._manifest) == beside)
        for place, card in enumerate(self._deck.open):
            for number in range(len(card.texts)):
                shown = (one for one in (*self._hidden, *self._manifest) if one.versions[place] == str(number))
                self._model.add(self._number(shown) >= 1)
        places = range(self._deck.agents)
        informed = [self._told((*self._hidden, *self._manifest), place, {True: count, False: beside}) for place in places]
        hidden_only = [self._told(self._hidden, place, {False: beside}) for place in places]
        worst = self._model.new_int_var(0, 2 * count * beside, "worst")
        self._model.add_max_equality(
            worst, [*informed, *(one + count * beside * (len(keys) - 1) // len(keys) for one in hidden_only)]
        )
        self._model.minimize(worst * (4 * len(places) * count * beside) + sum(informed) + sum(hidden_only))
        solver = self._cp.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = _SECONDS
        if solver.solve(self._model) not in {self._cp.OPTIMAL, self._cp.FEASIBLE}:
            return None
        hidden, manifest = (
            tuple(one.versions for one in known if solver.boolean_value(self._taken[one.versions]))
            for known in (self._hidden, self._manifest)
        )
        return Deals(hidden=hidden, manifest=manifest)

    def _number(self, known: Iterable[Candidate]) -> Any:
        return sum(self._taken[one.versions] for one in known)

    def _told(self, known: Iterable[Candidate], place: int, weights: dict[bool, int]) -> Any:
        """For one seat, the sum over its hands of the option that is right most often."""
        right: defaultdict[tuple[str, ...], defaultdict[str, list[Candidate]]] = defaultdict(lambda: defaultdict(list))
        for one in known:
            right[one.hands[place]][one.key].append(one)
        most = []
        for by_key in right.values():
            best = self._model.new_int_var(0, 2 * max(weights.values()) * len(self._taken), "")
            for those in by_key.values():
                self._model.add(best >= sum(weights[one.manifest] * self._taken[one.versions] for one in those))
            most.append(best)
        return sum(most)
