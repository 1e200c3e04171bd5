"""Recording of model calls for bug reports, without secrets, as a file that can be replayed (docs/cassettes.md).

Calls made in `listening` are added to the log of the episode in whose context they are made (`harness.agents.llm.wire_log`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
from pydantic import ValidationError

from harness.agents.llm.wire_log import Clean, episode_log
from harness.limits import RECORD_BYTES
from harness.records import first_problem
from harness.safe_read import read_given
from worlds.core.errors import ManifestError
from worlds.core.models import Strict

BODY_BYTES = 256 << 10
"""Bytes stored of one body."""

_HIDDEN = "[secret]"
_SECRET_HEADER = re.compile(r"auth|cookie|key|secret|passw|credential|signature|token$", re.IGNORECASE)
_SECRET_QUERY = re.compile(r"([?&][^=&]*(?:key|token|secret|passw|sig)[^=&]*=)[^&]*", re.IGNORECASE)
_SECRET_FIELD = re.compile(r'("(?:x-)?(?:api[-_]?key|authorization)"\s*:\s*")[^"]*', re.IGNORECASE)


class RecordedRequest(Strict):
    """Request as it was sent; a replay uses only the end of its path."""

    method: str = "POST"
    path: str = "/v1/chat/completions"
    headers: dict[str, str] = {}
    body: str = ""


class RecordedResponse(Strict):
    """Response as it was received; `encoding` is Latin-1 if the bytes of the body are not UTF-8."""

    status: int = 200
    headers: dict[str, str] = {}
    body: str | dict[str, Any] | list[Any] = ""
    encoding: Literal["utf-8", "latin-1"] = "utf-8"


class WireCall(Strict):
    """Request and its response, None if the connection broke; `times` and `delay_s` are for replays."""

    request: RecordedRequest = RecordedRequest()
    response: RecordedResponse | None = None
    error: str = ""
    at_s: float = 0.0
    seconds: float = 0.0
    times: int = 1
    delay_s: float = 0.0


class WireRule(Strict):
    """Rule for rejecting requests after `after` replies: requests whose JSON contains, or does not contain, a pattern."""

    has: str = ""
    lacks: str | None = None
    after: int = 0
    response: RecordedResponse


class Cassette(Strict):
    """Responses of a server in order, and rules for rejecting requests; `about` says what is unusual, `source` its report."""

    about: str = ""
    source: str = ""
    calls: tuple[WireCall, ...] = ()
    rules: tuple[WireRule, ...] = ()


def read_cassette(path: Path) -> Cassette:
    """Read the cassette in a file; raises ManifestError naming the file and the field."""
    try:
        return Cassette.model_validate_json(read_given(path, RECORD_BYTES))
    except ValidationError as error:
        raise ManifestError(f"{path}: {first_problem(error)}") from None
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}") from None


@dataclass(eq=False)
class WireExchange:
    """Model call during and after its execution; `broken` is the connection error, if any, also in mid-response."""

    request: httpx.Request
    began: float
    status: int = 0
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    received: bytes = b""
    broken: Exception | None = None
    seconds: float = 0.0

    @property
    def is_openais(self) -> bool:
        """True for a request in OpenAI's format."""
        return self.request.url.path.endswith("/chat/completions")

    @property
    def text(self) -> str:
        """Body of the response; "" if it is incomplete."""
        return "" if self.broken else self.received.decode(errors="replace")

    @property
    def size(self) -> int:
        """Size of the stored parts of both bodies in bytes."""
        return sum(min(len(body), BODY_BYTES) for body in (self.request.content, self.received))

    def recorded(self, first: float, clean: Clean) -> WireCall:
        """Return the call without secrets, with times in seconds after `first`."""
        path = clean(_SECRET_QUERY.sub(rf"\1{_HIDDEN}", self.request.url.raw_path.decode("ascii", "replace")))
        headers, body = _headers(self.request.headers, clean), _text(_shortened(self.request.content), clean)["body"]
        told = {"status": self.status, "headers": _headers(self.headers, clean), **_text(self.received, clean)}
        return WireCall(
            request=RecordedRequest(method=self.request.method, path=path, headers=headers, body=body),
            response=RecordedResponse.model_validate(told) if self.status else None,
            error=clean(f"{type(self.broken).__name__}: {self.broken}") if self.broken else "",
            at_s=round(self.began - first, 4), seconds=round(self.seconds, 4),
        )  # fmt: skip

    def written(self, calls: Sequence[WireExchange], clean: Clean) -> bytes:
        """Return `calls` as the JSON of a cassette. This call must be the first of them."""
        cassette = Cassette(calls=tuple(call.recorded(self.began, clean) for call in calls))
        return cassette.model_dump_json(indent=1, exclude_defaults=True).encode() + b"\n"


