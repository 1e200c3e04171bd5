"""What a server refuses in a request, learned from its refusals, and the requests without it.

1. A refused `temperature` is left out.
2. A refused `max_tokens` is sent as `max_completion_tokens`; where that is refused too, no limit is sent.
3. A refused `system` role: its text is put in front of the first user message.
4. Refused `logprobs` are not requested again.
Each is said once, holds for the rest of the run, and stands in `effective`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from harness.agents.llm.chances import ASKED
from harness.agents.llm.failures import ParameterRefused, Refused

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


class Quirks:
    """What one model at one server was found to refuse."""

    def __init__(self, model: str, requested: Mapping[str, Any], say_once: Callable[[str], None]) -> None:
        """`requested`: sampling parameters by name."""
        self._model, self._requested, self._say_once = model, dict(requested), say_once
        self._lock, self._dropped = threading.Lock(), set[str]()
        self._limit = "max_tokens"
        self.gives_chances = True
        """False once log probabilities were refused."""

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
        """Return the request with the parameters that are accepted, and without the roles that are not.

        `limit`: output tokens of this call, where they are not the requested ones.
        """
        parameters = {**self._parameters(limit), **(ASKED if chances and self.gives_chances else {})}
        messages = without_system(request["messages"]) if self.refuses_system else list(request["messages"])
        return {**request, "messages": messages, **parameters}

    def _parameters(self, limit: int | None = None) -> dict[str, Any]:
        with self._lock:
            wanted = self._requested if limit is None else {**self._requested, "max_tokens": limit}
            named = {self._limit if name == "max_tokens" else name: value for name, value in wanted.items()}
            return {name: value for name, value in named.items() if name not in self._dropped}

    def work_around(self, refusal: Refused, request: Mapping[str, Any]) -> bool:
        """Remember what was refused; False where it is nothing that a request can do without."""
        if "temperature" in request and _is_about("temperature", refusal):
            self.drop("temperature")
        elif "logprobs" in request and _is_about("logprobs", refusal):
            self.gives_chances = False
            self._say_once(f"{self._model} names no probabilities of tokens: its numbers count as written")
        elif "max_tokens" in request and _is_unsupported("max_tokens", refusal):
            self._rename_limit()
        elif "max_completion_tokens" in request and _is_unsupported("max_completion_tokens", refusal):
            self.drop("max_completion_tokens")
        elif _is_about_system(refusal, {message["role"] for message in request["messages"]}):
            self.refuses_system = True
            self._say_once(f"{self._model} does not take system messages: their text goes in front of the first user message")
        else:
            return False
        return True

    def drop(self, name: str) -> None:
        """Leave out a parameter from now on, and say so."""
        with self._lock:
            self._dropped.add(name)
        value = self._requested.get("max_tokens" if name == self._limit else name)
        if value is not None:
            self._say_once(f"{self._model} does not take {name} {value:g}: left out, the provider's default applies")

    def _rename_limit(self) -> None:
        with self._lock:
            self._limit = "max_completion_tokens"
        self._say_once(f"{self._model} does not take max_tokens: sent as max_completion_tokens")


def without_system(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with the text of system messages in front of the first user message."""
    system = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "system")
    others = [dict(message) for message in messages if message["role"] != "system"]
    first = next((message for message in others if message["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": system}, *others]
    if system:
        first["content"] = f"{system}\n\n{first['content']}"
    return others


def _is_about_system(refusal: Refused, roles: Collection[str]) -> bool:
    """True where the role is refused, and not what a system message says or how the turns after it alternate."""
    if "system" not in roles or ("assistant" in roles and _ALTERNATE.search(str(refusal))):
        return False
    return _SYSTEM.search(str(refusal)) is not None and _NOT.search(str(refusal)) is not None


def _is_about(parameter: str, refusal: Refused) -> bool:
    """True where a refusal would not have come without a parameter."""
    return (isinstance(refusal, ParameterRefused) or refusal.status in {400, 422}) and parameter in str(refusal)


def _is_unsupported(parameter: str, refusal: Refused) -> bool:
    """True where the parameter itself is refused, and not its value."""
    return _is_about(parameter, refusal) and _UNSUPPORTED.search(str(refusal)) is not None
