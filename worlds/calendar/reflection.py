"""What everybody came to believe of everybody else's calendar in a round, asked when it is over (paper, Appendix F.3).

1. Each seat is asked of each other seat by itself, in turns that only measure: they are logged, and no part of a conversation.
   They take no virtual time, and nothing of the game depends on them.
2. All seats are asked together, in as many barriers as there are others: first each of the next seat, then of the one after.
3. A reply that cannot be read says nothing, and is not asked for again; the note says so.
4. With `expected` a reply may have expectations beside it, which count only where the reply itself can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from worlds.calendar.rules.beliefs import read_expected, weighed
from worlds.calendar.rules.replies import scores_shape
from worlds.calendar.state import GameState
from worlds.core.mending import read_reply
from worlds.core.reply_parts import load
from worlds.core.turns import Answers, Ask

PHASE = "REFLECTION"
Reflecting = Generator[Sequence[Ask], Answers, None]


def reflect(state: GameState, number: int, seats: Sequence[int], note: Callable[..., None]) -> Reflecting:
    """Ask every seat of every other one after a round."""
    for step in range(1, len(seats)):
        targets = {seat: (seat + step) % len(seats) for seat in seats}
        texts = {seat: state.view.reflection(seat, target, number) for seat, target in targets.items()}
        answers = yield [Ask(seat, PHASE, number, texts[seat], ephemeral=True) for seat in seats]
        for seat, target in targets.items():
            answer = answers[seat][-1]
            read = _read(state, answer.text, len(state.calendars[target]))
            note("reflection", seat, round=number, target=target, **read, no_reply=answer.no_reply)


def _read(state: GameState, reply: str, slots: int) -> dict[str, Any]:
    """What a reply says, and how it was read."""
    outer = load(reply) if state.settings.reflection == "expected" else None
    said = weighed(outer)
    reading = read_reply(reply if said is None else said, scores_shape(slots), strict=state.settings.strict_replies)
    scores, expected = reading.value, read_expected(outer, slots)
    read = {"scores": None if scores is None else list(scores), "how": "strict" if reading.how == "bare_list" else reading.how}
    if state.settings.reflection != "expected":
        return read
    return {**read, "expected": None if scores is None or expected is None else list(expected)}
