"""What a model said: its text, tool calls and tokens, and the message that goes back into the conversation.

1. An `Action` is one tool call. One that cannot be carried out (arguments that are no JSON object, half a surrogate pair, NaN,
   1e999, nesting of thousands) has a `problem`, which the model is told.
2. The message sent back repeats the reasoning and signatures as the server gave them, because some servers demand them.
   Malformed arguments go back as {"_raw": text} and empty content as null or NO_TEXT, because some refuse their own.
3. Tokens that a provider does not report, or reports as no count, are counted here and marked as estimated.
4. Of very long texts head and tail are kept, with the number of characters left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from harness.agent import Usage
from harness.agents.llm.answer import WireAnswer
from harness.agents.llm.chances import TokenChances, read_chances
from harness.agents.llm.failures import Transient, Withheld
from harness.agents.llm.provider import library
from harness.agents.llm.reasoning import NO_TEXT, is_reasoning_part, reasoning_fields
from harness.prices import Price
from harness.printable import encodable

_THOUGHT = re.compile(r"\s*<(think|thinking)>(.*?)</\1>(.*)", re.DOTALL)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
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

    is_refusal: bool = False
    """True where the text is what the provider calls the model's refusal."""

    lost_reasoning: bool = False
    """True where the model was not sent its earlier reasoning."""

    @property
    def cut_off(self) -> bool:
        """Whether the model ran into its limit of output tokens."""
        return self.finish_reason == "length"

    @property
    def is_empty(self) -> bool:
        """True for a reply with neither text nor tool calls."""
        return not self.actions and not self.text.strip()


def read_completion(answer: WireAnswer, request: Mapping[str, Any], number: int, price: Price | None = None) -> Completion:
    """Return what an answer says, at this price or LiteLLM's own."""
    choice = answer.choice
    return replace(
        read_message(choice["message"], number),
        usage=_usage(answer, request, price),
        finish_reason=answer.finish_reason,
        chances=read_chances(choice.get("logprobs")),
    )


def refuse_unusable(said: Completion) -> None:
    """Raise Withheld for a filtered reply, and Transient for one that is empty because the model produced no token."""
    if said.is_empty and said.finish_reason == "content_filter":
        raise Withheld("its content filter withheld the reply")
    if said.is_empty and not said.reasoning and (said.usage.estimated or not said.usage.completion_tokens):
        raise Transient(f"it answered with nothing, and reports no tokens (finish reason {said.finish_reason})")


def read_message(raw: Mapping[str, Any], number: int) -> Completion:
    """Return what an assistant's message in OpenAI's shape says, as one call of unknown tokens."""
    given = encodable(dict(raw))
    kept = {name: value for name, value in reasoning_fields(given).items() if len(json.dumps(value)) <= LONGEST_TEXT}
    whole, reasoning = _text_of(given.get("content")), _reasoning_of(given)
    refusal = given.get("refusal") if not whole.strip() else None
    text = whole or str(refusal or "")
    if not reasoning and (split := _THOUGHT.fullmatch(whole)):
        reasoning, text = split[2], split[3]
    left_out = len(text) - KEPT if len(text) > LONGEST_TEXT else 0
    text = shortened(text) if left_out else text
    actions = tuple(_actions(listed := _listed(raw), number))
    is_whole = not left_out and isinstance(given.get("content"), str | list)
    content = (given["content"] if is_whole else text) if whole.strip() else refusal
    message: dict[str, Any] = {"role": "assistant", "content": content or (None if actions else NO_TEXT), **kept}
    if actions:
        message["tool_calls"] = [_sent_back(call, action) for call, action in zip(listed, actions, strict=True)]
    return Completion(
        text=text,
        message=message,
        usage=Usage(calls=1),
        actions=actions,
        reasoning=shortened(reasoning) if reasoning and len(reasoning) > LONGEST_TEXT else reasoning,
        left_out=left_out,
        is_refusal=bool(refusal),
    )


