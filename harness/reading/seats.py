"""What each seat of a game was told and replied: the world's log says it, and a trajectory adds what a model thought.

The log is the evidence, and it has every seat, whoever played it. The nested trajectory of a seat is laid beside it turn by
turn, matched by the text of the turn. A turn that a model never answered has no step there; a reply that the world did not
take stands there alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from harness.reading.model import Conversation, Moment, Utterance
from worlds.core.events import Event, Seated, Turned


def seat_conversations(events: Sequence[Event], recorded: Sequence[Conversation]) -> Iterator[Conversation]:
    """One conversation a seat, by the world's numbers; none where the log has no seats."""
    session = next((event for event in events if isinstance(event, Seated)), None)
    by_seat = {one.seat: one for one in recorded if one.seat is not None}
    for seat, system in enumerate(session.seats if session else ()):
        turns = [event for event in events if isinstance(event, Turned) and event.seat == seat]
        played = by_seat.get(seat)
        spoken = _laid_beside(turns, played.utterances if played else ())
        yield Conversation(
            name=f"seat {seat}",
            seat=seat,
            model=played.model if played else None,
            utterances=(Utterance(speaker="system", text=_rules(system, played)), *spoken),
        )


def _rules(system: str, played: Conversation | None) -> str:
    """The rules of a seat with what was appended to them, which the harness did and only the trajectory tells."""
    first = next(iter(played.utterances), None) if played else None
    told = first.text if first and first.speaker == "system" else ""
    return told if told.startswith(system) else system


def _laid_beside(turns: Sequence[Turned], recorded: Sequence[Utterance]) -> Iterator[Utterance]:
    """The turns of a seat, each with its reply; what the model thought comes from the step that answers the same text."""
    answered: dict[str, list[int]] = {}
    for number, told in enumerate(recorded[:-1]):
        if told.speaker == "user" and recorded[number + 1].speaker == "agent":
            answered.setdefault(told.text, []).append(number + 1)
    place = 0
    for turn in turns:
        moment = Moment(
            turn=turn.turn, seq=turn.seq, at=turn.vt / 1000, phase=turn.phase, round=turn.round, attempt=turn.attempt,
            is_ephemeral=turn.ephemeral,
        )  # fmt: skip
        yield Utterance(speaker="user", text=turn.text, moment=moment)
        steps = answered.get(turn.text, [])
        later = bisect_right(steps, place)
        step = recorded[place := steps[later]] if later < len(steps) else None
        yield Utterance(
            speaker="agent",
            text=turn.reply if turn.no_reply is None or step is None else step.text,
            reasoning=step.reasoning if step else None,
            usage=step.usage if step else None,
            said_at=step.said_at if step else None,
            finish_reason=step.finish_reason if step else None,
            moment=moment,
            forfeit=turn.no_reply,
        )
