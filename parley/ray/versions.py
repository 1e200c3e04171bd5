"""Facts that must be equal on all machines of a run: our code, the task folders, and the images that episodes are played in.

Code is compared by a digest over every file of our packages, because two checkouts of one version can differ. Images have no
other reference, so all nodes are compared with the first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from harness.paths import ROOT
from harness.safe_read import names_in, read_file
from harness.version import told_version

_ROOMS = ("harness", "oracles", "parley", "validators", "worlds")
_IN_WHEELS = ("tasks/", "docker/")
"""Parts that a wheel carries in `harness/`. Tasks are compared one by one, and recipes by the images built from them."""


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
    """Problem that keeps it from playing; "" if there is none."""

    def differing(self, other: NodeFacts) -> str:
        """Describe the first difference from another node in one clause; "" if there is none."""
        if self.code != other.code:
            return f"runs another harness: {self.version}, and not {other.version}, or with other files"
        for kind, mine, theirs in (("task", self.tasks, other.tasks), ("image", self.images, other.images)):
            for name in sorted({*mine, *theirs}):
                if mine.get(name) != theirs.get(name):
                    return f"has another {kind} {name}: {_short(mine.get(name))}, and not {_short(theirs.get(name))}"
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
    return NodeFacts(told_version(), code_digest(), tasks, images, trouble)


def _short(digest: str | None) -> str:
    return digest.removeprefix("sha256:")[:12] if digest else "none"
