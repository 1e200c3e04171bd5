"""A client that never writes a long value out twice: what it was given and would send again goes by its handle.

It stands between a task's own solution and the path, so that the same oracle is the direct-pass client without it and the
handle client with it. It can name only what it received: a value that the solution derived (a hash, another encoding) is
written out like anybody's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape

from harness.agents.handles import HandleStore
from harness.authoring.leaks import leaves
from worlds.core.wire import API_URL, Transport, WireRequest, WireResponse

LONG = 64
"""Characters from which on a value is worth a name."""

_WORD = re.compile(rf"[^\s`\"'<>]{{{LONG},}}")
_HREF = re.compile(r'href="([^"]+)"')


class HandleClient:
    """Speaks for a client that stores what is long."""

    def __init__(self, transport: Transport, store: HandleStore) -> None:
        self._send, self._store = transport, store
        self._handles: dict[str, str] = {}
        for word in _WORD.findall(store.instruction):
            self._learn(word, word)

    def __call__(self, request: WireRequest) -> WireResponse:
        """Send the request with names for values, and learn from what the world really answered."""
        answer = self._send(self._named(request))
        true = self._store.last or answer
        for value in _values(true):
            self._learn(value, value)
        # a link is stored by its place in the page, whatever the page looks like to the agent
        for shown, href in zip(_hrefs(answer), _hrefs(true), strict=False):
            self._learn(shown, href)
        return answer

    def _learn(self, shown: str, value: str) -> None:
        if len(value) >= LONG and shown not in self._handles:
            self._handles[shown] = self._store.store(f"v{len(self._handles) + 1}", value.encode())
            # a client sends the target of an address, not the address
            if value.startswith(API_URL):
                self._learn(shown.removeprefix(API_URL), value.removeprefix(API_URL))

    def _named(self, request: WireRequest) -> WireRequest:
        target = self._with_names(request.target.decode("latin-1"))
        target = target if target.startswith("/") else f"/{target}"
        headers = tuple((name, self._with_names(value)) for name, value in request.headers)
        return request._replace(target=target.encode("latin-1"), headers=headers)

    def _with_names(self, text: str) -> str:
        for value in sorted(self._handles, key=len, reverse=True):
            text = text.replace(value, self._handles[value])
        return text


def _values(answer: WireResponse) -> Iterator[str]:
    """Everything in an answer that could be sent again: header values, the leaves of JSON, words of text."""
    yield from (value for _, value in answer.headers)
    text = answer.body.decode("utf-8", "replace")
    try:
        yield from leaves(json.loads(text))
    except (ValueError, RecursionError):
        yield from _WORD.findall(text)


def _hrefs(answer: WireResponse) -> list[str]:
    return [unescape(href) for href in _HREF.findall(answer.body.decode("utf-8", "replace"))]
