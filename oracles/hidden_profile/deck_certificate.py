"""The certificate of a deck, as tests/oracle.json holds it: checks, deals, what hands tell, what scripted groups must score.

Scores are by enumeration: every deal is played by every group, and counted as often as it is drawn. Chances are floats for
readers, made from exact ones at the last moment.
"""

from __future__ import annotations

from fractions import Fraction

from oracles.hidden_profile import expected
from oracles.hidden_profile.decks import necessary, prove_deck
from oracles.hidden_profile.groups import UNIFORM
from oracles.hidden_profile.logic import Tabulated
from oracles.hidden_profile.sizes import sizes
from oracles.hidden_profile.tells import keys, tells
from worlds.hidden_profile.rules.certificate import Accuracy, Certificate, DealRow, SizeRow, TellRow
from worlds.hidden_profile.rules.deck import KINDS, Deck, Kind
from worlds.hidden_profile.rules.draws import Draw, Draws
from worlds.hidden_profile.rules.worlds import tabulate

GROUPS = (*UNIFORM, "withhold", "one_liar")
MEASURES = ("average", "majority", "grounded")


def certify_deck(deck: Deck) -> Certificate:
    """The certificate, certified or not; raises ValueError where the deck has too many atoms for a table of worlds."""
    proof, draws, logic = prove_deck(deck), Draws(deck), Tabulated(deck)
    known = Certificate(
        scenario=deck.id, certified=proof.certified, mechanism=deck.mechanism, open=tuple(card.id for card in deck.open),
        deals=tuple(_row(deck, logic, draw) for draw in draws.all if draw.key and draw.leader),
        tells=tuple(TellRow(seat=t.seat, informed=float(t.informed), hidden=float(t.hidden)) for t in tells(draws)),
        keys=keys(draws), checks=proof.checks,
    )  # fmt: skip
    if not proof.certified:
        return known
    rows = tuple(
        SizeRow(people=one.people, hands=one.hands, informed=float(one.informed), hidden=float(one.hidden))
        for one in sizes(deck)
    )
    return known.model_copy(update={"sizes": rows, "by_kind": {kind: scores(draws, kind) for kind in KINDS}})


def scores(draws: Draws, kind: Kind) -> dict[str, Accuracy]:
    """What each group scores over the deals of a kind."""
    total = {name: dict.fromkeys(MEASURES, Fraction(0)) for name in GROUPS}
    for draw in draws.of(kind):
        table = tabulate(draws.deck.scenario(draw.versions, draw.key or "", draw.leader or ""))
        for name, sums in total.items():
            played = expected.played(table, name)
            for measure in MEASURES:
                sums[measure] += draws.chance[draw] * getattr(played, measure)
    return {
        name: Accuracy.model_validate({measure: float(value) for measure, value in sums.items()})
        for name, sums in total.items()
    }


def _row(deck: Deck, logic: Tabulated, draw: Draw) -> DealRow:
    needed = tuple(card.id for card in necessary(deck, logic, draw.versions))
    return DealRow(
        kind=draw.kind, versions=draw.versions, key=draw.key or "", leader=draw.leader or "", necessary=needed, times=draw.times
    )
