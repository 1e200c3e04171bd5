"""A game is rebuilt from its log once, though every test of a task asks for it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from validators.episode import Episode

T = TypeVar("T")
_KEPT = 128


def remembered(rebuild: Callable[[Episode], T]) -> Callable[[Episode], T]:
    """`rebuild`, which keeps what it made of the last logs by trace hash; that hash stands for all that is in a log."""
    recent: OrderedDict[str, T] = OrderedDict()

    @wraps(rebuild)
    def rebuilt_once(episode: Episode) -> T:
        if episode.trace_hash not in recent:
            recent[episode.trace_hash] = rebuild(episode)
            if len(recent) > _KEPT:
                recent.popitem(last=False)
        recent.move_to_end(episode.trace_hash)
        return recent[episode.trace_hash]

    return rebuilt_once
