"""Who sits where: read from flags, and worked out for an attempt.

1. `--seat SEAT=WHO` names one seat's holder: a policy where the family offers one of that name, a recorded episode with
   `replay:FOLDER`, and else a model. The word `human` is kept for people, who cannot sit down yet.
2. The line-up belongs to the attempt. With `rotate` everybody moves on by one seat with each attempt, so as many attempts as
   there are seats put each player once at each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.agent import AgentSpec, SeatSpec
from harness.agents.seating.policy import seat_players
from harness.errors import UsageError


def read_seats(texts: Sequence[str], models: Sequence[str], families: Sequence[str]) -> tuple[SeatSpec, ...]:
    """The seats that `--seat` and `--seat-model` name, in order; raises UsageError for what names none, or one twice.

    `families`: those of the tasks that will be played, whose policies go by name.
    """
    seats = [_read(text, families) for text in texts] + [_read(text, ()) for text in models]
    numbers = [one.seat for one in seats]
    if twice := next((number for number in numbers if numbers.count(number) > 1), None):
        raise UsageError(f"seat {twice} is named twice")
    return tuple(sorted(seats, key=lambda one: one.seat))


def line_up(spec: AgentSpec, seats: int, attempt: int = 1) -> tuple[SeatSpec, ...]:
    """Who holds each of the seats in an attempt (from 1); raises UsageError for a line-up with a seat that there is not."""
    if spec.kind == "llm":
        usual = [SeatSpec(seat=number, kind="model", name=spec.model or "") for number in range(seats)]
    else:
        usual = [SeatSpec(seat=number, kind="policy", name=spec.name) for number in range(seats)]
    for one in spec.seats:
        if one.seat >= seats:
            raise UsageError(f"there are the seats 0 to {seats - 1}, so --seat {one.seat} means nothing")
        usual[one.seat] = one
    moved = attempt - 1 if spec.rotate else 0
    return tuple(usual[(number - moved) % seats].model_copy(update={"seat": number}) for number in range(seats))


def others(spec: AgentSpec) -> tuple[SeatSpec, ...]:
    """The seats that somebody else holds than the model or policy of all the rest."""
    usual = ("model", spec.model) if spec.kind == "llm" else ("policy", spec.name)
    return tuple(one for one in spec.seats if (one.kind, one.name) != usual)


def _read(text: str, families: Sequence[str]) -> SeatSpec:
    parts = re.fullmatch(r"(\d{1,3})=(.+)", text, re.ASCII)
    if not parts:
        raise UsageError(f"a seat must look like 0=imap or 0=gpt-5, not {text!r}")
    seat, who = int(parts[1]), parts[2]
    if who == "human":
        return SeatSpec(seat=seat, kind="human")
    if who.startswith("replay:"):
        return SeatSpec(seat=seat, kind="replay", name=who.removeprefix("replay:"))
    policy = any(who in seat_players(family) for family in families)
    return SeatSpec(seat=seat, kind="policy" if policy else "model", name=who)
