"""Search for the deals of a deck on which no hand tells the key, or as little as possible, and for shapes of decks.

1. A choice of texts is a candidate if it could be a deal by checks C1 to C3. The solver chooses as many hidden as manifest
candidates, with equally frequent keys of hidden ones, so that the worst seat's hand tells as little as possible, and then all
hands together (C9); the bounds on ratings (C2) and on pairs (C9b) are constraints, the latter added as they are violated.
2. A shape is a deck of anonymous atoms that passes every check; authors write words for it. It has a gate for each option, the
leader's first, which rules it out. Every atom of a gate is one private card with two texts, for true and false.
3. Cards are dealt in several ways, to one person each or to two, and the first way with valid deals is used. It is tried with
the impressions on a small grid, and those that the prover certifies are kept. No randomness is involved.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any, Literal, NamedTuple

from oracles.hidden_profile.decks import (
    MAX_NAMED,
    MAX_PAIR,
    MIN_DEALS,
    MIN_RATED,
    find_pair_errors,
    necessary_cards,
    prove_deck,
    rated_option,
    seats_needed,
)
from worlds.hidden_profile.rules.deck import DECK, KINDS, Deals, Deck, Draws, leader_of
from worlds.hidden_profile.rules.worlds import worlds_of

MAX_DEALS = 24
"""Desired number of deals of a kind; fewer if that is not possible."""

_SECONDS = 20.0


class Candidate(NamedTuple):
    """A choice of texts that could be a deal."""

    versions: str
    key: str
    leader: str
    hands: tuple[tuple[str, ...], ...]
    """For each seat, the texts that it reads."""

    rated: int
    """Number of seats on whose hands the rules rate the leader best."""

    @property
    def manifest(self) -> bool:
        """True if the leading option is correct."""
        return self.key == self.leader


def find_candidates(deck: Deck) -> Iterator[Candidate]:
    """Yield every choice of texts that could be a deal; raises ValueError if the deck has too many atoms for a table."""
    yield from (one for one in _tried(deck) if isinstance(one, Candidate))


def count_refusals(deck: Deck) -> Counter[str]:
    """Count the reasons why the other choices of texts are no candidates."""
    return Counter(one for one in _tried(deck) if isinstance(one, str))


def _tried(deck: Deck) -> Iterator[Candidate | str]:
    """Yield, for each choice of texts, the candidate or the reason why it is none."""
    logic = worlds_of(deck)
    best: dict[tuple[str, ...], str] = {}
    for digits in product(*(range(len(card.texts)) for card in deck.open_cards)):
        versions = "".join(map(str, digits))
        texts = deck.texts(versions)
        key, leader = logic.settled_option(texts), leader_of(deck, versions)
        hands = tuple(deck.texts(versions, deck.cards_seen_by(seat)) for seat in deck.seats)
        if not logic.is_consistent(texts):
            yield "the facts contradict each other"
        elif key is None or logic.excluded_options(texts) != set(deck.option_ids) - {key}:
            yield "all facts leave none or several options"
        elif leader is None:
            yield "no option leads by the shared facts"
        elif any(leader_of(deck, versions, seat) != leader for seat in deck.seats):
            yield "another option leads on some hand"
        elif any(leader in logic.excluded_options(hand) or logic.settled_option(hand) is not None for hand in hands):
            yield "one hand excludes the leader or settles the choice"
        elif len({seat for card in necessary_cards(deck, logic, versions) for seat in card.holders}) < seats_needed(deck):
            yield f"fewer than {seats_needed(deck)} seats hold a necessary fact"
        else:
            for seat, hand in zip(deck.seats, hands, strict=True):
                if hand not in best:
                    best[hand] = rated_option(deck, logic, versions, deck.cards_seen_by(seat))
            yield Candidate(versions, key, leader, hands, sum(best[hand] == leader for hand in hands))


def find_deals(deck: Deck, most: int = MAX_DEALS) -> Deals:
    """Return the deals on which hands tell least, up to `most` of a kind; the deals in the deck are ignored.

    An option that leads in some deals is the key of no hidden ones, since the leader is known to all.
    Raises ValueError if there are no hidden or no manifest deals, or if only one option is ever the key of hidden ones.
    """
    known = list(find_candidates(deck))
    leaders = {one.leader for one in known}
    hidden = [one for one in known if one.key not in leaders]
    manifest = [one for one in known if one.manifest]
    keys = sorted({one.key for one in hidden}, key=deck.option_ids.index)
    if not manifest or len(keys) < 2:
        raise ValueError(f"{deck.id} has {len(hidden)} hidden deals with keys {keys}, and {len(manifest)} manifest ones")
    each = min(most // len(keys), *(sum(one.key == key for one in hidden) for key in keys))
    for count in (each * len(keys), each // 2 * len(keys)):
        for beside in (min(most, len(manifest)), min(count, len(manifest))):
            search = _Search(deck, hidden, manifest)
            if min(count, beside) >= MIN_DEALS and (chosen := search.chosen(keys, count, beside)):
                return chosen
    raise ValueError(f"{deck.id} has no {MIN_DEALS} deals of each kind with keys {keys} equally often")


class _Search:
    """Solver that chooses the deals among the candidates."""

    def __init__(self, deck: Deck, hidden: Sequence[Candidate], manifest: Sequence[Candidate]) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415 - heavy

        self._cp = cp_model
        self._model = cp_model.CpModel()
        self._deck, self._hidden, self._manifest = deck, hidden, manifest
        self._taken = {one.versions: self._model.new_bool_var(one.versions) for one in (*hidden, *manifest)}

    def chosen(self, keys: Sequence[str], count: int, beside: int) -> Deals | None:
        """Return `count` hidden and `beside` manifest deals that tell least; None if there are not enough."""
        for key in keys:
            self._model.add(self._number(one for one in self._hidden if one.key == key) == count // len(keys))
        self._model.add(self._number(self._manifest) == beside)
        for place, card in enumerate(self._deck.open_cards):
            for number in range(len(card.texts)):
                shown = (one for one in (*self._hidden, *self._manifest) if one.versions[place] == str(number))
                self._model.add(self._number(shown) >= 1)
        places = range(self._deck.agents)
        weights = {True: count, False: beside}
        informed = [self._told((*self._hidden, *self._manifest), (place,), weights) for place in places]
        hidden_only = [self._told(self._hidden, (place,), weights) for place in places]
        worst = self._model.new_int_var(0, 2 * count * beside, "worst")
        self._model.add_max_equality(
            worst, [*informed, *(one + count * beside * (len(keys) - 1) // len(keys) for one in hidden_only)]
        )
        self._model.minimize(worst * (4 * len(places) * count * beside) + sum(informed) + sum(hidden_only))
        rated = sum(one.rated * self._taken[one.versions] for one in self._hidden)
        self._model.add(rated * MIN_RATED.denominator >= MIN_RATED.numerator * len(places) * count)
        pairs = set(combinations(places, 2))
        while (deals := self._solved()) is not None and (bad := self._telling(pairs, deals)):
            for pair in sorted(bad):
                self._bound(pair, weights)
            pairs -= bad
        return deals

    def _solved(self) -> Deals | None:
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

    def _telling(self, pairs: Iterable[tuple[int, int]], deals: Deals) -> set[tuple[int, int]]:
        """Return the pairs of places whose hands together tell more than C9b allows."""
        draws = Draws(self._deck.model_copy(update={"deals": deals}))
        return {(one, two) for one, two in pairs if any(find_pair_errors(draws, (one + 1, two + 1)))}

    def _bound(self, pair: tuple[int, int], weights: dict[bool, int]) -> None:
        """Add the constraints of C9b on two hands."""
        known = (*self._hidden, *self._manifest)
        limit = (1 + MAX_PAIR) * weights[True] * weights[False]
        self._model.add(self._told(known, pair, weights) <= int(limit))
        named = []
        for those in self._by_hand(self._hidden if len({one.key for one in self._hidden}) > 2 else known, pair):
            for one in (one for one in those if not one.manifest):
                others = self._number(other for other in those if other.key != one.key)
                named.append(self._model.new_bool_var(""))
                self._model.add(named[-1] >= self._taken[one.versions] - others)
        self._model.add(sum(named) <= int(MAX_NAMED * weights[True]))

    def _number(self, known: Iterable[Candidate]) -> Any:
        return sum(self._taken[one.versions] for one in known)

    @staticmethod
    def _by_hand(known: Iterable[Candidate], places: Iterable[int]) -> Iterable[list[Candidate]]:
        """Return the candidates by what these seats read in them."""
        groups: defaultdict[tuple[tuple[str, ...], ...], list[Candidate]] = defaultdict(list)
        for one in known:
            groups[tuple(one.hands[place] for place in places)].append(one)
        return groups.values()

    def _told(self, known: Iterable[Candidate], places: Sequence[int], weights: dict[bool, int]) -> Any:
        """Return, for the hands of these seats, the sum over them of the weight of the most frequent key."""
        most = []
        for those in self._by_hand(known, places):
            best = self._model.new_int_var(0, 2 * max(weights.values()) * len(self._taken), "")
            for key in {one.key for one in those}:
                self._model.add(
                    best >= sum(weights[one.manifest] * self._taken[one.versions] for one in those if one.key == key)
                )
            most.append(best)
        return sum(most)


Json = dict[str, Any]
Gate = Literal["match", "chain", "and", "points"]

_ATOMS: dict[Gate, int] = {"match": 2, "chain": 3, "and": 3, "points": 3}
"""Number of atoms of a gate."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Mechanism that rules options out.

    `match`: one of two things holds, and the other does not. `chain`: an odd number of three things hold. `and`: three things
    hold. `points`: another option has more of three things.
    """

    gates: tuple[Gate, ...]
    """Gates, the leader's first."""

    people: tuple[int, ...]
    """Numbers of people for which there are certified decks of this shape."""


