"""The `tool` interface: requests, waits and the submission as tools, so that every byte passes through the model.

1. What the model writes after http://api:8080 is the request target, byte for byte: no URL object touches it.
2. What no HTTP client can send is answered by the tool with the rule, alike in all runtimes, and never reaches the world.
3. A body is text where it is valid UTF-8, else base64 and marked as such; both ways round.
4. Everything goes through a `Transport` made per episode by `wrap`, where mutations and value handles have their place.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from harness.agents.llm.interface import Hands, Mistake, Outcome, Tool, definition, head_and_tail, read_tool
from harness.registry import Task
from harness.runtimes.base import Pod
from worlds.core.errors import WireError
from worlds.core.wire import Transport, WireRequest, WireResponse, request

BASE_URL = "http://api:8080"

SHOWN = 32 * 1024
"""Bytes of a response body that the model sees: a 12 kB URL fits with room to spare."""

Wrap = Callable[[Transport], Transport]
"""Puts something (mutations, handles, a recorder) between the agent and the world."""

Encoding = Literal["utf-8", "base64"]
_ENCODING = "How `body` is written: utf-8 (as it is) or base64."


def direct(transport: Transport) -> Transport:
    """Nothing in between."""
    return transport


def _pairs(value: Any) -> Any:
    """Headers as an object are as good as a list of pairs."""
    return [list(pair) for pair in value.items()] if isinstance(value, dict) else value


Pair = Annotated[list[str], Field(min_length=2, max_length=2)]


class HttpRequest(Tool):
    """Send one HTTP request to the service; the answer is its status, all headers and its body.

    URL, headers and body are sent exactly as written. A body that is not UTF-8 is shown in base64. Of a longer body than 32768
    bytes, a quarter of that from its start and the rest from its end are shown, with the number of bytes left out.
    """

    method: str = Field(description="The HTTP method, for example GET.")
    url: str = Field(description="A path starting with /, with its query, or a URL starting with http://api:8080.")
    headers: Annotated[list[Pair], BeforeValidator(_pairs)] = Field(default=[], description="A list of [name, value] pairs.")
    body: str = Field(default="", description="The request body.")
    encoding: Encoding = Field(default="utf-8", description=_ENCODING)


class Wait(Tool):
    """Let virtual time pass: POST /clock/wait. It returns at once."""

    seconds: float = Field(description="Virtual seconds to wait, more than 0.")


class Submit(Tool):
    """Hand in the result: POST /submission with exactly these bytes. This ends the episode."""

    body: str = Field(description="The result.")
    encoding: Encoding = Field(default="utf-8", description=_ENCODING)


TOOLS: dict[str, type[Tool]] = {"http_request": HttpRequest, "wait": Wait, "submit": Submit}


class ToolInterface:
    """HTTP by tool calls; needs no sandbox."""

    name = "tool"
    template = "tool.j2"
    tools: Sequence[dict[str, Any]] = tuple(definition(name, tool) for name, tool in TOOLS.items())

    def __init__(self, wrap: Wrap = direct) -> None:
        self.wrap = wrap

    def needs_main(self, runtime: str) -> bool:
        """Never."""
        return False

    def hands(self, task: Task, pod: Pod) -> Hands:
        """Tools for one episode, with a transport of its own."""
        return _HttpHands(self.wrap(pod.call))


class _HttpHands:
    def __init__(self, transport: Transport) -> None:
        self._send = transport

    def act(self, tool: str, arguments: Mapping[str, Any], limit_s: float) -> Outcome:
        if tool not in TOOLS:
            raise Mistake(f"there is no tool {tool!r}; there are {', '.join(TOOLS)}")
        try:
            made = as_request(read_tool(tool, TOOLS[tool], arguments))
            answer = self._send(made)
        except WireError as error:
            raise Mistake(f"not sent: {error}") from None
        # A submission is the last act however it was made, and whatever the world thought of it.
        return Outcome(shown(answer), done=(made.method, made.path) == ("POST", b"/submission"))


def as_request(asked: Tool) -> WireRequest:
    """The request that a tool call means; raises Mistake or WireError for one that cannot be sent."""
    if isinstance(asked, HttpRequest):
        pairs = [(name, value) for name, value in asked.headers]
        return request(asked.method, target_of(asked.url), headers=pairs, body=_bytes(asked.body, asked.encoding))
    if isinstance(asked, Submit):
        return request("POST", "/submission", body=_bytes(asked.body, asked.encoding))
    if isinstance(asked, Wait):
        body = json.dumps({"seconds": asked.seconds})
        return request("POST", "/clock/wait", headers=[("content-type", "application/json")], body=body)
    raise Mistake(f"no request is known for {type(asked).__name__}")


def target_of(url: str) -> str:
    """The raw request target of what the model wrote; raises Mistake for an address outside the world."""
    if url.startswith("/"):
        return url
    if not url.startswith(BASE_URL):
        raise Mistake(f"url must start with / or with {BASE_URL}, and only that service can be reached")
    # The one thing every client adds: the target of an empty path is / (RFC 9112 section 3.2.1).
    return url.removeprefix(BASE_URL) or "/"


def shown(answer: WireResponse) -> str:
    """What the model is told of an answer: status, every header, then the body with its length and encoding."""
    head = "\n".join([f"status {answer.status}", *(f"{name}: {value}" for name, value in answer.headers)])
    if not answer.body:
        return f"{head}\n\n[no body]"
    try:
        text, encoding = _text(answer.body), "utf-8"
    except UnicodeDecodeError:
        text, encoding = _base64(answer.body), "base64"
    return f"{head}\n\n[body of {len(answer.body)} bytes, {encoding}]\n{text}"


def _bytes(body: str, encoding: Encoding) -> bytes:
    try:
        return base64.b64decode(body, validate=True) if encoding == "base64" else body.encode()
    except binascii.Error as error:
        raise Mistake(f"body: not base64: {error}") from None
    except UnicodeEncodeError:
        raise Mistake("body: holds half a surrogate pair, which has no UTF-8 form; use encoding base64") from None


def _text(body: bytes) -> str:
    """The body as text, cut where it is too long; raises UnicodeDecodeError for bytes that are none."""
    whole = body.decode()
    if len(body) <= SHOWN:
        return whole
    head, omitted, tail = head_and_tail(body, SHOWN)
    return f"{head.decode(errors='replace')}\n[{omitted} bytes left out]\n{tail.decode(errors='replace')}"


def _base64(body: bytes) -> str:
    """The body in base64, of which no more is shown than of text; each part can be decoded by itself."""
    head, omitted, tail = head_and_tail(body, SHOWN * 3 // 4)
    text = base64.b64encode(head).decode()
    return f"{text}\n[{omitted} bytes left out]\n{base64.b64encode(tail).decode()}" if omitted else text
