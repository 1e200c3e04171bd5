"""Interfaces of models: an interface declares tools and creates the object that executes them in an episode.

A tool is a pydantic model. Its docstring, fields and descriptions form the schema that the model reads, and validate its calls.
Invalid calls are answered with the rule that was broken; nothing is guessed. The interface `shell` has one tool, which runs a
command in `main`. The interface `tool` has requests, waits and the submission, so that every byte passes through the model.
With value handles, it also has the tool `store`; later, `@HANDLE:name` stands for the stored value (`harness.agents.path`).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from harness.agents.handles import PREFIX, HandleStore, NotFound
from harness.agents.path import RoutedPod
from harness.errors import UsageError
from harness.pod import CommandResult, Pod
from harness.registry import Task
from worlds.core.errors import WireError
from worlds.core.models import Strict
from worlds.core.wire import API_URL, WireRequest, WireResponse, request

SHOWN = 32 * 1024
"""Bytes of a command's output, or of a response body, that the model sees. A 12 kB URL fits easily."""

INTERFACES = ("shell", "tool")
PROMPTS = Path(__file__).parent / "prompts"

Encoding = Literal["utf-8", "base64"]
_ENCODING = "How `body` is written: utf-8 (as it is) or base64."


class Tool(Strict):
    """Arguments of one tool. Subclasses are shown to models, so their docstrings address the model."""

    model_config = ConfigDict(allow_inf_nan=False)


class Mistake(Exception):
    """Invalid call of a model: an unknown tool, or arguments that break the schema. The message is sent to the model."""


@dataclass(frozen=True)
class ActionResult:
    """Result of an action; `done` ends the episode once the model has been told."""

    text: str
    done: bool = False


class RunCommand(Tool):
    """Run a command with bash in the sandbox.

    Each call starts a new shell; files stay, variables do not. The answer is the exit code and what the command wrote (stdout
    and stderr together). Of a longer output than 32768 bytes, a quarter of that from its start and the rest from its end are
    shown, with the number of bytes left out.
    """

    command: str = Field(description="The command line, as for `bash -c`.", min_length=1)
    timeout_s: float = Field(
        default=60.0, gt=0, le=600.0, description="Real seconds after which the command and all it started are killed."
    )


def _pairs(value: Any) -> Any:
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
        """Return the given ways of finding the value, as (how, where)."""
        given = {"pointer": self.json_pointer, "header": self.header, "link": self.link, "pattern": self.pattern}
        return [(how, where) for how, where in given.items() if where is not None]


def definition(name: str, tool: type[Tool]) -> dict[str, Any]:
    """Return a tool in OpenAI's function schema, without pydantic's titles, which have no meaning for a model."""
    schema = _untitled(tool.model_json_schema())
    schema.pop("description", None)
    return {"type": "function", "function": {"name": name, "description": cleandoc(tool.__doc__ or ""), "parameters": schema}}