_listening: ContextVar[list[WireExchange] | None] = ContextVar("listening", default=None)


@contextmanager
def listening(clean: Clean) -> Iterator[list[WireExchange]]:
    """Record the calls made in this context; model calls belong to the current episode, if there is one."""
    if (log := episode_log()) is not None:
        log.clean = clean
    calls: list[WireExchange] = []
    token = _listening.set(calls)
    try:
        yield calls
    finally:
        _listening.reset(token)
        for call in calls:
            call.received = _shortened(call.received)


_plain = httpx.HTTPTransport.handle_request


def install() -> None:
    """Instrument the connections of httpx to report sent and received bytes. A second call has no effect.

    Other hooks do not see the bytes of all providers, because only some clients of LiteLLM use `litellm.client_session`.
    """
    httpx.HTTPTransport.handle_request = _handle_request  # type: ignore[assignment, method-assign]


def _handle_request(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
    calls, log = _listening.get(), episode_log()
    if calls is None:
        return _plain(transport, request)
    request.read()
    call, parts = WireExchange(request, time.monotonic()), list[bytes]()
    calls.append(call)
    if log is not None:
        log.add(call)
    try:
        response = _plain(transport, request)
        call.status, call.headers = response.status_code, response.headers
        assert isinstance(response.stream, httpx.SyncByteStream)
        parts.extend(response.stream)
        response.close()
    except Exception as error:
        call.broken = error
        raise
    finally:
        call.seconds, call.received = time.monotonic() - call.began, _decoded(call.headers, b"".join(parts))
    stream, headers = httpx.ByteStream(b"".join(parts)), response.headers
    if leads_elsewhere(request.url, headers):
        # httpx would follow it with all headers but Authorization, and some providers' keys are in other headers
        headers = httpx.Headers([(name, value) for name, value in headers.raw if name.lower() != b"location"])
    return httpx.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)


def leads_elsewhere(url: httpx.URL, headers: Mapping[str, str]) -> bool:
    """Return True if a response redirects from this address to another server, or to plain HTTP."""
    try:
        target = url.join(headers.get("location") or "")
    except httpx.InvalidURL:
        return True
    is_safer = (url.scheme, target.scheme) == ("http", "https") and (url.port, target.port) == (None, None)
    return target.host != url.host or (not is_safer and (target.scheme, target.port) != (url.scheme, url.port))


def _decoded(headers: httpx.Headers, raw: bytes) -> bytes:
    """Return a decompressed body, or the original if it cannot be decompressed."""
    coding = headers.get("content-encoding")
    try:
        return httpx.Response(200, headers={"content-encoding": coding}, content=raw).content if coding else raw
    except httpx.DecodingError:
        return raw


def _shortened(body: bytes) -> bytes:
    if len(body) <= BODY_BYTES:
        return body
    head, left_out = BODY_BYTES // 4, len(body) - BODY_BYTES
    return b"%b\n[%d bytes left out]\n%b" % (body[:head], left_out, body[head + left_out :])


def _headers(headers: httpx.Headers, clean: Clean) -> dict[str, str]:
    return {name: _HIDDEN if _SECRET_HEADER.search(name) else clean(value) for name, value in headers.items()}


def _text(body: bytes, clean: Clean) -> dict[str, str]:
    """Return a body as text without secrets, and its encoding; Latin-1 maps every byte to a character."""
    try:
        text, encoding = body.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = body.decode("latin-1"), "latin-1"
    return {"body": _SECRET_FIELD.sub(rf"\1{_HIDDEN}", clean(text)), "encoding": encoding}
