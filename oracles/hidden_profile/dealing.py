"""Finds the deals of a deck: of all the ways to choose its texts, a list on which no hand tells the key, or the nearest to it.

1. A choice of texts is a deal where all facts leave one option and exclude the others, one option leads on every hand, no hand
   settles anything, and enough seats hold something without which the key is not proved.
2. Among these the solver takes as many hidden as manifest ones, and every key of the hidden ones equally often, so that the
   worst seat's hand is worth as little as possible, and then all hands together (C9).

Shapes for authors: decks of anonymous atoms that pass every check, to be dressed in words by somebody else.

1. A shape has a gate for each option, the leader's first: what puts it out. Every atom of a gate is one private card with two
   texts, so that it is so, or is not so; or else all options are counted, and every card is worth points to one of them.
2. Cards go round the table in several ways, to one person each or to two. The first way on which there are deals is taken, and
   on it every impression of a small grid that the prover certifies. No chance is involved.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Literal, NamedTuple

from oracles.hidden_profile.decks import LEAST_DEALS, Tabulated, necessary, prove_deck, seats_needed
from worlds.hidden_profile.rules.deck import DECK, Deals, Deck, leader_of

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
    """Return why the other choices of texts could be no deals, and how many of them for each reason."""
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


Json = dict[str, Any]
Gate = Literal["match", "chain", "and", "points"]

_ATOMS: dict[Gate, int] = {"match": 2, "chain": 3, "and": 3, "points": 3}
"""How many atoms a gate has."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How options are put out.

    `match`: where one of two things is so, and the other not. `chain`: where an odd number of three things is so. `and`: where
    three things are so. `points`: where another option has more of three things.
    """

    gates: tuple[Gate, ...]
    """The leader's first."""

    people: tuple[int, ...]
    """For how many people there are certified decks of this shape."""


SHAPES: dict[str, Shape] = {
    "match": Shape(("match",) * 3, (3, 4, 5, 6)),
    "match of four": Shape(("match",) * 4, (3, 4, 5, 6)),
    "and, match": Shape(("and", "match", "match"), (3, 4, 6)),
    "and, match of four": Shape(("and", "match", "match", "match"), (3, 4, 5, 6)),
    "chain": Shape(("chain",) * 3, (3, 4, 5, 6)),
    "chain, match": Shape(("match", "chain", "match"), (3, 4, 5, 6)),
    "tally": Shape(("points",) * 3, (3, 4, 5)),
}
"""By name, which is also the mechanism that a deck says of itself."""

_SCORES = ((5, 1, -2), (4, 2, -1), (3, 1, 0), (6, 2, 0), (4, -1, 1))
"""Of the leader, the next option and the others, by the shared facts."""

_WORTH = 3
"""Points for each thing that is counted; the start, below it, says who wins where two options have equally many."""


@cache
def search(name: str, agents: int) -> tuple[Deck, ...]:
    """Every certified deck of a shape on the grid; none where no dealing holds. Raises KeyError for a name that is none."""
    dealt = _dealt(name, agents)
    if dealt is None:
        return ()
    decks = (_deck(name, SHAPES[name], dealt[0], scores, dealt[1]) for scores in _SCORES)
    return tuple(deck for deck in decks if prove_deck(deck).certified)


def _dealt(name: str, agents: int) -> tuple[tuple[tuple[int, ...], ...], Deals] | None:
    """The first way to hand out the cards of a shape on which there are deals, and these; None where there is none."""
    shape = SHAPES[name]
    for holders in _ways(sum(_ATOMS[gate] for gate in shape.gates), agents):
        bare = _deck(name, shape, holders, _SCORES[0], None)
        if next(candidates(bare), None) is None:
            continue
        try:
            deals = find_deals(bare)
        except ValueError:
            continue
        if prove_deck(bare.model_copy(update={"deals": deals})).certified:
            return holders, deals
    return None


def _ways(count: int, agents: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Ways to hand out so many cards: by what step one goes round the table, and whether a second person holds each too."""
    for second, step in product((0, *range(1, agents)), range(1, agents)):
        places = [(card * step + card // agents) % agents for card in range(count)]
        yield tuple(tuple(sorted({place + 1, (place + second) % agents + 1})) for place in places)


def _deck(name: str, shape: Shape, holders: tuple[tuple[int, ...], ...], scores: tuple[int, ...], deals: Deals | None) -> Deck:
    options = [f"o{place}" for place in range(1, len(shape.gates) + 1)]
    owners = [option for option, gate in zip(options, shape.gates, strict=True) for _ in range(_ATOMS[gate])]
    atoms = {option: [f"a{n}" for n, owner in enumerate(owners, 1) if owner == option] for option in options}
    agents = max(seat for held in holders for seat in held)
    impressions = {"o1": scores[0], "o2": scores[1], **dict.fromkeys(options[2:], scores[2])}
    private = [_open(place, owner, held) for place, (owner, held) in enumerate(zip(owners, holders, strict=True), 1)]
    idle = [_card(f"n{seat}", "noise", [seat], [{"about": options[seat - 1 : seat]}]) for seat in range(1, agents + 1)]
    nought = {"hidden": ["0" * len(private)], "manifest": ["0" * len(private)]}
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
            "atoms": {atom: {"gloss": atom} for owned in atoms.values() for atom in owned},
            "rules": _rules(shape, options, atoms),
            "tally": _tally(options, atoms) if "points" in shape.gates else None,
            "cards": [
                *(
                    _card(f"s{place}", "shared", [], [{"weights": {o: w} if w else {}, "about": [o]}])
                    for place, (o, w) in enumerate(impressions.items(), 1)
                ),
                *private,
                *idle,
            ],
            "deals": deals.model_dump() if deals else nought,
        }
    )


def _rules(shape: Shape, options: list[str], atoms: dict[str, list[str]]) -> list[Json]:
    """For each option the ways in which its gate puts it out; options that are counted have none."""
    bodies = [(option, when) for option, gate in zip(options, shape.gates, strict=True) for when in _bodies(gate)]
    literals = [[atom if so else f"!{atom}" for atom, so in zip(atoms[option], when, strict=True)] for option, when in bodies]
    return [{"id": f"r{n}", "when": literals[n - 1], "out": option} for n, (option, _) in enumerate(bodies, 1)]


def _bodies(gate: Gate) -> list[tuple[bool, ...]]:
    """Return what is so of a gate's atoms where it puts its option out."""
    if gate == "points":
        return []
    every = product((True, False), repeat=_ATOMS[gate])
    return [one for one in every if (all(one) if gate == "and" else sum(one) % 2)]


def _tally(options: list[str], atoms: dict[str, list[str]]) -> Json:
    """A point rule by which no two options are level: of equals the one that comes first in the file is ahead."""
    return {
        "points": {option: dict.fromkeys(atoms[option], _WORTH) for option in options},
        "start": {option: len(options) - place for place, option in enumerate(options, 1)},
    }


def _open(place: int, option: str, holders: tuple[int, ...]) -> Json:
    """A private card about an option: a thing is so, or it is not."""
    texts = [{"asserts": [literal], "about": [option]} for literal in (f"a{place}", f"!a{place}")]
    return _card(f"u{place}", "private", list(holders), texts)


def _card(identity: str, scope: str, holders: list[int], texts: list[Json]) -> Json:
    """A card whose texts say their own names."""
    words = [f"Note {identity} number {number} here." for number in range(len(texts))]
    said = [{"text": text, "cues": [[text.lower().rstrip(".")]], **more} for text, more in zip(words, texts, strict=True)]
    return {"id": identity, "scope": scope, "holders": holders, "texts": said}
