"""A worker answers, raises what its job raises, and can be killed in the middle of anything without anybody waiting."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.errors import RuntimeFailure, UsageError
from harness.processes import Worker, WorkerEnded

MUCH = 50_000_000
"""Bytes; no pipe holds so many."""


def refuse(why: str) -> None:
    """A job that ends in an error of ours."""
    raise UsageError(why, hint="type something else")


def much(size: int) -> bytes:
    """A job with a long answer."""
    return b"x" * size


def unsayable() -> threading.Lock:
    """A job whose answer no pipe can carry."""
    return threading.Lock()


def test_jobs_are_done_one_after_the_other_elsewhere() -> None:
    """Every answer comes from the same other process, long ones whole, and errors with their hint."""
    worker = Worker()

    first = worker.do(os.getpid)
    assert len(worker.do(much, MUCH)) == MUCH
    with pytest.raises(UsageError, match="not so") as refused:
        worker.do(refuse, "not so")
    assert refused.value.hint == "type something else"
    assert "in refuse" in refused.value.__notes__[0]
    with pytest.raises(RuntimeFailure, match="cannot be sent"):
        worker.do(unsayable)
    assert worker.do(os.getpid) == first != os.getpid()

    worker.close()
    assert not worker.alive


@pytest.mark.parametrize("job", [(time.sleep, 60), (much, MUCH), (len, b"x" * MUCH)], ids=["busy", "answering", "listening"])
def test_killed_worker_keeps_nobody_waiting(job: tuple[object, ...]) -> None:
    """Whether it works, is sending its answer or being sent its job: who waits for it hears of its end, again and again."""
    for pause in (0.0, 0.05, 0.3):
        worker = Worker()
        assert worker.do(abs, -1) == 1
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(worker.do, *job)  # type: ignore[arg-type]
            time.sleep(pause)
            worker.kill()
            began = time.monotonic()
            if waiting.exception(timeout=20) is not None:
                with pytest.raises(RuntimeFailure, match="a process of ours has ended, with -9"):
                    waiting.result()
        assert time.monotonic() - began < 20
        assert not worker.alive
        with pytest.raises(RuntimeFailure):
            worker.do(abs, -1)


def test_worker_is_deaf_from_its_first_instant() -> None:
    """An interrupt while it starts up, or later, is not its to hear."""
    worker = Worker()
    assert worker._process.pid is not None
    os.kill(worker._process.pid, signal.SIGINT)

    assert worker.do(abs, -1) == 1
    os.kill(worker._process.pid, signal.SIGINT)
    assert worker.do(abs, -2) == 2
    worker.close()


def test_worker_that_died_idle_says_what_is_true() -> None:
    """Its end is told as an end, not as one in the middle of work, with what to type."""
    worker = Worker()
    assert worker.do(abs, -1) == 1
    worker.kill()

    with pytest.raises(WorkerEnded, match=r"^a process of ours has ended, with -9$") as ended:
        worker.do(abs, -1)
    assert "--resume" in ended.value.hint
