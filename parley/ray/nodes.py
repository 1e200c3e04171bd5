"""Nodes of a cluster: the resources that an episode needs, and the facts in which all nodes must agree.

1. Resources are checked before the start, because Ray would wait forever. An episode takes one `parley_sandbox` and the CPUs
and memory stated in its task.toml. Each node declares its number of `parley_sandbox` when it is started. A node that declares
none plays no episode.
2. Our code, the task folders and the images of episodes must be the same on all nodes. Code is compared by a digest over every
file of our packages, because two checkouts of one version can differ. Images are compared with those of the first node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from harness.errors import RuntimeFailure
from harness.paths import ROOT
from harness.registry import Task
from harness.safe_read import names_in, read_file
from harness.version import version_line
from parley.ray.connection import START

_ROOMS = ("harness", "oracles", "parley", "validators", "worlds")
_IN_WHEELS = ("tasks/", "docker/")
"""Parts that only a wheel has in `harness/`. Tasks are compared one by one, recipes by the images built from them."""

SLOT = "parley_sandbox"
_MB = 1 << 20


Need = Mapping[str, float]
"""Resources that an episode uses on its node, by Ray's names; memory in bytes."""


def need_of(task: Task) -> Need:
    """Return the resources stated in a task's task.toml."""
    asked = task.file.environment
    return {SLOT: 1.0, "CPU": float(asked.cpus or 1), "memory": int((asked.memory_mb or 0) * _MB)}


@dataclass(frozen=True)
class ClusterNode:
    """Machine of the cluster, or a process that Ray treats as one."""

    node_id: str
    name: str
    resources: Mapping[str, float]

    def slots(self, need: Need) -> int:
        """Return the number of such episodes that the node can play at once."""
        return min(int(self.resources.get(name, 0) // amount) for name, amount in need.items() if amount)

    def lacks(self, need: Need) -> list[str]:
        """Describe each resource of which the node has too little."""
        return [
            f"{_told(name, self.resources.get(name, 0))} of {_told(name, amount)}"
            for name, amount in need.items()
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


@dataclass(frozen=True)
class NodeFacts:
    """Facts about one node."""

    version: str
    code: str
    """Digest of our packages."""

    tasks: Mapping[str, str] = field(default_factory=dict)
    """Digests by task; "" for a task that the node does not have."""

    images: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""
    """Problem that prevents the node from playing; "" if there is none."""

    def differing(self, other: NodeFacts) -> str:
        """Describe the first difference from another node in one clause; "" if there is none."""
        if self.code != other.code:
            return f"runs another harness: {self.version} instead of {other.version}, or the same version with other files"
        for kind, mine, theirs in (("task", self.tasks, other.tasks), ("image", self.images, other.images)):
            for name in sorted({*mine, *theirs}):
                if mine.get(name) != theirs.get(name):
                    return f"has another {kind} {name}: {_short(mine.get(name))} instead of {_short(theirs.get(name))}"
        return ""


@cache
def code_digest() -> str:
    """Return the SHA-256 over the paths and contents of our packages' files."""
    total = hashlib.sha256()
    for room in _ROOMS:
        for name in names_in(ROOT / room):
            if room != "harness" or not name.startswith(_IN_WHEELS):
                path, content = f"{room}/{name}".encode(), read_file(ROOT / room, name).data
                total.update(b"%d:%s%d:" % (len(path), path, len(content)) + content)
    return total.hexdigest()


def facts_here(tasks: Mapping[str, str], images: Mapping[str, str], trouble: str = "") -> NodeFacts:
    """Return the facts about this machine."""
    return NodeFacts(version_line(), code_digest(), tasks, images, trouble)


def _short(digest: str | None) -> str:
    return digest.removeprefix("sha256:")[:12] if digest else "none"
