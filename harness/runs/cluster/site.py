"""A Ray cluster as a site: the machine of the run's folder needs nothing that an episode needs, no Docker, sandbox or key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from harness.agent import Agent, AsksModels
from harness.agents.llm.meter import Meter
from harness.errors import UsageError
from harness.play.agents import Cast, make_agent
from harness.play.choose import RUNTIMES, Say, untried_runtime
from harness.pod import Runtime
from harness.records import RunFolder
from harness.registry import Task
from harness.runs.cluster.cluster import Cluster, cluster_of
from harness.runs.cluster.connection import connected
from harness.runs.cluster.executor import RayExecutor
from harness.runs.cluster.sending import sent_needs
from harness.runs.executors.base import Executor, Order
from harness.runs.executors.sites import Needed


class RayCluster:
    """The nodes of a Ray cluster that have sandboxes to offer."""

    asks_here = False

    def __init__(self, address: str) -> None:
        self._address = address
        self.typed: tuple[str, ...] = ("--executor", "ray", "--address", address)
        self._clusters: list[Cluster] = []
        """The one that is open."""

    def runtime(self, name: str, tasks: Sequence[Task], agents: Sequence[Agent], say: Say) -> Runtime:
        """One that fits; whether it works is tried on the nodes."""
        if name == "auto":
            why = "--runtime auto would choose by what this machine has, and each node of a cluster plays in the same one"
            raise UsageError(why, hint=f"harness run ... --runtime {', or '.join(RUNTIMES)}")
        return untried_runtime(name, tasks, agents, say)

    @contextmanager
    def opened(self, needed: Needed, meter: Meter, say: Say) -> Iterator[None]:
        """Connect, and let each node introduce itself; in the end everything that the run left on them is removed."""
        needs = sent_needs(needed)
        asks = any(isinstance(make_agent(spec, options), AsksModels) for spec, options in needed.players)
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
        """The images that all nodes have."""
        return self._clusters[0].images

    def executor(self, orders: Sequence[Order], runtime: Runtime, folder: RunFolder, cast: Cast) -> Executor:
        """One that sends them to the nodes."""
        return RayExecutor(self._clusters[0], runtime.name, folder, cast)
