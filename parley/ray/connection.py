"""Connection to a Ray cluster. Ray is imported on demand, without output, usage reports or its signal handlers.

Ray replaces the SIGTERM handler when it connects. The previous handler is restored, so that stopping a run reaches the run,
which then disconnects from its nodes.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from harness.errors import RuntimeFailure, UsageError
from harness.interrupts import STOPPING

EXTRA = "pip install 'parley-bench[ray]'"
START = "ray start --head --resources '{\"parley_sandbox\": 4}'"

_HEARD_S = 10
"""Real seconds within which a listening machine accepts a connection."""


class NoFolders(list[str]):
    """Module search path of workers that stays empty, whatever Ray adds.

    Ray adds the driver's folder to it. On a node that has a folder of that name, workers would import the harness from there.
    """

    def __init__(self) -> None:
        super().__init__()

    def __bool__(self) -> bool:
        """Return True, because Ray replaces an empty list with its default."""
        return True

    def extend(self, values: Iterable[str]) -> None:
        """Ignore the values."""


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield the Ray library, connected to the cluster at an address; raises UsageError or RuntimeFailure if that fails."""
    if "://" in address:
        why = f"--address {address} is a Ray Client address, but a run must start on a node of the cluster"
        raise UsageError(why, hint="on a node: harness run ... --executor ray --address auto")
    ray = library()
    with _signals_kept():
        try:
            _check_heard(address)
            job = ray.job_config.JobConfig(_py_driver_sys_path=NoFolders())
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, job_config=job)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            said = str(error).strip().splitlines()
            why = f"no Ray cluster at {address}: {said[0] if said else type(error).__name__}"
            raise RuntimeFailure(why, hint=START) from None
    try:
        yield ray
    finally:
        with _signals_kept():
            ray.shutdown()


def _check_heard(address: str) -> None:
    """Connect to the address and raise OSError immediately if nothing listens. Ray itself would retry for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _HEARD_S).close()


def library() -> Any:
    """Return the Ray library with usage reports disabled; raises UsageError if it is not installed."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        ray = import_module("ray")
    except ModuleNotFoundError:
        raise UsageError("--executor ray needs Ray, which is not installed", hint=EXTRA) from None
    # Ray reports a worker that ends early on stdout, where it would mix with our output, and has no setting to prevent it
    vars(import_module("ray._private.worker"))["print_to_stdstream"] = lambda *told, **how: None
    return ray


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Restore the handlers of the stop signals on exit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
