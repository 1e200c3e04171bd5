"""What a task of Ray does on a node: one whole episode, played and judged there, sent back with its files.

A process plays many episodes one after the other, and keeps between them what a run on one machine keeps: its runtime, its
agents, the tasks that it has read. It writes nothing of the run: what the driver does not get was never played.
"""

from __future__ import annotations

import socket
from functools import cache
from importlib import import_module
from typing import Any

from harness.errors import HarnessError
from harness.play.agents import Cast
from harness.play.choose import RUNTIMES
from harness.play.episode import run_episode
from harness.play.outcome import Outcome
from harness.pod import Runtime
from harness.registry import Task
from harness.runs.cluster.parcels import RESULTS, EpisodeManifest, digest, packed
from harness.runs.cluster.purse import SharedPurse
from harness.runs.cluster.sending import SentOrder, SentTask
from harness.runtimes.owner import this_owner


def keeper_name(node_id: str) -> str:
    """What the keeper of a node is called in its run."""
    return f"parley-keeper-{node_id}"


class Workbench:
    """What a process plays with, for as long as it lives; it belongs to one driver."""

    def __init__(self, purse: SharedPurse | None) -> None:
        """The node's keeper knows this process before anything is started here."""
        ray = import_module("ray")
        keeper = ray.get_actor(keeper_name(ray.get_runtime_context().get_node_id()))
        ray.get(keeper.register.remote(this_owner()))
        self._cast = Cast(meter=purse.meter() if purse else None)

    def play(self, sent: SentOrder) -> Outcome:
        """Play and judge one episode; raises ProviderLost, and what is wrong with this node."""
        order, runtime = sent.here(_task(sent.task)), _runtime(sent.runtime)
        agent = self._cast.agent(order.agent, order.spec.overrides)
        return run_episode(order.spec, order.key, runtime, agent, order.budget, order.images)


_benches: list[Workbench] = []
"""None until the first episode, then one."""


def played(sent: SentOrder, purse: SharedPurse | None) -> list[Any]:
    """Play an episode here: its manifest and the pieces of its files, as many as the driver waits for."""
    here = socket.gethostname()
    try:
        if not _benches:
            _benches.append(Workbench(purse))
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
    return RUNTIMES[name](lambda _: None)
