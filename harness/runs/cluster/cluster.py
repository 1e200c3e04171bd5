"""The nodes that play a run: each introduced itself, each has a keeper, and what is played is played on these alone.

A node that joins later plays from the next session on: Ray is told by name which nodes an episode may go to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from harness.agents.llm.meter import Meter
from harness.errors import RuntimeFailure
from harness.play.choose import Say
from harness.registry import Task
from harness.runs.cluster.facts import NodeFacts, facts_here
from harness.runs.cluster.keeper import PATIENCE_S, Keeper
from harness.runs.cluster.nodes import SLOT, ClusterNode, EpisodeNeed, check_feasible, living, need_of
from harness.runs.cluster.parcels import RESULTS
from harness.runs.cluster.purse import Purse, SharedPurse
from harness.runs.cluster.sending import SentNeeds, SentOrder
from harness.runs.cluster.worker import keeper_name, played

_SAME = "install one version of the harness, with one folder of tasks, on every node"


@dataclass
class Cluster:
    """The nodes of one session, and what is sent to them."""

    ray: Any
    nodes: Sequence[ClusterNode]
    keepers: Mapping[str, Any]
    """By the id of a node."""

    meter: Meter
    purse: SharedPurse | None = None
    """None where no model is asked."""

    images: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._play = self.ray.remote(played)

    def submit(self, sent: SentOrder) -> list[Any]:
        """Send an episode to a node; what will become its manifest and its pieces."""
        need = need_of(sent.order.spec.task)
        limits = {
            "num_cpus": need.cpus, "memory": need.memory or None, "resources": {SLOT: 1}, "num_returns": RESULTS,
            "max_retries": 0, "label_selector": {"ray.io/node-id": f"in({','.join(self.keepers)})"},
        }  # fmt: skip
        refs: list[Any] = self._play.options(**limits).remote(sent, self.purse)
        return refs

    def slots(self, need: EpisodeNeed) -> int:
        """How many such episodes can be played at once."""
        return sum(node.slots(need) for node in self.nodes)

    def check_alive(self, tasks: Sequence[Task]) -> None:
        """Raise RuntimeFailure where nodes have gone, and no other can play what is left."""
        check_feasible([node for node in living(self.ray) if node.node_id in self.keepers], tasks)

    def forget(self, node: ClusterNode) -> None:
        """A node has gone before anything was played there."""
        self.nodes = [one for one in self.nodes if one != node]
        self.keepers = {name: keeper for name, keeper in self.keepers.items() if name != node.node_id}

    def count_spent(self) -> None:
        """Take what workers spent into the run's own meter."""
        for usage in self.ray.get(self.purse.actor.news.remote()) if self.purse else ():
            self.meter.add(usage)

    def clean(self) -> list[str]:
        """End what plays on every node, and remove what that left; its names, as far as nodes still answer."""
        asked = [keeper.clean.remote() for keeper in self.keepers.values()]
        answered, _ = self.ray.wait(asked, num_returns=len(asked), timeout=2 * PATIENCE_S)
        names: list[str] = []
        for one in answered:
            try:
                names += self.ray.get(one)
            except self.ray.exceptions.RayError:
                # the node is gone, and what played there with it
                continue
        return names


@contextmanager
def cluster_of(ray: Any, needs: SentNeeds, tasks: Sequence[Task], meter: Meter, *, asks: bool, say: Say) -> Iterator[Cluster]:
    """The nodes that can play a run, for the time of a session; raises RuntimeFailure before anything is played.

    `asks`: whether models are asked, so that what they cost is counted.
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
            purse = ray.remote(Purse).options(num_cpus=0, **own).remote(meter.spent)
            cluster.purse = SharedPurse(meter.limits, purse)
        told = ", ".join(f"{node.name}: {node.resources[SLOT]:g}" for node in cluster.nodes)
        say(f"ray: episodes at once by node: {told}")
        yield cluster
    finally:
        cluster.count_spent()
        cluster.clean()


def _keeper(ray: Any, node_id: str) -> Any:
    return ray.remote(Keeper).options(num_cpus=0, name=keeper_name(node_id), **_at(node_id)).remote()


def _at(node_id: str) -> dict[str, Any]:
    """Only there."""
    return {"label_selector": {"ray.io/node-id": node_id}}


def _introduced(cluster: Cluster, needs: SentNeeds) -> Mapping[str, str]:
    """The images of all nodes; raises RuntimeFailure naming the first node that is unlike the run, or the others."""
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
    """What a node says of itself; None, and it is no part of the cluster, where it has gone meanwhile."""
    try:
        facts: NodeFacts = cluster.ray.get(asked)
    except cluster.ray.exceptions.RayError as error:
        if node.node_id in {one.node_id for one in living(cluster.ray)}:
            lines = str(error).strip().splitlines()
            raise RuntimeFailure(f"{node.name} cannot play: {lines[-1]}", hint=_SAME) from None
        cluster.forget(node)
        return None
    return facts
