"""The small calls before a run: does the provider answer, and, where a run needs tools, is the model shown them.

A model that calls the offered tool sees it. Where no call comes, the same question without the tool is sent: a prompt that has
as many tokens with the tool as without means that the server drops the tools. A model that sees tools and ignores them is an
agent like any other, and is judged by its episodes.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from harness.agents.llm.completion import Completion, is_written_call
from harness.agents.llm.failures import CallFailure, Crowded, Denied, NoApi, Telling, Transient, Unconnected
from harness.errors import SetupFault

PROBE = ({"role": "user", "content": "Answer with one word: ready"},)
"""What a model is asked before a run that needs no tools."""

TOOL_PROBE = ({"role": "user", "content": "Call the tool `ready` now. If there is no such tool, answer with one word: no"},)
"""What a model is asked before a run that needs tools."""

READY: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "ready", "description": "Say that you are ready.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    },
}  # fmt: skip
"""The tool that is offered to it."""

TEXT_HINT = "harness run ... --protocol text"
_TOKENS, _CALL_TOKENS = 16, 64
_LONGEST_S = 30.0
_PAUSES_S = (0.5, 1.0, 2.0)
_MOST_CHARACTERS_A_TOKEN = 8


def probe_model(
    once: Callable[..., Completion], telling: Telling, halt: threading.Event, timeout_s: float, *, tools: bool
) -> str:
    """Make the small calls and return what is to be said of them; raises ProviderLost, and SetupFault for tools not seen."""
    began, pauses = time.monotonic(), iter(_PAUSES_S)
    timeout_s = min(timeout_s, _LONGEST_S)
    while True:
        try:
            if not tools:
                once(PROBE, limit=_TOKENS, timeout_s=timeout_s)
            else:
                said = once(TOOL_PROBE, (READY,), limit=_CALL_TOKENS, timeout_s=timeout_s)
                bare = lambda: once(TOOL_PROBE, limit=_TOKENS, timeout_s=timeout_s)  # noqa: E731
                if fault := tools_fault(said, bare, telling.name):
                    raise fault
            return f"{telling.name} answered a first small call in {time.monotonic() - began:.1f} s"
        except Unconnected as failure:
            raise telling.never_there(failure) from None
        except Crowded as busy:
            return f"{telling.name} is there, and busy: {busy}"
        except Transient as failure:
            pause = None if isinstance(failure, NoApi) or time.monotonic() - began > _LONGEST_S else next(pauses, None)
            if pause is None:
                raise telling.not_ready(failure) from None
            halt.wait(pause)
        except Denied as refusal:
            raise telling.refused(refusal) from None
        except CallFailure as failure:
            return f"{telling.name} is there, and refused a first small call: {failure}"


def tools_fault(said: Completion, without: Callable[[], Completion], name: str) -> SetupFault | None:
    """Return what is wrong with how tools reach the model, None where nothing is, or where nothing can be known.

    `said` answers `TOOL_PROBE` with the tool; `without` asks it without, and is called only where `said` holds no call.
    """
    if said.actions:
        return None
    if is_written_call(said.text, (READY,)):
        return SetupFault(f"{name} returned a tool call as text", "tools_not_parsed", hint=TEXT_HINT)
    if said.usage.estimated or not hides_tools(said, without(), TOOL_PROBE):
        return None
    told = f"{name} does not show tools to the model: its prompt has {said.usage.prompt_tokens} tokens with a tool and without"
    return SetupFault(told, "tools_not_seen", hint=TEXT_HINT)


def hides_tools(said: Completion, bare: Completion, messages: Sequence[dict[str, Any]]) -> bool:
    """True where a server counts as many tokens for a prompt without tools (`bare`) as for the same with them.

    A server that counts fewer tokens than any prompt of this length has reports a made-up number, which says nothing.
    """
    is_counted = not (said.usage.estimated or bare.usage.estimated)
    is_plausible = bare.usage.prompt_tokens >= len(json.dumps(messages)) / _MOST_CHARACTERS_A_TOKEN
    return is_counted and is_plausible and bare.usage.prompt_tokens >= said.usage.prompt_tokens
