"""What a scripted model says: completions and faults as data, or a Python function of the conversation.

A `Script` belongs to the conversations whose messages contain its `match`; the first one that fits wins. Its replies are taken
by position: the n-th answer goes to the request that holds n-1 assistant messages, so any number of concurrent episodes play
the same script without meeting. A reply's `faults` come before it, one per request, as often as `times` says.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import tomli
from pydantic import Field, FiniteFloat, ValidationError

from harness.bounds import RECORD_BYTES
from harness.contents import read_given
from worlds.core.errors import ManifestError
from worlds.core.models import Strict

Messages = Sequence[dict[str, Any]]

LAST_WORD = "That is all."
"""What a script says when it has no reply left: a plain answer, which ends an episode."""


class ScriptedCall(Strict):
    """One tool call; `arguments` as text goes out as it stands, well-formed or not."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str | None = None


class ScriptedUsage(Strict):
    """A usage report; `prompt` and `completion` include the cached and the reasoning ones."""

    prompt: int = Field(ge=0)
    completion: int = Field(ge=0)
    cached: int = 0
    reasoning: int = 0


class Fault(Strict):
    """Something that goes wrong instead of an answer, `times` requests long; a `status` without a `body` says `message`."""

    kind: Literal["status", "stall", "garbage", "truncated", "reset"] = "status"
    status: int = 503
    body: str | None = None
    media_type: str = "application/json"
    retry_after: str | None = None
    stall_s: FiniteFloat = 0.0
    message: str = "scripted fault"
    times: int = Field(default=1, ge=1)


class ScriptedReply(Strict):
    """One completion; `usage` is counted roughly unless given, and left out where it is "none".

    `tokens`: the text by tokens, each with probabilities of what could stand there, for who asks. `raw`: a whole body instead.
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
        """The fault that the n-th attempt (from 0) at the same request meets, or None."""
        for fault in self.faults:
            if attempt < fault.times:
                return fault
            attempt -= fault.times
        return None


Weather = Callable[[int, float], Fault | None]
"""What a request meets whatever it says: its number (from 0) and the seconds since the first, to a fault or an answer."""

Player = Callable[[Messages], ScriptedReply | str]
"""A model as a function: the conversation in, what it says out."""


class Script(Strict):
    """The replies of one kind of conversation, or of one `model`; requests with a parameter that it `refuses` are refused."""

    match: str = ""
    model: str = ""
    replies: tuple[ScriptedReply, ...] = ()
    play: Player | None = None
    refuses: tuple[str, ...] = ()

    def fits(self, messages: Messages, model: str = "") -> bool:
        """Return whether `match` stands anywhere in the conversation, and it is this script's model that is asked."""
        if self.model not in {"", model}:
            return False
        return not self.match or any(self.match in json.dumps(m, ensure_ascii=False) for m in messages)

    def reply(self, messages: Messages) -> ScriptedReply:
        """Return what the model says next in this conversation."""
        if self.play is not None:
            said = self.play(messages)
            return ScriptedReply(text=said) if isinstance(said, str) else said
        position = sum(m.get("role") == "assistant" for m in messages)
        return self.replies[position] if position < len(self.replies) else ScriptedReply(text=LAST_WORD)


def script(*said: ScriptedReply | str, match: str = "") -> Script:
    """A script from replies in order; a string is a plain answer."""
    return Script(match=match, replies=tuple(ScriptedReply(text=s) if isinstance(s, str) else s for s in said))


def call(tool: str, /, **arguments: Any) -> ScriptedReply:
    """A reply that is one tool call."""
    return ScriptedReply(tool_calls=(ScriptedCall(name=tool, arguments=arguments),))


def read_scripts(path: Path) -> list[Script]:
    """Scripts from a .py file (SCRIPTS, or a function `play`), or from `script` entries of a .json or .toml file.

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
