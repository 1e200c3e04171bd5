"""Episodes played by threads of this process: the work is in containers, sandboxes and model calls, and threads wait for it.

Episodes share nothing but the runtime and the agents of the cast. Where agents only compute, the next pods are opened ahead; a
model plays for minutes, and a pod that waits for it would only take memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from harness.play.agents import Cast
from harness.play.episode import run_episode
from harness.play.outcome import record
from harness.pod import EpisodeSpec, Runtime
from harness.records import Result, RunFolder
from harness.runs.executors.ahead import Ahead
from harness.runs.executors.base import News, Order, Progress
from harness.runs.executors.crew import Crew


class Threads:
    """Plays orders in one runtime and records them in one run's folder."""

    def __init__(self, runtime: Runtime, folder: RunFolder, cast: Cast, run_id: str) -> None:
        self._runtime, self._folder, self._cast, self._run_id = runtime, folder, cast, run_id

    @contextmanager
    def playing(self, orders: Sequence[Order], workers: int) -> Iterator[Iterator[News]]:
        """The news of these orders; what an interrupt left half played is not recorded."""
        count = min(workers, len(orders)) or 1
        ahead = Ahead(self._runtime, self._quick(orders), count)

        def play(taken: Sequence[Order], tell: Progress) -> Iterator[Result]:
            for order in taken:
                agent = self._cast.agent(order.agent, order.spec.overrides)
                outcome = run_episode(order.spec, order.key, self._runtime, agent, order.budget, order.images, tell, ahead.open)
                if not crew.cancelled.is_set():
                    yield record(outcome, self._folder, order.hint)

        meter = self._cast.meter
        crew = Crew(play, lambda: self._runtime.abort(self._run_id), may_start=lambda: not (meter and meter.reached))
        with ahead, crew.working(orders, count) as news:
            yield news

    def _quick(self, orders: Sequence[Order]) -> list[EpisodeSpec]:
        """The episodes whose pods are worth opening ahead."""
        if self._runtime.plays_in_process:
            return []
        return [order.spec for order in orders if self._cast.agent(order.agent, order.spec.overrides).only_computes]
