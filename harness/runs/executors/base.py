"""Executors, which play the episodes of a run: their protocol, their messages to the run, and worker threads.

1. An `Order` is one episode to play, as data: it can be pickled, and the executor creates the agent from its spec.
2. The process that plays an episode writes its folder, once and completely (decision 0018). An executor sends the run progress
events (`News`), which only inform; the run writes no results.
3. Progress events arrive in order, so an episode's `Started` comes before its `Finished`. Leaving the context early
cancels the orders: nothing more is started, running episodes are killed, and episodes without a record count as not started.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from harness.agent import AgentSpec, Budget
from harness.attribution import Phase
from harness.errors import Cancelled
from harness.pod import EpisodeSpec
from harness.records import Hint, Key, Result
from worlds.core.models import Strict


@dataclass(frozen=True)
class Order:
    """Episode to play."""

    spec: EpisodeSpec
    key: Key
    agent: AgentSpec = field(default_factory=AgentSpec)
    budget: Budget = field(default_factory=Budget)
    hint: Hint | None = None
    images: Mapping[str, str] = field(default_factory=dict)
    """Images in which the episode is played, for its record."""


@dataclass(frozen=True)
class Started:
    """Start of an episode."""

    key: Key


@dataclass(frozen=True)
class Finished:
    """End of an episode, with its record."""

    key: Key
    result: Result


@dataclass(frozen=True)
class Again:
    """Retry of episodes without a grade after a pause in real seconds."""

    keys: tuple[Key, ...]
    seconds: float


class Scored(Strict):
    """State of the comparison of two players, sent before the first task and after each scored task."""

    task: str | None
    """Task that was scored last; None before the first."""

    difference: float | None
    """Difference on that task, first player minus second."""

    first: str
    second: str
    """Name of the second part; the field above is the name of the first."""

    ahead: str | None
    """Player that is ahead so far."""

    e_value: float
    needed: float
    """E-value required for a decision."""

    scored: int
    """Number of scored tasks, out of `tasks`."""

    tasks: int


News = Started | Phase | Finished | Again | Scored
Progress = Callable[[News], object]


class Executor(Protocol):
    """Executor that plays orders."""

    def playing(self, orders: Sequence[Order], workers: int) -> AbstractContextManager[Iterator[News]]:
        """Play these orders with `workers` workers, and yield their progress events until each order has a record.

        Raises Cancelled on an interrupt.
        """
        ...


LEAST = 30
"""Minimum number of episodes for which starting processes saves time (`parley.bulk`)."""

_POLL_S = 0.1
_GRACE_S = 1.0

Play = Callable[[Sequence[Order], Progress], Iterator[Result]]
"""Function that plays orders, reports progress, and yields each result after its record is written."""


class WorkerThreads:
    """Worker threads of one run. They take orders from one queue and put progress events into another.

    The main thread reads the events. It raises an exception of a worker, which ends the run. `kill` ends the work of all
    threads and may be called from any thread. Threads are daemons, so a hanging model call cannot block the exit.
    """

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
        """Progress events of the workers; None means that a worker has ended."""

    @contextmanager
    def working(self, orders: Sequence[Order], count: int) -> Iterator[Iterator[News]]:
        """Run workers during the context and yield their progress events. Leaving the context by an exception cancels them."""
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
        """Stop the queue and kill running work twice: now, and once more for work that was just being started."""
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
