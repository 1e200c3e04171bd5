"""Opens the pods of the next episodes while others play: making a sandbox waits, and so does playing, but not for each other.

1. The order of the episodes is known. As many pods as there are workers are open or opening beside those that are played in.
2. What went wrong while a pod was opened is raised where it is taken, so that it is blamed on its own episode.
3. A pod that nobody takes, since the run ended before, is closed unused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Self

from harness.errors import HarnessError
from harness.pod import EpisodeSpec, Pod, Runtime

Opened = tuple[ExitStack, Pod]
"""An open pod, and what closes it."""


class Ahead:
    """The pods of a list of episodes in one runtime; a context that closes those which were never taken."""

    def __init__(self, runtime: Runtime, specs: Sequence[EpisodeSpec], most: int) -> None:
        """`most` are opened ahead of their time, in the order of `specs`."""
        self._runtime, self._most = runtime, most
        self._lock = threading.Lock()
        self._to_come = {spec.episode_id: spec for spec in specs}
        self._opening: dict[str, Future[Opened]] = {}
        self._pool = ThreadPoolExecutor(max_workers=max(1, most), thread_name_prefix="parley-ahead")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._to_come.clear()
            left, self._opening = list(self._opening.values()), {}
        for one in left:
            if not one.cancel():
                # what kept it from opening is of no interest any more
                with suppress(HarnessError, OSError):
                    one.result()[0].close()
        self._pool.shutdown()

    @contextmanager
    def open(self, spec: EpisodeSpec) -> Iterator[Pod]:
        """The pod of an episode, as `Runtime.open` gives it; meanwhile others are opened."""
        with self._lock:
            self._to_come.pop(spec.episode_id, None)
            mine = self._opening.pop(spec.episode_id, None)
            self._go_on()
        if mine is None:
            with self._runtime.open(spec) as pod:
                yield pod
            return
        closing, pod = mine.result()
        with closing:
            yield pod

    def _go_on(self) -> None:
        for name in list(self._to_come)[: self._most - len(self._opening)]:
            self._opening[name] = self._pool.submit(self._open, self._to_come.pop(name))

    def _open(self, spec: EpisodeSpec) -> Opened:
        with ExitStack() as stack:
            pod = stack.enter_context(self._runtime.open(spec))
            return stack.pop_all(), pod
        raise AssertionError("a pod suppressed what was raised in it")
