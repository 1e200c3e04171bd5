"""Reproducible randomness: one HMAC-SHA256 stream per purpose, keyed by edition, task and seed.

Block i of a stream is HMAC-SHA256(key, canonical JSON of [task id, seed, purpose, i]).
1. Streams are independent: a new draw in one stream leaves every other stream unchanged.
2. The default key is published. A private key makes a held-out edition; only the digest of the key is ever recorded.
3. Numbers are drawn by rejection sampling, so they are uniform.
4. `record_streams` collects a digest of each stream that is started inside it, which tells what an episode's randomness
   depends on.
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
"""Key of the public edition; PARLEY_KEY in the environment overrides it."""

PAIRED = "pair:"
"""Prefix of the purpose of a stream that several seeds share."""

T = TypeVar("T")

Begun = dict[str, set[str]]
"""Purpose -> digests of the streams started for it; streams with equal digests yield equal bytes."""

_begun: ContextVar[Begun | None] = ContextVar("begun", default=None)


@contextmanager
def record_streams() -> Iterator[Begun]:
    """Yield a dictionary that collects the streams started in this context."""
    begun: Begun = {}
    token = _begun.set(begun)
    try:
        yield begun
    finally:
        _begun.reset(token)


def key_digest(key: str) -> str:
    """Return the digest of a key that may be recorded: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


class Stream:
    """Endless stream of bytes for one purpose, with the draws that a world needs."""

    def __init__(self, key: str, task_id: str, seed: int, purpose: str) -> None:
        # [task id, seed, purpose, with the counter and ] to follow: every block begins with the same bytes
        begun = json.dumps([task_id, seed, purpose], separators=(",", ":"))[:-1] + ","
        self._begun = hmac.new(key.encode(), begun.encode(), hashlib.sha256)
        self._counter = 0
        self._buffer = b""
        if (noting := _begun.get()) is not None:
            noting.setdefault(purpose, set()).add(self._begun.hexdigest())

    def bytes(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        while len(self._buffer) < count:
            block = self._begun.copy()
            block.update(f"{self._counter}]".encode())
            self._buffer += block.digest()
            self._counter += 1
        drawn, self._buffer = self._buffer[:count], self._buffer[count:]
        return drawn

    def below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound); raises ValueError unless bound >= 1."""
        if bound < 1:
            raise ValueError(f"bound must be >= 1, not {bound}")
        width = max(1, (bound - 1).bit_length() + 7 >> 3)
        limit = (1 << 8 * width) // bound * bound
        while True:
            drawn = int.from_bytes(self.bytes(width), "big")
            if drawn < limit:
                return drawn % bound

    def between(self, low: int, high: int) -> int:
        """Return a uniform integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def seconds(self, low: int, high: int) -> int:
        """Return a duration of `low` to `high` whole seconds, in ms."""
        return 1000 * self.between(low, high)

    def choice(self, items: Sequence[T]) -> T:
        """Return one item, drawn uniformly."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Return `count` different items in random order; raises ValueError if there are fewer."""
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
        """Return `digits` lower-case hex characters."""
        return self.bytes((digits + 1) // 2).hex()[:digits]

    def base64(self, count: int) -> str:
        """Return `count` bytes in standard base64 (RFC 4648 section 4, padded)."""
        return base64.b64encode(self.bytes(count)).decode()

    def base64url(self, count: int) -> str:
        """Return `count` bytes in URL-safe base64 without padding."""
        return base64.urlsafe_b64encode(self.bytes(count)).decode().rstrip("=")


class Chance:
    """Randomness of one episode: a separate stream per purpose."""

    def __init__(self, key: str, task_id: str, seed: int) -> None:
        self._key, self._task_id, self._seed = key, task_id, seed
        self._streams: dict[str, Stream] = {}

    def __call__(self, purpose: str) -> Stream:
        """Return the stream for `purpose`; repeated calls return the same stream, which continues where it stopped."""
        if purpose not in self._streams:
            self._streams[purpose] = Stream(self._key, self._task_id, self._seed, purpose)
        return self._streams[purpose]

    def paired(self, purpose: str, size: int = 2) -> Stream:
        """Return a new stream for `purpose` that each block of `size` seeds shares; the first block begins at seed 0."""
        return Stream(self._key, self._task_id, self._seed // size, f"{PAIRED}{purpose}")

    def fresh(self, purpose: str) -> Stream:
        """Return a new stream for `purpose`, independent of the position of the cached one."""
        return Stream(self._key, self._task_id, self._seed, purpose)
