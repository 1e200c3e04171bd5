"""The `tool` interface: requests, waits and the submission as tools, so that every byte passes through the model.

1. What the model writes after http://api:8080 is the request target, byte for byte: no URL object touches it.
2. What no HTTP client can send is answered by the tool with the rule, alike in all runtimes, and never reaches the world.
3. A body is text where it is valid UTF-8, else base64 and marked as such; both ways round.
4. With value handles there is one more tool, `store`, and `@HANDLE:name` may stand wherever the stored value belongs; the pod
   that the agent was given resolves it (`harness.agents.path`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from harness.agents.handles import PREFIX, HandleStore, NotFound
from harness.agents.llm.interface import ActionResult, Hands, Mistake, Tool, definition, head_and_tail, read_tool
from harness.agents.path import RoutedPod
from harness.pod import Pod
from harness.registry import Task
from worlds.core.errors import WireError
from worlds.core.wire import API_URL, WireRequest, WireResponse, request

SHOWN = 32 * 1024
"""Bytes of a response body that the model sees: a 12 kB URL fits with room to spare."""

Encoding = Literal["utf-8", "base64"]
_ENCODING = "How `body` is written: utf-8 (as it is) or base64."


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


class Store(Tool):
    """Keep a value under a name without repeating it; later write @HANDLE:name in a url, header value or body in its place.

    Say where it is, in exactly one way: json_pointer (RFC 6901), header, link (the id of an HTML link: its href), or pattern (a
    regular expression with one group).
    """

    name: str = Field(description="Letters, digits and underscores.")
    source: Literal["response", "instruction"] = Field(default="response", description="The last response, or the instruction.")
    json_pointer: str | None = Field(default=None, description="For example /links/0/url.")
    header: str | None = Field(default=None, description="The name of a response header.")
    link: str | None = Field(default=None, description="The id of an HTML element with an href.")
    pattern: str | None = Field(default=None, description="For example (https?://\\S+).")

    @model_validator(mode="after")
    def _one_way(self) -> Store:
        if len(self.ways()) != 1:
            raise ValueError("exactly one of json_pointer, header, link, pattern must be given")
        return self

    def ways(self) -> list[tuple[str, str]]:
        """The ways that were given, as (how, where)."""
        given = {"pointer": self.json_pointer, "header": self.header, "link": self.link, "pattern": self.pattern}
        return [(how, where) for how, where in given.items() if where is not None]


TOOLS: dict[str, type[Tool]] = {"http_request": HttpRequest, "wait": Wait, "submit": Submit}
WITH_HANDLES: dict[str, type[Tool]] = {**TOOLS, "store": Store}


class ToolInterface:
    """HTTP by tool calls; needs no sandbox."""

    name = "tool"
    template = "tool.j2"

    def __init__(self, *, handles: bool = False) -> None:
        self.known = WITH_HANDLES if handles else TOOLS
        self.tools: Sequence[dict[str, Any]] = tuple(definition(name, tool) for name, tool in self.known.items())

    def needs_main(self, runtime: str) -> bool:
        """Never."""
        return False

    def hands(self, task: Task, pod: Pod) -> Hands:
        """Tools for one episode, on its pod."""
        return _HttpHands(pod, self.known)


class _HttpHands:
    def __init__(self, pod: Pod, known: Mapping[str, type[Tool]]) -> None:
        self._pod, self._known = pod, known

    def act(self, tool: str, arguments: Mapping[str, Any], limit_s: float) -> ActionResult:
        if tool not in self._known:
            raise Mistake(f"there is no tool {tool!r}; there are {', '.join(self._known)}")
        asked = read_tool(tool, self._known[tool], arguments)
        if isinstance(asked, Store):
            return ActionResult(stored(asked, self._pod.handles if isinstance(self._pod, RoutedPod) else None))
        try:
            made = as_request(asked)
            answer = self._pod.call(made)
        except WireError as error:
            raise Mistake(f"not sent: {error}") from None
        # A submission is the last act however it was made, and whatever the world thought of it.
        return ActionResult(shown(answer), done=(made.method, made.path) == ("POST", b"/submission"))


def stored(asked: Store, store: HandleStore | None) -> str:
    """Keep what the model pointed at, and say so; raises Mistake where it is not."""
    if store is None:
        raise Mistake("store: this episode has no value handles")
    ((how, where),) = asked.ways()
    try:
        value = store.take(how, where, instruction=asked.source == "instruction")
        return f"{store.store(asked.name, value)} stands for {len(value)} bytes"
    except NotFound as error:
        raise Mistake(f"store: {error}") from None


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
    if url.startswith(PREFIX):
        return "/" + url
    if url.startswith("/"):
        return url
    if not url.startswith(API_URL):
        raise Mistake(f"url must start with / or with {API_URL}, and only that service can be reached")
    # The one thing every client adds: the target of an empty path is / (RFC 9112 section 3.2.1).
    return url.removeprefix(API_URL) or "/"


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
    except ValueError as error:
        # binascii.Error is one, and so is what says that the text is not even ASCII
        raise Mistake(f"body: not base64: {error}") from None


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
