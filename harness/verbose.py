"""Log of the project's own packages on stderr, with times, for `-v`."""

from __future__ import annotations

import logging
import sys

_OURS = logging.getLogger("harness")


class _ToStderr(logging.Handler):
    """Log handler that writes to the current stderr, which a live table may have replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        # in one write: several processes may be printing
        sys.stderr.write(f"{self.format(record)}\n")
        sys.stderr.flush()


def log_to_stderr() -> None:
    """Show the log of the project's own packages from now on: which steps begin, and how long they took."""
    if not is_verbose():
        handler = _ToStderr()
        handler.setFormatter(logging.Formatter("%(asctime)s.%(msecs)03d %(message)s", "%H:%M:%S"))
        _OURS.addHandler(handler)
        _OURS.setLevel(logging.INFO)


def is_verbose() -> bool:
    """Return True if the log is shown."""
    return any(isinstance(handler, _ToStderr) for handler in _OURS.handlers)
