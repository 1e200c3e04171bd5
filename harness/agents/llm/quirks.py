"""What goes into a request to one model, and what was left out of it because the server refuses it.

A refused `temperature`, `logprobs` or earlier reasoning is left out. A refused `max_tokens` is sent as `max_completion_tokens`,
and where that is refused too, no limit is sent. The text of a refused `system` role is put in front of the first user message.
Each is said once, holds for the rest of the run, and stands in `effective`; lost reasoning stands in the reply that lacks it.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from math import ceil
from typing import Any

from harness.agent import Usage
from harness.agents.llm.completion import ASKED_CHANCES, counted_tokens, reasoning_texts, without_reasoning
from harness.agents.llm.failures import ContextFull, ParameterRefused, Refused

Messages = Sequence[Mapping[str, Any]]

_LIMITS = ("max_tokens", "max_completion_tokens")
_UNSUPPORTED = re.compile(
    r"unsupported|not (?:currently )?support|not (?:allowed|permitted|accepted)|unknown|unrecogni[sz]ed|unexpected|"
    r"extra (?:inputs|fields)|max_completion_tokens",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    r"\bsystem[\W_]+(?:role|message|prompt|instruction)|\brole\b.{0,30}\bsystem\b|\bdeveloper instruction is not enabled|"
    r"only user and assistant roles|roles must alternate",
    re.IGNORECASE,
)
_ALTERNATE = re.compile(r"roles must alternate", re.IGNORECASE)
_NOT = re.compile(r"\bnot\b|n't\b|unsupported|unexpected|\bonly\b|\bmust\b|unknown|invalid", re.IGNORECASE)
_REASONING = re.compile(
    r"reasoning|thinking|thought|signature|extra (?:inputs|fields)|additional propert|unknown|unrecogni[sz]ed|unsupported|"
    r"unexpected|not (?:permitted|allowed)|extra_forbidden",
    re.IGNORECASE,
)
_REMEMBERED = 10_000
"""Conversations whose last size is kept."""


class Quirks:
    """What one model at one server was found to refuse."""

    def __init__(self, model: str, requested: Mapping[str, Any], say_once: Callable[[str], None]) -> None:
        """`requested`: sampling parameters by name."""
        self._model, self._requested, self._say_once = model, dict(requested), say_once
        self._sent = {name: value for name, value in requested.items() if name != "max_tokens"}
        self._limit: str | None = "max_tokens"
        """What the limit of output tokens is called; None where none is sent."""

        self._gives_chances = self._takes_reasoning = True
        self.refuses_system = False
        """True once a system message was refused."""

    @property
    def effective(self) -> dict[str, Any]:
        """The parameters that are really sent, as far as is known now."""
        return {**self._parameters(), **({"system_role": "user"} if self.refuses_system else {})}

    def learn(self, effective: Mapping[str, Any]) -> None:
        """Take over what an earlier call, whose `effective` is known, had learned."""
        if "max_completion_tokens" in effective:
            self._rename_limit()
        self.refuses_system |= "system_role" in effective
        for name in set(self._parameters()) - set(effective):
            self.drop(name)

    def adapted(self, request: Mapping[str, Any], *, chances: bool = False, limit: int | None = None) -> dict[str, Any]:
        """Return the request with the parameters that are accepted, and without roles and reasoning that are not.

        `limit`: output tokens of this call, where they are not the requested ones.
        """
        messages = [dict(message) for message in request["messages"]]
        messages = messages if self._takes_reasoning else without_reasoning(messages)
        messages = without_system(messages) if self.refuses_system else messages
        asked = ASKED_CHANCES if chances and self._gives_chances else {}
        return {**request, "messages": messages, **self._parameters(limit), **asked}

    def work_around(self, refusal: Refused, request: Mapping[str, Any]) -> bool:
        """Remember what was refused; False where it is nothing that a request can do without."""
        limit = next((name for name in _LIMITS if name in request), None)
        if "temperature" in request and _is_about("temperature", refusal):
            self.drop("temperature")
        elif "logprobs" in request and _is_about("logprobs", refusal):
            self._gives_chances = False
            self._say_once(f"{self._model} names no probabilities of tokens: its numbers count as written")
        elif limit is not None and _is_about(limit, refusal) and _UNSUPPORTED.search(str(refusal)):
            if limit == "max_tokens":
                self._rename_limit()
            else:
                self.drop(limit)
        elif _is_about_system(refusal, {message["role"] for message in request["messages"]}):
            self.refuses_system = True
            self._say_once(f"{self._model} does not take system messages: their text goes in front of the first user message")
        else:
            return False
        return True

    def drop(self, name: str) -> None:
        """Leave out a parameter from now on, and say so."""
        value = self._requested.get("max_tokens" if name in _LIMITS else name)
        self._sent.pop(name, None)
        self._limit = None if name in _LIMITS else self._limit
        if value is not None:
            self._say_once(f"{self._model} does not take {name} {value:g}: left out, the provider's default applies")

    def lost_reasoning(self, messages: Messages, sent: Messages, body: bytes) -> bool:
        """True where an answered request did not carry the reasoning in `messages`; says so, and remembers a refusal."""
        if not carries_reasoning(messages):
            return False
        if not carries_reasoning(sent):
            self._takes_reasoning = False
            self._say_once(f"{self._model} refuses its earlier reasoning: sent without it, episodes are marked")
        elif has_arrived(body, messages):
            return False
        else:
            self._say_once(f"{self._model}: LiteLLM does not send its earlier reasoning back, episodes are marked")
        return True

    def _parameters(self, limit: int | None = None) -> dict[str, Any]:
        most = self._requested.get("max_tokens") if limit is None else limit
        return {**self._sent, **({} if self._limit is None or most is None else {self._limit: most})}

    def _rename_limit(self) -> None:
        self._limit = self._limit and "max_completion_tokens"
        self._say_once(f"{self._model} does not take max_tokens: sent as max_completion_tokens")


class ContextBudget:
    """Checks that prompts fit into `context` tokens, together with the `reply` tokens that a request reserves.

    What the provider counted for the same conversation one turn earlier counts. The messages added since are estimated by the
    characters that a token had in that prompt, so only a conversation that was not counted yet goes through a tokenizer.
    """

    def __init__(self, context: int | None, reply: int | None, model: str) -> None:
        """None for `context` checks nothing."""
        self._context, self._reply, self._model = context, reply or 1, model
        self._counted: dict[bytes, tuple[int, int, int]] = {}
        self._lock = threading.Lock()

    def check(self, messages: Messages, tools: Messages) -> None:
        """Raise ContextFull for a prompt that does not fit."""
        if self._context is None:
            return
        last = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].get("role") == "assistant"), None)
        before = None if last is None else self._counted.get(_digest(messages[:last], tools)[0])
        if last is None or before is None:
            tokens = counted_tokens([list(messages), list(tools)], self._model)
        else:
            prompt, reply, characters = before
            tokens = prompt + reply + ceil(len("".join(map(_text, messages[last + 1 :]))) * prompt / max(1, characters))
        if tokens + self._reply > self._context:
            told = f" and {self._reply} for the reply" if self._reply > 1 else ""
            raise ContextFull(f"the prompt takes about {tokens} tokens{told}, and --context is {self._context}")

    def note(self, messages: Messages, tools: Messages, usage: Usage) -> None:
        """Remember what the provider counted."""
        if self._context is None:
            return
        key, characters = _digest(messages, tools)
        with self._lock:
            self._counted[key] = (usage.prompt_tokens, usage.completion_tokens, characters)
            if len(self._counted) > _REMEMBERED:
                del self._counted[next(iter(self._counted))]


def without_system(messages: Messages) -> list[dict[str, Any]]:
    """Return the messages with the text of system messages in front of the first user message."""
    system = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "system")
    others = [dict(message) for message in messages if message["role"] != "system"]
    first = next((message for message in others if message["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": system}, *others]
    if system:
        first["content"] = f"{system}\n\n{first['content']}"
    return others


def carries_reasoning(messages: Messages) -> bool:
    """True where a message of the model holds reasoning."""
    return any(True for message in messages for _ in reasoning_texts(message))


def has_arrived(sent: str | bytes, messages: Messages) -> bool:
    """True where the body of a request holds the latest reasoning in `messages`, or where either is not known."""
    latest = next((texts for message in reversed(messages) if (texts := list(reasoning_texts(message)))), [])
    try:
        body = json.dumps(json.loads(sent), ensure_ascii=False)
    except ValueError:
        return True
    return all(json.dumps(text, ensure_ascii=False)[1:-1] in body for text in latest)


def refuses_reasoning(refusal: Refused, messages: Messages) -> bool:
    """True where a refusal may be about the reasoning in the messages, or about fields that a server does not know."""
    is_parameter = isinstance(refusal, ParameterRefused) or re.search("temperature|logprobs", str(refusal))
    is_about = refusal.status in {400, 422} and _REASONING.search(str(refusal))
    return not is_parameter and bool(is_about) and carries_reasoning(messages)


def _is_about_system(refusal: Refused, roles: Collection[str]) -> bool:
    """True where the role is refused, and not what a system message says or how the turns after it alternate."""
    if "system" not in roles or ("assistant" in roles and _ALTERNATE.search(str(refusal))):
        return False
    return _SYSTEM.search(str(refusal)) is not None and _NOT.search(str(refusal)) is not None


def _is_about(parameter: str, refusal: Refused) -> bool:
    """True where a refusal would not have come without a parameter."""
    return (isinstance(refusal, ParameterRefused) or refusal.status in {400, 422}) and parameter in str(refusal)


def _text(message: Mapping[str, Any]) -> str:
    return json.dumps(message, ensure_ascii=False, default=str)


def _digest(messages: Messages, tools: Messages) -> tuple[bytes, int]:
    """A key of a prompt, and its characters."""
    text = "\n".join(map(_text, (*tools, *messages)))
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest(), len(text)
