"""Reply of a model: its text, tool calls and tokens, and the message that is appended to the conversation.

The message repeats the reasoning and signatures as the server sent them, because some servers require them. Malformed arguments
are returned as {"_raw": text}, and empty content as null or NO_TEXT, because some servers reject their own output. Tokens that
a provider does not report are counted locally and marked as estimated. Very long texts are cut in the middle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, isfinite
from typing import Any, NamedTuple

from harness.agent import Usage
from harness.agents.llm.failures import ContentFiltered, RetryableFailure, parsed
from harness.agents.llm.provider import WireAnswer, library
from harness.prices import Price
from worlds.core.replies import replace_surrogates

NO_TEXT = "(no text)"
"""Content of a message without text and tool calls, because some servers reject an empty one."""

LONGEST_TEXT, LONGEST_ARGUMENTS, KEPT = 4 << 20, 8 << 20, 64 << 10
"""Limits in characters: of texts stored whole, of arguments that are parsed, and of the stored part of a longer text."""

_DEEPEST = 64
_DEEP = f"the arguments are nested more than {_DEEPEST} deep"
_HALF = "the arguments hold half a surrogate pair, which has no UTF-8 form"
_NO_NUMBER = "the arguments hold a number that JSON does not have"
_COUNTED = 128 << 10
"""Number of characters of a long text that are tokenized."""

_THOUGHT = re.compile(r"\s*<(think|thinking)>(.*?)</\1>(.*)", re.DOTALL)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_FAILED = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_WITHHELD = frozenset({
    "content_filter", "content_filtered", "sensitive", "safety", "guardrail_intervened", "prohibited_content",
})  # fmt: skip
_REASONING = re.compile(r"reason|think|thought|signature|encrypted|extra_content|provider_specific")
"""Names of fields with reasoning: `reasoning_content`, `reasoning_details`, `thinking_blocks`, `thought_signature`."""

_CONTAINERS = frozenset({"extra_content", "provider_specific_fields", "google"})
_LABELS = frozenset({"type", "format", "id", "index"})
_CALL_MARK = re.compile(
    r"<tool_call|\[TOOL_CALLS\]|<function[=_]|<invoke |<\|python_tag\|>|<\|tool_calls?_?|<\uff5ctool\u2581call|to=functions\.|"
    r"functools\[|✿FUNCTION✿|<\|action_start\|>"
)
_FENCE = re.compile(r"\s*```\w*\n(.*?)\n?```\s*", re.DOTALL)
_ARGUMENTS = frozenset({"arguments", "parameters", "args", "input"})

ASKED_CHANCES: Mapping[str, Any] = {"logprobs": True, "top_logprobs": 10}
"""Request parameters for token probabilities; some providers reject more alternatives than these."""


class TokenChances(NamedTuple):
    """Token of a reply, with the probability of each alternative at its position."""

    text: str
    chances: Mapping[str, float]


@dataclass(frozen=True)
class Action:
    """Tool call of a model; `problem` says why it cannot be executed."""

    call_id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True)
class Completion:
    """Reply of a model.

    `waited_s` is the time of failed attempts before it, in real seconds, and `left_out` the number of characters cut from an
    overlong text. `chances` are the alternatives of each token with their probabilities, if they were requested and the
    provider returns them. `is_refusal` is true if the text is the model's refusal, `lost_reasoning` is true if the request did
    not contain the earlier reasoning of the model.
    """

    text: str
    message: dict[str, Any]
    usage: Usage
    actions: tuple[Action, ...] = ()
    reasoning: str | None = None
    finish_reason: str = "stop"
    waited_s: float = 0.0
    left_out: int = 0
    chances: tuple[TokenChances, ...] = ()
    is_refusal: bool = False
    lost_reasoning: bool = False

    @property
    def cut_off(self) -> bool:
        """True if the reply was truncated at the limit of output tokens."""
        return self.finish_reason == "length"

    @property
    def is_empty(self) -> bool:
        """True for a reply with neither text nor tool calls."""
        return not self.actions and not self.text.strip()


def read_completion(answer: WireAnswer, request: Mapping[str, Any], number: int, price: Price | None = None) -> Completion:
    """Parse a reply, priced at this price or LiteLLM's; raises RetryableFailure and ContentFiltered if it contains nothing."""
    choice = _choice(answer.body)
    reason = choice.get("finish_reason")
    reason = str(replace_surrogates(reason)) if isinstance(reason, str) and reason else "stop"
    if reason.lower() in _FAILED:
        raise RetryableFailure(f"its answer failed (finish reason {reason}): without a word of why")
    if not isinstance(choice.get("message"), Mapping):
        raise RetryableFailure("it answered without a message")
    reason = "length" if reason.lower() in _CUT_OFF else "content_filter" if reason.lower() in _WITHHELD else reason
    usage, chances = _usage(answer, choice["message"], request, price), _chances(choice.get("logprobs"))
    said = replace(read_message(choice["message"], number), usage=usage, finish_reason=reason, chances=chances)
    if said.is_empty and said.finish_reason == "content_filter":
        raise ContentFiltered("its content filter withheld the reply")
    if said.is_empty and not said.reasoning and (said.usage.estimated or not said.usage.completion_tokens):
        raise RetryableFailure(f"its reply was empty and reports no tokens (finish reason {said.finish_reason})")
    return said


