"""The wire of an episode's model calls, recorded for bug reports: what was sent and received, without secrets.

`WireLog` holds the last calls of one episode, or all of them with `--record-wire`, and writes them as a cassette. Calls made in
`listening` are added to the log of the episode in whose context they are made, so episodes on many threads do not mix.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import httpx

from harness.agents.llm.cassette import Cassette, RecordedRequest, RecordedResponse, WireCall

LAST_CALLS = 8
"""Calls that are kept from before a failure."""

MOST_BYTES, MOST_BYTES_OF_ALL = 1 << 20, 32 << 20
"""Bytes of the bodies that are kept of an episode: from before failures, and with `--record-wire`."""

BODY_BYTES = 256 << 10
"""Bytes of one body that are kept whole; of a longer one, the first quarter of them and the last three."""

_HIDDEN = "[secret]"
_SECRET_HEADER = re.compile(r"auth|cookie|key|secret|passw|credential|signature|token$", re.IGNORECASE)
_SECRET_QUERY = re.compile(r"([?&][^=&]*(?:key|token|secret|passw|sig)[^=&]*=)[^&]*", re.IGNORECASE)
_SECRET_FIELD = re.compile(r'("(?:x-)?(?:api[-_]?key|authorization)"\s*:\s*")[^"]*', re.IGNORECASE)


@dataclass(eq=False)
class _Exchange:
    """One call while it happens."""

    request: httpx.Request
    sent: bytes
    began: float
    response: httpx.Response | None = None
    received: bytes = b""
    error: str = ""
    seconds: float = 0.0

    @property
    def size(self) -> int:
        return len(self.sent) + len(self.received)

    def failed(self, error: Exception) -> None:
        self.error, self.seconds = f"{type(error).__name__}: {error}", time.monotonic() - self.began

    def call(self, first: float, clean: Callable[[str], str]) -> WireCall:
        path = _SECRET_QUERY.sub(rf"\1{_HIDDEN}", self.request.url.raw_path.decode("ascii", "replace"))
        headers, (body, _) = _headers(self.request.headers, clean), _text(self.sent, clean)
        request = RecordedRequest(method=self.request.method, path=clean(path), headers=headers, body=body)
        response = None
        if self.response is not None:
            body, encoding = _text(self.received, clean)
            headers = _headers(self.response.headers, clean)
            response = RecordedResponse.model_validate(
                {"status": self.response.status_code, "headers": headers, "body": body, "encoding": encoding}
            )
        times = {"at_s": round(self.began - first, 4), "seconds": round(self.seconds, 4)}
        return WireCall.model_validate({"request": request, "response": response, "error": clean(self.error), **times})


@dataclass
class WireLog:
    """The calls of one episode."""

    keeps_all: bool = False
    scrubber: Callable[[], Callable[[str], str]] = lambda: str
    """Makes the function that blanks secrets in a text."""

    _last: list[_Exchange] = field(default_factory=list)
    _kept: list[_Exchange] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Make this the log of the current context."""
        token = _episode.set(self)
        try:
            yield
        finally:
            _episode.reset(token)

    def add(self, call: _Exchange) -> None:
        """Add a call that begins, in the place of the oldest ones where there is no more room."""
        most, count = (MOST_BYTES_OF_ALL, None) if self.keeps_all else (MOST_BYTES, LAST_CALLS)
        with self._lock:
            self._last.append(call)
            size = sum(one.size for one in self._last)
            while len(self._last) > 1 and (size > most or (count and len(self._last) > count)):
                size -= self._last.pop(0).size

    def keep(self) -> None:
        """Keep the last calls whatever comes later, because the reply to one of them could not be used."""
        with self._lock:
            if not self.keeps_all and sum(one.size for one in self._kept) < MOST_BYTES:
                self._kept, self._last = self._kept + self._last, []

    def dump(self, *, failed: bool) -> bytes:
        """The cassette as JSON; empty where no call failed, unless all calls are kept."""
        with self._lock:
            calls = sorted(self._kept + (self._last if failed or self.keeps_all else []), key=lambda call: call.began)
        if not calls:
            return b""
        clean = self.scrubber()
        cassette = Cassette(calls=tuple(call.call(calls[0].began, clean) for call in calls))
        return cassette.model_dump_json(indent=1, exclude_defaults=True).encode() + b"\n"


