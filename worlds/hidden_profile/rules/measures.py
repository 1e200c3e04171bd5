"""The measures of one hidden-profile session, as `metrics` of its verdict.json holds them: votes, pooling, and seat by seat.

Validators make them; reports and readers of recorded episodes take them from the file. Fields stand in the order of the file.
None stands for what was not measured: proofs without a certificate, stances on the free track, facts without cues there, a vote
that was not held. Turns of the talk count from 1, seats from 0; a person is the scenario's hand, from 1.
"""

from __future__ import annotations

from pydantic import Field

from worlds.core.faults import SeatFault, has_none
from worlds.core.models import Count, Strict


class VoteMeasures(Strict):
    """One vote by the average and the majority rule; `options` by seat, None where a vote was invalid or missing."""

    average: float = Field(ge=0, le=1)
    majority: Count
    options: tuple[str | None, ...]
    invalid: Count
    missing: Count
    asked_again: Count


class Votes(Strict):
    """The votes before and after the talk."""

    before: VoteMeasures | None
    after: VoteMeasures | None


class Consensus(Strict):
    """The first time that all stances agreed; all None where they never did."""

    round: int | None
    option: str | None
    right: bool | None
    premature: bool | None
    """Whether some seat still lacked a fact that the proof needs."""

    messages: Count | None


class MoveCount(Strict):
    """How often seats could have switched or held in one way, and how often they did."""

    opportunities: Count
    taken: Count


class Bias(Strict):
    """Shared-information bias, and how much more often shared facts are repeated than they are held."""

    sib: float | None
    sib_null: float | None
    sib_excess: float | None
    repetition: float | None


class Losses(Strict):
    """Where accuracy was lost: 1 - average = pooling - lucky + listening."""

    grounded: float
    lucky: float
    pooling: float
    listening: float


class SeatMeasures(Strict):
    """One seat: its votes, what it learned when, and from which turn on the key was decidable for it."""

    seat: Count
    person: Count
    before: str | None
    after: str | None
    hand: tuple[str, ...]
    learned: dict[str, Count]
    """Fact -> the turn that told it."""

    told: Count
    messages: Count
    could_know: bool | None
    decidable_turn: int | None
    decidable_round: int | None
    adopted_turn: int | None
    excluded: tuple[tuple[int, tuple[str, ...] | None], ...] | None
    """After each turn that taught the seat something: the options that its facts rule out."""

    moves: dict[str, tuple[int, int]] | None
    """By kind: taken, opportunities."""


class Measures(Strict):
    """All of one session."""

    ended_by: str | None
    lies: Count
    """Claims of the log that the rules contradict."""

    finished: bool
    condition: str
    deal: str | None
    """hidden or manifest; None where the scenario is no deal of a deck."""

    track: str
    variant: str
    rounds: Count
    early_stop: int | None
    certified: bool
    whose: str | None = None
    """own, imported or generated: whose work the scenario is; None in verdicts of versions that did not say."""

    reward: float
    votes: Votes
    gain: float | None
    integration: float | None
    """Share of the private facts that came to light."""

    integration_decisive: float | None
    uptake: float | None
    surfaced: dict[str, Count]
    """Private fact -> the first turn that told it."""

    cited_only: tuple[str, ...]
    messages: Count
    forfeits: Count
    bad_handles: int | None
    consensus: Consensus | None
    moves: dict[str, MoveCount | None] | None
    bias: Bias
    losses: Losses | None
    seats: tuple[SeatMeasures, ...]
    faults: tuple[SeatFault, ...] = Field(default=(), exclude_if=has_none)
    """Seats that gave no vote, an invalid one, or a wrong one though they could have known; not in earlier verdicts."""
