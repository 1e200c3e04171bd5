"""Local OpenAI-compatible server that plays scripts, for testing model clients over real HTTP.

`with OpenAIServer(scripts) as server:` serves `server.url` from a thread. `python -m parley.testing.openai_server --script FILE
--port 0` prints its URL and serves until interrupted; `--cassette FILE` also serves a cassette, at any path and with precedence
over scripts (docs/cassettes.md). Faults are real: a stall keeps the socket open, a truncated body closes it halfway. The first
small call of a run is answered without a script, unless a script matches it, and stored in `server.probes`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import uvicorn
from fastapi import FastAPI, Request, Response

from harness.agents.llm.model import PROBE, TOOL_PROBE
from harness.agents.llm.wire import Cassette, WireCall, read_cassette
from parley.testing.scripts import Fault, Messages, Script, ScriptedCall, ScriptedReply, ScriptedUsage, Weather, read_scripts
from worlds.core.connections import guarded_server
from worlds.core.errors import ManifestError

_START_S = 10.0
_OF_CONNECTION = frozenset({"content-length", "content-encoding", "transfer-encoding", "connection", "date", "server"})
"""Headers of the recorded connection that are not replayed."""

_CALLED = ScriptedReply(tool_calls=(ScriptedCall(name="ready"),))
_READY = Script(play=lambda messages: _CALLED if messages == list(TOOL_PROBE) else "ready")


@dataclass(frozen=True)
class Received:
    """A received request; `at` is on the monotonic clock."""

    headers: dict[str, str]
    body: dict[str, Any]
    at: float

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation in the request."""
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages


class _Server(uvicorn.Server):
    """A uvicorn server that stops within milliseconds, without a grace period, because tests start and stop many."""

    async def main_loop(self) -> None:
        while not self.should_exit:  # noqa: ASYNC110 - the flag is set by uvicorn's signal handler and other threads
            await asyncio.sleep(0.005)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()


class OpenAIServer:
    """HTTP server of scripts on a loopback port."""

    def __init__(
        self, *scripts: Script, port: int = 0, weather: Weather | None = None, cassette: Cassette | None = None
    ) -> None:
        self.scripts, self.weather, self.cassette = scripts, weather, cassette or Cassette()
        self.requests: list[Received] = []
        self.probes: list[Received] = []
        self._attempts: Counter[str] = Counter()
        self._left, self._replayed = [(one, one.times) for one in self.cassette.calls], 0
        self._number, self._first_at = 0, 0.0
        # The protocol is given because asyncio disables Nagle's algorithm (40 ms per request) only if it is.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self._socket.listen(128)
        self._port = self._socket.getsockname()[1]
        app = FastAPI(openapi_url=None)
        app.add_api_route("/v1/chat/completions", self._complete, methods=["POST"], response_class=Response)
        app.add_api_route("/v1/models", self._models, methods=["GET"], response_class=Response)
        app.add_api_route("/{path:path}", self._elsewhere, methods=["POST"], response_class=Response)
        self._server = guarded_server(app, server=_Server, log_level="critical", timeout_graceful_shutdown=1)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    @property
    def url(self) -> str:
        """The URL to pass as --api-base."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + _START_S
        while not self._server.started and time.monotonic() < deadline:
            time.sleep(0.005)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(_START_S)
        self._socket.close()

    def serve(self) -> None:
        """Serve in this thread until interrupted."""
        self._server.run(sockets=[self._socket])

    async def _models(self) -> Response:
        return _json(200, {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "parley"}]})

    async def _elsewhere(self, request: Request) -> Response:
        """Answer requests at other providers' APIs, from the cassette or with a fault."""
        return await self._unscripted(request, await request.json(), {}) or _refused(404, "no such address")

    async def _complete(self, request: Request) -> Response:
        raw = await request.body()
        try:
            body = json.loads(raw)
            messages: list[dict[str, Any]] = body["messages"]
        except (ValueError, KeyError, TypeError):
            return _refused(400, "the body must be JSON with messages")
        if body.get("stream"):
            return _refused(400, "this server does not stream")
        said, is_probe = json.dumps(messages), messages in (list(PROBE), list(TOOL_PROBE))
        whole = _completion(ScriptedReply(text="ok"), "", messages, 0)
        if answer := await self._unscripted(request, body, whole, is_probe=is_probe):
            return answer
        asked_for = [s for s in self.scripts if not is_probe or (s.match and s.match in said)] or ([_READY] if is_probe else [])
        script = next((s for s in asked_for if s.fits(messages, str(body.get("model")))), None)
        if script is None:
            return _refused(400, "no script fits this conversation")
        if refused := next((name for name in script.refuses if name in body), None):
            return _refused(400, f"Unsupported parameter: '{refused}'.")
        reply, key = script.reply(messages), json.dumps(messages, sort_keys=True)
        fault = reply.fault(self._attempts[key])
        self._attempts[key] += 1
        read = [*messages, *(body.get("tools") or ())]
        whole = _completion(reply, str(body.get("model")), read, len(self.requests)) if reply.raw is None else reply.raw
        if body.get("logprobs") and reply.raw is None:
            whole["choices"][0]["logprobs"] = {"content": [_token(text, chances) for text, chances in reply.tokens]}
        return await self._broken(fault, whole, request) if fault else _json(200, whole)

    async def _unscripted(
        self, request: Request, body: dict[str, Any], whole: dict[str, Any], *, is_probe: bool = False
    ) -> Response | None:
        """Record a request and return the cassette's answer, or a scripted fault in place of `whole`, or None."""
        received = Received(dict(request.headers), body, time.monotonic())
        (self.probes if is_probe else self.requests).append(received)
        if not is_probe and (played := self._played(request.url.path, body)):
            await asyncio.sleep(played.delay_s)
            if (told := played.response) is None:
                return self._reset(request)
            text = told.body if isinstance(told.body, str) else json.dumps(told.body, ensure_ascii=False)
            kept = {name.lower(): value for name, value in told.headers.items() if name.lower() not in _OF_CONNECTION}
            kind, headers = _Truncated if played.error else Response, {"content-type": "application/json", **kept}
            return kind(text.encode(told.encoding), told.status, headers=headers)
        if self.weather is None:
            return None
        self._first_at = self._first_at or received.at
        number, self._number = self._number, self._number + 1
        fault = self.weather(number, received.at - self._first_at)
        return await self._broken(fault, whole, request) if fault else None

    def _played(self, path: str, body: Any) -> WireCall | None:
        """Return the recorded call that answers a request to `path`, or None if the cassette has none left."""
        said = json.dumps(body, ensure_ascii=False)
        for rule in self.cassette.rules:
            lacks = rule.lacks is None or not re.search(rule.lacks, said)
            if self._replayed >= rule.after and re.search(rule.has, said) and lacks:
                return WireCall(response=rule.response)
        self._replayed += 1
        for index, (recorded, times) in enumerate(self._left):
            if _ending(recorded.request.path) == _ending(path):
                self._left[index : index + 1] = [] if times == 1 else [(recorded, times - 1)]
                return recorded
        return None

    async def _broken(self, fault: Fault, whole: dict[str, Any], request: Request) -> Response:
        """Return the response of a fault in place of an answer."""
        if fault.kind == "reset":
            return self._reset(request)
        if fault.kind == "stall":
            await asyncio.sleep(fault.stall_s)
            return _json(200, whole)
        if fault.kind == "garbage":
            return Response(b'{"id": "chatcmpl-1", "choices": [{"mess', 200, media_type="application/json")
        if fault.kind == "truncated":
            return _Truncated(json.dumps(whole).encode())
        refused = _refused(fault.status, fault.message)
        if fault.body is not None:
            refused = Response(fault.body.encode(), fault.status, media_type=fault.media_type)
        if fault.retry_after is not None:
            refused.headers["Retry-After"] = fault.retry_after
        return refused

    def _reset(self, request: Request) -> Response:
        """Reset the connection of a request. The returned response is never sent."""
        for connection in list(self._server.server_state.connections):
            if request.client is not None and getattr(connection, "client", None) == tuple(request.client):
                # with a linger time of 0, closing a socket resets the connection
                transport = connection.transport
                transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                transport.abort()
        return Response()


