"""What attacks read out of `main` and put into it: files in slices, and recorded requests with their answers."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
from collections.abc import Iterable
from typing import NamedTuple

from harness.attacks.scripts import shell
from harness.pod import Pod
from worlds.core.wire import WireRequest, WireResponse

SLICE = 45_000
"""Bytes read at once: in base64 they fit what is kept of a command's output."""

MOST = 4 << 20
"""Bytes read of one file."""


class RecordedExchange(NamedTuple):
    """One request that was made, of whom, and its answer."""

    host: str
    port: int
    request: WireRequest
    answer: WireResponse


def read_out(pod: Pod, path: str, most: int = MOST) -> bytes:
    """A file of `main`, or its first `most` bytes; empty where it cannot be read."""
    data = b""
    while len(data) < most:
        done = shell(pod, f"tail -c +{len(data) + 1} {path} | head -c {SLICE} | base64 -w0")
        try:
            part = base64.b64decode(done.output, validate=True)
        except binascii.Error:
            break
        data += part
        if len(part) < SLICE:
            break
    return data


def exchanges_of(data: bytes) -> tuple[RecordedExchange, ...]:
    """The exchanges in what record-solution or the proxy wrote; what is no such line is passed over."""
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    return tuple(_exchange(line) for line in data.splitlines() if line.startswith(b"["))


def lines_of(exchanges: Iterable[RecordedExchange]) -> bytes:
    """Exchanges as in-main/resend reads them."""
    return b"".join(json.dumps(_row(one)).encode() + b"\n" for one in exchanges)


def _exchange(line: bytes) -> RecordedExchange:
    host, port, (method, target, headers, body), (status, said, content) = json.loads(line)
    asked = WireRequest(method, target.encode(), _pairs(headers), base64.b64decode(body))
    return RecordedExchange(host, port, asked, WireResponse(status, _pairs(said), base64.b64decode(content)))


def _row(one: RecordedExchange) -> list[object]:
    asked = [one.request.method, one.request.target.decode(), list(one.request.headers), _text(one.request.body)]
    return [one.host, one.port, asked, [one.answer.status, list(one.answer.headers), _text(one.answer.body)]]


def _pairs(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in headers)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
