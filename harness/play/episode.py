"""Episode runner: open, play, finish, judge, and record everything that happens.

`playing` attributes failures, and `outcome` builds the record. An episode that is driven from outside, turn by turn, goes
through the same steps in `parley.training`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from harness.agent import Budget, Report
from harness.agents.llm.wire_log import WireLog
from harness.agents.path import RoutedPod, is_bent
from harness.errors import BoundaryError
from harness.live_agent import Agent
from harness.output import about
from harness.play.outcome import Outcome, outcome_of
from harness.play.playing import Heard, Playing
from harness.play.runtimes import in_process
from harness.pod import EpisodeSpec, Judgement, Pod, Runtime
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

    `heard` is called at each phase, in this thread. `opening` opens its pod, by default with the runtime.
    """
    played = Playing(Report(agent=agent.name), key, heard, wire=WireLog(spec.record_wire))
    with played.whole(), about(key.name), played.wire.recording(), played.guarded():
        _play(spec, runtime, agent, budget, played, opening or runtime.open)
    return outcome_of(spec, runtime.name, played, images)


def run_in_process(
    episodes: Sequence[tuple[EpisodeSpec, Key]], agent: Agent, budget: Budget, images: Mapping[str, str] | None = None
) -> list[Outcome]:
    """Play episodes one after the other in this process and judge them together, with the same outcomes in less time."""
    runtime, played = in_process(), [Playing(Report(agent=agent.name), key) for _, key in episodes]
    for one, (spec, _) in zip(played, episodes, strict=True):
        with one.whole(), one.guarded():
            _acted(spec, runtime, agent, budget, one)
    finished = [
        (one, spec) for one, (spec, _) in zip(played, episodes, strict=True) if one.opened and one.cause in {None, "agent"}
    ]
    started = time.perf_counter()
    judged = runtime.judge_all([(spec.task, one.log) for one, spec in finished])
    share = (time.perf_counter() - started) / max(1, len(finished))
    for (one, _), judgement in zip(finished, judged, strict=True):
        one.seconds |= {"judge": share, "total": one.seconds["total"] + share}
        if isinstance(judgement, Judgement):
            one.judgement = judgement
        else:
            one.blame(judgement.name, str(judgement))
    return [outcome_of(spec, runtime.name, one, images) for one, (spec, _) in zip(played, episodes, strict=True)]


def lost_episodes(
    episodes: Sequence[tuple[EpisodeSpec, Key]],
    agent: Agent,
    failure: BoundaryError,
    runtime: str,
    images: Mapping[str, str] | None = None,
    *,
    may_pass: bool = False,
) -> list[Outcome]:
    """Return ungraded outcomes for episodes that were lost with their process, attributed to `failure`."""
    outcomes = []
    for spec, key in episodes:
        played = Playing(Report(agent=agent.name), key)
        played.blame(failure.name, str(failure), may_pass=may_pass)
        outcomes.append(outcome_of(spec, runtime, played, images))
    return outcomes


def _acted(spec: EpisodeSpec, runtime: Runtime, agent: Agent, budget: Budget, played: Playing) -> None:
    """Run an episode up to its verification."""
    with _opened(spec, runtime.open, played) as pod:
        played.syscalls = runtime.syscalls(spec.task)
        _act(spec, pod, agent, budget, played)


@contextmanager
def _opened(spec: EpisodeSpec, opening: Opening, played: Playing) -> Iterator[Pod]:
    with ExitStack() as stack:
        closing = stack.enter_context(ExitStack())
        with played.phase("open"):
            pod = stack.enter_context(opening(spec))
        played.opened = True
        # the last to come is the first to go: from then on until the pod is gone it is being closed
        stack.callback(lambda: closing.enter_context(played.phase("close")))
        yield pod


def _act(spec: EpisodeSpec, pod: Pod, agent: Agent, budget: Budget, played: Playing) -> None:
    try:
        with played.phase("agent"), played.own_failure():
            agent.play(spec.leveled, spec.seed, seen_by_agent(pod, spec), budget, played.report, played.key.attempt)
    finally:
        with played.phase("finish"):
            played.log = pod.finish()


def _play(spec: EpisodeSpec, runtime: Runtime, agent: Agent, budget: Budget, played: Playing, opening: Opening) -> None:
    with _opened(spec, opening, played) as pod:
        played.syscalls = runtime.syscalls(spec.task)
        _act(spec, pod, agent, budget, played)
        with played.phase("judge"):
            played.judgement = runtime.judge(spec, played.log)


def seen_by_agent(pod: Pod, spec: EpisodeSpec) -> Pod:
    """Return the pod as the agent sees it: behind the path that the options configure, with the note of a retry."""
    seen = RoutedPod(pod, spec.task.family, spec.overrides) if is_bent(spec.overrides) else pod
    if spec.note:
        seen.instruction = f"{pod.instruction}\n{spec.note}\n"
    return seen
