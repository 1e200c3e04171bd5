"""Jobs go where they are placed, and leaving by an exception leaves no process behind."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from harness.authoring.workers import WorkerPool


def test_jobs_are_placed() -> None:
    """Even jobs run in this process, odd ones in one other, which has a PYTHONHASHSEED of its own."""
    before = multiprocessing.active_children()
    with WorkerPool(2) as pool:
        results = dict(
            pool.run([(0, "here", os.getpid, ()), (1, "there", os.getpid, ()), (3, "seed", os.getenv, ("PYTHONHASHSEED",))])
        )

    assert results["here"] == os.getpid() != results["there"]
    assert results["seed"] == "1"
    assert set(multiprocessing.active_children()) <= set(before)


def test_one_worker_is_this_process() -> None:
    """With one worker nothing is started, and results come in order."""
    with WorkerPool(1) as pool:
        assert list(pool.run([(1, "a", os.getpid, ()), (0, "b", abs, (-1,))])) == [("a", os.getpid()), ("b", 1)]


def test_an_exception_kills_the_workers() -> None:
    """What raises here does not wait for what runs there."""
    before, started = multiprocessing.active_children(), time.monotonic()
    with pytest.raises(ZeroDivisionError), WorkerPool(2) as pool:
        list(pool.run([(1, "slow", time.sleep, (60,)), (0, "fails", divmod, (1, 0))]))

    assert time.monotonic() - started < 30
    assert set(multiprocessing.active_children()) <= set(before)
