"""Certificate of a deck in tests/oracle.json: checks, deals, information in hands, and expected scores of groups.

`oracles.hidden_profile` makes it, validators read from it if a deck is proved, and `harness show --matrix` shows it. Chances
are floats, computed from exact fractions. The certificate of a scenario with one deal states that nothing is proved.
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
    """Evidence against it; empty if it holds."""


class Accuracy(Lenient):
    """Scores of a group."""

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
    """The private cards each of which the proof of the key needs."""

    times: int = 1
    """Number of times that the deck lists it."""


class TellRow(Lenient):
    """Information in one seat's hands (check C9)."""

    seat: int
    informed: float
    hidden: float


class SizeRow(Lenient):
    """A number of people to whom the deck can be dealt, the hands, and the information in the worst hand."""

    people: int
    hands: tuple[tuple[str, ...], ...]
    informed: float
    hidden: float


class Certificate(Lenient):
    """All results that are proved for a deck."""

    scenario: str | None = None
    certified: StrictBool = False
    mechanism: str | None = None
    """Set for a deck only, like the next six fields."""

    open: tuple[str, ...] = ()
    """The cards with several texts; `versions` has a digit for each."""

    deals: tuple[DealRow, ...] = ()
    tells: tuple[TellRow, ...] = ()
    sizes: tuple[SizeRow, ...] = ()
    """Other numbers of people for which the certificate holds."""

    keys: tuple[str, ...] = ()
    """The options that are correct in some hidden deal."""

    by_kind: dict[str, dict[str, Accuracy]] = {}
    """Hidden and manifest -> group -> its scores, weighted by the probability of the deals."""

    checks: tuple[ProvedCheck, ...] = ()
    hands: dict[str, tuple[str, ...]] = {}
    """Facts by hand, from 1; of a scenario with one deal only, like the next field."""

    guessers: dict[str, float] = {}
    """Guesser that uses only words -> its score."""

    def document(self) -> dict[str, Any]:
        """Return the content of the file: every key that was given, in the order above."""
        return self.model_dump(mode="json", exclude_unset=True)


def read_certificate(document: Mapping[str, Any] | None) -> Certificate:
    """Parse the content of tests/oracle.json; uncertified if the task has none; raises ValidationError."""
    return Certificate.model_validate(document or {})
