"""Scripted model replies: completions and faults as data, or a Python function of the conversation.

A `Script` applies to conversations whose messages contain its `match`; the first matching script wins. Replies are chosen by
position: the n-th reply answers a request with n-1 assistant messages, so concurrent episodes can play the same script
independently. The `faults` of a reply come before it, one per request, each `times` times.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import tomli
from pydantic import Field, FiniteFloat, ValidationError

from harness.limits import RECORD_BYTES
from harness.safe_read import read_given
from worlds.core.errors import ManifestError
from worlds.core.models import Strict

Messages = Sequence[dict[str, Any]]

LAST_WORD = "That is all."
"""The reply of a script that has no replies left: a plain answer, which ends an episode."""


class ScriptedCall(Strict):
    """A tool call. `arguments` given as text are sent verbatim, well-formed or not."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str | None = None


class ScriptedUsage(Strict):
    """Token usage; `prompt` and `completion` include cached and reasoning tokens."""

    prompt: int = Field(ge=0)
    completion: int = Field(ge=0)
    cached: int = 0
    reasoning: int = 0


class Fault(Strict):
    """A fault returned instead of an answer for `times` requests. A `status` without a `body` sends `message`."""

    kind: Literal["status", "stall", "garbage", "truncated", "reset"] = "status"
    status: int = 503
    body: str | None = None
    media_type: str = "application/json"
    retry_after: str | None = None
    stall_s: FiniteFloat = 0.0
    message: str = "scripted fault"
    times: int = Field(default=1, ge=1)


class ScriptedReply(Strict):
    """A scripted completion; `usage` is estimated unless given, and omitted if it is "none".

    `tokens` are the tokens of the text with the probabilities of their alternatives, for requests with `logprobs`. `raw`
    replaces the whole response body.
    """

    text: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ScriptedCall, ...] = ()
    usage: ScriptedUsage | Literal["none", "counted"] = "counted"
    finish_reason: str | None = None
    tokens: tuple[tuple[str, dict[str, float]], ...] = ()
    raw: dict[str, Any] | None = None
    faults: tuple[Fault, ...] = ()

    def fault(self, attempt: int) -> Fault | None:
        """Return the fault for the n-th attempt (from 0) at the same request, or None."""
        for fault in self.faults:
            if attempt < fault.times:
                return fault
            attempt -= fault.times
        return None


Weather = Callable[[int, float], Fault | None]
"""Function that takes a request's number (from 0) and the seconds since the first request; returns a fault or None."""

Player = Callable[[Messages], ScriptedReply | str]
"""A model as a function from the conversation to its reply."""


class Script(Strict):
    """Replies for one kind of conversation, or for one `model`. Requests with a parameter listed in `refuses` are rejected."""

    match: str = ""
    model: str = ""
    replies: tuple[ScriptedReply, ...] = ()
    play: Player | None = None
    refuses: tuple[str, ...] = ()

    def fits(self, messages: Messages, model: str = "") -> bool:
        """Return True if the conversation contains `match` and the request is for this script's model."""
        if self.model not in {"", model}:
            return False
        return not self.match or any(self.match in json.dumps(m, ensure_ascii=False) for m in messages)

    def reply(self, messages: Messages) -> ScriptedReply:
        """Return the model's next reply in this conversation."""
        if self.play is not None:
            said = self.play(messages)
            return ScriptedReply(text=said) if isinstance(said, str) else said
        position = sum(m.get("role") == "assistant" for m in messages)
        return self.replies[position] if position < len(self.replies) else ScriptedReply(text=LAST_WORD)


def script(*said: ScriptedReply | str, match: str = "") -> Script:
    """Return a script with these replies in order; a string is a plain answer."""
    return Script(match=match, replies=tuple(ScriptedReply(text=s) if isinstance(s, str) else s for s in said))


def call(tool: str, /, **arguments: Any) -> ScriptedReply:
    """Return a reply that consists of one tool call."""
    return ScriptedReply(tool_calls=(ScriptedCall(name=tool, arguments=arguments),))


def read_scripts(path: Path) -> list[Script]:
    """Read scripts from a .py file (SCRIPTS, or a function `play`) or from the `script` entries of a .json or .toml file.

    Raises ManifestError naming the file and the field.
    """
    try:
        if path.suffix == ".py":
            names = runpy.run_path(str(path))
            return list(names["SCRIPTS"]) if "SCRIPTS" in names else [Script(play=names["play"])]
        text = read_given(path, RECORD_BYTES).decode()
        data = json.loads(text) if path.suffix == ".json" else tomli.loads(text)
        return [Script.model_validate(entry) for entry in data["script"]]
    except ValidationError as error:
        first = error.errors()[0]
        raise ManifestError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ManifestError(f"{path}: not a file of scripts: {error!r}") from None
