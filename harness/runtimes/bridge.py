"""Host side of the bridge: numbered requests over a pair of byte streams, from any thread, several at once.

1. `send` takes bytes, `receive` returns the next bytes, or nothing at the end. Each runtime provides its own pair (a Docker
exec through `Frames`, the pipes of a sandboxed process).
2. One thread reads replies and passes each to the caller that waits for its number.
3. A request that no client can send is refused here, before it is sent, as in every runtime.
4. An ended stream, invalid data, or a missing reply is a failure of the world, raised in every waiting caller.
"""

from __future__ import annotations

import base64
import itertools
import json
import struct
import threading
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from harness.errors import WorldFailure, boundary
from worlds.core.wire import WireRequest, WireResponse, check_sendable, response_from_json, to_json

ANSWER_LIMIT_S = 60.0
"""Timeout of one answer of a world, in real seconds."""

READY_LIMIT_S = 60.0
"""Timeout for the bridge's message that the world answers, in real seconds."""

_STDERR = 2
_STDERR_KEPT = 4096


class Bridge:
    """Open bridge; `call` is safe from any thread."""

    def __init__(self, send: Callable[[bytes], object], receive: Callable[[], bytes]) -> None:
        self._send, self._receive = send, receive
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, SimpleQueue[dict[str, Any]]] = {}
        self._first: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._dead: str | None = None
        threading.Thread(target=self._read, name="parley-bridge", daemon=True).start()

    def wait_ready(self, timeout_s: float = READY_LIMIT_S) -> None:
        """Wait until the world answers; raises WorldFailure with the bridge's reason."""
        try:
            said = self._first.get(timeout=timeout_s)
        except Empty:
            raise WorldFailure(f"the world did not answer within {timeout_s:g} s of its start") from None
        if "error" in said:
            raise WorldFailure(str(said["error"]))

    def call(self, request: WireRequest, timeout_s: float = ANSWER_LIMIT_S) -> WireResponse:
        """Send one request; raises WireError if no client can send it, WorldFailure if no answer arrives."""
        check_sendable(request)
        return response_from_json(self._ask(to_json(request), _shown(request), timeout_s))

    def log(self, most: int) -> bytes:
        """Return the event log so far; raises WorldFailure if it does not arrive, or is longer than `most` bytes."""
        log = bytearray()
        while piece := self._piece(len(log)):
            log += piece
            if len(log) > most:
                raise WorldFailure(f"its event log is longer than {most} bytes")
        return bytes(log)

    def _piece(self, offset: int) -> bytes:
        said = self._ask({"log": offset}, "the question for its event log", ANSWER_LIMIT_S)
        with boundary(WorldFailure, "reading its event log", KeyError, TypeError, ValueError):
            return base64.b64decode(said["log"], validate=True)

    def _ask(self, what: Mapping[str, Any], shown: str, timeout_s: float) -> dict[str, Any]:
        number, reply = next(self._numbers), SimpleQueue[dict[str, Any]]()
        line = json.dumps({"id": number, **what}, separators=(",", ":")).encode() + b"\n"
        self._submit(number, reply, line)
        try:
            said = reply.get(timeout=timeout_s)
        except Empty:
            self._waiting.pop(number, None)
            raise WorldFailure(f"the world did not answer {shown} within {timeout_s:g} s") from None
        if "error" in said:
            raise WorldFailure(f"the world broke off at {shown}: {said['error']}")
        return said

    def _submit(self, number: int, reply: SimpleQueue[dict[str, Any]], line: bytes) -> None:
        with self._lock:
            if self._dead is not None:
                raise WorldFailure(f"the world is gone: {self._dead}")
            self._waiting[number] = reply
            try:
                self._send(line)
            except OSError as error:
                del self._waiting[number]
                raise WorldFailure(f"the world is gone: {error}") from None

    def _read(self) -> None:
        why, rest = "its bridge ended", b""
        try:
            while chunk := self._receive():
                *lines, rest = (rest + chunk if rest else chunk).split(b"\n")
                for line in lines:
                    self._deliver(json.loads(line))
        except (OSError, ValueError) as error:
            why = f"its bridge broke: {error}"
        with self._lock:
            self._dead = why
            waiting, self._waiting = self._waiting, {}
        for queue in (self._first, *waiting.values()):
            queue.put({"error": why})

    def _deliver(self, said: dict[str, Any]) -> None:
        queue = self._waiting.pop(said["id"], None) if "id" in said else self._first
        # An answer that came after its caller gave up has no queue any more.
        if queue is not None:
            queue.put(said)


class Frames:
    """Docker's multiplexed exec stream as a pair of byte streams: stdin unchanged, stdout unframed, the end of stderr kept."""

    def __init__(self, link: Any, read: Callable[[], bytes]) -> None:
        self._link, self._read = link, read
        self._buffer = bytearray()
        self.stderr = b""

    def send(self, data: bytes) -> None:
        """Write to the process's stdin."""
        self._link.sendall(data)

    def receive(self) -> bytes:
        """Return the next bytes of stdout, or nothing at the end."""
        while (frame := self._frame()) is not None:
            stream, payload = frame
            if stream == _STDERR:
                self.stderr = (self.stderr + payload)[-_STDERR_KEPT:]
            elif payload:
                return payload
        return b""

    def _frame(self) -> tuple[int, bytes] | None:
        """Return one frame (8 bytes of header: stream, length), or None at the end or for an incomplete frame."""
        if not self._fill(8):
            return None
        stream, length = struct.unpack(">BxxxL", self._buffer[:8])
        if not self._fill(8 + length):
            return None
        payload = bytes(self._buffer[8 : 8 + length])
        del self._buffer[: 8 + length]
        return stream, payload

    def _fill(self, size: int) -> bool:
        while len(self._buffer) < size:
            chunk = self._read()
            if not chunk:
                return False
            self._buffer += chunk
        return True


def _shown(request: WireRequest) -> str:
    return f"{request.method} {request.path.decode('ascii')[:80]}"
