"""A loop that never ends is a finding: whoever plays it is interrupted after so many seconds of processor time.

The interrupt is an exception, raised where the loop is. Worlds and clients that catch it do not hide it: it is raised again
at the end of the block, so one loop costs its limit once and not in each episode. Only the main thread of a process can be
interrupted like that; elsewhere nothing happens.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from harness.errors import TaskInvalid

LIMIT_S = 30.0
"""Seconds of processor time for one episode; the longest of ours takes less than two."""


class Endless(TaskInvalid):
    """Code of a task did not come to an end; the message begins with the line that was running."""


@contextmanager
def ending(folder: Path, episodes: int = 1) -> Iterator[None]:
    """Raise Endless where a task's code runs for longer than so many episodes may."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seconds = LIMIT_S * max(1, episodes)
    told: list[Endless] = []

    def interrupt(_: int, frame: FrameType | None) -> None:
        error = Endless(f"{_place(frame, folder)}: did not end in {seconds:g} s of processor time")
        told.append(error)
        raise error

    before = signal.signal(signal.SIGVTALRM, interrupt)
    # where the first interrupt was caught, what loops again is not waited for as long
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds / 100)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if told:
            raise told[0]


def _place(frame: FrameType | None, folder: Path) -> str:
    """`path:line` of the folder's code that is running, or has called what is."""
    while frame is not None and folder not in Path(frame.f_code.co_filename).parents:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else f"{folder / 'task.toml'}:1"
