"""`harness verify`: the checks that a task must pass before its results are meaningful.

1. A task that may run here (`harness.trust`) is checked in this process. With several workers, it is checked in one process and
replayed in another with a different PYTHONHASHSEED; this process is the first worker.
2. Any other task is checked by the same functions in a sandbox. Its code runs beside them and could forge their results, so the
oracle, nop and a violation are always played in pods afterwards, where the world, the agent and the verifier are isolated.
3. If sandboxed runtimes are given, the same clients then play in each and must leave the same traces.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from harness.agent import Budget
from harness.agents.scripted import NopAgent
from harness.agents.solutions import SUCCESS, SolutionAgent, holds_seats, violation_names
from harness.episode import run_episode
from harness.errors import HarnessError, UsageError
from harness.live_agent import Agent
from harness.pod import EpisodeSpec, Runtime, SandboxedRuntime
from harness.records import Key, Result
from harness.registry import Task
from harness.trust import HINT, runs_here
from parley.proof.claims import prove, replay, settled
from parley.proof.findings import Place, ProofCheck, ProofReport, Proved, ProvedClient, TaskProof, failed, passed, placed
from parley.proof.lint import lint_worlds
from parley.proof.plays import NOP, SOLVE, Scope, seeds_of, spread
from parley.proof.sandboxed_proof import proved_apart
from parley.proof.workers import WorkerPool

_NAMES = {SOLVE: "oracle", NOP: "nop"}


def prove_in(
    runtime: Runtime, task: Task, seeds: Sequence[int], expected: Sequence[ProvedClient], workers: int
) -> Iterator[ProofCheck]:
    """Yield the checks of a task in a runtime. For a foreign task, without expected results, play its oracle and nop."""
    if why := runtime.refuses(task):
        yield failed(f"{runtime.name}:runs", None, *placed(why, Place(task.path / "task.toml", 1)))
        return
    try:
        runtime.prepare([task])
    except HarnessError as error:
        yield failed(f"{runtime.name}:images", None, *placed(str(error), Place(task.path / "environment" / "Dockerfile", 1)))
        return
    unlabelled = [ProvedClient(player=player, seed=seed) for seed in seeds for player in (SOLVE, NOP)]
    for client, result in _played(runtime, task, expected or unlabelled, workers):
        yield _check(runtime.name, task, client, result)


def _played(
    runtime: Runtime, task: Task, clients: Sequence[ProvedClient], workers: int
) -> Iterator[tuple[ProvedClient, Result]]:
    run_id = f"verify-{secrets.token_hex(4)}"

    def episode(client: ProvedClient) -> Result:
        player, seed = client.player, client.seed
        agent: Agent = NopAgent() if player == NOP else SolutionAgent(player)
        held, needs_main = holds_seats(agent, task, runtime.name), agent.needs_main(task, runtime.name)
        spec = EpisodeSpec(run_id, f"{task.task_id}-{player}-{seed}", task, seed, needs_main=needs_main, open_turns=held)
        key = Key(task_id=task.task_id, family=task.family, seed=seed, attempt=1)
        return run_episode(spec, key, runtime, agent, Budget()).result

    pool = ThreadPoolExecutor(workers, thread_name_prefix="verify")
    try:
        yield from zip(clients, pool.map(episode, clients), strict=True)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        runtime.abort(run_id)
        raise
    pool.shutdown()


def _check(runtime: str, task: Task, client: ProvedClient, result: Result) -> ProofCheck:
    name = f"{runtime}:{_NAMES.get(client.player, f'violation:{client.player}')}"
    wrong = _wrong(client, result)
    if wrong is None:
        return passed(name, client.seed, result.failure_label or "")
    return failed(name, client.seed, Place(task.path / "task.toml", 1), wrong + (f" ({result.error})" if result.error else ""))


def _wrong(client: ProvedClient, result: Result) -> str | None:
    """Return how an episode differs from its result in process, or None."""
    if result.status != "graded":
        return f"ungraded, because of the {result.cause}"
    must_win = client.player == SOLVE or (client.player != NOP and client.label == SUCCESS)
    if (result.reward == 1.0) != must_win:
        return f"reward {result.reward:g} and label {result.failure_label}"
    if client.label and result.failure_label != client.label:
        return f"must earn {client.label}, earned {result.failure_label}"
    if client.trace_hash and result.trace_hash != client.trace_hash:
        return f"left the trace {result.trace_hash}, but {client.trace_hash} in process"
    return None


Progress = Callable[[TaskProof], None]


def verify(
    tasks: Sequence[Task],
    seeds: Sequence[int] | None = None,
    *,
    runtimes: Sequence[Runtime] = (),
    sandbox: SandboxedRuntime | None = None,
    docker: Runtime | None = None,
    workers: int = 2,
    thorough: bool = False,
    sample: bool = False,
    progress: Progress = lambda proved: None,
) -> ProofReport:
    """Check tasks on their own seeds, limited to `seeds` if given. `runtimes` play the same clients in sandboxes.

    With `thorough`, every client plays twice, and at each level on every seed. With `sample`, sandboxes play only the oracle,
    nop and one violation of each task, on its first seed, and only 10 of each family's data-only tasks, which share all their
    code. Tasks that may not run here are checked in `sandbox`. Raises UsageError if there are such tasks and no sandbox.
    Foreign tasks are played in `docker` if no runtimes are given. `progress` is called in this thread for each finished task.
    Problems are returned as findings; only interrupts are raised.
    """
    started = time.perf_counter()
    # A sandbox mounts a task by its path, whatever the working directory.
    absolute = [replace(task, path=task.path.absolute()) for task in tasks]
    chosen = spread(absolute) if sample else {task.task_id for task in absolute}
    scopes = [Scope(task, seeds_of(task, seeds), thorough, sample, task.task_id in chosen) for task in absolute]
    shared = tuple(lint_worlds())
    proofs: dict[str, TaskProof] = {}
    for proved in _proofs(scopes, sandbox, runtimes, docker, workers):
        proofs[proved.task_id] = proved
        progress(proved)
    ok = not shared and all(proved.ok for proved in proofs.values())
    ordered = tuple(proofs[task.task_id] for task in tasks)
    return ProofReport(ok=ok, seconds=round(time.perf_counter() - started, 3), tasks=ordered, shared=shared)


def _proofs(
    scopes: Sequence[Scope], sandbox: SandboxedRuntime | None, runtimes: Sequence[Runtime], docker: Runtime | None, workers: int
) -> Iterator[TaskProof]:
    """Yield the checks of each task as soon as they are finished, starting with tasks that may run here."""
    outside = [scope for scope in scopes if scope.task.parley is not None and not runs_here(scope.task)]
    if outside and sandbox is None:
        path = outside[0].task.path
        raise UsageError(f"{path} is not a built-in task, so it needs a sandbox to be verified", hint=HINT)
    for scope, proved in _in_process([scope for scope in scopes if scope not in outside], workers):
        of_foreign = [docker] if docker is not None and scope.task.parley is None else []
        yield _finished(scope, proved, runtimes or of_foreign, workers)
    if sandbox is not None:
        for scope in outside:
            # such a task also plays in pods, even if no runtimes were requested
            played = replace(scope, sandboxed=True, sample=scope.sample or not runtimes)
            yield _finished(played, proved_apart(sandbox, played), runtimes or [sandbox], workers)


def _in_process(scopes: Sequence[Scope], workers: int) -> Iterator[tuple[Scope, Proved]]:
    """Yield each task when it has been checked and replayed; tasks with the most clients start first."""
    order = sorted(range(len(scopes)), key=lambda number: -len(violation_names(scopes[number].task)))
    pairs = [(number, (prove, (scopes[number],)), (replay, (scopes[number],))) for number in order]
    with WorkerPool(workers) as pool:
        for number, proved, replayed in pool.run(pairs):
            yield scopes[number], settled(scopes[number], proved, replayed)


def _finished(scope: Scope, proved: Proved, runtimes: Sequence[Runtime], workers: int) -> TaskProof:
    task, told = scope.task, list(proved.checks)
    started = time.perf_counter()
    expected = scope.in_sandbox(proved.clients)
    for runtime in runtimes if scope.sandboxed else ():
        told += prove_in(runtime, task, scope.sandbox_seeds, expected, workers)
    if task.parley is None and not runtimes:
        told.append(failed("runtime", None, Place(task.path / "task.toml", 1), "foreign Harbor tasks need --runtime docker"))
    seconds = round(proved.seconds + time.perf_counter() - started, 3)
    return TaskProof(task_id=task.task_id, ok=all(check.ok for check in told), seconds=seconds, checks=tuple(told))
