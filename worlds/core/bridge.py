"""The bridge: a process beside the world that translates JSON lines on stdin into raw HTTP requests, and back.

It runs once per episode in the world's container, where no agent can forge its replies. It is either forked from the world
before that opens (`worlds.core.serve`) or started by the host (`python3 -m worlds.core.bridge`).
1. In: `{"id": n, ...wire.to_json(request)}`. Out: `{"id": n, ...wire.response_to_json(response)}` or `{"id": n, "error": why}`.
2. It connects to a Unix socket in the world's /tmp, which agents cannot flood, or to 127.0.0.1:8080 if there is none.
3. The bytes of the target are sent unchanged; no URL object parses them.
4. Several requests run at once, each worker on its own keep-alive connection. Replies are written as they become ready.
5. `{"id": n, "log": offset}` requests the next chunk of the event log as base64; the chunk at the end of the log is empty.
6. The first line out is `{"ready": true}` once the world answers GET /healthz, or `{"error": why}`. EOF on stdin ends it.
"""

from __future__ import annotations

import base64
import json
import os
import select
import socket
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import h11

from worlds.core.wire import API_HOST, WireRequest, WireResponse, from_json, response_to_json

ADDRESS = ("127.0.0.1", 8080)
LOCAL = Path("/tmp/parley-bridge")
"""Unix socket on which a world listens for its bridge only."""

HOST = API_HOST.encode()
MAX_WORKERS = 64
READY_TRIES = 3000
READY_PAUSE_S = 0.01
ANSWER_LIMIT_S = 300.0
_RESPONSE_HEAD = 1 << 20
LOG_PIECE = 1 << 20
"""Maximum number of bytes of the event log in one reply."""


class Connection:
    """One keep-alive connection to the world, opened on first use."""

    def __init__(self, address: tuple[str, int] = ADDRESS, local: Path | None = None) -> None:
        """Set the address; `local` is a Unix socket to use instead if it exists."""
        self._address, self._local = address, local
        self._socket: socket.socket | None = None
        self._http = h11.Connection(h11.CLIENT)

    def __call__(self, request: WireRequest) -> WireResponse:
        """Send one request without retries; raises OSError or h11.RemoteProtocolError if the world closes the connection."""
        link = self._connected()
        try:
            answer = self._exchange(link, request)
        except BaseException:
            self.close()
            raise
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            self.close()
        return answer

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connected(self) -> socket.socket:
        # An idle connection has nothing to read unless the server closed it.
        if self._socket is not None and select.select([self._socket], [], [], 0)[0]:
            self.close()
        if self._socket is None:
            self._socket = self._opened()
            self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_RESPONSE_HEAD)
        return self._socket

    def _opened(self) -> socket.socket:
        if self._local is not None and self._local.is_socket():
            link = socket.socket(socket.AF_UNIX)
            link.settimeout(ANSWER_LIMIT_S)
            link.connect(str(self._local))
            return link
        link = socket.create_connection(self._address, timeout=ANSWER_LIMIT_S)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return link

    def _exchange(self, link: socket.socket, request: WireRequest) -> WireResponse:
        headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in request.headers]
        framing = [(b"Host", HOST), *headers, (b"Content-Length", b"%d" % len(request.body))]
        head = self._http.send(h11.Request(method=request.method, target=request.target, headers=framing))
        body = self._http.send(h11.Data(data=request.body)) if request.body else b""
        link.sendall((head or b"") + (body or b"") + (self._http.send(h11.EndOfMessage()) or b""))
        return self._response(link)

    def _response(self, link: socket.socket) -> WireResponse:
        status, headers, body = 0, (), bytearray()  # type: tuple[int, tuple[tuple[str, str], ...], bytearray]
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(link.recv(65_536))
            elif isinstance(event, h11.Response):
                status = event.status_code
                headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in event.headers)
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return WireResponse(status, headers, bytes(body))


class Desk:
    """Dispatcher that hands each line to an idle worker, and starts another worker if none is idle."""

    def __init__(self) -> None:
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._workers = 0

    def queue_line(self, line: bytes) -> None:
        """Queue one line of stdin."""
        with self._lock:
            if self._waiting == 0 and self._workers < MAX_WORKERS:
                self._workers += 1
                threading.Thread(target=self._work, daemon=True).start()
            else:
                self._waiting -= 1
        self._lines.put(line)

    def write_message(self, message: dict[str, Any]) -> None:
        """Write one line to stdout; exit the process if the reader is gone."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            try:
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
            except OSError:
                os._exit(1)

    def _work(self) -> None:
        connection = Connection(local=LOCAL)
        while True:
            said = answer(connection, self._lines.get())
            # Idle before it speaks: the next line of a caller that waits for this reply finds this worker, and its connection.
            with self._lock:
                self._waiting += 1
            self.write_message(said)


def answer(connection: Connection, line: bytes) -> dict[str, Any]:
    """Return the reply to one line of stdin; errors are returned as data, never raised."""
    number: Any = None
    try:
        message = json.loads(line)
        number = message["id"]
        if "log" in message:
            return {"id": number, "log": read_log_piece(message["log"])}
        return {"id": number, **response_to_json(connection(from_json(message)))}
    except Exception as error:  # noqa: BLE001 - whatever went wrong is the answer
        return {"id": number, "error": f"{type(error).__name__}: {error}"}


def read_log_piece(offset: int) -> str:
    """Return at most LOG_PIECE bytes of the event log from `offset`, as base64."""
    with (Path(os.environ.get("PARLEY_STATE", "/state")) / "events.jsonl").open("rb") as log:
        log.seek(offset)
        return base64.b64encode(log.read(LOG_PIECE)).decode("ascii")


def await_world() -> dict[str, Any]:
    """Poll GET /healthz until it answers 200; counts tries, because a world reads no wall clock."""
    connection, pause, why = Connection(local=LOCAL), threading.Event(), ""
    for _ in range(READY_TRIES):
        try:
            status = connection(WireRequest("GET", b"/healthz")).status
            if status == 200:
                return {"ready": True}
            why = f"GET /healthz answers {status}"
        except (OSError, h11.RemoteProtocolError) as error:
            why = str(error)
        pause.wait(READY_PAUSE_S)
    return {"error": f"the world never came up: {why}"}


def main() -> None:
    """Serve stdin until EOF."""
    desk = Desk()
    desk.write_message(await_world())
    for line in sys.stdin.buffer:
        desk.queue_line(line)
    # Requests under way have nobody left to answer.
    os._exit(0)


if __name__ == "__main__":
    main()
