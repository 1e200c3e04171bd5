"""What everybody came to believe of everybody else's calendar in a round, asked when it is over (paper, Appendix F.3).

1. Each seat is asked of each other seat by itself, in turns that only measure: they are logged, and no part of a conversation.
   They take no virtual time, and nothing of the game depends on them.
2. All seats are asked together, in as many barriers as there are others: first each of the next seat, then of the one after.
3. A reply that cannot be read says nothing, and is not asked for again; the note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from worlds.calendar.rules.beliefs import read_scores
from worlds.calendar.state import GameState
from worlds.core.replies import parse_reply
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
            parsed = parse_reply(answer.text, strict=state.settings.strict_replies)
            scores = read_scores(parsed.value, len(state.calendars[target]))
            note(
                "reflection", seat, round=number, target=target, scores=None if scores is None else list(scores),
                how="failed" if scores is None else parsed.how, no_reply=answer.no_reply,
            )  # fmt: skip
