"""Recorded episode at a seat: it repeats the recorded replies turn by turn, whatever the other seats reply now.

A turn is identified by its id (barrier, seat, attempt), so the replies come at the same place. A recorded forfeit is repeated
with its cause, and a turn that the recording does not contain is forfeited as `budget`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from harness.agent import Usage
from harness.agents.seats.holders import Forfeit, SeatReply, write_down
from harness.agents.trajectory import Trajectory
from harness.archive import read_recorded
from harness.errors import UsageError
from harness.limits import RECORD_BYTES
from harness.records import SeatResult
from worlds.core.errors import LogError
from worlds.core.events import Opened, Turned, read_log
from worlds.core.turns import OpenTurn


class ReplaySeat:
    """Seat that is played from an episode's log."""

    client = None
    beside = False

    def __init__(self, seat: int, folder: str, trajectory: Trajectory | None = None) -> None:
        self._seat, self._folder = seat, folder
        self._turns = read_recording(folder)[1]
        self.trajectory, self.usage = trajectory, Usage()

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Return the recorded reply to this turn."""
        recorded = self._turns.get(turn.id)
        if recorded is None:
            return Forfeit("budget", "the recording has no such turn")
        return Forfeit(recorded.no_reply, "as recorded") if recorded.no_reply else SeatReply(recorded.reply)

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Record the reply if games are recorded turn by turn."""
        write_down(self.trajectory, turn, reply)

    def result(self) -> SeatResult:
        """Return the folder that was replayed."""
        return SeatResult(seat=self._seat, kind="replay", name=self._folder)


def check_recording(folder: str, task_id: str) -> None:
    """Raise UsageError for a folder without an episode of this task."""
    recorded = read_recording(folder)[0]
    if recorded != task_id:
        raise UsageError(f"{folder} is an episode of {recorded}, so it cannot be replayed at {task_id}")


@lru_cache(maxsize=8)
def read_recording(folder: str) -> tuple[str, Mapping[str, Turned]]:
    """Return the task and the turns by id of a recorded episode; raises UsageError for a folder without one."""
    try:
        events = read_log(read_recorded(Path(folder), "events.jsonl", RECORD_BYTES))
    except (OSError, LogError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        hint = "--seat 0=replay:RUN/episodes/FAMILY/TASK/s0-a1"
        raise UsageError(f"{folder}/events.jsonl is no recorded episode: {why}", hint=hint) from None
    opened, turns = events[0], {event.turn: event for event in events if isinstance(event, Turned)}
    assert isinstance(opened, Opened), "a log that reads begins with what was opened"
    return opened.task_id, turns