def as_text(said: Completion, *, named: bool) -> Completion:
    """Return a reply without its tool calls, where none were offered; a single call stands in for a missing text.

    `named`: the text is {"tool": ..., "arguments": ...}, else the arguments alone.
    """
    if not said.actions:
        return said
    first, text = said.actions[0], said.text
    if not text.strip() and len(said.actions) == 1 and not first.problem:
        text = json.dumps({"tool": first.tool, "arguments": first.arguments} if named else first.arguments, ensure_ascii=False)
    message = {name: value for name, value in said.message.items() if name != "tool_calls"}
    return replace(said, text=text, actions=(), message=message | {"content": message["content"] or text or NO_TEXT})


def _text_of(content: Any) -> str:
    """Return the text of a content: a string, or a list of parts."""
    given = content if isinstance(content, list) else [content]
    parts = [part for part in given if part is not None and not is_reasoning_part(part)]
    return "".join(
        str(part.get("text") or part.get("refusal") or "") if isinstance(part, Mapping) else str(part) for part in parts
    )


def _reasoning_of(given: Mapping[str, Any]) -> str | None:
    """Return the text of a message's reasoning, None where it has none."""
    named = [given[name] for name in ("reasoning_content", "reasoning") if isinstance(given.get(name), str)]
    parts = given["content"] if isinstance(given.get("content"), list) else []
    thoughts = [part.get("thinking") or part.get("summary") or part.get("text") for part in parts if is_reasoning_part(part)]
    return next(filter(None, named), None) or "\n".join(_text_of(thought) for thought in thoughts) or None


def shortened(text: str) -> str:
    """A quarter of what is kept from the front, the rest from the back, and how many characters were between them."""
    head, tail = KEPT // 4, KEPT - KEPT // 4
    return f"{text[:head]}\n[{len(text) - KEPT} characters left out]\n{text[-tail:]}" if len(text) > KEPT else text


def read_arguments(text: str) -> dict[str, Any]:
    """Tool arguments as an object; raises ValueError with what is wrong with them."""
    try:
        value = json.loads(text.strip() or "{}")
        # some servers encode the object twice
        value = json.loads(value) if isinstance(value, str) else value
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


