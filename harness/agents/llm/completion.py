"""What a model said, in our terms: text, actions, tokens; and the message that goes back into the conversation.

1. An `Action` is one tool call. One that cannot be carried out as written (arguments that are no JSON object) keeps its
   raw text and its `problem`: it is the model's own mistake, and the model is told.
2. Half a surrogate pair, which has no UTF-8 form, becomes U+FFFD wherever it stands. In arguments it is such a mistake too,
   and so are numbers that JSON does not have (NaN, 1e999) and nesting that would break whoever writes it down.
3. The message sent back repeats what the provider gave (thinking blocks, signatures), because some providers insist on it;
   malformed arguments go back as {"_raw": text}, because some refuse to read their own.
4. Where a provider reports no tokens they are counted here and marked as estimated.
5. Of what is longer than anything may be, head and tail are kept with the count of what is left out: no reply fills a disk, or
   the next request.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from harness.agent import Usage
from harness.agents.llm.chances import TokenChances, read_chances
from harness.agents.llm.failures import Transient
from harness.agents.llm.provider import library
from harness.prices import Price
from harness.printable import encodable

_SENT_BACK = ("content", "thinking_blocks")
_HALF = "the arguments hold half a surrogate pair, which has no UTF-8 form"
LONGEST_TEXT = 4 << 20
"""Characters of an answer, or of its reasoning, that are kept whole."""

LONGEST_ARGUMENTS = 8 << 20
"""Characters of a tool call's arguments that are read: the longest body that a world takes, however it is escaped."""

KEPT = 64 << 10
"""Characters that are kept of what is longer."""

_DEEPEST = 64
_DEEP = f"the arguments are nested more than {_DEEPEST} deep"
_COUNTED = 128 << 10
"""Characters of a text whose tokens are counted."""

_NO_NUMBER = "the arguments hold a number that JSON does not have"


@dataclass(frozen=True)
class Action:
    """One tool call of a model; `problem` says why it cannot be carried out."""

    call_id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True)
class Completion:
    """One answer of a model; `waited_s` are the real seconds that failed attempts took before it."""

    text: str
    message: dict[str, Any]
    usage: Usage
    actions: tuple[Action, ...] = ()
    reasoning: str | None = None
    finish_reason: str = "stop"
    waited_s: float = 0.0
    left_out: int = 0
    """Characters of the text that are not kept, because it was longer than any answer may be."""

    chances: tuple[TokenChances, ...] = ()
    """What each token could have been, where that was asked for and the provider says it."""

    @property
    def cut_off(self) -> bool:
        """Whether the model ran into its limit of output tokens."""
        return self.finish_reason == "length"


def read_completion(
    response: Any, request: Mapping[str, Any], number: int, waited_s: float = 0.0, price: Price | None = None
) -> Completion:
    """The first choice of a LiteLLM response, at this price or LiteLLM's own; raises Transient for one that has no message."""
    choice = response.choices[0]
    if getattr(choice, "message", None) is None:
        raise Transient("the provider answered without a message")
    return replace(
        read_message(choice.message.model_dump(exclude_none=True), number),
        usage=_usage(response, request, price),
        finish_reason=encodable(str(choice.finish_reason or "stop")),
        waited_s=waited_s,
        chances=read_chances(getattr(choice, "logprobs", None)),
    )


def read_message(raw: Mapping[str, Any], number: int) -> Completion:
    """What a message of an assistant says, in OpenAI's shape, as one call whose tokens nobody counted."""
    given = encodable(dict(raw))
    message: dict[str, Any] = {"role": "assistant", **{k: given[k] for k in _SENT_BACK if k in given}}
    message.setdefault("content", "")
    text, reasoning = str(given.get("content") or ""), given.get("reasoning_content")
    left_out = len(text) - KEPT if len(text) > LONGEST_TEXT else 0
    if left_out:
        text = message["content"] = shortened(text)
    if len(json.dumps(message.get("thinking_blocks"))) > LONGEST_TEXT:
        del message["thinking_blocks"]
    actions = tuple(_actions(raw.get("tool_calls") or [], number))
    if actions:
        message["tool_calls"] = [_sent_back(call, action) for call, action in zip(given["tool_calls"], actions, strict=True)]
    return Completion(
        text=text,
        message=message,
        usage=Usage(calls=1),
        actions=actions,
        reasoning=shortened(reasoning) if reasoning and len(reasoning) > LONGEST_TEXT else reasoning,
        left_out=left_out,
    )


def shortened(text: str) -> str:
    """A quarter of what is kept from the front, the rest from the back, and how many characters were between them."""
    head, tail = KEPT // 4, KEPT - KEPT // 4
    return f"{text[:head]}\n[{len(text) - KEPT} characters left out]\n{text[-tail:]}" if len(text) > KEPT else text