SHAPES: dict[str, Shape] = {
    "match": Shape(("match",) * 3, (3, 4, 6)),
    "match of four": Shape(("match",) * 4, (4, 5, 6)),
    "and, match": Shape(("and", "match", "match"), (4,)),
    "and, match of four": Shape(("and", "match", "match", "match"), (3, 4, 5, 6)),
    "chain": Shape(("chain",) * 3, (3, 4, 5, 6)),
    "chain, match": Shape(("match", "chain", "match"), (3, 4, 6)),
    "tally": Shape(("points",) * 3, (3, 4)),
}
"""Shapes by name, which is also the mechanism of their decks."""

_SCORES = ((5, 1, -2), (4, 2, -1), (3, 1, 0), (6, 2, 0), (4, -1, 1))
"""Impressions of the leader, the next option and the others, by the shared facts."""

_KNOWN = "known"
"""What a shared fact says for the leader of a tally, so that the rules rate it best on most hands."""

_WORTH = 3
"""Points for each counted thing; the smaller initial points break ties."""


@cache
def search_decks(name: str, agents: int) -> tuple[Deck, ...]:
    """Return every certified deck of a shape on the grid, () if no dealing holds; raises KeyError for an unknown name."""
    dealt = _dealt(name, agents)
    if dealt is None:
        return ()
    decks = (_deck(name, SHAPES[name], dealt[0], scores, dealt[1]) for scores in _SCORES)
    return tuple(deck for deck in decks if prove_deck(deck).is_certified)


