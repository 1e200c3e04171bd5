"""One actor a node: says what the node is before a run, and cleans up behind its workers after it.

1. It makes the node ready as `harness run` makes its own machine ready: it sweeps, tries the runtime, builds the images.
2. Every process that plays tells it who it is before it plays. When the run ends, however it does, the keeper kills these
   processes, waits until they are gone, and sweeps what they owned: sandboxes die with them, containers are removed.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from harness.errors import HarnessError
from harness.play.agents import make_agent
from harness.play.choose import choose_runtime
from harness.pod import Runtime
from harness.runs.cluster.facts import NodeFacts, facts_here
from harness.runs.cluster.sending import SentNeeds
from harness.runtimes.owner import is_dead

_LOOK_S = 0.05
PATIENCE_S = 10.0
"""Real seconds that killed processes are waited for."""


class Keeper:
    """The actor of one node."""

    def __init__(self) -> None:
        self._owners: set[str] = set()
        self._runtime: Runtime | None = None

    def introduce(self, needs: SentNeeds) -> NodeFacts:
        """Make the node ready, and say what it is."""
        digests = {one.task_id: one.digest_here() for one in needs.tasks}
        if any(digests[one.task_id] != one.digest for one in needs.tasks):
            return facts_here(digests, {})
        try:
            return facts_here(digests, self._prepared(needs))
        except HarnessError as failure:
            return facts_here(digests, {}, f"{failure}" + (f"; there: {failure.hint}" if failure.hint else ""))

    def register(self, owner: str) -> None:
        """A process of this node is about to play."""
        self._owners.add(owner)

    def clean(self) -> list[str]:
        """End the processes that played here, and remove what they left; its names."""
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
        """The images of this node; raises whatever keeps it from playing."""
        tasks = [one.here() for one in needs.tasks]
        agents = [make_agent(spec, options) for spec, options in needs.players]
        for agent in agents:
            agent.check()
        self._runtime = choose_runtime(needs.runtime, tasks, agents, lambda _: None)
        self._runtime.sweep()
        return dict(self._runtime.prepare(tasks))