def _listed(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tool calls of a message, the legacy `function_call` among them, each with its function."""
    calls = raw.get("tool_calls") or ()
    legacy = raw.get("function_call")
    given = [calls] if isinstance(calls, Mapping) else list(calls) if isinstance(calls, Sequence) else []
    given = given or ([{"function": legacy}] if legacy else [])
    calls = [call for call in given if isinstance(call, Mapping)]
    return [call if isinstance(call.get("function"), Mapping) else {"function": call} for call in calls]


def _actions(calls: Sequence[Mapping[str, Any]], number: int) -> list[Action]:
    """Return the calls in order; ids that are missing or used twice (local servers) are replaced.

    The new ones are 9 letters and digits, since templates of Mistral's models refuse any other.
    """
    actions: list[Action] = []
    for index, call in enumerate(calls):
        call_id = encodable(str(call.get("id") or ""))
        if not call_id or call_id in {a.call_id for a in actions}:
            call_id = f"c{number % 10**5:05}{index % 10**3:03}"
        name, given = _tool_name(call["function"].get("name")), call["function"].get("arguments")
        text = given if isinstance(given, str) else "" if given is None else json.dumps(given)
        if len(text) > LONGEST_ARGUMENTS:
            problem = f"the arguments are {len(text)} characters long, and at most {LONGEST_ARGUMENTS} are read"
            actions.append(Action(call_id, name, {"_raw": encodable(shortened(text))}, problem))
            continue
        try:
            actions.append(read_action(call_id, name, read_arguments(text)))
        except ValueError as problem:
            actions.append(Action(call_id, name, {"_raw": encodable(text)}, str(problem)))
    return actions


def _tool_name(given: Any) -> str:
    """Return a tool's name without blanks, a namespace, or special tokens that a server left in it."""
    return str(encodable(str(given or "").partition("<|")[0].strip().removeprefix("functions.")))


def _sent_back(call: Mapping[str, Any], action: Action) -> dict[str, Any]:
    """Return a call as the conversation keeps it: names and arguments as any server takes them, the rest as it was given."""
    given = call["function"].get("arguments")
    is_whole = isinstance(given, str) and given.lstrip().startswith("{") and not action.problem
    name = _NOT_IN_NAMES.sub("_", action.tool)[:64] or "unknown"
    function = {"name": name, "arguments": given if is_whole else json.dumps(action.arguments)}
    kept = {name: encodable(value) for name, value in call.items() if name == "index" or name in reasoning_fields(call)}
    return {**kept, "id": action.call_id, "type": "function", "function": function}


def _usage(answer: WireAnswer, request: Mapping[str, Any], price: Price | None) -> Usage:
    """Return the tokens of an answer: whole numbers that fit together, counted here where the provider gives none."""
    given = answer.body.get("usage") if answer.response is None else answer.response.model_dump().get("usage")
    reported = given if isinstance(given, Mapping) else {}
    prompt, completion = _count(reported.get("prompt_tokens")), _count(reported.get("completion_tokens"))
    cached, reasoning = (
        _count(details.get(name)) or 0 if isinstance(details := reported.get(f"{of}_tokens_details"), Mapping) else 0
        for of, name in (("prompt", "cached_tokens"), ("completion", "reasoning_tokens"))
    )
    estimated = not prompt or completion is None
    if not prompt:
        prompt = counted_tokens([request["messages"], request.get("tools") or []], request)
    if completion is None or (estimated and not completion):
        message = answer.choice["message"]
        completion = counted_tokens({name: message[name] for name in ("content", "tool_calls") if message.get(name)}, request)
    if reasoning > completion:
        # some providers count reasoning apart from the rest
        is_apart = _count(reported.get("total_tokens")) == prompt + completion + reasoning
        completion = completion + reasoning if is_apart else reasoning
    usage = Usage(
        calls=1, prompt_tokens=prompt, completion_tokens=completion, cached_tokens=min(cached, prompt),
        reasoning_tokens=reasoning, estimated=estimated,
    )  # fmt: skip
    if price is None:
        usage.cost_usd = _cost(answer.response, request, usage)
    else:
        usage.cost_usd = price.dollars(prompt, completion, usage.cached_tokens)
    return usage


def _count(value: Any) -> int | None:
    """Return a reported number of tokens, None for what is no count."""
    try:
        number = float(value) if isinstance(value, int | float | str) else -1.0
    except ValueError:
        return None
    return round(number) if isfinite(number) and number >= 0 else None


def _cost(response: Any, request: Mapping[str, Any], usage: Usage) -> float | None:
    """Return what LiteLLM's table says that a call costs, None where it has no price."""
    litellm, tokens = library(), (usage.prompt_tokens, usage.completion_tokens)
    try:
        priced = litellm.ModelResponse(model=request["model"]) if response is None else response
        told = priced.model_dump().get("usage") or {}
        if (told.get("prompt_tokens"), told.get("completion_tokens")) != tokens:
            priced.usage = litellm.Usage(prompt_tokens=tokens[0], completion_tokens=tokens[1], total_tokens=sum(tokens))
        return float(litellm.completion_cost(completion_response=priced, model=request["model"]))
    except Exception:  # noqa: BLE001 - LiteLLM's ways of having no price differ by provider
        return None


def counted_tokens(value: Any, request: Mapping[str, Any]) -> int:
    """Return the tokens of a value, counted by LiteLLM's tokenizer for the model, or the nearest it has."""
    text = json.dumps(value, ensure_ascii=False)
    # a tokenizer takes minutes for what is long and has no words; a part of it stands for the whole
    share = len(text) / len(text[:_COUNTED])
    return round(share * int(library().token_counter(model=request["model"], text=text[:_COUNTED])))