_episode: ContextVar[WireLog | None] = ContextVar("episode", default=None)
_listening: ContextVar[WireLog | None] = ContextVar("listening", default=None)


def keep_wire() -> None:
    """Keep the last calls of the current episode, because the reply to one of them could not be used."""
    if (log := _episode.get()) is not None:
        log.keep()


@contextmanager
def listening(scrubber: Callable[[], Callable[[str], str]]) -> Iterator[None]:
    """Record what is sent in this context as model calls of the current episode, if there is one."""
    log = _episode.get()
    if log is not None:
        log.scrubber = scrubber
    token = _listening.set(log)
    try:
        yield
    finally:
        _listening.reset(token)


_plain = httpx.HTTPTransport.handle_request


def install() -> None:
    """Let the connections of httpx report what they send and receive; a second call changes nothing.

    No other place sees the bytes of all of LiteLLM's providers: only some of its clients use `litellm.client_session`.
    """
    httpx.HTTPTransport.handle_request = _handle_request  # type: ignore[assignment, method-assign]


def _handle_request(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
    log = _listening.get()
    return _plain(transport, request) if log is None else _recorded(log, request, lambda: _plain(transport, request))


def _recorded(log: WireLog, request: httpx.Request, send: Callable[[], httpx.Response]) -> httpx.Response:
    call = _Exchange(request, _shortened(request.read()), time.monotonic())
    log.add(call)
    try:
        response = send()
    except Exception as error:
        call.failed(error)
        raise
    call.response = httpx.Response(response.status_code, headers=response.headers)
    assert isinstance(response.stream, httpx.SyncByteStream)
    response.stream = _Tee(response.stream, call)
    return response


class _Tee(httpx.SyncByteStream):
    """The bytes of a response, recorded as they are read."""

    def __init__(self, stream: httpx.SyncByteStream, call: _Exchange) -> None:
        self._stream, self._call, self._parts = stream, call, list[bytes]()

    def __iter__(self) -> Iterator[bytes]:
        try:
            for part in self._stream:
                self._parts.append(part)
                yield part
        except Exception as error:
            self._call.failed(error)
            raise

    def close(self) -> None:
        call, raw = self._call, b"".join(self._parts)
        call.seconds, call.received = time.monotonic() - call.began, _shortened(_decoded(call.response, raw))
        self._stream.close()


def _decoded(response: httpx.Response | None, raw: bytes) -> bytes:
    """A body without its compression; as it came where it cannot be decompressed."""
    coding = response.headers.get("content-encoding") if response is not None else None
    try:
        return httpx.Response(200, headers={"content-encoding": coding}, content=raw).content if coding else raw
    except httpx.DecodingError:
        return raw


def _shortened(body: bytes) -> bytes:
    if len(body) <= BODY_BYTES:
        return body
    head, left_out = BODY_BYTES // 4, len(body) - BODY_BYTES
    return b"%b\n[%d bytes left out]\n%b" % (body[:head], left_out, body[head + left_out :])


def _headers(headers: httpx.Headers, clean: Callable[[str], str]) -> dict[str, str]:
    return {name: _HIDDEN if _SECRET_HEADER.search(name) else clean(value) for name, value in headers.items()}


def _text(body: bytes, clean: Callable[[str], str]) -> tuple[str, str]:
    """A body as text without secrets, and its encoding: in Latin-1 every byte is a character."""
    try:
        text, encoding = body.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = body.decode("latin-1"), "latin-1"
    return _SECRET_FIELD.sub(rf"\1{_HIDDEN}", clean(text)), encoding
