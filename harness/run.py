"""A run is tasks x seeds x attempts over a few worker threads, resumable at every instant.

1. The plan is frozen first, and one process plays it at a time. An episode is finished when its result.json stands; `--resume`
   skips those and tries ungraded ones again, keeping their evidence.
2. Workers take the next episode from one queue. Episodes share nothing but the runtime, so threads are enough: the work is
   in containers, sandboxes and model calls. Where it is Python alone, each takes a chunk to a process (`harness.bulk`).
3. An interrupt (INT, TERM) stops the queue, kills everything that carries this run's id, and leaves unfinished episodes
   unwritten. Threads are daemons, so a model call that hangs cannot hold the process.
"""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from harness.agents.solutions import holds_seats
from harness.bulk import Bulk, Episode, chunk_size, processes, serves
from harness.episode import Outcome, record, run_episode
from harness.errors import Cancelled, HarnessError, UsageError
from harness.plan import Plan, differing
from harness.records import Hint, Key, Result, RunFolder, as_recorded
from harness.runtimes.base import EpisodeSpec, Runtime

_POLL_S = 0.1
_GRACE_S = 1.0


@dataclass(frozen=True)
class Started:
    """An episode began."""

    key: Key


@dataclass(frozen=True)
class Finished:
    """An episode has its record."""

    key: Key
    result: Result


Progress = Callable[[Started | Finished], None]


def run_plan(
    plan: Plan, runtime: Runtime, folder: RunFolder, *, workers: int, images: Mapping[str, str], progress: Progress
) -> list[Result]:
    """Play what is not finished yet and return every result in plan order.

    Raises Cancelled on an interrupt, and UsageError for a folder of another plan or one that another process plays in.
    """
    with folder.held():
        open_folder(plan, folder, runtime.name, images)
        return _finished(plan, runtime, folder, workers, images, progress)


def _finished(
    plan: Plan, runtime: Runtime, folder: RunFolder, workers: int, images: Mapping[str, str], progress: Progress
) -> list[Result]:
    results = {key: done for key in plan.keys if (done := folder.finished(key)) and done.status == "graded"}
    pending = [key for key in plan.keys if key not in results]
    try:
        for result in _played(plan, runtime, folder, pending, workers, images, progress):
            results[result.key] = result
    except BaseException:
        # what ended the run is what has to be said, also where the disk is full
        with suppress(HarnessError):
            folder.write_rewards(_in_order(plan, results))
        raise
    folder.write_rewards(_in_order(plan, results))
    return _in_order(plan, results)


def _in_order(plan: Plan, results: Mapping[Key, Result]) -> list[Result]:
    return [results[key] for key in plan.keys if key in results]


def open_folder(plan: Plan, folder: RunFolder, runtime: str, images: Mapping[str, str]) -> None:
    """Freeze the plan, or check that the frozen one is this; raises UsageError naming the fields that differ."""
    list(folder.sweep())
    frozen = folder.read_plan()
    if frozen is None:
        if folder.path.exists() and any(folder.path.iterdir()):
            raise UsageError(f"{folder.path} holds files but no run.json", hint="choose another --out, or remove it")
        folder.write_plan(plan.record(runtime, images))
        return
    if fields := differing(frozen.get("identity", {}), as_recorded(plan.identity())):
        raise UsageError(f"{folder.path} was planned with other {', '.join(fields)}", hint="harness run --out NEW_FOLDER")


def _played(
    plan: Plan,
    runtime: Runtime,
    folder: RunFolder,
    pending: list[Key],
    workers: int,
    images: Mapping[str, str],
    progress: Progress,
) -> Iterator[Result]:
    crew = _Crew(plan, runtime, folder, pending, images)
    with _interrupts(), crew.working(min(workers, len(pending)) or 1):
        for event in crew.events():
            progress(event)
            if isinstance(event, Finished):
                yield event.result


