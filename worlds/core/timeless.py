"""Runs asynchronous code of one request to its end, in an event loop that has no timers.

A world's time moves by rule, so whatever would wait for real time is an error, in every runtime alike. A server has an event
loop of its own in its thread; there the request gets a thread beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from worlds.core.errors import RealWait, WorldError


def run(serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run what `serve` returns to its end; raises what that raises, RealWait for a timer, WorldError if it cancels itself."""
    import asyncio  # noqa: PLC0415 - 30 ms of every start, paid by who has asynchronous worlds

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        _run_here(serve)
        return
    with ThreadPoolExecutor(1) as beside:
        beside.submit(_run_here, serve).result()


def _run_here(serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    from asyncio import CancelledError, Runner  # noqa: PLC0415 - as above

    with Runner(loop_factory=_loop_class()) as runner:
        try:
            runner.run(serve())
        except CancelledError:
            # no Exception, so it would end more than the request
            raise WorldError("a path operation cancelled its own request") from None


@cache
def _loop_class() -> Callable[[], Any]:
    from asyncio import SelectorEventLoop  # noqa: PLC0415 - as above

    class Timeless(SelectorEventLoop):
        """An event loop without timers."""

        def call_at(self, *_: Any, **__: Any) -> Any:  # type: ignore[override] # whatever it is given
            """Whatever waits for real time ends up here."""
            raise RealWait("a path operation waits for real time; a world has a clock of its own")

    return Timeless
