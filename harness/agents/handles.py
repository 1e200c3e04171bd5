"""Value handles: `@HANDLE:name` in a request is replaced by a stored value, so that an agent need not repeat it.

This is the paper's second lever (Appendices A and H; capability handles after Dennis and Van Horn 1966). The store lies between
agent and world, so a short name arrives intact, whereas an agent might shorten or rewrite a long value.
1. `store` takes a value out of the last response or the instruction: by JSON pointer (RFC 6901), by header, by the id of a
link (its href, unescaped), or by a pattern with one group.
2. A handle may occur anywhere in target, header values and body, next to other text or other handles. An unknown one is a
WireError, which is reported to the agent.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from worlds.core.errors import WireError
from worlds.core.wire import API_URL, MAX_BODY_BYTES, Transport, WireRequest, WireResponse

NAME = r"[A-Za-z0-9_]{1,40}"
PREFIX = "@HANDLE:"
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
"""Index into a list, RFC 6901 section 4."""

_HANDLE = re.compile(rf"@HANDLE:({NAME})")


class NotFound(Exception):
    """Missing value; the message says what was not found."""


@dataclass
class HandleStore:
    """Stored values of one episode, and the response from which the next value may be taken."""

    instruction: str = ""
    last: WireResponse | None = None
    values: dict[str, bytes] = field(default_factory=dict)

    def store(self, name: str, value: bytes) -> str:
        """Store a value under a name and return its handle. Raises NotFound for an invalid name."""
        if not re.fullmatch(NAME, name):
            raise NotFound(f"a name is 1 to 40 letters, digits or underscores, not {name!r}")
        self.values[name] = value
        return PREFIX + name

    def take(self, how: str, where: str, *, instruction: bool = False) -> bytes:
        """Return the value that `how` (pointer, header, link, pattern) finds at `where`; raises NotFound."""
        if instruction:
            return _TAKERS[how](WireResponse(0, (), self.instruction.encode()), where)
        if self.last is None:
            raise NotFound("there is no response yet")
        return _TAKERS[how](self.last, where)

    def resolve(self, request: WireRequest) -> WireRequest:
        """Replace every handle in the request by its value; raises WireError for an unknown handle."""
        target = self._replaced(request.target.decode("latin-1"))
        if request.target.startswith(b"/" + PREFIX.encode()):
            # the handle stands for a whole URL or target, so the slash before it is dropped
            target = target.removeprefix("/").removeprefix(API_URL)
        headers = tuple((name, self._replaced(value)) for name, value in request.headers)
        body = self._replaced(request.body.decode("latin-1"))
        return request._replace(target=target.encode("latin-1"), headers=headers, body=body.encode("latin-1"))

    def _replaced(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            if match[1] not in self.values:
                raise WireError(f"no value is stored under the handle {match[0]}")
            return self.values[match[1]].decode("latin-1")

        size = sum(len(self.values.get(name, b"")) for name in _HANDLE.findall(text))
        if size > MAX_BODY_BYTES:
            raise WireError(f"the values of its handles take {size} bytes, more than {MAX_BODY_BYTES}")
        return _HANDLE.sub(value, text)


def resolving(transport: Transport, store: HandleStore) -> Transport:
    """Wrap `transport` to resolve handles in requests. Each response becomes the source of the next stored value."""

    def send(request: WireRequest) -> WireResponse:
        store.last = transport(store.resolve(request))
        return store.last

    return send


def _by_pointer(answer: WireResponse, pointer: str) -> bytes:
    try:
        value: Any = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise NotFound("the response is not JSON") from None
    for token in pointer.split("/")[1:] if pointer.startswith("/") else [pointer]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            raise NotFound(f"the response has nothing at {pointer!r}")
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def _by_header(answer: WireResponse, name: str) -> bytes:
    value = answer.header(name)
    if value is None:
        raise NotFound(f"the response has no header {name}")
    return value.encode("latin-1")


def _by_link(answer: WireResponse, element: str) -> bytes:
    links = _Links()
    links.feed(answer.body.decode("utf-8", "replace"))
    if element not in links.hrefs:
        raise NotFound(f"the response has no link with the id {element!r}")
    return links.hrefs[element].encode()


def _by_pattern(answer: WireResponse, pattern: str) -> bytes:
    asked = json.dumps([pattern, answer.body.decode("utf-8", "replace")])
    command = [sys.executable, "-I", "-S", "-c", _SEARCH]
    try:
        done = subprocess.run(command, input=asked.encode(), capture_output=True, timeout=_SEARCH_LIMIT_S, check=False)
        said = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        raise NotFound(f"the pattern takes more than {_SEARCH_CPU_S} s, or too much memory") from None
    if "error" in said:
        raise NotFound(f"the pattern must be a regular expression with one group: {said['error']}")
    if said["found"] is None:
        raise NotFound("the pattern was not found")
    return str(said["found"]).encode()


_SEARCH_CPU_S, _SEARCH_LIMIT_S = 2, 60.0
_SEARCH = f"""
import json, re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({_SEARCH_CPU_S}, {_SEARCH_CPU_S}))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
pattern, text = json.load(sys.stdin)
try:
    match = re.search(pattern, text)
    print(json.dumps({{"found": match and match[1]}}))
except (re.error, IndexError, OverflowError, RecursionError) as error:
    print(json.dumps({{"error": str(error)}}))
"""
"""Program that searches in its own process, because an agent's pattern may run forever and cannot be stopped in this one."""


_TAKERS = {"pointer": _by_pointer, "header": _by_header, "link": _by_link, "pattern": _by_pattern}


class _Links(HTMLParser):
    """Parser that collects the href of every element with an id."""

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Store id and href; the parser has unescaped both."""
        attributes = dict(attrs)
        if attributes.get("id") and attributes.get("href"):
            self.hrefs[str(attributes["id"])] = str(attributes["href"])
