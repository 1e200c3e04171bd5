"""Ray cluster that plays a run. The machine with the run's folder needs no Docker, sandbox or API key."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from harness.agent_factory import AgentPool
from harness.agents.llm.meter import Meter
from harness.attribution import phases_of
from harness.errors import Cancelled, RuntimeFailure, UsageError
from harness.live_agent import Agent
from harness.outcome import Outcome, record
from harness.pod import Runtime
from harness.records import RunFolder
from harness.registry import Task
from harness.runs.executors.base import Executor, Finished, News, Order, Started
from harness.runs.executors.sites import Needed, RunSite
from harness.runtime_choice import RUNTIMES, Say, untried_runtime
from parley.bulk import lost_episodes
from parley.ray.cluster import Cluster, cluster_of
from parley.ray.connection import connected
from parley.ray.nodes import need_of
from parley.ray.orders import EpisodeManifest, sent_needs, sent_order, unpacked

LOOK_S = 1.0
"""Seconds between two checks that the nodes are alive while no episode finishes."""


@dataclass(frozen=True)
class PendingEpisode:
    """Episode in progress."""

    order: Order
    refs: Sequence[Any]
    """References to its manifest and the pieces of its files."""


class RayExecutor:
    """Executor that plays orders on the nodes of a cluster and records them in one run's folder."""

    def __init__(self, cluster: Cluster, runtime: str, folder: RunFolder, cast: AgentPool) -> None:
        self._cluster, self._runtime, self._folder, self._cast = cluster, runtime, folder, cast
        self._under_way: dict[Any, PendingEpisode] = {}

    @contextmanager
    def playing(self, orders: Sequence[Order], workers: int) -> Iterator[Iterator[News]]:
        """Yield the progress events of these orders. Episodes that an interrupt left incomplete are not recorded."""
        try:
            yield self._news(deque(orders), self._most(orders, workers))
        except KeyboardInterrupt:
            raise Cancelled("interrupted", hint="run the same command with --resume") from None
        finally:
            self._cancel()

    def _most(self, orders: Sequence[Order], workers: int) -> int:
        slots = max((self._cluster.slots(need_of(order.spec.task)) for order in orders), default=1)
        return max(1, min(workers, 2 * slots))

    def _news(self, to_come: deque[Order], most: int) -> Iterator[News]:
        while True:
            while to_come and len(self._under_way) < most and not self._may_spend_no_more:
                order = to_come.popleft()
                refs = self._cluster.submit(sent_order(order, self._runtime))
                self._under_way[refs[0]] = PendingEpisode(order, refs)
                yield Started(order.key)
            if not self._under_way:
                return
            yield from self._landed()

    def _landed(self) -> Iterator[News]:
        """Yield the progress events of episodes that finish soon, or none after `LOOK_S` seconds."""
        back, _ = self._cluster.ray.wait(list(self._under_way), num_returns=1, timeout=LOOK_S)
        self._cluster.count_spent()
        if not back:
            self._cluster.check_alive([flight.order.spec.task for flight in self._under_way.values()])
        for ref in back:
            flight = self._under_way[ref]
            result = record(self._outcome(flight), self._folder, flight.order.hint)
            del self._under_way[ref]
            yield from phases_of(result)
            yield Finished(result.key, result)

    @property
    def _may_spend_no_more(self) -> bool:
        return self._cast.meter is not None and self._cast.meter.reached is not None

    def _outcome(self, flight: PendingEpisode) -> Outcome:
        """Return the outcome of an episode; raises the error of its node if that ends the run."""
        ray = self._cluster.ray
        try:
            manifest: EpisodeManifest = ray.get(flight.refs[0])
            if manifest.failure is not None:
                raise manifest.failure
            if manifest.result is not None and manifest.digests is not None:
                return Outcome(manifest.result, unpacked(ray.get(list(flight.refs[1:])), manifest.digests))
            raise RuntimeFailure(f"{manifest.node} returned no result of {flight.order.key.name}")
        except ray.exceptions.RayTaskError as error:
            # only our own code runs there, so the error is ours
            raise RuntimeFailure(f"a worker failed at {flight.order.key.name}: {_last_line(error)}") from error
        except ray.exceptions.RayError as error:
            return self._lost(flight.order, RuntimeFailure(f"lost with its node or process: {type(error).__name__}"))

    def _lost(self, order: Order, failure: RuntimeFailure) -> Outcome:
        agent = self._cast.agent(order.agent, order.spec.overrides)
        (outcome,) = lost_episodes([(order.spec, order.key)], agent, failure, self._runtime, order.images, may_pass=True)
        return outcome

    def _cancel(self) -> None:
        """Cancel the episodes in progress on all nodes; the session's keepers remove their resources."""
        for ref in self._under_way:
            self._cluster.ray.cancel(ref, force=True)
        self._under_way.clear()


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]


class RayCluster(RunSite):
    """Nodes of a Ray cluster that offer sandboxes."""

    asks_here = False

    def __init__(self, address: str) -> None:
        self._address = address
        self.typed: tuple[str, ...] = ("--executor", "ray", "--address", address)
        self._clusters: list[Cluster] = []
        """The open cluster; empty while none is open."""

    def runtime(self, name: str, tasks: Sequence[Task], agents: Sequence[Agent], say: Say) -> Runtime:
        """Return the runtime of this name without trying it here, because the nodes try it."""
        if name == "auto":
            why = "--runtime auto chooses by this machine, but the nodes of a cluster need one runtime for all"
            raise UsageError(why, hint=f"harness run ... --runtime {', or '.join(RUNTIMES)}")
        return untried_runtime(name, tasks, agents, say)

    @contextmanager
    def opened(self, needed: Needed, meter: Meter, say: Say) -> Iterator[None]:
        """Connect and check each node. At the end, remove everything that the run left on the nodes."""
        needs = sent_needs(needed)
        asks = any(spec.models for spec, _ in needed.players)
        with (
            connected(self._address) as ray,
            cluster_of(ray, needs, needed.tasks, meter, asks=asks, say=say) as cluster,
        ):
            self._clusters.append(cluster)
            try:
                yield
            finally:
                self._clusters.clear()

    def ready(
        self, runtime: Runtime, tasks: Sequence[Task], agent: Agent, episodes: int, workers: int, say: Say
    ) -> Mapping[str, str]:
        """Return the images that all nodes have."""
        return self._clusters[0].images

    def executor(self, orders: Sequence[Order], runtime: Runtime, folder: RunFolder, cast: AgentPool) -> Executor:
        """Return the executor that sends the orders to the nodes."""
        return RayExecutor(self._clusters[0], runtime.name, folder, cast)