class _Truncated(Response):
    """A response that announces its full length, sends half of it and lets the server close the connection."""

    def __init__(self, content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        super().__init__(content, status, headers, media_type="application/json")
        self.body = content[: len(content) // 2]


def _ending(path: str) -> str:
    """Return the last part of a path without its query: `completions`, `messages`, `generateContent`."""
    return re.split(r"[/:]", path.partition("?")[0])[-1]


def _completion(reply: ScriptedReply, model: str, messages: Messages, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [_tool_call(made, f"call_{number}_{i}") for i, made in enumerate(reply.tool_calls)]
    finish = reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")
    whole: dict[str, Any] = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if reply.usage != "none":
        # about four characters per token; tests need only that the count exists and grows
        rough = ScriptedUsage(prompt=len(json.dumps(list(messages))) // 4 + 1, completion=len(json.dumps(message)) // 4 + 1)
        tokens = rough if reply.usage == "counted" else reply.usage
        whole["usage"] = {
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
            "total_tokens": tokens.prompt + tokens.completion,
            "prompt_tokens_details": {"cached_tokens": tokens.cached},
            "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
        }
    return whole


def _token(text: str, chances: dict[str, float]) -> dict[str, Any]:
    named = [{"token": token, "logprob": math.log(chance), "bytes": None} for token, chance in chances.items()]
    return {"token": text, "logprob": math.log(chances[text]), "bytes": None, "top_logprobs": named}


def _tool_call(made: ScriptedCall, call_id: str) -> dict[str, Any]:
    text = made.arguments if isinstance(made.arguments, str) else json.dumps(made.arguments, ensure_ascii=False)
    return {"id": made.id or call_id, "type": "function", "function": {"name": made.name, "arguments": text}}


def _json(status: int, body: dict[str, Any]) -> Response:
    return Response(json.dumps(body, ensure_ascii=False).encode(), status, media_type="application/json")


def _refused(status: int, message: str) -> Response:
    return _json(status, {"error": {"message": message, "type": "scripted", "code": None}})


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a cassette and scripts from files until interrupted, printing the URL for --api-base."""
    parser = argparse.ArgumentParser(prog="python -m parley.testing.openai_server", description="Play scripted completions.")
    parser.add_argument("--script", type=Path, action="append", default=[], help=".py, .json or .toml; repeatable")
    parser.add_argument("--cassette", type=Path, help="recorded or handwritten responses, which come first")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options = parser.parse_args(arguments)
    if not (options.script or options.cassette):
        parser.error("nothing to serve: give --script FILE or --cassette FILE")
    try:
        cassette = read_cassette(options.cassette) if options.cassette else None
        scripts = [one for path in options.script for one in read_scripts(path)] or [Script()]
        server = OpenAIServer(*scripts, port=options.port, cassette=cassette)
    except (ManifestError, OSError) as error:
        parser.error(str(error))
    print(server.url, flush=True)
    server.serve()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
