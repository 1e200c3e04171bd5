"""Run of tasks x seeds x attempts, played by an executor and resumable at any time.

1. The plan is frozen first, and one process plays it at a time. An episode is finished once its result.json exists. `--resume`
skips graded episodes and retries ungraded ones, whose earlier files are kept. Increases of a plan are recorded.
2. Each remaining episode becomes an order, which is data. The run's site selects the executor: threads, or processes if agent
and runtime only compute (`harness.runs.executors`), or the nodes of a cluster (`parley.ray`).
3. Episodes lost to temporary failures (`Result.may_pass`) are retried after the rest, with a number of attempts and a time for
each cause. What an agent did is graded and never replayed; earlier attempts are kept under attempts/.
4. An interrupt (INT, TERM, HUP) stops the queue, kills everything with this run's id, and leaves unfinished episodes unwritten.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from harness.agent_factory import AgentPool
from harness.agents.solutions import holds_seats
from harness.causes import Responsible
from harness.errors import Cancelled, HarnessError, ProviderLost, UsageError
from harness.interrupts import interrupting
from harness.plugins import optional
from harness.pod import ROOMS, EpisodeSpec, Runtime
from harness.records import Key, Result, RunFolder
from harness.runs.episode_filter import EVERYTHING, EpisodeChoice
from harness.runs.executors.base import Again, Executor, Finished, Order, Progress
from harness.runs.executors.sites import HERE, RunSite
from harness.runs.plan import Plan
from harness.runs.request import PlayedSession, read_record
from harness.runs.seed_key import keep_key
from harness.secrets import public_address, scrub
from harness.version import commit, package_version


class RetryPolicy(NamedTuple):
    """Retry policy of one cause."""

    tries: int
    """Maximum number of attempts at one episode, including the first."""

    first_pause_s: float
    """Real seconds before the second attempt; doubled for each further one."""

    total_s: float
    """Real seconds after the first failure within which an attempt may still start."""


POLICIES: Mapping[Responsible, RetryPolicy] = {
    "provider": RetryPolicy(tries=3, first_pause_s=10.0, total_s=900.0),
    "runtime": RetryPolicy(tries=3, first_pause_s=2.0, total_s=300.0),
}


class EpisodeRetries:
    """Counter of the attempts at the episodes of one session."""

    def __init__(self, policies: Mapping[Responsible, RetryPolicy], clock: Callable[[], float] = time.monotonic) -> None:
        self._policies, self._clock = policies, clock
        self._tries: dict[Key, int] = {}
        self._failed_at: dict[Key, float] = {}

    def note(self, result: Result) -> None:
        """Count one attempt."""
        self._tries[result.key] = self._tries.get(result.key, 0) + 1
        if result.status == "ungraded":
            self._failed_at.setdefault(result.key, self._clock())

    def due(self, results: Iterable[Result]) -> dict[Key, float]:
        """Return the episodes to retry, with the seconds to wait before."""
        return {result.key: pause for result in results if (pause := self._pause(result)) is not None}

    def _pause(self, result: Result) -> float | None:
        policy = self._policies.get(result.cause) if result.cause and result.may_pass else None
        tries = self._tries.get(result.key, 0)
        if policy is None or result.status == "graded" or not 0 < tries < policy.tries:
            return None
        pause = policy.first_pause_s * 2.0 ** (tries - 1)
        return pause if self._clock() + pause - self._failed_at[result.key] <= policy.total_s else None


def run_plan(
    plan: Plan,
    runtime: Runtime,
    folder: RunFolder,
    *,
    workers: int,
    images: Mapping[str, str],
    progress: Progress,
    cast: AgentPool | None = None,
    site: RunSite = HERE,
    breaker: int = 0,
    keys: Sequence[Key] | None = None,
    choice: EpisodeChoice = EVERYTHING,
    policies: Mapping[Responsible, RetryPolicy] | None = None,
    command: Sequence[str] | None = (),
    recorded: Mapping[Key, Result] | None = None,
) -> list[Result]:
    """Play the unfinished episodes and return every result in plan order; `cast` creates the agents.

    `keys` limits this call to some of the plan's episodes. `choice` selects episodes to play, `policies` are the retry
    policies, `command` is what the user typed, None if the last session continues, `recorded` are the results in the folder, if
    already read. Raises Cancelled on an interrupt, UsageError for a folder of another plan or in use by another process, and
    ProviderLost if no episode can be played, either directly or after `breaker` consecutive provider failures.
    """
    cast = cast or AgentPool()
    with folder.held():
        open_folder(plan, folder, runtime.name, images)
        if command is not None:
            _write_begun(folder, command)
        asked = plan.keys if keys is None else keys
        known = recorded_of(asked, folder) if recorded is None else recorded
        results = {key: one for key, one in known.items() if not choice.takes(key, one)}
        orders = _orders(plan, runtime.name, [key for key in asked if choice.takes(key, known.get(key))], images, cast)
        try:
            if orders:
                executor, retries = site.executor(orders, runtime, folder, cast), EpisodeRetries(policies or {})
                played = _until_settled(executor, orders, workers, progress, breaker, retries)
                results |= {result.key: result for result in played}
        except BaseException:
            # report what ended the run, not that the disk is full
            with suppress(HarnessError):
                collected(plan, folder)
            raise
        in_order = [results[key] for key in plan.keys if key in results]
        return in_order if keys is not None else _settled(folder, in_order)


def recorded_of(keys: Sequence[Key], folder: RunFolder) -> dict[Key, Result]:
    """Return the recorded results of these episodes in their order, in compact form (`parley.reports.compact`)."""
    results, packer = {}, None
    for key in keys:
        if (one := folder.finished(key)) is not None:
            packer = packer or optional("compact")()
            results[key] = packer.keep(one)
    return results


def is_played(plan: Plan, folder: RunFolder) -> bool:
    """Return True if every episode of the plan is graded, so that no model will be called."""
    return all((done := folder.finished(key)) is not None and done.status == "graded" for key in plan.keys)


def collected(plan: Plan, folder: RunFolder) -> list[Result]:
    """Return the recorded results of a plan in plan order, and write the file of rewards. For runs that are played in steps."""
    return _settled(folder, list(recorded_of(plan.keys, folder).values()))


def _settled(folder: RunFolder, results: list[Result]) -> list[Result]:
    """Write the files of a run that has ended, and return its results."""
    folder.write_rewards(results)
    plan = folder.read_plan() or {}
    if stints := plan.get("stints"):
        folder.write_plan({**plan, "stints": [*stints[:-1], {**stints[-1], "ended": now()}]})
    return results


def open_folder(plan: Plan, folder: RunFolder, runtime: str, images: Mapping[str, str]) -> None:
    """Freeze the plan, or check that the frozen one is equal; raises UsageError naming the fields that differ."""
    list(folder.sweep())
    frozen = read_record(folder)
    if frozen is None:
        if folder.path.exists() and any(folder.path.iterdir()):
            raise UsageError(f"{folder.path} holds files but no run.json", hint="choose another --out, or remove it")
        folder.write_plan(plan.record(runtime, images).model_dump(mode="json"))
        keep_key(plan.key, folder.path)
        return
    optional("amended plan")(plan, frozen, folder, plan.record(runtime, images))


def _orders(plan: Plan, runtime: str, keys: Sequence[Key], images: Mapping[str, str], cast: AgentPool) -> list[Order]:
    agent = cast.agent(plan.agent, plan.overrides)
    # called before any thread starts, because two threads that parse Python concurrently crash CPython 3.11's ast
    needs = {t.task_id: (t, agent.needs_main(t, runtime), holds_seats(agent, t, runtime)) for t in plan.tasks}
    orders = []
    for key in keys:
        task, needs_main, open_turns = needs[key.task_id]
        told = plan.retry.note(key) if plan.retry else ""
        name, options = key.name.replace("/", "-"), plan.options(task)
        spec = EpisodeSpec(
            plan.run_id, name, task, key.seed, plan.key, options, needs_main, told, open_turns, plan.templates,
            record_wire=plan.record_wire,
        )  # fmt: skip
        mine = {image: digest for image, digest in images.items() if image in ROOMS or image.startswith(f"{key.task_id}:")}
        orders.append(Order(spec, key, plan.agent, plan.budget, plan.retry.hints[key] if plan.retry else None, mine))
    return orders


def _until_settled(
    executor: Executor, orders: Sequence[Order], workers: int, progress: Progress, breaker: int, retries: EpisodeRetries
) -> Iterator[Result]:
    """Play the orders, and retry those that were lost to temporary failures."""
    with interrupting():
        while orders:
            results: dict[Key, Result] = {}
            for result in _played(executor, orders, workers, progress, breaker):
                retries.note(result)
                results[result.key] = result
                yield result
            due = retries.due(results.values())
            orders = [order for order in orders if order.key in due]
            if orders:
                pause = min(due.values())
                progress(Again(tuple(due), pause))
                try:
                    time.sleep(pause)
                except KeyboardInterrupt:
                    raise Cancelled("interrupted") from None


def _played(executor: Executor, orders: Sequence[Order], workers: int, progress: Progress, breaker: int) -> Iterator[Result]:
    in_a_row = 0
    with executor.playing(orders, workers) as news:
        for event in news:
            progress(event)
            if not isinstance(event, Finished):
                continue
            result = event.result
            in_a_row = in_a_row + 1 if result.cause in {"provider", "setup"} else 0
            yield result
            if in_a_row == breaker > 0:
                whose = "the provider" if result.cause == "provider" else "the set-up"
                said = f"{breaker} episodes in a row failed because of {whose}, so the others were not played"
                raise ProviderLost(f"{said}; the last one: {result.error}")


def now() -> str:
    """Return the current time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _write_begun(folder: RunFolder, command: Sequence[str]) -> None:
    """Add a session to run.json; its command is recorded without passwords in addresses and known secrets."""
    shown = [public_address(word) if "://" in word else word for word in command]
    typed = scrub(shlex.join(shown)) if shown else ""
    stint = PlayedSession(begun=now(), command=typed, version=package_version(), commit=commit())
    plan = folder.read_plan() or {}
    folder.write_plan({**plan, "stints": [*plan.get("stints", []), stint.model_dump(mode="json")]})


def summary(results: list[Result]) -> dict[str, Any]:
    """Return the final counts of a run; `mean_reward` is the mean over graded episodes, None if there are none."""
    graded = [result for result in results if result.status == "graded"]
    rewards = [result.reward or 0.0 for result in graded]
    return {
        "episodes": len(results),
        "success": sum(result.success for result in graded),
        "mean_reward": round(sum(rewards) / len(rewards), 6) if rewards else None,
        "ungraded": len(results) - len(graded),
    }
