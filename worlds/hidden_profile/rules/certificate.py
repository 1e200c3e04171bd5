"""The certificate of a hidden-profile scenario, as tests/oracle.json holds it: checks, grade, and what sets of facts prove.

`oracles.hidden_profile` makes it, validators take from it what is proved, `harness show --matrix` shows it. Chances are floats
for readers, made from exact ones. What only weighing or playing can say is left out, or None, where there are more base atoms
than a table of worlds holds. Whoever reads one takes what it has: only `certify` makes it whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import StrictBool

from worlds.core.models import Lenient

Belief = dict[str, float]
"""Option -> the ideal listener's chance of it."""


class ProvedCheck(Lenient):
    """One claim about the scenario."""

    name: str
    ok: bool
    claim: str
    detail: str
    """What speaks against it; empty where it holds."""


class FactRow(Lenient):
    """One row of the elimination table: a fact, and what is out and believed once it and all above it are known."""

    fact: str
    weights: dict[str, int] = {}
    helps_exclude: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    belief: Belief | None = None


class LeftOut(Lenient):
    """What all facts but one private one lead to."""

    belief: float | None = None
    eliminator: str | None = None
    listener: str | None = None


class Accuracy(Lenient):
    """What a group scores, and which of the numbers a formula gives."""

    average: float
    majority: float | None = None
    grounded: float | None = None
    by_formula: tuple[str, ...] = ()


class CoinRow(Lenient):
    """What groups score whose seats tell each fact with chance q."""

    q: float
    eliminator: Accuracy
    listener: Accuracy


class DealRow(Lenient):
    """One deal of a deck."""

    kind: str
    versions: str
    key: str
    leader: str
    necessary: tuple[str, ...]
    """The private cards without any one of which the key is not proved."""

    times: int = 1
    """How often the deck lists it."""


class TellRow(Lenient):
    """How much one seat's hands tell (check C9)."""

    seat: int
    informed: float
    hidden: float


class SizeRow(Lenient):
    """A number of people to whom the deck can be dealt, how, and what its worst hand tells."""

    people: int
    hands: tuple[tuple[str, ...], ...]
    informed: float
    hidden: float


class Certificate(Lenient):
    """All that is proved of one scenario, or of a deck."""

    scenario: str | None = None
    certified: StrictBool = False
    mechanism: str | None = None
    """Of a deck, and so are the next six."""

    open: tuple[str, ...] = ()
    """The cards with several texts: a digit of `versions` for each."""

    deals: tuple[DealRow, ...] = ()
    tells: tuple[TellRow, ...] = ()
    sizes: tuple[SizeRow, ...] = ()
    """The numbers of people for which the certificate holds too, besides the deck's own."""

    keys: tuple[str, ...] = ()
    """The options that are right in some hidden deal."""

    by_kind: dict[str, dict[str, Accuracy]] = {}
    """Hidden and manifest -> group -> what it scores, over the deals as they are drawn."""

    grade: str | None = None
    lucky: tuple[str, ...] = ()
    witness: str | None = None
    """Who proved it: a table of worlds, or the solver."""

    checks: tuple[ProvedCheck, ...] = ()
    table: tuple[FactRow, ...] = ()
    leave_one_out: dict[str, LeftOut] = {}
    """By private fact."""

    hands: dict[str, tuple[str, ...]] = {}
    """By the scenario's hand, from 1."""

    groups: dict[str, Accuracy] = {}
    coin: tuple[CoinRow, ...] = ()
    guessers: dict[str, float] = {}
    knobs: dict[str, Any] = {}
    """What makes the scenario hard, counted."""

    def document(self) -> dict[str, Any]:
        """What the file holds: every key that was given, in the order above."""
        return self.model_dump(mode="json", exclude_unset=True)


def read_certificate(document: Mapping[str, Any] | None) -> Certificate:
    """The certificate in tests/oracle.json as read, an uncertified one where the task has none; raises ValidationError."""
    return Certificate.model_validate(document or {})