def read_message(raw: Mapping[str, Any], number: int) -> Completion:
    """Parse an assistant's message in OpenAI's format, as one call with unknown tokens."""
    # unpaired surrogates are valid in JSON but not in UTF-8; all text of a provider passes here once
    given = replace_surrogates(dict(raw))
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
    reasoning = shortened(reasoning) if reasoning and len(reasoning) > LONGEST_TEXT else reasoning
    return Completion(
        text, message, Usage(calls=1), actions, reasoning=reasoning, left_out=left_out, is_refusal=bool(refusal)
    )  # fmt: skip


def as_text(said: Completion, *, named: bool) -> Completion:
    """Return a reply without its tool calls, if no tools were offered; a single call replaces a missing text.

    With `named`, the text is {"tool": ..., "arguments": ...}, otherwise the arguments alone.
    """
    if not said.actions:
        return said
    first, text = said.actions[0], said.text
    if not text.strip() and len(said.actions) == 1 and not first.problem:
        text = json.dumps({"tool": first.tool, "arguments": first.arguments} if named else first.arguments, ensure_ascii=False)
    message = {name: value for name, value in said.message.items() if name != "tool_calls"}
    return replace(said, text=text, actions=(), message=message | {"content": message["content"] or text or NO_TEXT})


def is_written_call(text: str, tools: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if a text contains a call of one of the tools: after the model's own marker, as bare JSON, or as code.

    Servers without a parser for their model's tool calls return such texts.
    """
    names = [str(tool["function"]["name"]) for tool in tools]
    fenced = _FENCE.fullmatch(text)
    body = (fenced[1] if fenced else text).strip()
    if (mark := _CALL_MARK.search(text)) and any(name in text[mark.end() :] for name in names):
        return True
    if any(re.match(rf"\[?\s*{re.escape(name)}\(", body) for name in names):
        return True
    value = parsed(body)
    return any(_calls(one, names) for one in (value if isinstance(value, list) else [value]))


def reasoning_fields(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a message, or of a tool call, that contain reasoning."""
    return {name: value for name, value in message.items() if _REASONING.search(name) and value not in (None, [], {})}


def reasoning_texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield each text of reasoning in a message of the model."""
    if message.get("role") != "assistant":
        return
    parts = content if isinstance(content := message.get("content"), list) else ()
    yield from (text for part in parts if _is_reasoning(part) for text in _texts(part, is_inside=True))
    for holder in (message, *(message.get("tool_calls") or ())):
        for name, value in reasoning_fields(holder).items():
            yield from _texts({name: value} if name in _CONTAINERS else value, is_inside=name not in _CONTAINERS)


def without_reasoning(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages without reasoning."""
    return [_plain(message) if message["role"] == "assistant" else dict(message) for message in messages]


def shortened(text: str) -> str:
    """Return a text with the middle cut out, keeping a quarter from the head, and state the number of removed characters."""
    head, tail = KEPT // 4, KEPT - KEPT // 4
    return f"{text[:head]}\n[{len(text) - KEPT} characters left out]\n{text[-tail:]}" if len(text) > KEPT else text


def read_action(call_id: str, tool: str, arguments: dict[str, Any]) -> Action:
    """Return a tool call in a form that can be recorded, with a problem if this form differs from the model's output."""
    level: list[Any] = [arguments]
    for _ in range(_DEEPEST):
        if any(isinstance(one, float) and not isfinite(one) for one in level):
            return Action(call_id, replace_surrogates(tool), {}, _NO_NUMBER)
        level = [
            inner for one in level if isinstance(one, dict | list) for inner in (one.values() if isinstance(one, dict) else one)
        ]
    if level:
        return Action(call_id, replace_surrogates(tool), {}, _DEEP)
    whole = replace_surrogates(arguments)
    return Action(call_id, replace_surrogates(tool), whole, "" if whole == arguments else _HALF)


def add_usage(total: Usage, one: Usage) -> None:
    """Add the usage of one call; a total that includes an unpriced call has no price."""
    costs = [one.cost_usd] if total.calls == 0 else [total.cost_usd, one.cost_usd]
    for name in ("calls", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "kept_calls", "kept_usd"):
        setattr(total, name, getattr(total, name) + getattr(one, name))
    total.estimated = total.estimated or one.estimated
    known = [cost for cost in costs if cost is not None]
    total.cost_usd = sum(known) if len(known) == len(costs) else None


def told_tokens(usage: Usage) -> str:
    """Return the tokens of a call as text; a ~ marks counts estimated locally, and replies from the cache are marked too."""
    about, kept = "~" if usage.estimated else "", ", from the cache" if usage.kept_calls else ""
    said, cached = f"{about}{usage.prompt_tokens} in", f"{usage.cached_tokens} cached"
    return f"{said} ({cached}), {about}{usage.completion_tokens} out{kept}"


def counted_tokens(value: Any, model: str) -> int:
    """Return the number of tokens of a value, counted by LiteLLM's tokenizer for the model or the nearest available one."""
    text = json.dumps(value, ensure_ascii=False)
    # a tokenizer takes minutes for a long text without words, so the count is extrapolated from a part
    share = len(text) / len(text[:_COUNTED])
    return round(share * int(library().token_counter(model=model, text=text[:_COUNTED])))


def _choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first choice with content, or else the first; raises RetryableFailure if there is none."""
    listed = body.get("choices")
    choices = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, Sequence) else []
    if not choices:
        raise RetryableFailure("it answered without a choice")
    fields = ("content", "tool_calls", "function_call", "refusal")
    messages = [message if isinstance(message := one.get("message"), Mapping) else {} for one in choices]
    said = (one for one, message in zip(choices, messages, strict=True) if any(message.get(name) for name in fields))
    return next(said, choices[0])


def _chances(given: Any) -> tuple[TokenChances, ...]:
    """Return the token probabilities in order; empty if the provider returned none that can be parsed."""
    try:
        return tuple(
            TokenChances(
                str(one["token"]),
                {str(alike["token"]): exp(min(alike["logprob"], 0.0)) for alike in (*(one.get("top_logprobs") or ()), one)},
            )
            for one in (given or {}).get("content") or ()
        )
    except (AttributeError, KeyError, TypeError):
        return ()


def _text_of(content: Any) -> str:
    """Return the text of a message content, which is a string or a list of parts."""
    given = content if isinstance(content, list) else [content]
    parts = [part for part in given if part is not None and not _is_reasoning(part)]
    return "".join(
        str(part.get("text") or part.get("refusal") or "") if isinstance(part, Mapping) else str(part) for part in parts
    )


def _reasoning_of(given: Mapping[str, Any]) -> str | None:
    named = [given[name] for name in ("reasoning_content", "reasoning") if isinstance(given.get(name), str)]
    parts = given["content"] if isinstance(given.get("content"), list) else []
    thoughts = [part.get("thinking") or part.get("summary") or part.get("text") for part in parts if _is_reasoning(part)]
    return next(filter(None, named), None) or "\n".join(_text_of(thought) for thought in thoughts) or None


def _is_reasoning(part: Any) -> bool:
    return isinstance(part, Mapping) and _REASONING.search(str(part.get("type"))) is not None


def _texts(value: Any, *, is_inside: bool) -> Iterator[str]:
    """Yield the texts of reasoning in a value: all if `is_inside`, otherwise those under a name that indicates reasoning."""
    if isinstance(value, str):
        yield from [value] if is_inside and value.strip() else ()
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in _LABELS:
                is_named = name not in _CONTAINERS and _REASONING.search(name) is not None
                yield from _texts(inner, is_inside=is_inside or is_named)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner, is_inside=is_inside)


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in message.items() if name not in reasoning_fields(message)}
    if isinstance(content := message.get("content"), list):
        plain["content"] = [part for part in content if not _is_reasoning(part)] or None
    if calls := message.get("tool_calls"):
        plain["tool_calls"] = [{name: call[name] for name in ("id", "type", "function")} for call in calls]
    elif not plain.get("content"):
        plain["content"] = NO_TEXT
    return plain


def _calls(value: Any, names: Sequence[str]) -> bool:
    """Return True for an object that names a tool and has arguments for it."""
    if not isinstance(value, dict):
        return False
    inner = value.get("function")
    if isinstance(inner, dict):
        return _calls(inner, names)
    named = (value.get("name"), value.get("tool"), value.get("tool_name"), inner)
    return bool(_ARGUMENTS & set(value)) and any(isinstance(name, str) and name in names for name in named)


def _listed(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tool calls of a message, including the legacy `function_call`, each with its function."""
    calls = raw.get("tool_calls") or ()
    given = [calls] if isinstance(calls, Mapping) else list(calls) if isinstance(calls, Sequence) else []
    given = given or [{"function": legacy} for legacy in [raw.get("function_call")] if legacy]
    made = [call for call in given if isinstance(call, Mapping)]
    return [call if isinstance(call.get("function"), Mapping) else {"function": call} for call in made]


def _actions(calls: Sequence[Mapping[str, Any]], number: int) -> list[Action]:
    """Return the calls in order. Missing or duplicate ids become 9 letters and digits, as Mistral's templates require."""
    actions: list[Action] = []
    for index, call in enumerate(calls):
        call_id = replace_surrogates(str(call.get("id") or ""))
        if not call_id or call_id in {a.call_id for a in actions}:
            call_id = f"c{number % 10**5:05}{index % 10**3:03}"
        # remove blanks, a namespace, and special tokens that a server left in the name
        name = str(
            replace_surrogates(str(call["function"].get("name") or "").partition("<|")[0].strip().removeprefix("functions."))
        )
        given = call["function"].get("arguments")
        text = given if isinstance(given, str) else "" if given is None else json.dumps(given)
        try:
            actions.append(read_action(call_id, name, _arguments(text)))
        except ValueError as problem:
            kept = shortened(text) if len(text) > LONGEST_ARGUMENTS else text
            actions.append(Action(call_id, name, {"_raw": replace_surrogates(kept)}, str(problem)))
    return actions


def _arguments(text: str) -> dict[str, Any]:
    """Parse tool arguments into an object; raises ValueError with the problem."""
    if len(text) > LONGEST_ARGUMENTS:
        raise ValueError(f"the arguments are {len(text)} characters long, and at most {LONGEST_ARGUMENTS} are read")
    try:
        value = json.loads(text.strip() or "{}")
        # some servers encode the object twice
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be a JSON object, not {type(value).__name__}")  # noqa: TRY004 - both are bad values
    return value


def _sent_back(call: Mapping[str, Any], action: Action) -> dict[str, Any]:
    """Return a call as the conversation keeps it: names and arguments made acceptable to every server, the rest unchanged."""
    given = call["function"].get("arguments")
    is_whole = isinstance(given, str) and given.lstrip().startswith("{") and not action.problem
    name = _NOT_IN_NAMES.sub("_", action.tool)[:64] or "unknown"
    function = {"name": name, "arguments": given if is_whole else json.dumps(action.arguments)}
    kept = {
        name: replace_surrogates(value) for name, value in call.items() if name == "index" or name in reasoning_fields(call)
    }
    return {**kept, "id": action.call_id, "type": "function", "function": function}


def _usage(answer: WireAnswer, message: Mapping[str, Any], request: Mapping[str, Any], price: Price | None) -> Usage:
    """Return the tokens of a reply as consistent integers, counted locally if the provider returns none."""
    given = answer.body.get("usage") if answer.response is None else answer.response.model_dump().get("usage")
    reported, model = given if isinstance(given, Mapping) else {}, request["model"]
    prompt, completion = _count(reported.get("prompt_tokens")), _count(reported.get("completion_tokens"))
    cached, reasoning = (
        _count(details.get(name)) or 0 if isinstance(details := reported.get(f"{of}_tokens_details"), Mapping) else 0
        for of, name in (("prompt", "cached_tokens"), ("completion", "reasoning_tokens"))
    )
    estimated = not prompt or completion is None
    if not prompt:
        prompt = counted_tokens([request["messages"], request.get("tools") or []], model)
    if completion is None or (estimated and not completion):
        completion = counted_tokens({name: message[name] for name in ("content", "tool_calls") if message.get(name)}, model)
    if reasoning > completion:
        # some providers count reasoning apart from the rest
        is_apart = _count(reported.get("total_tokens")) == prompt + completion + reasoning
        completion = completion + reasoning if is_apart else reasoning
    cached = min(cached, prompt)
    cost = _cost(answer.response, model, prompt, completion) if price is None else price.dollars(prompt, completion, cached)
    return Usage(
        calls=1, prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached, reasoning_tokens=reasoning,
        cost_usd=cost, estimated=estimated,
    )  # fmt: skip


def _count(value: Any) -> int | None:
    """Return a reported number of tokens, None if it is not a valid count."""
    try:
        number = float(value) if isinstance(value, int | float | str) else -1.0
    except ValueError:
        return None
    return round(number) if isfinite(number) and number >= 0 else None


def _cost(response: Any, model: str, prompt: int, completion: int) -> float | None:
    """Return the price of a call from LiteLLM's table; None if the table has no price for the model."""
    litellm = library()
    try:
        priced = litellm.ModelResponse(model=model) if response is None else response
        told = priced.model_dump().get("usage") or {}
        if (told.get("prompt_tokens"), told.get("completion_tokens")) != (prompt, completion):
            priced.usage = litellm.Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)
        return float(litellm.completion_cost(completion_response=priced, model=model))
    except Exception:  # noqa: BLE001 - LiteLLM's ways of having no price differ by provider
        return None
