"""Resource needs of episodes and the nodes that meet them, checked before the start, because Ray would wait forever.

An episode takes one `parley_sandbox`, of which each node declares a number when it is started, and the processors and memory
stated in its task.toml. A node without `parley_sandbox` plays nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import RuntimeFailure
from harness.registry import Task
from parley.ray.connection import START

SLOT = "parley_sandbox"
_MB = 1 << 20


@dataclass(frozen=True)
class EpisodeNeed:
    """Resources that an episode takes of its node, in Ray's units."""

    cpus: float = 1.0
    memory: int = 0
    """Memory in bytes."""

    @property
    def amounts(self) -> Mapping[str, float]:
        """Amounts by Ray's names of the resources."""
        return {SLOT: 1.0, "CPU": self.cpus, "memory": float(self.memory)}


def need_of(task: Task) -> EpisodeNeed:
    """Return the needs stated in a task's task.toml."""
    asked = task.file.environment
    return EpisodeNeed(float(asked.cpus or 1), int((asked.memory_mb or 0) * _MB))


@dataclass(frozen=True)
class ClusterNode:
    """Machine of the cluster, or a process that Ray treats as one."""

    node_id: str
    name: str
    resources: Mapping[str, float]

    def slots(self, need: EpisodeNeed) -> int:
        """Return the number of such episodes that the node can play at once."""
        return min(int(self.resources.get(name, 0) // amount) for name, amount in need.amounts.items() if amount)

    def lacks(self, need: EpisodeNeed) -> list[str]:
        """Describe each resource of which the node has too little."""
        return [
            f"{_told(name, self.resources.get(name, 0))} of {_told(name, amount)}"
            for name, amount in need.amounts.items()
            if self.resources.get(name, 0) < amount
        ]


def living(ray: Any) -> list[ClusterNode]:
    """Return the live nodes, sorted by name."""
    nodes = [
        ClusterNode(
            one["NodeID"], f"{one['NodeManagerHostname']} ({one['NodeManagerAddress']}, {one['NodeID'][:8]})", one["Resources"]
        )
        for one in ray.nodes()
        if one["Alive"]
    ]
    return sorted(nodes, key=lambda node: node.name)


def check_feasible(nodes: Sequence[ClusterNode], tasks: Sequence[Task]) -> None:
    """Raise RuntimeFailure for the first task that no node can play, with the missing resources of each."""
    for task in tasks:
        need = need_of(task)
        if any(node.slots(need) for node in nodes):
            continue
        told = "; ".join(f"{node.name} has {', '.join(node.lacks(need))}" for node in nodes)
        raise RuntimeFailure(f"no node of the cluster can play {task.task_id}: {told or 'there is no node'}", hint=START)


def _told(name: str, amount: float) -> str:
    return f"{amount / _MB:.0f} MB" if name == "memory" else f"{amount:g} {name}"