def _dealt(name: str, agents: int) -> tuple[tuple[tuple[int, ...], ...], Deals] | None:
    """Return the first way to deal the cards of a shape that has valid deals, and these; None if there is none."""
    shape = SHAPES[name]
    for holders in _ways(sum(_ATOMS[gate] for gate in shape.gates), agents):
        bare = _deck(name, shape, holders, _SCORES[0], None)
        if next(find_candidates(bare), None) is None:
            continue
        try:
            deals = find_deals(bare)
        except ValueError:
            continue
        if prove_deck(bare.model_copy(update={"deals": deals})).is_certified:
            return holders, deals
    return None


def _ways(count: int, agents: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield the ways to deal `count` cards: by step around the table, and with or without a second holder."""
    for second, step in product((0, *range(1, agents)), range(1, agents)):
        places = [(card * step + card // agents) % agents for card in range(count)]
        yield tuple(tuple(sorted({place + 1, (place + second) % agents + 1})) for place in places)


def _deck(name: str, shape: Shape, holders: tuple[tuple[int, ...], ...], scores: tuple[int, ...], deals: Deals | None) -> Deck:
    options = [f"o{place}" for place in range(1, len(shape.gates) + 1)]
    owners = [option for option, gate in zip(options, shape.gates, strict=True) for _ in range(_ATOMS[gate])]
    atoms = {option: [f"a{n}" for n, owner in enumerate(owners, 1) if owner == option] for option in options}
    agents = max(seat for held in holders for seat in held)
    tally = _tally(options, atoms) if "points" in shape.gates else None
    known = {"asserts": [_KNOWN]} if tally else {}
    impressions = {"o1": scores[0], "o2": scores[1], **dict.fromkeys(options[2:], scores[2])}
    said = [{"weights": {o: w} if w else {}, "about": [o]} | (known if o == "o1" else {}) for o, w in impressions.items()]
    shared = [_card(f"s{place}", "shared", [], [text]) for place, text in enumerate(said, 1)]
    private = [_open(place, owner, held) for place, (owner, held) in enumerate(zip(owners, holders, strict=True), 1)]
    idle = [_card(f"n{seat}", "noise", [seat], [{"about": options[seat - 1 : seat]}]) for seat in range(1, agents + 1)]
    nought = {kind: ["0" * len(private)] for kind in KINDS}
    return Deck.model_validate(
        {
            "schema": DECK,
            "id": "skeleton",
            "title": "Skeleton",
            "domain": "none",
            "mechanism": name,
            "agents": agents,
            "promise": "exactly_one_viable",
            "brief": "Exactly one option will do.",
            "options": [{"id": option, "label": f"Option {option}"} for option in options],
            "atoms": {atom: {"gloss": atom} for owned in (*atoms.values(), known.get("asserts", [])) for atom in owned},
            "rules": _rules(shape, options, atoms),
            "tally": tally,
            "cards": [
                *shared,
                *private,
                *idle,
            ],
            "deals": deals.model_dump() if deals else nought,
        }
    )


def _rules(shape: Shape, options: list[str], atoms: dict[str, list[str]]) -> list[Json]:
    """Return the rules by which each option's gate rules it out; options with points have none."""
    bodies = [(option, when) for option, gate in zip(options, shape.gates, strict=True) for when in _bodies(gate)]
    literals = [[atom if so else f"!{atom}" for atom, so in zip(atoms[option], when, strict=True)] for option, when in bodies]
    return [{"id": f"r{n}", "when": literals[n - 1], "out": option} for n, (option, _) in enumerate(bodies, 1)]


def _bodies(gate: Gate) -> list[tuple[bool, ...]]:
    """Return the truth values of a gate's atoms for which it rules its option out."""
    if gate == "points":
        return []
    every = product((True, False), repeat=_ATOMS[gate])
    return [one for one in every if (all(one) if gate == "and" else sum(one) % 2)]


def _tally(options: list[str], atoms: dict[str, list[str]]) -> Json:
    """Return a point rule without ties: of options with equal points, the first one in the file wins."""
    return {
        "points": {o: dict.fromkeys([*atoms[o], *([_KNOWN] if o == options[0] else [])], _WORTH) for o in options},
        "start": {option: len(options) - place for place, option in enumerate(options, 1)},
    }


def _open(place: int, option: str, holders: tuple[int, ...]) -> Json:
    texts = [{"asserts": [literal], "about": [option]} for literal in (f"a{place}", f"!a{place}")]
    return _card(f"u{place}", "private", list(holders), texts)


def _card(identity: str, scope: str, holders: list[int], texts: list[Json]) -> Json:
    """Return a card whose texts state their own names."""
    words = [f"Note {identity} number {number} here." for number in range(len(texts))]
    said = [{"text": text, "cues": [[text.lower().rstrip(".")]], **more} for text, more in zip(words, texts, strict=True)]
    return {"id": identity, "scope": scope, "holders": holders, "texts": said}
