"""Stop signals: the first raises KeyboardInterrupt, and later ones are ignored until the clean-up is complete.

1. INT (Ctrl-C), TERM (a supervisor) and HUP (a closed terminal) stop in the same way; the exit code is 128 plus the signal.
2. Interrupting the clean-up would leave containers behind, so a second signal has no effect. If the clean-up itself hangs, a
signal after `PATIENCE_S` ends the process immediately. The next run removes the leftovers.
3. A signal that was ignored when the process started stays ignored: under nohup a run outlives its terminal.
4. After HUP, output to the terminal would fail, so it is discarded.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 10.0
"""Real seconds that a clean-up may take before another signal ends the process."""


class StopSignals:
    """Signal handling of this process, and the first stop signal that it received."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        """First signal received, or None."""

        self._since = 0.0
        self._terminals: list[int] = []

    def obey(self) -> None:
        """Raise KeyboardInterrupt in the main thread at the first of these signals."""
        self._terminals = [number for number in (1, 2) if os.isatty(number)]
        for number in STOPPING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._stop)

    def ignore(self) -> None:
        """Ignore these signals from now on, because the process is ending."""
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)

    @property
    def exit_code(self) -> int:
        """Return 128 plus the number of the signal received, or of Ctrl-C without one."""
        return 128 + (self.received or signal.SIGINT)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._fall_silent()
        if self.received is None:
            self.received, self._since = signal.Signals(number), time.monotonic()
            raise KeyboardInterrupt
        if time.monotonic() - self._since > PATIENCE_S:
            os._exit(self.exit_code)

    def _fall_silent(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        for terminal in self._terminals:
            os.dup2(nowhere, terminal)
        os.close(nowhere)


stop_signals = StopSignals()
"""Signal handling of the command line."""


@contextmanager
def interrupting() -> Iterator[None]:
    """Raise KeyboardInterrupt in the main thread on TERM and HUP, as on INT, unless another handler is installed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    unclaimed = [number for number in STOPPING[1:] if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in unclaimed:
            signal.signal(number, signal.default_int_handler)
        yield
    finally:
        for number in unclaimed:
            signal.signal(number, signal.SIG_DFL)
