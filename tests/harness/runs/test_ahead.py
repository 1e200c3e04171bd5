"""Pods that are opened while others play: in order, no more than asked for, each failure with its own episode, none left."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.errors import RuntimeFailure
from harness.pod import EpisodeSpec, Pod
from harness.runs.executors.sites import Ahead
from harness.runtimes.inprocess import InProcessRuntime
from tests.shipped import SHIPPED

SPECS = [EpisodeSpec("run", f"e{number}", SHIPPED[0], number) for number in range(5)]
LIMIT_S = 20


class Counting(InProcessRuntime):
    """A runtime that keeps count of its pods, and cannot open one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: dict[str, threading.Event] = {spec.episode_id: threading.Event() for spec in SPECS}
        self.closed: list[str] = []
        self.broken = ""

    @contextmanager
    def open(self, spec: EpisodeSpec) -> Iterator[Pod]:
        """A pod."""
        self.opened[spec.episode_id].set()
        if spec.episode_id == self.broken:
            raise RuntimeFailure("no room")
        with super().open(spec) as pod:
            try:
                yield pod
            finally:
                self.closed.append(spec.episode_id)


def begun(runtime: Counting) -> list[str]:
    """The episodes whose pods have been begun."""
    return [name for name, event in runtime.opened.items() if event.is_set()]


def test_the_next_pods_are_opened_while_one_plays() -> None:
    """As many as asked for, in order; each is the pod of its own seed, and those that nobody took are closed."""
    runtime = Counting()
    with Ahead(runtime, SPECS, 2) as ahead:
        with ahead.open(SPECS[0]):
            assert runtime.opened["e1"].wait(LIMIT_S)
            assert runtime.opened["e2"].wait(LIMIT_S)
            assert begun(runtime) == ["e0", "e1", "e2"]
        with ahead.open(SPECS[1]) as pod, InProcessRuntime().open(SPECS[1]) as alone:
            assert runtime.opened["e3"].wait(LIMIT_S)
            assert pod.instruction == alone.instruction
        assert runtime.closed == ["e0", "e1"]

    assert begun(runtime) == ["e0", "e1", "e2", "e3"]
    assert sorted(runtime.closed) == ["e0", "e1", "e2", "e3"]


def test_a_failure_is_that_of_its_own_episode() -> None:
    """A pod that cannot be opened is heard of where it is taken, and the others are played."""
    runtime = Counting()
    runtime.broken = "e1"
    with Ahead(runtime, SPECS, 1) as ahead:
        with ahead.open(SPECS[0]):
            assert runtime.opened["e1"].wait(LIMIT_S)
        with pytest.raises(RuntimeFailure, match="no room"), ahead.open(SPECS[1]):
            pass
        with ahead.open(SPECS[2]):
            pass

    assert sorted(runtime.closed)[:2] == ["e0", "e2"]
