"""Replays of cassettes: which response of a file answers a request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.agents.llm.cassette import Cassette, RecordedResponse, WireCall
from worlds.core.errors import ManifestError

_OF_CONNECTION = frozenset({"content-length", "content-encoding", "transfer-encoding", "connection", "date", "server"})
"""Headers about the recorded connection, which are not repeated."""


class CassettePlayer:
    """A cassette that is played: each call answers as many requests as it says, in order."""

    def __init__(self, cassette: Cassette) -> None:
        self.cassette = cassette
        self._left, self._answered = [(call, call.times) for call in cassette.calls], 0

    def answer(self, path: str, body: Any) -> WireCall | None:
        """The call that answers a request to `path`, None where the cassette has none (left)."""
        said = json.dumps(body, ensure_ascii=False)
        for rule in self.cassette.rules:
            lacks = rule.lacks is None or not re.search(rule.lacks, said)
            if self._answered >= rule.after and re.search(rule.has, said) and lacks:
                return WireCall(response=rule.response)
        self._answered += 1
        for index, (call, times) in enumerate(self._left):
            if _ending(call.request.path) == _ending(path):
                self._left[index] = (call, times - 1)
                if times == 1:
                    del self._left[index]
                return call
        return None


def _ending(path: str) -> str:
    """The end of a path without its query: `completions`, `messages`, `generateContent`."""
    return re.split(r"[/:]", path.partition("?")[0])[-1]


def content(response: RecordedResponse) -> bytes:
    """The bytes of a response's body."""
    body = response.body if isinstance(response.body, str) else json.dumps(response.body, ensure_ascii=False)
    return body.encode(response.encoding)


def headers(response: RecordedResponse) -> Mapping[str, str]:
    """The headers to send with it."""
    kept = {name: value for name, value in response.headers.items() if name.lower() not in _OF_CONNECTION}
    return {"content-type": "application/json", **{name.lower(): value for name, value in kept.items()}}


def read_cassette(path: Path) -> Cassette:
    """The cassette in a file; raises ManifestError naming the file and the field."""
    try:
        return Cassette.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise ManifestError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
