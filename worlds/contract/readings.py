"""Readings: one pass over a stream, page by page; each page carries the token of the next one, and a digest.

1. A page is requested by its token, its position (the last `seq` read, initially 0) and a limit.
2. Its digest covers its token and its events. The chain folds all digests in the order of reading:
chain = SHA-256(chain so far, digest), as hex texts, from a start that the world provides.
3. A repeated request of a page returns the same page and is not counted twice.
A token that was never issued is MUTATED_TOKEN. A position or limit that differs from the page's first request, or a position
that is not the next one, is VERSION_CONFLICT. A limit below 1 or above the maximum is WRONG_VALUE.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from worlds.contract.checks import sha256_hex
from worlds.contract.labels import Label
from worlds.contract.mangling import mangled
from worlds.contract.world import compact
from worlds.core.calls import Violation
from worlds.core.chance import Stream

TOKEN_CHARS = 48


class Reading:
    """One pass; `token` is that of the next page, "" at the end, and `chain` is the chain of digests so far."""

    def __init__(self, tokens: Stream, start: str, most: int) -> None:
        self._tokens, self._most = tokens, most
        self.token, self.chain, self.place = tokens.hex(TOKEN_CHARS), start, 0
        self._pages: dict[str, tuple[tuple[int, int], Mapping[str, Any]]] = {}

    @property
    def done(self) -> bool:
        """True if the stream was read to its end."""
        return not self.token

    def check(self, token: str, after: int, limit: int) -> None:
        """Raise unless this page may be read, for the first time or again."""
        if token in self._pages:
            if self._pages[token][0] != (after, limit):
                raise Violation(Label.VERSION_CONFLICT, "this page was read in another way", status=409, field="page_token")
            return
        broken = mangled("page_token", self.token.encode(), token.encode("utf-8", "replace"), "the page token is not as issued")
        if broken is not None:
            raise broken
        if after != self.place:
            raise Violation(Label.VERSION_CONFLICT, "this is not the place that is read next", status=409, field="after_seq")
        if not 1 <= limit <= self._most:
            raise Violation(Label.WRONG_VALUE, "a page cannot hold so many events", field="limit")

    def page(self, events: Sequence[Mapping[str, Any]], token: str, after: int, limit: int) -> Mapping[str, Any]:
        """Return a page that passed `check`: its events, its digest, and the next token, None at the end of `events`."""
        if token not in self._pages:
            self._pages[token] = (after, limit), self._turn([event for event in events if event["seq"] > after], limit)
        return self._pages[token][1]

    def _turn(self, rest: Sequence[Mapping[str, Any]], limit: int) -> Mapping[str, Any]:
        shown = list(rest[:limit])
        digest = sha256_hex(self.token, compact(shown))
        self.chain = sha256_hex(self.chain, digest)
        self.place = shown[-1]["seq"] if shown else self.place
        self.token = self._tokens.hex(TOKEN_CHARS) if len(rest) > limit else ""
        return {"events": shown, "page_digest": digest, "page_token": self.token or None}