class _Crew:
    """The workers of one run and the two queues between them and the main thread."""

    def __init__(self, plan: Plan, runtime: Runtime, folder: RunFolder, pending: list[Key], images: Mapping[str, str]) -> None:
        self.plan, self.runtime, self.folder, self.images = plan, runtime, folder, dict(images)
        self.expected = len(pending)
        # asked before the workers start: two threads that parse Python at once crash CPython 3.11's ast
        self._needs_main = {task.task_id: plan.agent.needs_main(task, runtime.name) for task in plan.tasks}
        self._open_turns = {task.task_id: holds_seats(plan.agent, task, runtime.name) for task in plan.tasks}
        bulk = serves(runtime, plan.agent, len(pending))
        self._bulk = Bulk(plan.agent, plan.budget, folder, self.images) if bulk else None
        self._at_once = 1
        self.cancelled = threading.Event()
        self._todo: queue.SimpleQueue[Key] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[Started | Finished | BaseException] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        for key in pending:
            self._todo.put(key)

    @contextmanager
    def working(self, count: int) -> Iterator[None]:
        """Workers for the time of the context; leaving it by an exception cancels them."""
        if self._bulk:
            count = processes(count)
            self._at_once = chunk_size(self.expected, count)
        self._threads = [threading.Thread(target=self._work, name=f"episode-{n}", daemon=True) for n in range(count)]
        for thread in self._threads:
            thread.start()
        try:
            yield
        except KeyboardInterrupt:
            self.cancel()
            raise Cancelled("interrupted", hint="run the same command with --resume") from None
        except BaseException:
            self.cancel()
            raise

    def events(self) -> Iterator[Started | Finished]:
        """News from the workers until every episode is finished."""
        finished = 0
        while finished < self.expected:
            try:
                news = self._news.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            if isinstance(news, BaseException):
                raise news
            finished += isinstance(news, Finished)
            yield news

    def cancel(self) -> None:
        """Stop the queue and kill what is running, twice: once now, once for what was just being started."""
        self.cancelled.set()
        if self._bulk:
            self._bulk.kill()
        self.runtime.abort(self.plan.run_id)
        deadline = time.monotonic() + _GRACE_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self.runtime.abort(self.plan.run_id)

    def _work(self) -> None:
        while not self.cancelled.is_set():
            keys = self._next()
            if not keys:
                return
            try:
                for key in keys:
                    self._news.put(Started(key))
                for result in self._results(keys):
                    self._news.put(Finished(result.key, result))
            except BaseException as error:  # noqa: BLE001 - the main thread decides what a worker's crash means
                self._news.put(error)
                return

    def _next(self) -> list[Key]:
        """What a worker plays next: one episode, or a chunk of them; nothing when all are taken."""
        keys: list[Key] = []
        with suppress(queue.Empty):
            while len(keys) < self._at_once:
                keys.append(self._todo.get_nowait())
        return keys

    def _results(self, keys: list[Key]) -> Iterator[Result]:
        if self._bulk:
            yield from self._bulk.play([Episode(self._spec(key), key, self._hint(key)) for key in keys])
            return
        for key in keys:
            outcome = self._episode(key)
            if not self.cancelled.is_set():
                yield record(outcome, self.folder, self._hint(key))

    def _episode(self, key: Key) -> Outcome:
        mine = {name: digest for name, digest in self.images.items() if name in _ROOMS or name.startswith(f"{key.task_id}:")}
        return run_episode(self._spec(key), key, self.runtime, self.plan.agent, self.plan.budget, mine)

    def _spec(self, key: Key) -> EpisodeSpec:
        plan, task = self.plan, self.plan.task(key)
        episode_id, note = key.name.replace("/", "-"), plan.retry.note(key) if plan.retry else ""
        needs_main, open_turns = self._needs_main[key.task_id], self._open_turns[key.task_id]
        return EpisodeSpec(plan.run_id, episode_id, task, key.seed, plan.key, plan.options(task), needs_main, note, open_turns)

    def _hint(self, key: Key) -> Hint | None:
        return self.plan.retry.hints[key] if self.plan.retry else None


_ROOMS = frozenset({"agent", "world", "verifier"})


@contextmanager
def _interrupts() -> Iterator[None]:
    """SIGTERM interrupts like SIGINT, where this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_signum: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def summary(results: list[Result]) -> dict[str, Any]:
    """The closing counts of a run; `mean_reward` is over graded episodes, None when there are none."""
    graded = [result for result in results if result.status == "graded"]
    rewards = [result.reward or 0.0 for result in graded]
    return {
        "episodes": len(results),
        "success": sum(result.success for result in graded),
        "mean_reward": round(sum(rewards) / len(rewards), 6) if rewards else None,
        "ungraded": len(results) - len(graded),
    }
