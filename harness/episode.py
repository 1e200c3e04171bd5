"""One episode from beginning to end. It connects four parts that are defined elsewhere.

1. A `Task` (`harness.registry`) is a folder: an instruction, a server or environment, hidden tests, an oracle solution. With a
   seed and options it is an `EpisodeSpec` (`harness.pod`).
2. A `Pod` (`harness.pod`) is that task opened by a runtime: in Docker, in bubblewrap, or in this process. The world in it
   answers requests and writes the event log; some pods have a `main`, in which an agent runs commands.
3. An `Agent` (`harness.live_agent`) acts on the pod until it is done or out of budget, and fills in a `Report`.
4. A verdict (`validators.verdict`) is the result of the task's hidden tests on the event log, and contains the reward. The
tests run where the agent had no access.

`run_episode` opens the pod, lets the agent play, finishes the pod, judges the log and closes the pod. Each failure is
attributed to the responsible party (`harness.attribution`), and `harness.outcome` makes a complete record of every episode.
Episodes whose caller answers each turn go through the same steps in `parley.training`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager

from harness.agent import Budget, Report
from harness.agents.llm.wire_log import WireLog
from harness.attribution import EpisodeState, Heard
from harness.live_agent import Agent
from harness.options import is_bent
from harness.outcome import Outcome, outcome_of
from harness.output import about
from harness.plugins import optional
from harness.pod import EpisodeSpec, Pod, Runtime
from harness.records import Key

Opening = Callable[[EpisodeSpec], AbstractContextManager[Pod]]
"""Function that opens the pod of an episode, as `Runtime.open` does."""


def run_episode(
    spec: EpisodeSpec,
    key: Key,
    runtime: Runtime,
    agent: Agent,
    budget: Budget,
    images: Mapping[str, str] | None = None,
    heard: Heard | None = None,
    opening: Opening | None = None,
) -> Outcome:
    """Play and judge one episode; raises only ProviderLost.

    `heard` is called in this thread when a phase begins or ends. `opening` opens the pod; by default the runtime does.
    """
    played = EpisodeState(Report(agent=agent.name), key, heard, wire=WireLog(spec.record_wire))
    recorded, opens = played.wire.recording, opening or runtime.open
    with played.whole(), about(key.name), recorded(), played.guarded(), opened(spec, opens, played) as pod:
        played.syscalls = runtime.syscalls(spec.task)
        act(spec, pod, agent, budget, played)
        with played.phase("judge"):
            played.judgement = runtime.judge(spec, played.log)
    return outcome_of(spec, runtime.name, played, images)


@contextmanager
def opened(spec: EpisodeSpec, opening: Opening, played: EpisodeState) -> Iterator[Pod]:
    """Open the pod of an episode, with a world that is ready to answer, and always remove it afterwards."""
    with ExitStack() as stack:
        closing = stack.enter_context(ExitStack())
        with played.phase("open"):
            pod = stack.enter_context(opening(spec))
        played.opened = True
        # callbacks run in reverse order: the phase begins before the pod is removed, and ends after it
        stack.callback(lambda: closing.enter_context(played.phase("close")))
        yield pod


def act(spec: EpisodeSpec, pod: Pod, agent: Agent, budget: Budget, played: EpisodeState) -> None:
    """Let the agent play, then kill `main` and fetch the event log, also if the agent failed."""
    try:
        with played.phase("agent"), played.own_failure():
            agent.play(spec.leveled, spec.seed, seen_by_agent(pod, spec), budget, played.report, played.key.attempt)
    finally:
        with played.phase("finish"):
            played.log = pod.finish()


def seen_by_agent(pod: Pod, spec: EpisodeSpec) -> Pod:
    """Return the pod as the agent sees it: path options change its requests, and a retry's note is in its instruction."""
    seen: Pod = optional("changed requests")(pod, spec.task.family, spec.overrides) if is_bent(spec.overrides) else pod
    if spec.note:
        seen.instruction = f"{pod.instruction}\n{spec.note}\n"
    return seen
