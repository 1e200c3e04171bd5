"""The two calls of a pair are made in different processes, and leaving by an exception leaves no process behind."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from parley.proof.workers import Call, WorkerPool

OWN: Call = (os.getpid, ())
SEED: Call = (os.getenv, ("PYTHONHASHSEED",))
ONE: Call = (abs, (-1,))


def test_calls_of_a_pair_are_made_in_two_processes() -> None:
    """Each of thirty pairs has one call in this process and one in another, which has a PYTHONHASHSEED of its own."""
    before = multiprocessing.active_children()
    with WorkerPool(2) as pool:
        results = {key: {first, second} for key, first, second in pool.run([(number, OWN, OWN) for number in range(30)])}
    with WorkerPool(2) as pool:
        ((_, *seeds),) = pool.run([("seeds", SEED, SEED)])

    assert len(results) == 30
    (both,) = {frozenset(pids) for pids in results.values()}
    assert os.getpid() in both
    assert len(both) == 2
    assert set(seeds) == {os.getenv("PYTHONHASHSEED"), "1"}
    assert set(multiprocessing.active_children()) <= set(before)


@pytest.mark.property
def test_whoever_is_free_takes_the_next_pair() -> None:
    """While one worker makes one long call, the other one makes the first calls of all other pairs."""
    long: Call = (time.sleep, (1.5,))
    pairs = [("long", long, OWN), *((str(number), OWN, ONE) for number in range(8))]
    with WorkerPool(2) as pool:
        firsts = {key: first for key, first, _ in pool.run(pairs)}

    assert len({pid for key, pid in firsts.items() if key != "long"}) == 1


def test_one_worker_is_this_process() -> None:
    """With one worker nothing is started, and results come in order."""
    with WorkerPool(1) as pool:
        assert list(pool.run([("a", OWN, OWN), ("b", OWN, ONE)])) == [
            ("a", os.getpid(), os.getpid()),
            ("b", os.getpid(), 1),
        ]


@pytest.mark.property
@pytest.mark.parametrize("slow", [0, 1])
def test_an_exception_kills_the_workers(slow: int) -> None:
    """What raises in one process does not wait for what runs in the other."""
    before, started = multiprocessing.active_children(), time.monotonic()
    calls: list[Call] = [(divmod, (1, 0)), (time.sleep, (60,))] if slow else [(time.sleep, (2,)), (divmod, (1, 0))]
    with pytest.raises(ZeroDivisionError), WorkerPool(2) as pool:
        list(pool.run([("fails", calls[0], calls[1])]))

    assert time.monotonic() - started < 30
    assert set(multiprocessing.active_children()) <= set(before)
