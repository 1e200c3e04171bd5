"""What goes over the wire in an examination, and what the server says of itself at addresses other than the chat."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from harness.agents.llm.provider import library

_CHAT = "/chat/completions"
_SIZES = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
"""What servers call the size of a model's context in their list of models."""

_TIMEOUT_S = 5.0


class Wire:
    """Records the requests and responses of LiteLLM's shared connection pool, inside a `with` block."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.responses: list[httpx.Response] = []

    def __enter__(self) -> Self:
        self._session: httpx.Client = library().client_session
        self._before = self._session.event_hooks
        self._session.event_hooks = {"request": [self.requests.append], "response": [self.responses.append]}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._session.event_hooks = self._before

    @property
    def chat(self) -> httpx.Request | None:
        """The last request for a chat completion in OpenAI's format."""
        return next((one for one in reversed(self.requests) if one.url.path.endswith(_CHAT)), None)

    @property
    def model(self) -> str:
        """The model as that request names it; "" where there was none."""
        return "" if self.chat is None else str(json.loads(self.chat.content).get("model", ""))

    def rate_limits(self) -> dict[str, str]:
        """The headers that tell a client how much it may still ask for."""
        names = ("ratelimit", "retry-after")
        return {name: value for one in self.responses for name, value in one.headers.items() if any(n in name for n in names)}

    def models(self, path: str = "/models") -> dict[str, Mapping[str, Any]]:
        """The server's list of models by name; empty where it has none."""
        listed = self._get(path)
        rows = listed.get("data") if isinstance(listed, dict) else None
        return {str(row["id"]): row for row in rows or () if isinstance(row, dict) and "id" in row}

    def context_size(self) -> tuple[int, str] | None:
        """Tokens of the context as the server gives them, and where it does; None where it does not."""
        rows = self.models()
        row = rows.get(self.model) or (next(iter(rows.values())) if len(rows) == 1 else {})
        if sizes := [size for name in _SIZES if isinstance(size := row.get(name), int) and size > 0]:
            return sizes[0], "/models"
        generation = (self._get("/props", above=True) or {}).get("default_generation_settings")
        size = generation.get("n_ctx") if isinstance(generation, dict) else None
        return (size, "/props") if isinstance(size, int) and size > 0 else None

    def streams(self, request: Mapping[str, Any]) -> bool:
        """True where the server answers a request piece by piece."""
        if (address := self._address(_CHAT)) is None:
            return False
        body = {**request, "stream": True}
        with self._session.stream("POST", address, json=body, headers=self._headers(), timeout=_TIMEOUT_S * 2) as response:
            return response.status_code == 200 and any(line.startswith("data:") for line in response.iter_lines())

    def _get(self, path: str, *, above: bool = False) -> dict[str, Any] | None:
        """A JSON object of the server, None where it has none there; `above`: beside /v1 and not below it."""
        address = self._address(path, above=above)
        try:
            answer = None if address is None else self._session.get(address, headers=self._headers(), timeout=_TIMEOUT_S)
            value = answer.json() if answer is not None and answer.status_code == 200 else None
        except (httpx.HTTPError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def _address(self, path: str, *, above: bool = False) -> str | None:
        """An address beside that of the chat; None where no chat was requested in OpenAI's way."""
        base = None if self.chat is None else str(self.chat.url).partition("?")[0].removesuffix(_CHAT)
        return None if base is None else (base.removesuffix("/v1") if above else base) + path

    def _headers(self) -> dict[str, str]:
        key = None if self.chat is None else self.chat.headers.get("authorization")
        return {} if key is None else {"authorization": key}
