"""Raw wire types: a request is its bytes, and no URL object normalises it.

Tool calls, the bridge, the mutations and in-process calls all use `WireRequest` and `WireResponse`.
1. `check_sendable` rejects requests that no HTTP client can send, so that all runtimes reject the same ones
(RFC 9112 section 3.2: a request target has no whitespace and no control characters).
2. `to_json` and `from_json` implement the bridge's line format; bodies are base64.
3. A `Transport` is any callable from request to response; a mutation or a recorder wraps another transport.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from worlds.core.errors import WireError

Headers = tuple[tuple[str, str], ...]

API_HOST = "api:8080"
"""Address of a world in every runtime, so that signed links, logs and trace hashes are equal in all of them."""

API_URL = f"http://{API_HOST}"

HOST_HEADER = "X-Parley-Host"
"""Header that carries the per-episode token on host-only calls; never logged."""

MAX_HEAD_BYTES = 49_152
"""Maximum size of request line plus headers; the server's own limit (64 KiB) is never reached."""

MAX_BODY_BYTES = 1_048_576
"""Maximum size of a request body; the app answers 413 above it."""

_TARGET = re.compile(rb"/[\x21-\x7e]*")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_COOKIES = "; "
"""Separator of joined Cookie headers (RFC 6265 section 5.4 sends one; RFC 9113 section 8.2.3 joins several)."""
_FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "expect"})


class WireRequest(NamedTuple):
    """One HTTP request as bytes: `target` is the raw request target, with path and query undecoded."""

    method: str
    target: bytes
    headers: Headers = ()
    body: bytes = b""

    @property
    def path(self) -> bytes:
        """The raw target up to the first question mark."""
        return self.target.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        """The raw target after the first question mark, or empty."""
        return self.target.partition(b"?")[2]

    def header(self, name: str) -> str | None:
        """Return the value of a header by case-insensitive name, or None; repeated values are joined (RFC 9110 section 5.3)."""
        wanted = name.lower()
        values = [value for key, value in self.headers if key.lower() == wanted]
        return (_COOKIES if wanted == "cookie" else ", ").join(values) if values else None

    def with_header(self, name: str, value: str) -> WireRequest:
        """Return this request with one more header at the end."""
        return self._replace(headers=(*self.headers, (name, value)))


class WireResponse(NamedTuple):
    """One HTTP response: status, headers in the server's order, body bytes."""

    status: int
    headers: Headers = ()
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """Return the first value of a header, by case-insensitive name, or None."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class Transport(Protocol):
    """Interface between an agent and a world."""

    def __call__(self, request: WireRequest) -> WireResponse:
        """Send one request and return its response; raises WireError if it cannot be sent."""
        ...


def request(
    method: str, target: str | bytes, *, headers: Mapping[str, str] | Iterable[tuple[str, str]] = (), body: bytes | str = b""
) -> WireRequest:
    """Build a request and check it; raises WireError as `check_sendable` does."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    made = WireRequest(
        method,
        _ascii(target) if isinstance(target, str) else target,
        tuple((str(k), str(v)) for k, v in pairs),
        body.encode() if isinstance(body, str) else body,
    )
    check_sendable(made)
    return made


def check_sendable(made: WireRequest) -> None:
    """Raise WireError for a request that no HTTP client could send unchanged."""
    if not _TOKEN.fullmatch(made.method):
        raise WireError(f"method must be an HTTP token, not {made.method!r}")
    if not _TARGET.fullmatch(made.target):
        raise WireError("target must start with / and hold only visible ASCII (no space, newline or non-ASCII byte)")
    if b"#" in made.target:
        raise WireError("target must not hold #, which no client sends")
    for name, value in made.headers:
        _check_header(name, value)
    size = len(made.method) + len(made.target) + sum(len(k) + len(v) + 4 for k, v in made.headers)
    if size > MAX_HEAD_BYTES:
        raise WireError(f"request line and headers take {size} bytes, more than {MAX_HEAD_BYTES}")


def to_json(made: WireRequest) -> dict[str, Any]:
    """Return a request in the bridge's line format."""
    return {
        "method": made.method,
        "target": made.target.decode("ascii"),
        "headers": [list(pair) for pair in made.headers],
        "body": base64.b64encode(made.body).decode(),
    }


def from_json(line: Mapping[str, Any]) -> WireRequest:
    """Parse a request from the bridge's line format."""
    pairs = tuple((str(k), str(v)) for k, v in line["headers"])
    return WireRequest(str(line["method"]), str(line["target"]).encode("ascii"), pairs, base64.b64decode(line["body"]))


def response_to_json(answer: WireResponse) -> dict[str, Any]:
    """Return a response in the bridge's line format."""
    return {
        "status": answer.status,
        "headers": [list(pair) for pair in answer.headers],
        "body": base64.b64encode(answer.body).decode(),
    }


def response_from_json(line: Mapping[str, Any]) -> WireResponse:
    """Parse a response from the bridge's line format."""
    pairs = tuple((str(k), str(v)) for k, v in line["headers"])
    return WireResponse(int(line["status"]), pairs, base64.b64decode(line["body"]))


def _ascii(text: str) -> bytes:
    try:
        return text.encode("ascii")
    except UnicodeEncodeError:
        raise WireError("target must be ASCII; percent-encode other characters") from None


@lru_cache(maxsize=512)
def _check_header(name: str, value: str) -> None:
    check_field(name, value)
    if name.lower() in _FRAMING:
        raise WireError(f"header {name} belongs to the transport, leave it out")


def check_field(name: str, value: str) -> None:
    """Raise WireError for an invalid header field (RFC 9110 section 5), in a request or a response."""
    if not _TOKEN.fullmatch(name):
        raise WireError(f"header name must be an HTTP token, not {name!r}")
    if not _HEADER_VALUE.fullmatch(value) or value != value.strip(" \t"):
        raise WireError(f"header {name} holds a character that no client sends, or outer space")
