"""Size of a conversation in tokens, for `--context`: a prompt that cannot fit is not sent.

1. What the provider counted for the same conversation one turn earlier counts. The messages added since are estimated by the
   characters that a token had in that prompt, so a turn costs one pass over the text and no tokenizer.
2. Only a conversation that the provider has not counted yet, as a rule its first prompt, goes through a tokenizer.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from harness.agent import Usage
from harness.agents.llm.completion import counted_tokens
from harness.agents.llm.failures import ContextFull

_REMEMBERED = 10_000
"""Conversations whose last size is kept."""


class _Counted(NamedTuple):
    """A prompt as the provider counted it."""

    tokens: int
    characters: int
    reply_tokens: int


class ContextBudget:
    """Checks that prompts fit into `context` tokens, together with the `reply` tokens that a request reserves."""

    def __init__(self, context: int | None, reply: int | None, model: str) -> None:
        """None for `context` checks nothing."""
        self._context, self._reply, self._model = context, reply or 1, model
        self._counted: OrderedDict[bytes, _Counted] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def identity(self) -> dict[str, int]:
        """What belongs in a frozen plan."""
        return {} if self._context is None else {"context": self._context}

    def check(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> None:
        """Raise ContextFull for a prompt that does not fit."""
        if self._context is None:
            return
        tokens = self._tokens(messages, tools)
        if tokens + self._reply > self._context:
            reply = f" and {self._reply} for the reply" if self._reply > 1 else ""
            raise ContextFull(f"the prompt takes about {tokens} tokens{reply}, and --context is {self._context}")

    def note(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], usage: Usage) -> None:
        """Remember what the provider counted."""
        if self._context is None:
            return
        key, characters = _digest(messages, tools)
        with self._lock:
            self._counted[key] = _Counted(usage.prompt_tokens, characters, usage.completion_tokens)
            if len(self._counted) > _REMEMBERED:
                self._counted.popitem(last=False)

    def _tokens(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> int:
        last = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].get("role") == "assistant"), None)
        before = None if last is None else self._counted.get(_digest(messages[:last], tools)[0])
        if last is None or before is None:
            return counted_tokens([list(messages), list(tools)], {"model": self._model})
        added = sum(map(len, map(_text, messages[last + 1 :])))
        return before.tokens + before.reply_tokens + ceil(added * before.tokens / max(1, before.characters))


def _text(message: Mapping[str, Any]) -> str:
    return json.dumps(message, ensure_ascii=False, default=str)


def _digest(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> tuple[bytes, int]:
    """A key of a prompt, and its characters."""
    text = "\n".join(map(_text, (*tools, *messages)))
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest(), len(text)
