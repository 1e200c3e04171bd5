"""Nodes that play a run. Each node is checked at the start and gets a keeper actor. Episodes are sent to these nodes only.

A node that joins later plays from the next session on, because each episode is sent to a node chosen by name.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from harness.agent import Usage
from harness.agent_factory import AgentPool, make_agent
from harness.agents.llm.meter import Meter, RunLimits, Spent
from harness.episode import run_episode
from harness.errors import HarnessError, RuntimeFailure
from harness.orphans import is_dead, this_owner
from harness.outcome import Outcome
from harness.pod import Runtime
from harness.registry import Task
from harness.runtime_choice import Say, choose_runtime, runtime_named
from parley.ray.nodes import SLOT, ClusterNode, Need, NodeFacts, check_feasible, facts_here, living, need_of
from parley.ray.orders import RESULTS, EpisodeManifest, SentNeeds, SentOrder, SentTask, digest, packed


def keeper_name(node_id: str) -> str:
    """Return the name of a node's keeper in its run."""
    return f"parley-keeper-{node_id}"


class SpendingActor:
    """Actor on the driver's node that counts the spending of all workers, by the rules of a run on one machine.

    The spending of the whole run is checked before each call and updated after it. The driver adds the calls that this actor
    reports to its own meter, which writes them to disk.
    """

    def __init__(self, spent: Spent) -> None:
        self._meter = Meter(spent=spent)
        self._told: list[Usage] = []

    def add(self, usage: Usage) -> None:
        """Count one call."""
        self._meter.add(usage)
        self._told.append(usage)

    def spent(self) -> Spent:
        """Return the total spending so far."""
        return self._meter.spent

    def news(self) -> list[Usage]:
        """Return the calls that were counted since this method was last called."""
        told, self._told = self._told, []
        return told


@dataclass(frozen=True)
class SharedSpending:
    """Serializable handle of the actor."""

    limits: RunLimits
    actor: Any


class ClusterMeter(Meter):
    """Meter of a worker; it reads and adds to the spending of the actor."""

    def __init__(self, limits: RunLimits, purse: Any) -> None:
        super().__init__(limits)
        self._purse = purse

    @property
    def spent(self) -> Spent:
        """Total spending of all workers."""
        spent: Spent = import_module("ray").get(self._purse.spent.remote())
        return spent

    def add(self, usage: Usage) -> None:
        """Report a call. This returns before the next call is requested."""
        import_module("ray").get(self._purse.add.remote(usage))


class NodeWorkspace:
    """State of a worker process for its lifetime; it belongs to one driver."""

    def __init__(self, purse: SharedSpending | None) -> None:
        """Register this process with the node's keeper, before the process starts anything."""
        ray = import_module("ray")
        keeper = ray.get_actor(keeper_name(ray.get_runtime_context().get_node_id()))
        ray.get(keeper.register.remote(this_owner()))
        self._cast = AgentPool(meter=ClusterMeter(purse.limits, purse.actor) if purse else None)

    def play(self, sent: SentOrder) -> Outcome:
        """Play and judge one episode; raises ProviderLost, and errors of this node."""
        order, runtime = sent.here(_task(sent.task)), _runtime(sent.runtime)
        agent = self._cast.agent(order.agent, order.spec.overrides)
        return run_episode(order.spec, order.key, runtime, agent, order.budget, order.images)


_benches: list[NodeWorkspace] = []
"""State of this process: empty until the first episode, then one workbench."""


def played(sent: SentOrder, purse: SharedSpending | None) -> list[Any]:
    """Play an episode here, and return its manifest and as many pieces of its files as the driver expects."""
    here = socket.gethostname()
    try:
        if not _benches:
            _benches.append(NodeWorkspace(purse))
        outcome = _benches[0].play(sent)
    except HarnessError as failure:
        return [EpisodeManifest(here, failure=failure), *[b""] * (RESULTS - 1)]
    digests = {name: digest(data) for name, data in outcome.files.items()}
    return [EpisodeManifest(here, outcome.result, digests), *packed(outcome.files)]


@cache
def _task(sent: SentTask) -> Task:
    return sent.here()


@cache
def _runtime(name: str) -> Runtime:
    return runtime_named(name, lambda _: None)


_LOOK_S = 0.05
PATIENCE_S = 10.0
"""Real seconds to wait for killed processes."""


class NodeActor:
    """Actor that looks after one node."""

    def __init__(self) -> None:
        self._owners: set[str] = set()
        self._runtime: Runtime | None = None

    def introduce(self, needs: SentNeeds) -> NodeFacts:
        """Prepare the node, and return its facts."""
        digests = {one.task_id: one.digest_here() for one in needs.tasks}
        if any(digests[one.task_id] != one.digest for one in needs.tasks):
            return facts_here(digests, {})
        try:
            return facts_here(digests, self._prepared(needs))
        except HarnessError as failure:
            return facts_here(digests, {}, f"{failure}" + (f"; there: {failure.hint}" if failure.hint else ""))

    def register(self, owner: str) -> None:
        """Register a process of this node that is about to play."""
        self._owners.add(owner)

    def clean(self) -> list[str]:
        """End the processes that played here, remove their resources, and return the names."""
        for owner in self._owners:
            if not is_dead(owner):
                with suppress(ProcessLookupError):
                    os.kill(int(owner.rsplit(":", 2)[1]), signal.SIGKILL)
        until = time.monotonic() + PATIENCE_S
        while not all(map(is_dead, self._owners)) and time.monotonic() < until:
            time.sleep(_LOOK_S)
        self._owners.clear()
        return self._runtime.sweep() if self._runtime else []

    def _prepared(self, needs: SentNeeds) -> dict[str, str]:
        """Prepare the node and return its images; raises the error that prevents it from playing."""
        tasks = [one.here() for one in needs.tasks]
        agents = [make_agent(spec, options) for spec, options in needs.players]
        for agent in agents:
            agent.check()
        self._runtime = choose_runtime(needs.runtime, tasks, agents, lambda _: None)
        self._runtime.sweep()
        return dict(self._runtime.prepare(tasks))