def read_arguments(text: str) -> dict[str, Any]:
    """Tool arguments as an object; raises ValueError with what is wrong with them."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be a JSON object, not {type(value).__name__}")  # noqa: TRY004 - both are bad values
    return value


def read_action(call_id: str, tool: str, arguments: dict[str, Any]) -> Action:
    """One tool call as it can be written down; where that is not what the model said, with the problem."""
    if problem := _unwritable(arguments):
        return Action(call_id, encodable(tool), {}, problem)
    whole = encodable(arguments)
    return Action(call_id, encodable(tool), whole, "" if whole == arguments else _HALF)


def _unwritable(arguments: dict[str, Any]) -> str:
    """Why a value of JSON cannot be written down again, or nothing."""
    level: list[Any] = [arguments]
    for _ in range(_DEEPEST):
        if any(isinstance(one, float) and not isfinite(one) for one in level):
            return _NO_NUMBER
        level = [inner for one in level for inner in _inside(one)]
    return _DEEP if level else ""


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def add_usage(total: Usage, one: Usage) -> None:
    """Add the usage of one call; a total with an unpriced call in it has no price."""
    first = total.calls == 0
    total.calls += one.calls
    total.prompt_tokens += one.prompt_tokens
    total.completion_tokens += one.completion_tokens
    total.cached_tokens += one.cached_tokens
    total.reasoning_tokens += one.reasoning_tokens
    total.kept_calls += one.kept_calls
    total.kept_usd += one.kept_usd
    total.estimated = total.estimated or one.estimated
    if first:
        total.cost_usd = one.cost_usd
    else:
        total.cost_usd = None if total.cost_usd is None or one.cost_usd is None else total.cost_usd + one.cost_usd


def told_tokens(usage: Usage) -> str:
    """The tokens of a call in words; what was counted here and not by the provider has a ~, what was kept says so."""
    about, kept = "~" if usage.estimated else "", ", from the cache" if usage.kept_calls else ""
    said, cached = f"{about}{usage.prompt_tokens} in", f"{usage.cached_tokens} cached"
    return f"{said} ({cached}), {about}{usage.completion_tokens} out{kept}"


def _actions(calls: Sequence[dict[str, Any]], number: int) -> list[Action]:
    """The calls in order; ids that are missing or used twice (local servers) are replaced."""
    actions: list[Action] = []
    for index, call in enumerate(calls):
        call_id = encodable(str(call.get("id") or ""))
        if not call_id or call_id in {a.call_id for a in actions}:
            call_id = f"call_{number}_{index}"
        name, text = str(call["function"].get("name") or ""), call["function"].get("arguments") or ""
        if len(text) > LONGEST_ARGUMENTS:
            problem = f"the arguments are {len(text)} characters long, and at most {LONGEST_ARGUMENTS} are read"
            actions.append(Action(call_id, encodable(name), {"_raw": encodable(shortened(text))}, problem))
            continue
        try:
            actions.append(read_action(call_id, name, read_arguments(text)))
        except ValueError as problem:
            actions.append(Action(call_id, encodable(name), {"_raw": encodable(text)}, str(problem)))
    return actions


def _sent_back(call: dict[str, Any], action: Action) -> dict[str, Any]:
    arguments = json.dumps(action.arguments) if action.problem else call["function"].get("arguments") or "{}"
    return {**call, "id": action.call_id, "type": "function", "function": {"name": action.tool, "arguments": arguments}}


def _usage(response: Any, request: Mapping[str, Any], price: Price | None) -> Usage:
    given = getattr(response, "usage", None)
    estimated = not (given and given.prompt_tokens)
    if estimated:
        response.usage = _counted(response, request)
    reported = response.usage
    prompt_details = getattr(reported, "prompt_tokens_details", None)
    completion_details = getattr(reported, "completion_tokens_details", None)
    usage = Usage(
        calls=1,
        prompt_tokens=reported.prompt_tokens,
        completion_tokens=reported.completion_tokens or 0,
        cached_tokens=getattr(prompt_details, "cached_tokens", None) or 0,
        reasoning_tokens=getattr(completion_details, "reasoning_tokens", None) or 0,
        estimated=estimated,
    )
    if price is None:
        usage.cost_usd = _cost(response, request["model"])
    else:
        usage.cost_usd = price.dollars(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
    return usage


def _cost(response: Any, model: str) -> float | None:
    """What LiteLLM's table says that a call costs, None where it has no price."""
    try:
        return float(library().completion_cost(completion_response=response, model=model))
    except Exception:  # noqa: BLE001 - LiteLLM's ways of having no price differ by provider
        return None


def _counted(response: Any, request: Mapping[str, Any]) -> Any:
    """Tokens counted by LiteLLM's own tokenizer for the model, or the nearest it has."""
    litellm = library()

    def count(value: Any) -> int:
        text = json.dumps(value, ensure_ascii=False)
        # a tokenizer takes minutes for what is long and has no words; a part of it stands for the whole
        share = len(text) / len(text[:_COUNTED]) if text else 1.0
        return round(share * int(litellm.token_counter(model=request["model"], text=text[:_COUNTED])))

    prompt = count([request["messages"], request.get("tools") or []])
    completion = count(response.choices[0].message.model_dump(exclude_none=True, include={"content", "tool_calls"}))
    return litellm.Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)
