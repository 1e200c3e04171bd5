"""Measurements of one hidden-profile session, stored as `metrics` in verdict.json: votes, pooling, and by seat.

Validators make them; reports and readers of recorded episodes read them from the file. Fields are in the order of the file.
None means not measured: proofs without a certificate, stances on the free track, facts without cues there, a vote that was not
held. Turns of talk count from 1, seats from 0; a person is the scenario's hand, from 1.
"""

from __future__ import annotations

from pydantic import Field

from worlds.core.faults import Faults
from worlds.core.models import Count, Strict


class VoteMeasures(Strict):
    """One vote by each rule; `options` by seat, None if a vote was invalid or missing."""

    average: float = Field(ge=0, le=1)
    majority: Count
    options: tuple[str | None, ...]
    invalid: Count
    missing: Count
    asked_again: Count
    plurality: Count | None = None
    """1 if the most frequent vote is right, the first of equals; missing in older verdicts."""


class Votes(Strict):
    """The votes before and after the talk."""

    before: VoteMeasures | None
    after: VoteMeasures | None


class Consensus(Strict):
    """The first time that all stances agreed; all fields are None if they never did."""

    round: int | None
    option: str | None
    right: bool | None
    premature: bool | None
    """True if some seat still lacked a fact that the proof needs."""

    messages: Count | None


class MoveCount(Strict):
    """Number of opportunities for one kind of switch or hold, and of those taken."""

    opportunities: Count
    taken: Count


class Bias(Strict):
    """Shared-information bias, and the excess of repetitions of shared facts over their share of the hands."""

    sib: float | None
    sib_null: float | None
    sib_excess: float | None
    repetition: float | None


class Losses(Strict):
    """Causes of lost accuracy: 1 - average = pooling - lucky + listening."""

    grounded: float
    lucky: float
    pooling: float
    listening: float
    misled: float | None = None
    """Seats that voted wrongly and had heard a fact denied or contradicted; missing in older verdicts."""


class SeatMeasures(Strict):
    """One seat: its votes, when it learned which fact, and from which turn on it could decide for the key."""

    seat: Count
    person: Count
    before: str | None
    after: str | None
    hand: tuple[str, ...]
    learned: dict[str, Count]
    """Fact -> the turn that told it."""

    told: Count
    messages: Count
    told_false: tuple[str, ...] = ()
    """Facts of its hand that it denied or contradicted; missing in older verdicts, like the next field."""

    heard_false: tuple[str, ...] = ()
    """Facts of others that somebody who knew them denied or contradicted."""

    could_know: bool | None
    decidable_turn: int | None
    decidable_round: int | None
    adopted_turn: int | None
    excluded: tuple[tuple[int, tuple[str, ...] | None], ...] | None
    """For each turn that taught the seat something, the options that its facts rule out."""

    moves: dict[str, tuple[int, int]] | None
    """Kind -> taken, opportunities."""


class Measures(Strict):
    """All measurements of one session."""

    ended_by: str | None
    lies: Count
    """Number of claims of the log that contradict the rules."""

    finished: bool
    condition: str
    deal: str | None
    """hidden or manifest; None if the scenario is no deal of a deck."""

    track: str
    variant: str
    rounds: Count
    early_stop: int | None
    certified: bool
    whose: str | None = None
    """Origin of the scenario: own, imported or generated; None in verdicts of older versions."""

    reward: float
    votes: Votes
    gain: float | None
    integration: float | None
    """Fraction of the private facts that surfaced."""

    integration_decisive: float | None
    uptake: float | None
    surfaced: dict[str, Count]
    """Private fact -> the first turn that told it."""

    falsified: dict[str, Count] = {}
    """Private fact -> the first turn that denied or contradicted it; missing in older verdicts, like the next field."""

    honesty: float | None = None
    """Fraction of the private facts in hands that their holder never denied or contradicted."""

    cited_only: tuple[str, ...]
    messages: Count
    forfeits: Count
    bad_handles: int | None
    consensus: Consensus | None
    moves: dict[str, MoveCount | None] | None
    bias: Bias
    losses: Losses | None
    seats: tuple[SeatMeasures, ...]
    faults: Faults = ()
    """Seats with no vote, an invalid vote, or a wrong vote although they could have known; missing in older verdicts."""
