"""What everybody was asked to believe of everybody else after a round, rebuilt: who was asked of whom, and what was read.

A reply that the world had to repair is taken as its note tells it, and must then be scores all the same.
"""

from __future__ import annotations

import re
from typing import Any

from validators.calendar.board import Board, Now
from validators.calendar.history import Reflected
from validators.tape import Unanswered
from worlds.calendar.rules.beliefs import read_expected, read_scores, weighed
from worlds.calendar.rules.replies import scores_shape
from worlds.core.events import Turned
from worlds.core.replies import read_answer
from worlds.core.reply_parts import load

PHASE = "REFLECTION"
_CELL = re.compile(r"^Slot +\d+: (?:\[FREE\]|(?:Blocked )?Errand #|Meeting M)", re.MULTILINE)
"""How a line of a calendar begins."""


def reflect(board: Board, now: Now) -> None:
    """Follow the questions after a round; raises Unanswered where the log ends in them, Lost where they cannot be followed."""
    seats = board.scenario.agents
    for step in range(1, len(seats)):
        turns = [turn for seat in seats if (turn := board.tape.asked(seat, PHASE, now.number))]
        board.tape.barrier(turns)
        if len(turns) < len(seats):
            if board.tape.over and not turns:
                raise Unanswered
            board.tape.broken_off(f"{PHASE} of round {now.number}")
        for turn in turns:
            # a question brings nothing: no mail, no word of what became of a round, no calendar
            board.check_text(turn, (), "", ())
            if _CELL.search(turn.text):
                board.tape.lie(turn, f"seat {turn.seat} was shown a calendar")
        for turn in turns:
            _noted(board, now, turn, (turn.seat + step) % len(seats))


def _noted(board: Board, now: Now, turn: Turned, target: int) -> None:
    """One answer, with the note on how it was read."""
    slots, weighs = board.scenario.slots, board.settings.reflection == "expected"
    outer = load(turn.reply) if weighs else None
    said = weighed(outer)
    reading = read_answer(turn.reply if said is None else said, scores_shape(slots))
    scores, expected, how = reading.value, read_expected(outer, slots), reading.how
    if reading.is_broken and not board.settings.strict_replies and (scores := _repaired(board, turn.seat)) is not None:
        how = "repaired"
    how = "strict" if how == "bare_list" else how
    expected = None if scores is None else expected
    data: dict[str, Any] = {"round": now.number, "target": target, "how": how, "no_reply": turn.no_reply}
    data["scores"] = None if scores is None else list(scores)
    if weighs:
        data["expected"] = None if expected is None else list(expected)
    board.tape.exactly("reflection", turn.seat, data)
    board.reflected.append(Reflected(now.number, turn.seat, target, scores, how, turn.no_reply, expected))


def _repaired(board: Board, seat: int) -> tuple[int, ...] | None:
    ahead = board.tape.ahead if board.tape.is_next("reflection", seat) else {}
    return read_scores(ahead.get("scores"), board.scenario.slots) if ahead.get("how") == "repaired" else None