_SAME = "install one version of the harness, with one folder of tasks, on every node"


@dataclass
class Cluster:
    """Nodes of one session, and the objects sent to them."""

    ray: Any
    nodes: Sequence[ClusterNode]
    keepers: Mapping[str, Any]
    """Keepers by node id."""

    meter: Meter
    purse: SharedSpending | None = None
    """Spending actor; None if no model is called."""

    images: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._play = self.ray.remote(played)

    def submit(self, sent: SentOrder) -> list[Any]:
        """Send an episode to a node, and return references to its manifest and its pieces."""
        need = need_of(sent.order.spec.task)
        limits = {
            "num_cpus": need["CPU"], "memory": need["memory"] or None, "resources": {SLOT: 1}, "num_returns": RESULTS,
            "max_retries": 0, "label_selector": {"ray.io/node-id": f"in({','.join(self.keepers)})"},
        }  # fmt: skip
        refs: list[Any] = self._play.options(**limits).remote(sent, self.purse)
        return refs

    def slots(self, need: Need) -> int:
        """Return the number of such episodes that can be played at once."""
        return sum(node.slots(need) for node in self.nodes)

    def check_alive(self, tasks: Sequence[Task]) -> None:
        """Raise RuntimeFailure if nodes are gone, and no other node can play the remaining tasks."""
        check_feasible([node for node in living(self.ray) if node.node_id in self.keepers], tasks)

    def forget(self, node: ClusterNode) -> None:
        """Remove a node that disappeared before anything was played there."""
        self.nodes = [one for one in self.nodes if one != node]
        self.keepers = {name: keeper for name, keeper in self.keepers.items() if name != node.node_id}

    def count_spent(self) -> None:
        """Add the spending of workers to the run's own meter."""
        for usage in self.ray.get(self.purse.actor.news.remote()) if self.purse else ():
            self.meter.add(usage)

    def clean(self) -> list[str]:
        """End the episodes on every node, remove their resources, and return the names, as far as nodes still answer."""
        asked = [keeper.clean.remote() for keeper in self.keepers.values()]
        answered, _ = self.ray.wait(asked, num_returns=len(asked), timeout=2 * PATIENCE_S)
        names: list[str] = []
        for one in answered:
            try:
                names += self.ray.get(one)
            except self.ray.exceptions.RayError:
                # the node is gone, and its episodes with it
                continue
        return names


@contextmanager
def cluster_of(ray: Any, needs: SentNeeds, tasks: Sequence[Task], meter: Meter, *, asks: bool, say: Say) -> Iterator[Cluster]:
    """Yield the nodes that can play a run, for one session; raises RuntimeFailure before anything is played.

    `asks` is true if models are called, so that their cost is counted.
    """
    every = living(ray)
    check_feasible(every, tasks)
    nodes = [node for node in every if node.resources.get(SLOT)]
    cluster = Cluster(ray, nodes, {node.node_id: _keeper(ray, node.node_id) for node in nodes}, meter)
    try:
        cluster.images = _introduced(cluster, needs)
        check_feasible(cluster.nodes, tasks)
        if asks:
            own = _at(ray.get_runtime_context().get_node_id())
            purse = ray.remote(SpendingActor).options(num_cpus=0, **own).remote(meter.spent)
            cluster.purse = SharedSpending(meter.limits, purse)
        told = ", ".join(f"{node.name}: {node.resources[SLOT]:g}" for node in cluster.nodes)
        say(f"ray: episodes at once by node: {told}")
        yield cluster
    finally:
        cluster.count_spent()
        cluster.clean()


def _keeper(ray: Any, node_id: str) -> Any:
    return ray.remote(NodeActor).options(num_cpus=0, name=keeper_name(node_id), **_at(node_id)).remote()


def _at(node_id: str) -> dict[str, Any]:
    return {"label_selector": {"ray.io/node-id": node_id}}


def _introduced(cluster: Cluster, needs: SentNeeds) -> Mapping[str, str]:
    """Return the images of all nodes.

    Raises RuntimeFailure naming the first node that differs from the run or from the others.
    """
    asked = [(node, cluster.keepers[node.node_id].introduce.remote(needs)) for node in cluster.nodes]
    model: NodeFacts | None = None
    for node, one in asked:
        facts = _answered(cluster, node, one)
        if facts is None:
            continue
        expected = model or facts_here({one.task_id: one.digest for one in needs.tasks}, facts.images)
        if facts.trouble:
            raise RuntimeFailure(f"{node.name} cannot play: {facts.trouble}", hint=_SAME)
        if why := facts.differing(expected):
            raise RuntimeFailure(f"{node.name} {why}", hint=_SAME)
        model = facts
    return model.images if model else {}


def _answered(cluster: Cluster, node: ClusterNode, asked: Any) -> NodeFacts | None:
    """Return the facts of a node; None, after removing it from the cluster, if it has disappeared."""
    try:
        facts: NodeFacts = cluster.ray.get(asked)
    except cluster.ray.exceptions.RayError as error:
        if node.node_id in {one.node_id for one in living(cluster.ray)}:
            lines = str(error).strip().splitlines()
            raise RuntimeFailure(f"{node.name} cannot play: {lines[-1]}", hint=_SAME) from None
        cluster.forget(node)
        return None
    return facts
