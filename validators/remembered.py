"""What was rebuilt from a log is rebuilt once: the tests of a task ask for the same games in turn."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from validators.episode import Episode

T = TypeVar("T")
_KEPT = 128


def remembered(rebuild: Callable[[Episode], T]) -> Callable[[Episode], T]:
    """The same for each of the last logs, by trace hash, which says all of a log whose chain was checked."""
    recent: OrderedDict[str, T] = OrderedDict()

    @wraps(rebuild)
    def found(episode: Episode) -> T:
        if episode.trace_hash not in recent:
            recent[episode.trace_hash] = rebuild(episode)
            if len(recent) > _KEPT:
                recent.popitem(last=False)
        recent.move_to_end(episode.trace_hash)
        return recent[episode.trace_hash]

    return found
