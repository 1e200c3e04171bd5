"""Concurrent calls on daemon threads, so that a hanging call blocks neither an interrupt nor the exit of the process.

The threads of a `ThreadPoolExecutor` are joined when the interpreter exits, and a provider may be silent for minutes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

In = TypeVar("In")
Out = TypeVar("Out")


def side_by_side(function: Callable[[In], Out], items: Iterable[In], workers: int | None = None) -> Iterator[Out]:
    """Yield `function` of every item, computed on `workers` threads (None: one per item), in the order of the items.

    Raises the error of the first item, in that order, that failed. After an error no call is started, and running calls are
    abandoned.
    """
    calls: list[tuple[In, Future[Out]]] = [(item, Future()) for item in items]
    todo = deque(calls)
    for number in range(min(workers or len(calls), len(calls))):
        _start(function, todo, f"beside-{number}")
    try:
        for _, answer in calls:
            yield answer.result()
    finally:
        todo.clear()


def begun(function: Callable[[In], Out], item: In) -> Future[Out]:
    """Start `function` of one item on its own thread and return the future."""
    answer = Future[Out]()
    _start(function, deque([(item, answer)]), "begun")
    return answer


def _start(function: Callable[[In], Out], todo: deque[tuple[In, Future[Out]]], name: str) -> None:
    def work() -> None:
        with suppress(IndexError):
            while True:
                item, answer = todo.popleft()
                try:
                    answer.set_result(function(item))
                except BaseException as error:  # noqa: BLE001 - who asked decides what it means
                    answer.set_exception(error)

    threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True).start()
