"""A worker answers, raises what its job raises, and can be killed in the middle of anything without anybody waiting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.errors import RuntimeFailure, UsageError
from harness.paths import ROOT
from parley.workers import Worker, WorkerEnded, orphaned

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


@pytest.mark.property
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


@pytest.mark.property
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
                with pytest.raises(RuntimeFailure, match="a worker process ended with -9"):
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

    with pytest.raises(WorkerEnded, match=r"^a worker process ended with -9$") as ended:
        worker.do(abs, -1)
    assert "--resume" in ended.value.hint


COPIES = """
import os, signal, sys, threading, time
from parley import workers as processes
from parley.workers import Worker, can_copy

assert can_copy()
processes.told = "before the copy was made"

def here():
    return processes.told, signal.getsignal(signal.SIGTERM)

def interrupted(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, interrupted)
first, second = Worker(copied=True), Worker(copied=True)
for worker in (first, second):
    os.kill(worker._process.pid, signal.SIGINT)
    assert worker.do(here) == ("before the copy was made", signal.SIG_DFL)

first.close()
assert not first.alive, "a copy that was made later kept it waiting"
print("closed", second._process.pid, flush=True)
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
assert not can_copy()
{end}
"""


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "pass"], ids=["killed", "at its end"])
def test_copies_know_what_their_parent_knew_and_end_with_it(end: str) -> None:
    """They start with its state, deaf to interrupts, without its handlers and its ends of other pipes."""
    done = subprocess.run(
        [sys.executable, "-c", COPIES.replace("{end}", end)], check=False, capture_output=True, text=True, timeout=60
    )
    word, pid = done.stdout.split()

    assert (word, done.stderr) == ("closed", "")
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline, "the copy outlived its parent"
        time.sleep(0.05)


def outlive(folder: Path) -> None:
    """A job that is still at work when its parent has died, and says what it knew of that."""
    before, parent = orphaned(), os.getppid()
    (folder / "started").touch()
    while os.getppid() == parent:
        time.sleep(0.01)
    (folder / "told.new").write_text(f"{before} {orphaned()}")
    (folder / "told.new").rename(folder / "told")


@pytest.mark.property
@pytest.mark.parametrize("copied", [True, False])
def test_worker_knows_that_its_parent_has_died(tmp_path: Path, copied: bool) -> None:
    """Somebody else may be doing its work again by then."""
    script = f"""
from pathlib import Path
from parley.workers import Worker
from tests.parley.test_workers import outlive
Worker(copied={copied}).do(outlive, Path({str(tmp_path)!r}))
"""
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    for name in ("started", "told"):
        deadline = time.monotonic() + 30
        while not (tmp_path / name).exists():
            assert time.monotonic() < deadline, name
            time.sleep(0.01)
        parent.kill()
        parent.wait()

    assert (tmp_path / "told").read_text() == "False True"
    assert not orphaned()