def _untitled(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {k: _untitled(v) for k, v in schema.items() if not (k == "title" and isinstance(v, str))}
    return [_untitled(v) for v in schema] if isinstance(schema, list) else schema


class Interface:
    """Set of tools, with the prompt that explains them."""

    def __init__(self, name: str, *, handles: bool = False) -> None:
        """Create the interface; raises UsageError for an unknown name. `handles` adds `store` to the interface `tool`."""
        if name not in INTERFACES:
            raise UsageError(f"interface must be one of {', '.join(INTERFACES)}, not {name!r}")
        self.name, self.template = name, f"{name}.j2"
        self.known: dict[str, type[Tool]] = {"run": RunCommand}
        if name == "tool":
            self.known = {"http_request": HttpRequest, "wait": Wait, "submit": Submit, **({"store": Store} if handles else {})}
        self.tools: Sequence[dict[str, Any]] = tuple(definition(name, tool) for name, tool in self.known.items())

    def needs_main(self, runtime: str) -> bool:
        """Return True if `main` must exist; raises UsageError if the runtime has none."""
        if self.name == "shell" and runtime == "inprocess":
            hint = "--interface tool, or harness doctor, which says why no sandbox works here"
            raise UsageError("the shell interface needs a sandbox, and inprocess has none", hint=hint)
        return self.name == "shell"

    def prompt_digest(self, protocol: str) -> str:
        """Return the SHA-256 over the protocol, the templates and the tools."""
        total = hashlib.sha256(protocol.encode())
        for name in (self.template, "speech.j2"):
            total.update((PROMPTS / name).read_bytes())
        total.update(json.dumps(list(self.tools), sort_keys=True).encode())
        return total.hexdigest()

    def hands(self, task: Task, pod: Pod) -> ToolExecutor:
        """Return the executor of actions for one episode; foreign tasks use real time."""
        return ToolExecutor(pod, self.known, virtual_time=task.parley is not None)


class ToolExecutor:
    """Executor of actions in one episode."""

    def __init__(self, pod: Pod, known: Mapping[str, type[Tool]], *, virtual_time: bool) -> None:
        self._pod, self._known, self._virtual_time = pod, known, virtual_time

    def act(self, tool: str, arguments: Mapping[str, Any], limit_s: float) -> ActionResult:
        """Execute one action within `limit_s` real seconds; raises Mistake if the call is invalid."""
        if tool not in self._known:
            known = f"there {'are' if len(self._known) > 1 else 'is'} {', '.join(self._known)}"
            raise Mistake(f"there is no tool {tool!r}; {known}")
        asked = _read_tool(tool, self._known[tool], arguments)
        if isinstance(asked, RunCommand):
            limit = min(asked.timeout_s, limit_s)
            result = self._pod.run(["bash", "-c", asked.command], timeout_s=limit, virtual_time=self._virtual_time)
            return ActionResult(shown_output(result, limit))
        if isinstance(asked, Store):
            return ActionResult(self._stored(asked))
        try:
            made = _request(asked)
            answer = self._pod.call(made)
        except WireError as error:
            raise Mistake(f"not sent: {error}") from None
        # A submission ends the episode, also if it was sent as a request, and whatever the response is.
        return ActionResult(shown_answer(answer), done=(made.method, made.path) == ("POST", b"/submission"))

    def _stored(self, asked: Store) -> str:
        """Store the value that the model pointed at, and return a confirmation; raises Mistake if it is not found."""
        store: HandleStore | None = self._pod.handles if isinstance(self._pod, RoutedPod) else None
        if store is None:
            raise Mistake("store: this episode has no value handles")
        ((how, where),) = asked.ways()
        try:
            value = store.take(how, where, instruction=asked.source == "instruction")
            return f"{store.store(asked.name, value)} stands for {len(value)} bytes"
        except NotFound as error:
            raise Mistake(f"store: {error}") from None


def target_of(url: str) -> str:
    """Return the raw request target of a URL from the model; raises Mistake for an address outside the world."""
    if url.startswith(PREFIX):
        return "/" + url
    if url.startswith("/"):
        return url
    if not url.startswith(API_URL):
        raise Mistake(f"url must start with / or with {API_URL}, and only that service can be reached")
    # The target of an empty path is / (RFC 9112 section 3.2.1); every client adds it.
    return url.removeprefix(API_URL) or "/"


def shown_output(result: CommandResult, limit_s: float) -> str:
    """Return the result of a command for the model: exit code, head and tail of the output, number of bytes left out."""
    ended = f"killed at its limit of {limit_s:g} s" if result.code is None else f"exit code {result.code}"
    head, omitted, tail = _head_and_tail(result.output, SHOWN, result.omitted)
    text = head.decode(errors="replace")
    if omitted:
        text += f"\n[{omitted} bytes left out]\n{tail.decode(errors='replace')}"
    return f"[{ended}]\n{text}" if text else f"[{ended}, no output]"


def shown_answer(answer: WireResponse) -> str:
    """Return a response for the model: status, every header, then the body with its length and encoding."""
    head = "\n".join([f"status {answer.status}", *(f"{name}: {value}" for name, value in answer.headers)])
    if not answer.body:
        return f"{head}\n\n[no body]"
    try:
        answer.body.decode()
        encoding, (first, omitted, last) = "utf-8", _head_and_tail(answer.body, SHOWN)
        text, rest = first.decode(errors="replace"), last.decode(errors="replace")
    except UnicodeDecodeError:
        # the same limit as for text; each part can be decoded separately
        encoding, (first, omitted, last) = "base64", _head_and_tail(answer.body, SHOWN * 3 // 4)
        text, rest = base64.b64encode(first).decode(), base64.b64encode(last).decode()
    shown = f"{text}\n[{omitted} bytes left out]\n{rest}" if omitted else text
    return f"{head}\n\n[body of {len(answer.body)} bytes, {encoding}]\n{shown}"


def _read_tool(name: str, tool: type[Tool], arguments: Mapping[str, Any]) -> Tool:
    """Validate the model's arguments; raises Mistake naming the argument and the rule."""
    try:
        asked = tool.model_validate(dict(arguments))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        what = "there is no such argument" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
        raise Mistake(f"{name}: {where}: {what}") from None
    if isinstance(asked, RunCommand) and "\0" in asked.command:
        raise Mistake("run: command: a command line cannot hold a zero byte")
    return asked


def _request(asked: Tool) -> WireRequest:
    """Return the request described by a tool call; raises Mistake or WireError if it cannot be sent."""
    if isinstance(asked, HttpRequest):
        pairs = [(name, value) for name, value in asked.headers]
        return request(asked.method, target_of(asked.url), headers=pairs, body=_bytes(asked))
    if isinstance(asked, Submit):
        return request("POST", "/submission", body=_bytes(asked))
    assert isinstance(asked, Wait)
    body = json.dumps({"seconds": asked.seconds})
    return request("POST", "/clock/wait", headers=[("content-type", "application/json")], body=body)


def _bytes(asked: HttpRequest | Submit) -> bytes:
    try:
        return base64.b64decode(asked.body, validate=True) if asked.encoding == "base64" else asked.body.encode()
    except ValueError as error:
        # includes binascii.Error, and the error for text that is not ASCII
        raise Mistake(f"body: not base64: {error}") from None


def _head_and_tail(data: bytes, cap: int, omitted: int = 0) -> tuple[bytes, int, bytes]:
    """Return a quarter of `cap` bytes from the start, the number of bytes left out, and the rest of `cap` from the end."""
    if not omitted and len(data) <= cap:
        return data, 0, b""
    head = min(cap, len(data)) // 4
    tail = min(cap, len(data)) - head
    return data[:head], omitted + len(data) - head - tail, data[len(data) - tail :]
