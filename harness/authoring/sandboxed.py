"""Proves a task in containers or sandboxes: oracle, nop and every violation must get the verdict and trace they had in process.

What a runtime cannot run, or build, is a failed check like any other. An interrupt kills what is running and goes on up.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from harness.agent import Agent, Budget
from harness.agents.scripted import NopAgent
from harness.agents.solutions import SUCCESS, SolutionAgent, holds_seats
from harness.authoring.findings import Place
from harness.authoring.plays import NOP, SOLVE
from harness.authoring.report import ProofCheck, failed, passed
from harness.errors import BoundaryError
from harness.play.episode import run_episode
from harness.pod import EpisodeSpec, Runtime
from harness.records import Key, Result
from harness.registry import Task

_NAMES = {SOLVE: "oracle", NOP: "nop"}


class Expected(NamedTuple):
    """What a client must earn, and the trace it left in process."""

    label: str
    trace_hash: str


def prove_in(
    runtime: Runtime, task: Task, seeds: Sequence[int], expected: Mapping[tuple[str, int], Expected], workers: int
) -> Iterator[ProofCheck]:
    """The checks of one task in a runtime; a foreign task, without expectations, has its oracle and nop."""
    if why := runtime.refuses(task):
        yield failed(f"{runtime.name}:runs", None, Place(task.path / "task.toml", 1), why)
        return
    try:
        runtime.prepare([task])
    except BoundaryError as error:
        yield failed(f"{runtime.name}:images", None, Place(task.path / "environment" / "Dockerfile", 1), str(error))
        return
    wanted = dict(expected) or {(player, seed): Expected("", "") for seed in seeds for player in (SOLVE, NOP)}
    for (player, seed), result in _played(runtime, task, list(wanted), workers):
        yield _check(runtime.name, task, player, seed, wanted[player, seed], result)


def _played(
    runtime: Runtime, task: Task, clients: Sequence[tuple[str, int]], workers: int
) -> Iterator[tuple[tuple[str, int], Result]]:
    run_id = f"verify-{secrets.token_hex(4)}"
    pool = ThreadPoolExecutor(workers, thread_name_prefix="verify")
    try:
        agents = {player: NopAgent() if player == NOP else SolutionAgent(player) for player, _ in clients}
        needs = {player: agent.needs_main(task, runtime.name) for player, agent in agents.items()}
        running = [pool.submit(_episode, runtime, task, run_id, p, seed, agents[p], needs[p]) for p, seed in clients]
        for client, future in zip(clients, running, strict=True):
            yield client, future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        runtime.abort(run_id)
        raise
    pool.shutdown()


def _episode(runtime: Runtime, task: Task, run_id: str, player: str, seed: int, agent: Agent, needs_main: bool) -> Result:
    open_turns = holds_seats(agent, task, runtime.name)
    spec = EpisodeSpec(run_id, f"{task.task_id}-{player}-{seed}", task, seed, needs_main=needs_main, open_turns=open_turns)
    key = Key(task_id=task.task_id, family=task.family, seed=seed, attempt=1)
    return run_episode(spec, key, runtime, agent, Budget()).result


def _check(runtime: str, task: Task, player: str, seed: int, expected: Expected, result: Result) -> ProofCheck:
    name = f"{runtime}:{_NAMES.get(player, f'violation:{player}')}"
    wrong = _wrong(player, expected, result)
    if wrong is None:
        return passed(name, seed, result.failure_label or "")
    return failed(name, seed, Place(task.path / "task.toml", 1), wrong + (f" ({result.error})" if result.error else ""))


def _wrong(player: str, expected: Expected, result: Result) -> str | None:
    """Why an episode is not what it was in process, or None."""
    if result.status != "graded":
        return f"ungraded, because of the {result.cause}"
    must_win = player == SOLVE or (player != NOP and expected.label == SUCCESS)
    if (result.reward == 1.0) != must_win:
        return f"reward {result.reward:g} and label {result.failure_label}"
    if expected.label and result.failure_label != expected.label:
        return f"must earn {expected.label}, earned {result.failure_label}"
    if expected.trace_hash and result.trace_hash != expected.trace_hash:
        return f"left another trace than in process: {result.trace_hash} for {expected.trace_hash}"
    return None
