"""The measures of one calendar game, as `metrics` of its verdict.json holds them: for the game, by meeting, and by seat.

Validators make them; reports and readers of recorded episodes take them from the file. Fields stand in the order of the file.
Costs are on the scored scale but for those called shown. None stands for what a certificate would have to say, or for a ratio
whose divisor is 0. What is counted stays a whole number, also where it is summed: `Measured` keeps the two apart.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from worlds.core.faults import SeatFault, has_none
from worlds.core.models import Strict

Measured = int | float
Role = Literal["first", "participant", "outsider"]
"""Of a seat in a round: the first speaker, another participant of its meeting, or neither."""


def _is_absent(value: object) -> bool:
    return value is None


def unless_asked() -> Any:
    """A field that a verdict has only where it was measured: of games that asked for beliefs."""
    return Field(default=None, exclude_if=_is_absent)


class RoundMeasures(Strict):
    """One meeting, in the order of the rounds; `slots` has each participant's choice, by seat."""

    meeting: int
    round: int
    label: str
    letter: str | None
    """Of the paper's Figure 5."""

    slots: dict[str, int | None]
    coordinated: bool
    reached: bool
    first_speaker: int
    broken: tuple[int, ...]
    """Earlier meetings that this round broke."""

    refused: int
    """Batches that were refused."""

    refused_blocked: int
    faults: tuple[SeatFault, ...] = Field(default=(), exclude_if=has_none)
    """Which seats lost it, where the rules say it; not in verdicts of versions that did not."""


class SeatMeasures(Strict):
    """One seat: the paper's measures by its names (specification 8)."""

    seat: int
    meetings: int
    scheduled: int
    coordination: float | None
    first_speaker: int
    cost: int
    """Everything that was ever committed, failed rounds included."""

    cost_kept: int
    """Of rounds that succeeded."""

    paid: int
    """What is on the account at the end."""

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
    """Slots told to others, before the floor."""

    excess_vps: Measured
    adjusted_cost: float | None
    fairness: float | None = None
    """How far the seat's deviation lies from the mean of all."""

    raw_reflection_vps: float | None = unless_asked()
    """Slots by which others said that their beliefs of this seat's calendar moved, whether rightly or not."""

    reflection_vps: float | None = unless_asked()
    """Of these, the ones that went towards the truth, before the floor; none where no observer's answer could be read."""

    excess_reflection_vps: float | None = unless_asked()
    beliefs: int | None = unless_asked()
    """Answers of this seat about others that could be read."""

    unreadable: int | None = unless_asked()
    """Answers of this seat that could not be read, or that it did not give; none of a program's, which is not asked."""

    weighed: int | None = unless_asked()
    """Of the answers that could be read, those that counted as expectations over tokens; only where these were asked for."""


class SeatRoundMeasures(Strict):
    """One seat's part in one round."""

    round: int
    seat: int
    role: Role
    messages: int
    prose: int
    """Of these, how many are no typed message of a protocol: `vps` says nothing of what they told."""

    vps: Measured
    """Slots told by typed messages, before the floor, which is one for the whole game."""

    moves: int
    """Items that its batches moved, failed rounds included, as in the next two."""

    cost: int
    moved: tuple[int, ...]
    """Earlier meetings among these items, each once."""

    alone: tuple[int, ...]
    """Of these, the ones that not all their participants moved in this round."""

    oracle_cost: int | None
    """What the certificate's schedule has a participant pay for the round's meeting; None for outsiders."""

    reflection_vps: float | None = unless_asked()
    """Slots that others came to know rightly of this seat's calendar in this round by their own answers, before the floor."""


class PrivacyMeasures(Strict):
    """What was told of calendars in a game, in slots, split by where it came from."""

    prior: float
    cumulative: bool
    by_source: dict[str, Measured]
    by_channel: dict[str, Measured]
    by_phase: dict[str, Measured]


class BeliefMeasures(Strict):
    """One answer about one calendar after one round; `scores` by slot, with the slots that they came to, None where unread."""

    round: int
    observer: int
    target: int
    scores: tuple[int, ...] | None
    how: str
    """How the reply was read; `failed` where it could not be."""

    no_reply: str | None
    expected: tuple[float, ...] | None = unless_asked()
    """What counted in place of the scores: expectations over the model's tokens, where they are known."""

    raw: float | None
    calibrated: float | None


class TakenMeasures(Strict):
    """The slots of one calendar that were taken at the end of one round: what beliefs are held against."""

    round: int
    seat: int
    taken: tuple[int, ...]


class ReflectionMeasures(Strict):
    """What all were asked to believe of each other's calendars."""

    floor: float
    beliefs: tuple[BeliefMeasures, ...]
    calendars: tuple[TakenMeasures, ...]


class Measures(Strict):
    """All of one game; `sums`, `counts` and `means` are over the seats that have a value."""

    setting: str = ""
    """Of the scenario: what games must share to share a row; "" in files of older versions."""

    ended_by: str | None
    lies: int
    """Claims of the log that the rules contradict."""

    finished: bool
    meetings: int
    scheduled: int
    standing: int
    """How many meetings stand at the end."""

    labels: dict[str, int]
    refused: int
    refused_blocked: int
    cost: int
    cost_kept: int
    paid: int
    paid_shown: int
    optimum: int | None
    """Of the meetings that were scheduled."""

    optimum_all: int | None
    worst_all: int | None
    normalised_cost: float | None
    cost_vs_greedy: float | None
    regret: float | None
    """None where no schedule of all meetings is known."""

    reward: float
    rounds: tuple[RoundMeasures, ...]
    seats: tuple[SeatMeasures, ...]
    seat_rounds: tuple[SeatRoundMeasures, ...] = ()
    """Empty in verdicts of versions that did not say it."""

    sums: dict[str, Measured]
    counts: dict[str, int]
    means: dict[str, float | None]
    vps: PrivacyMeasures
    reflection: ReflectionMeasures | None = unless_asked()
