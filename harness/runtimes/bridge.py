"""Host side of the bridge to a world: it sends numbered requests over a pair of byte streams, from any thread, several at once.

`send` takes bytes, and `receive` returns the next bytes, or nothing at the end. Each runtime provides both functions. One
thread reads replies and passes each to the caller that waits for its number. An ended stream, invalid data, or a missing reply
is a failure of the world, raised in every waiting caller.
"""

from __future__ import annotations

import base64
import itertools
import json
import secrets
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from harness.errors import WorldFailure, boundary
from harness.pod import EpisodeSpec
from harness.runtimes import commands
from worlds.core.wire import HOST_HEADER, WireRequest, WireResponse, check_sendable, request, response_from_json, to_json

ANSWER_LIMIT_S = 60.0
"""Timeout of one answer of a world, in real seconds."""

READY_LIMIT_S = 60.0
"""Timeout for the bridge's message that the world is ready, in real seconds."""

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

    def wait_ready(self) -> None:
        """Wait until the world is ready; raises WorldFailure with the bridge's reason."""
        try:
            said = self._first.get(timeout=READY_LIMIT_S)
        except Empty:
            raise WorldFailure(f"the world did not answer within {READY_LIMIT_S:g} s of its start") from None
        if "error" in said:
            raise WorldFailure(str(said["error"]))

    def call(self, made: WireRequest) -> WireResponse:
        """Send one request; raises WireError if no client can send it, WorldFailure if no answer arrives."""
        check_sendable(made)
        return response_from_json(self._ask(to_json(made), f"{made.method} {made.path.decode('ascii')[:80]}"))

    def log(self, most: int) -> bytes:
        """Return the event log so far; raises WorldFailure if it does not arrive, or is longer than `most` bytes."""
        log = bytearray()
        while piece := self._piece(len(log)):
            log += piece
            if len(log) > most:
                raise WorldFailure(f"its event log is longer than {most} bytes")
        return bytes(log)

    def _piece(self, offset: int) -> bytes:
        said = self._ask({"log": offset}, "the question for its event log")
        with boundary(WorldFailure, "reading its event log", KeyError, TypeError, ValueError):
            return base64.b64decode(said["log"], validate=True)

    def _ask(self, what: Mapping[str, Any], shown: str) -> dict[str, Any]:
        number, reply = next(self._numbers), SimpleQueue[dict[str, Any]]()
        line = json.dumps({"id": number, **what}, separators=(",", ":")).encode() + b"\n"
        self._submit(number, reply, line)
        try:
            said = reply.get(timeout=ANSWER_LIMIT_S)
        except Empty:
            self._waiting.pop(number, None)
            raise WorldFailure(f"the world did not answer {shown} within {ANSWER_LIMIT_S:g} s") from None
        if "error" in said:
            raise WorldFailure(f"the world ended the connection at {shown}: {said['error']}")
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
                    said = json.loads(line)
                    queue = self._waiting.pop(said["id"], None) if "id" in said else self._first
                    # an answer after its caller's timeout has no queue any more
                    if queue is not None:
                        queue.put(said)
        except (OSError, ValueError) as error:
            why = f"its bridge broke: {error}"
        with self._lock:
            self._dead = why
            waiting, self._waiting = self._waiting, {}
        for reply in (self._first, *waiting.values()):
            reply.put({"error": why})


class BridgedPod(ABC):
    """Open episode of a task of ours: the common code of pods with a world behind a bridge and the runner in `main`."""

    def __init__(self, spec: EpisodeSpec) -> None:
        self._spec = spec
        self._token = spec.host_token or secrets.token_hex(16)
        self._pending: list[bytes] = []
        self.instruction = ""
        self.has_main = spec.needs_main

    @abstractmethod
    def call(self, made: WireRequest) -> WireResponse:
        """Send one request to the world; raises WireError, WorldFailure (the world is gone), RuntimeFailure."""

    def call_as_host(self, made: WireRequest) -> WireResponse:
        """Send a request with the token that opens host-only routes; raises as `call` does."""
        return self.call(made.with_header(HOST_HEADER, self._token))

    def stop(self, cause: str) -> None:
        """Send the world a stop, because a budget that only the harness counts is used up."""
        self.call_as_host(request("POST", "/stop", body=json.dumps({"cause": cause})))

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files (absolute paths under /workspace or /tmp) into `main`, owned by the agent, before its next command."""
        self._pending.append(commands.packed(files))

    def _read_instruction(self) -> str:
        answer = self.call_as_host(WireRequest("GET", b"/instruction"))
        if answer.status != 200:
            raise WorldFailure(f"the world answered {answer.status} when asked for its instruction")
        return answer.body.decode()


class Frames:
    """Docker's multiplexed exec stream as a pair of byte streams: stdin unchanged, stdout unframed. Keeps the end of stderr."""

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
