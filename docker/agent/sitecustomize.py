"""Makes time.sleep move the world's clock, and advances Python's stopwatches by the time slept.

Python imports this file at start-up from the standard library's own folder, so that -I, -E and every
virtual environment load it too. It acts only if PARLEY_VIRTUAL_TIME=1 is set. It runs before every
program, so it imports only modules that the interpreter has already loaded, and the socket when first needed.
"""

import os
import sys
import time
from _operator import index
from _thread import allocate_lock

API = ("api", 8080)
POLLING_PACKAGES = ("subprocess", "multiprocessing")


class Stopwatch:
    """The machine's monotonic time plus the time that this process slept on the world's clock.

    Its bound methods replace functions of `time`. As attributes of another class they do not turn into methods of that class,
    exactly like the built-in functions that they replace.
    """

    def __init__(self) -> None:
        self._sleep = time.sleep
        self._monotonic_ns = time.monotonic_ns
        self._perf_counter_ns = time.perf_counter_ns
        self._slept_ns = 0
        self._lock = allocate_lock()

    def __reduce__(self) -> str:
        """Pickle by name, so that `pool.submit(time.sleep, 1)` still reaches another process."""
        return "stopwatch"

    def sleep(self, seconds: float, /) -> None:
        """Move the world's clock; polling and zero wait in real time. Invalid values raise the errors of time.sleep."""
        span = float(seconds if isinstance(seconds, float) else index(seconds))
        if not 0 <= span < float("inf"):
            self._sleep(seconds)
        elif span == 0 or _caller_polls():
            _wait_for_real(span)
        else:
            _ask_world(span)
            with self._lock:
                # The world rounds a wait up to the millisecond in just this way.
                self._slept_ns -= int(-round(span * 1000, 6) // 1) * 1_000_000

    def monotonic_ns(self) -> int:
        """Return time.monotonic_ns plus the slept time."""
        return self._monotonic_ns() + (0 if _caller_polls() else self._slept_ns)

    def perf_counter_ns(self) -> int:
        """Return time.perf_counter_ns plus the slept time."""
        return self._perf_counter_ns() + (0 if _caller_polls() else self._slept_ns)

    def monotonic(self) -> float:
        """Return time.monotonic plus the slept time."""
        return (self._monotonic_ns() + (0 if _caller_polls() else self._slept_ns)) / 1e9

    def perf_counter(self) -> float:
        """Return time.perf_counter plus the slept time."""
        return (self._perf_counter_ns() + (0 if _caller_polls() else self._slept_ns)) / 1e9


def _caller_polls() -> bool:
    """Return True if the code that called the stopwatch waits for a real process by polling.

    On the world's clock such a loop would consume virtual minutes, and its deadline would pass at once.
    """
    caller = sys._getframe(1).f_back  # noqa: SLF001 - inspect is too slow to import at every start
    # A thread may start in the stopwatch itself, and then nobody called it.
    return caller is not None and str(caller.f_globals.get("__name__")).partition(".")[0] in POLLING_PACKAGES


def _wait_for_real(seconds: float) -> None:
    """Sleep in real time, by select: libfaketime 0.9.10 breaks the absolute clock_nanosleep under time.sleep (EINVAL)."""
    from select import select  # noqa: PLC0415 - few programs come here

    select([], [], [], seconds)


def _ask_world(seconds: float) -> None:
    """POST /clock/wait. Raises RuntimeError with the world's message if it refuses, OSError if it is not reachable."""
    body = b'{"seconds": %s}' % repr(seconds).encode()
    head = b"POST /clock/wait HTTP/1.1\r\nHost: api:8080\r\nConnection: close\r\n"
    reply = _exchange(head + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    if reply.split(b" ", 2)[1:2] != [b"200"]:
        words = reply.partition(b"\r\n\r\n")[2].decode(errors="replace")
        raise RuntimeError(f"the world refused to wait {seconds} s: {words or 'no answer'}")


def _exchange(request: bytes) -> bytes:
    """Send one request over one connection, below every Python module that a program may replace or patch."""
    from _socket import socket  # noqa: PLC0415 - few programs come here

    link = socket()
    try:
        link.settimeout(None)
        link.connect(API)
        link.sendall(request)
        return b"".join(iter(lambda: link.recv(65536), b""))
    finally:
        link.close()


stopwatch = Stopwatch()
if os.environ.get("PARLEY_VIRTUAL_TIME") == "1":
    for _name in ("sleep", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"):
        setattr(time, _name, getattr(stopwatch, _name))
