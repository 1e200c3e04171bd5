"""Worker threads that take orders from one queue and put their news into another, which the main thread reads.

Threads are daemons, so a hanging model call cannot block the exit of the process. An exception in a worker ends the run: the
main thread raises it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from harness.errors import Cancelled
from harness.records import Result
from harness.runs.executors.base import Finished, News, Order, Progress, Started

_POLL_S = 0.1
_GRACE_S = 1.0

Play = Callable[[Sequence[Order], Progress], Iterator[Result]]
"""Function that plays orders, reports progress, and yields each result once its record is written."""


class Crew:
    """Workers of one run; `kill` ends what they are doing, and may be called from any thread."""

    def __init__(
        self, play: Play, kill: Callable[[], object], *, at_once: int = 1, may_start: Callable[[], bool] = lambda: True
    ) -> None:
        """Create the workers.

        `may_start` is called before each order; once it returns False, the remaining orders are not played.
        """
        self._play, self._kill, self._at_once, self._may_start = play, kill, at_once, may_start
        self.cancelled = threading.Event()
        self.threads: list[threading.Thread] = []
        self._todo: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[News | BaseException | None] = queue.SimpleQueue()
        """News of the workers; None means that a worker has ended."""

    @contextmanager
    def working(self, orders: Sequence[Order], count: int) -> Iterator[Iterator[News]]:
        """Run workers during the context and yield their news. Leaving the context by an exception cancels them."""
        for order in orders:
            self._todo.put(order)
        self.threads = [threading.Thread(target=self._work, name=f"episode-{n}", daemon=True) for n in range(count)]
        try:
            for thread in self.threads:
                thread.start()
            yield self._events()
        except KeyboardInterrupt:
            self.cancel()
            raise Cancelled("interrupted", hint="run the same command with --resume") from None
        except BaseException:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Stop the queue and kill running work twice: once now, and once for work that was just being started."""
        self.cancelled.set()
        self._kill()
        deadline = time.monotonic() + _GRACE_S
        for thread in self.threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        self._kill()

    def _events(self) -> Iterator[News]:
        playing = len(self.threads)
        while playing:
            try:
                news = self._news.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            if isinstance(news, BaseException):
                raise news
            if news is None:
                playing -= 1
            else:
                yield news

    def _work(self) -> None:
        while not self.cancelled.is_set():
            orders = self._next()
            if not orders:
                break
            try:
                for order in orders:
                    self._news.put(Started(order.key))
                for result in self._play(orders, self._news.put):
                    self._news.put(Finished(result.key, result))
            except BaseException as error:  # noqa: BLE001 - the main thread decides what a worker's crash means
                self._news.put(error)
                return
        self._news.put(None)

    def _next(self) -> list[Order]:
        """Return the orders that a worker plays next: one episode or a chunk; empty if all are taken."""
        orders: list[Order] = []
        with suppress(queue.Empty):
            while len(orders) < self._at_once and self._may_start():
                orders.append(self._todo.get_nowait())
        return orders
