"""Chance is ours to replay: one HMAC-SHA256 stream per purpose, keyed by edition, task and seed.

Block i of a stream is HMAC-SHA256(key, canonical JSON of [task id, seed, purpose, i]).
1. Purposes do not disturb each other: a new draw in one stream leaves every other stream as it was.
2. The default key is published. A private key makes a held-out edition; only its digest is ever recorded.
3. Numbers come by rejection sampling, so no value is likelier than another.
4. Who wants to know on what an episode's chance hangs reads it inside `noted`: a digest of each stream that was begun.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

PUBLISHED_KEY = "parley-public-edition-1"
"""The key of the public edition; PARLEY_KEY in the environment replaces it."""

PAIRED = "pair:"
"""How the purpose of a stream begins that the seeds 2j and 2j + 1 share."""

T = TypeVar("T")

Begun = dict[str, set[str]]
"""Purposes, each with a digest of every stream that was begun for it: equal ones yield equal bytes."""

_begun: ContextVar[Begun | None] = ContextVar("begun", default=None)


@contextmanager
def noted() -> Iterator[Begun]:
    """The streams that are begun meanwhile."""
    begun: Begun = {}
    token = _begun.set(begun)
    try:
        yield begun
    finally:
        _begun.reset(token)


def key_digest(key: str) -> str:
    """What a record may say of a key: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


class Stream:
    """An endless stream of bytes for one purpose, with the draws a world needs."""

    def __init__(self, key: str, task_id: str, seed: int, purpose: str) -> None:
        # [task id, seed, purpose, with the counter and ] to follow: every block begins with the same bytes
        begun = json.dumps([task_id, seed, purpose], separators=(",", ":"))[:-1] + ","
        self._begun = hmac.new(key.encode(), begun.encode(), hashlib.sha256)
        self._counter = 0
        self._buffer = b""
        if (noting := _begun.get()) is not None:
            noting.setdefault(purpose, set()).add(self._begun.hexdigest())

    def bytes(self, count: int) -> bytes:
        """The next `count` bytes."""
        while len(self._buffer) < count:
            block = self._begun.copy()
            block.update(f"{self._counter}]".encode())
            self._buffer += block.digest()
            self._counter += 1
        drawn, self._buffer = self._buffer[:count], self._buffer[count:]
        return drawn

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound); raises ValueError unless bound >= 1."""
        if bound < 1:
            raise ValueError(f"bound must be >= 1, not {bound}")
        width = max(1, (bound - 1).bit_length() + 7 >> 3)
        limit = (1 << 8 * width) // bound * bound
        while True:
            drawn = int.from_bytes(self.bytes(width), "big")
            if drawn < limit:
                return drawn % bound

    def between(self, low: int, high: int) -> int:
        """A uniform integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def seconds(self, low: int, high: int) -> int:
        """A length of `low` to `high` whole seconds, in ms."""
        return 1000 * self.between(low, high)

    def choice(self, items: Sequence[T]) -> T:
        """One item, uniformly."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different items in random order; raises ValueError when there are fewer."""
        if count > len(items):
            raise ValueError(f"can't draw {count} of {len(items)} items")
        pool = list(items)
        self.shuffle(pool)
        return pool[:count]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Shuffle in place (Fisher-Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def hex(self, digits: int) -> str:
        """`digits` lower-case hex characters."""
        return self.bytes((digits + 1) // 2).hex()[:digits]

    def base64(self, count: int) -> str:
        """Standard base64 (RFC 4648 section 4, padded) of `count` bytes."""
        return base64.b64encode(self.bytes(count)).decode()

    def base64url(self, count: int) -> str:
        """URL-safe base64 without padding of `count` bytes."""
        return base64.urlsafe_b64encode(self.bytes(count)).decode().rstrip("=")


class Chance:
    """All chance of one episode: a fresh stream per purpose."""

    def __init__(self, key: str, task_id: str, seed: int) -> None:
        self._key, self._task_id, self._seed = key, task_id, seed
        self._streams: dict[str, Stream] = {}

    def __call__(self, purpose: str) -> Stream:
        """The stream for `purpose`; the same purpose goes on where it stopped."""
        if purpose not in self._streams:
            self._streams[purpose] = Stream(self._key, self._task_id, self._seed, purpose)
        return self._streams[purpose]

    def paired(self, purpose: str) -> Stream:
        """The stream for `purpose`, from its beginning, that the seeds 2j and 2j + 1 share."""
        return Stream(self._key, self._task_id, self._seed // 2, f"{PAIRED}{purpose}")

    def fresh(self, purpose: str) -> Stream:
        """The stream for `purpose` from its beginning, apart from the one that goes on."""
        return Stream(self._key, self._task_id, self._seed, purpose)
