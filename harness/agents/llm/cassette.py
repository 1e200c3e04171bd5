"""Cassettes: a conversation with a server as a file, recorded from the wire or written by hand (docs/cassettes.md)."""

from __future__ import annotations

from typing import Any, Literal

from worlds.core.models import Strict


class RecordedRequest(Strict):
    """A request as it was sent; a replay uses the end of its path alone."""

    method: str = "POST"
    path: str = "/v1/chat/completions"
    """With the query string."""

    headers: dict[str, str] = {}
    body: str = ""


class RecordedResponse(Strict):
    """A response as it came."""

    status: int = 200
    headers: dict[str, str] = {}
    body: str | dict[str, Any] | list[Any] = ""
    """The text of a recorded one; a handwritten one may have a JSON value instead."""

    encoding: Literal["utf-8", "latin-1"] = "utf-8"
    """Of the body; Latin-1 where its bytes are not UTF-8."""


class WireCall(Strict):
    """One request and its response; the fields after `seconds` are for replays."""

    request: RecordedRequest = RecordedRequest()
    response: RecordedResponse | None = None
    """None where there was none, and in a replay the connection is closed."""

    error: str = ""
    """How the connection failed; in a replay of a response with an error, only half of the body is sent."""

    at_s: float = 0.0
    """When the request was sent, in seconds after the first of the file."""

    seconds: float = 0.0
    times: int = 1
    """How many requests it answers; 0: all that follow."""

    delay_s: float = 0.0
    """Seconds before it is answered."""


class WireRule(Strict):
    """Requests that a server refuses: those that have, or lack, a pattern in their JSON as `json.dumps` writes it."""

    has: str = ""
    """A regular expression; "" for any request."""

    lacks: str | None = None
    """Another one, which must not be found for the rule to apply."""

    after: int = 0
    """The rule applies once so many requests were answered."""

    response: RecordedResponse


class Cassette(Strict):
    """What a server did, in order, and what it refuses."""

    about: str = ""
    """What is odd about it, in one sentence."""

    source: str = ""
    """Where this was reported."""

    calls: tuple[WireCall, ...] = ()
    rules: tuple[WireRule, ...] = ()
    """Looked at first, in order."""
