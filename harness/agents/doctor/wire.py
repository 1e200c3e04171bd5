"""What went over the wire, and what a server says of itself at addresses other than that of the chat."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from harness.agents.llm.provider import library

_CHAT = "/chat/completions"
_SIZES = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
"""How servers call the size of a context in their list of models."""

_TIMEOUT_S = 5.0


class WireTap:
    """Records what LiteLLM's shared connection pool sends and receives inside a `with` block."""

    def __enter__(self) -> Self:
        self.requests: list[httpx.Request] = []
        self.responses: list[httpx.Response] = []
        self._session: httpx.Client = library().client_session
        self._before = self._session.event_hooks
        self._session.event_hooks = {
            "request": [*self._before["request"], self.requests.append],
            "response": [*self._before["response"], self.responses.append],
        }
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._session.event_hooks = self._before

    @property
    def sent(self) -> Mapping[str, Any]:
        """The last request for a chat completion in OpenAI's format."""
        return {} if (chat := self._chat()) is None else json.loads(chat.content)

    def rate_limits(self) -> str:
        """The headers that tell a client how much more it may send."""
        names = {n: v for one in self.responses for n, v in one.headers.items() if "ratelimit" in n or n == "retry-after"}
        return ", ".join(f"{name}: {value}" for name, value in sorted(names.items())[:4])

    def models(self, path: str = "models") -> dict[str, Mapping[str, Any]]:
        """The server's list of models by name; empty where it has none."""
        rows = self._object(path).get("data")
        rows = rows if isinstance(rows, list) else []
        return {str(row["id"]): row for row in rows if isinstance(row, dict) and "id" in row}

    def context_size(self) -> int:
        """Tokens of the context as /models or /props say, 0 where they do not."""
        rows, generation = self.models(), self._object("../props").get("default_generation_settings")
        row = rows.get(str(self.sent.get("model"))) or (next(iter(rows.values())) if len(rows) == 1 else {})
        sizes = [row.get(name) for name in _SIZES] + [generation.get("n_ctx") if isinstance(generation, dict) else None]
        return next((size for size in sizes if isinstance(size, int) and size > 0), 0)

    def streams(self) -> bool:
        """True where the server answers the last request piece by piece."""
        answer = self._fetch("POST", _CHAT[1:], json={**self.sent, "stream": True})
        return answer is not None and answer.text.startswith("data:")

    def _object(self, path: str) -> dict[str, Any]:
        try:
            answer = self._fetch("GET", path)
            value = answer.json() if answer is not None else None
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def _fetch(self, method: str, path: str, json: Any = None) -> httpx.Response | None:
        """The answer with status 200 from an address beside the chat's, with the same key; None where there is none."""
        if (chat := self._chat()) is None:
            return None
        base = str(chat.url).partition("?")[0].removesuffix(_CHAT)
        headers = {name: value for name, value in chat.headers.items() if name == "authorization"}
        try:
            address = httpx.URL(f"{base}/").join(path)
            answer = self._session.request(method, address, json=json, headers=headers, timeout=_TIMEOUT_S)
        except httpx.HTTPError:
            return None
        return answer if answer.status_code == httpx.codes.OK else None

    def _chat(self) -> httpx.Request | None:
        return next((one for one in reversed(self.requests) if one.url.path.endswith(_CHAT)), None)
