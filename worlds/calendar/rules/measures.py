"""Measurements of one calendar game, stored as `metrics` in verdict.json: for the game, by meeting, and by seat.

Validators make them; reports and readers of recorded episodes read them from the file. Fields are in the order of the file.
Costs are on the scored scale unless called shown. None means that a certificate is missing, or that a ratio's divisor is 0.
Counts stay integers, also in sums; `Measured` keeps integers and floats apart.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from worlds.core.faults import Faults
from worlds.core.models import Strict

Measured = int | float
Role = Literal["first", "participant", "outsider"]
"""Role of a seat in a round: the first speaker, another participant of its meeting, or neither."""


def omitted_field() -> Any:
    """Return a field that a verdict omits unless it was measured: for games that asked for beliefs."""
    return Field(default=None, exclude_if=lambda value: value is None)


class RoundMeasures(Strict):
    """One meeting, in the order of the rounds; `slots` maps each participant to its choice."""

    meeting: int
    round: int
    label: str
    letter: str | None
    """Letter in the paper's Figure 5."""

    slots: dict[str, int | None]
    coordinated: bool
    reached: bool
    first_speaker: int
    broken: tuple[int, ...]
    """Earlier meetings that this round broke."""

    refused: int
    """Number of batches that were refused."""

    refused_blocked: int
    faults: Faults = ()
    """Seats that lost the round, if the rules tell; missing in verdicts of older versions."""


class SeatMeasures(Strict):
    """One seat: the paper's measures by name (specification 8)."""

    seat: int
    meetings: int
    scheduled: int
    coordination: float | None
    first_speaker: int
    cost: int
    """Cost of all commits, including failed rounds."""

    cost_kept: int
    """Cost of rounds that succeeded."""

    paid: int
    """Total cost on the account at the end."""

    paid_shown: int
    messages: int
    messages_per_scheduled: float
    oracle_cost: int | None
    excess: int | None
    excess_kept: int | None
    deviation: int | None
    excess_range: tuple[int, int] | None
    excess_fairest: int | None
    vps: Measured
    """Loss through typed messages in slots, before the floor."""

    excess_vps: Measured
    adjusted_cost: float | None
    fairness: float | None = None
    """Distance of the seat's deviation from the mean of all."""

    raw_reflection_vps: float | None = omitted_field()
    """Total change, in slots, of the others' stated beliefs about this seat's calendar, correct or not."""

    reflection_vps: float | None = omitted_field()
    """The part of these changes that agrees with the truth, before the floor; None if no observer's answer could be read."""

    excess_reflection_vps: float | None = omitted_field()
    beliefs: int | None = omitted_field()
    """Number of readable answers of this seat about others."""

    unreadable: int | None = omitted_field()
    """Number of unreadable or missing answers of this seat; None for a program, which is not asked."""

    weighed: int | None = omitted_field()
    """Number of readable answers that counted as expectations over tokens; only if these were asked for."""


class SeatRoundMeasures(Strict):
    """One seat's part in one round."""

    round: int
    seat: int
    role: Role
    messages: int
    prose: int
    """Number of messages that are no typed message of a protocol; `vps` does not cover them."""

    vps: Measured
    """Loss through typed messages in slots, before the floor, which applies to the whole game."""

    moves: int
    """Number of items that its batches moved, including failed rounds, as in the next two fields."""

    cost: int
    moved: tuple[int, ...]
    """Earlier meetings among these items, each once."""

    alone: tuple[int, ...]
    """Those meetings that not all their participants moved in this round."""

    oracle_cost: int | None
    """A participant's cost of the round's meeting in the certificate's schedule; None for outsiders."""

    reflection_vps: float | None = omitted_field()
    """Correct changes of the others' stated beliefs about this seat in this round, in slots, before the floor."""


class PrivacyMeasures(Strict):
    """Information about calendars that was told in a game, in slots, split by origin."""

    prior: float
    cumulative: bool
    by_source: dict[str, Measured]
    by_channel: dict[str, Measured]
    by_phase: dict[str, Measured]


class BeliefMeasures(Strict):
    """One answer about one calendar after one round; `scores` by slot, and their losses in slots; None if unreadable."""

    round: int
    observer: int
    target: int
    scores: tuple[int, ...] | None
    how: str
    """Way in which the reply was read; `failed` if it could not be."""

    no_reply: str | None
    expected: tuple[float, ...] | None = omitted_field()
    """Expectations over the model's tokens, which replace the scores if they are known."""

    raw: float | None
    calibrated: float | None


class TakenMeasures(Strict):
    """Taken slots of one calendar at the end of one round, which beliefs are compared with."""

    round: int
    seat: int
    taken: tuple[int, ...]


class ReflectionMeasures(Strict):
    """Answers to the questions about each other's calendars."""

    floor: float
    beliefs: tuple[BeliefMeasures, ...]
    calendars: tuple[TakenMeasures, ...]


class Measures(Strict):
    """All measurements of one game; `sums`, `counts` and `means` cover the seats that have a value."""

    setting: str = ""
    """Setting of the scenario, which groups games into rows; "" in files of older versions."""

    ended_by: str | None
    lies: int
    """Number of claims of the log that contradict the rules."""

    finished: bool
    meetings: int
    scheduled: int
    standing: int
    """Number of meetings that are scheduled at the end."""

    labels: dict[str, int]
    refused: int
    refused_blocked: int
    cost: int
    cost_kept: int
    paid: int
    paid_shown: int
    optimum: int | None
    """Optimum of the meetings that were scheduled."""

    optimum_all: int | None
    worst_all: int | None
    normalised_cost: float | None
    cost_vs_greedy: float | None
    regret: float | None
    """None if no schedule of all meetings is known."""

    reward: float
    rounds: tuple[RoundMeasures, ...]
    seats: tuple[SeatMeasures, ...]
    seat_rounds: tuple[SeatRoundMeasures, ...] = ()
    """Empty in verdicts of older versions."""

    sums: dict[str, Measured]
    counts: dict[str, int]
    means: dict[str, float | None]
    vps: PrivacyMeasures
    reflection: ReflectionMeasures | None = omitted_field()
