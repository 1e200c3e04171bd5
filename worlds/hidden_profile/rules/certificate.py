"""The certificate of a deck, as tests/oracle.json holds it: checks, deals, what hands tell, what groups must score.

`oracles.hidden_profile` makes it, validators take from it whether a deck is proved, `harness show --matrix` shows it. Chances
are floats for readers, made from exact ones. A scenario with one deal has one that says that nothing is proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import StrictBool

from worlds.core.models import Lenient


class ProvedCheck(Lenient):
    """One claim about the deck."""

    name: str
    ok: bool
    claim: str
    detail: str
    """What speaks against it; empty where it holds."""


class Accuracy(Lenient):
    """What a group scores."""

    average: float
    majority: float
    grounded: float


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
    """All that is proved of a deck."""

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

    checks: tuple[ProvedCheck, ...] = ()
    hands: dict[str, tuple[str, ...]] = {}
    """Of a scenario with one deal, by its hand, from 1; and so is the next."""

    guessers: dict[str, float] = {}
    """Guesser by words alone -> what it scores."""

    def document(self) -> dict[str, Any]:
        """What the file holds: every key that was given, in the order above."""
        return self.model_dump(mode="json", exclude_unset=True)


def read_certificate(document: Mapping[str, Any] | None) -> Certificate:
    """The certificate in tests/oracle.json as read, an uncertified one where the task has none; raises ValidationError."""
    return Certificate.model_validate(document or {})
