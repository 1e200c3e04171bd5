"""Model client: accepted parameters, retries limited by total time, and tokens and cost of every reply.

1. A failed call is retried until `patience_s` is used up, unless no server was ever reached. The retry time is attributed to
the provider: `Completion.waited_s` excludes it from an agent's wall budget. Waiting for other calls in the rate limiter does
not count as retry time, because the provider answers those calls. If the provider answers no call, all calls share one retry
time.
2. `probe` makes one or two small calls before a run. A model that calls the offered tool must have seen it. If the reply
contains no call, and the prompt has as many tokens with the tool as without, the server drops tools. A model that ignores tools
is a valid agent.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count
from math import ceil
from typing import Any

from harness.agent import LOCAL, PATIENCE_S, TIMEOUT_S, Usage
from harness.agents.llm.completion import (
    ASKED_CHANCES,
    Completion,
    counted_tokens,
    is_written_call,
    read_completion,
    reasoning_texts,
    without_reasoning,
)
from harness.agents.llm.failures import (
    AccessDenied,
    CallFailure,
    ConnectionFailed,
    ContentFiltered,
    ContextOverflow,
    NotAnApi,
    RateLimited,
    Refused,
    RetryableFailure,
    Telling,
    UnsupportedParameter,
    refuses_tools,
)
from harness.agents.llm.local import addressed, check_installed
from harness.agents.llm.meter import Meter
from harness.agents.llm.model_table import listed_price, no_key, require_key
from harness.agents.llm.provider import ask, library, own_bugs, unknown_provider
from harness.agents.llm.rate_limiter import RateLimiter, gate_of
from harness.errors import Cancelled, SetupFault, UsageError
from harness.log_context import to_stderr
from harness.prices import Price
from harness.secrets import public_address, secrets_of

PROBE = ({"role": "user", "content": "Answer with one word: ready"},)
TOOL_PROBE = ({"role": "user", "content": "Call the tool `ready` now. If there is no such tool, answer with one word: no"},)
READY: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "ready", "description": "Say that you are ready.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    },
}  # fmt: skip
"""Prompts of the probe before a run without and with tools, and the tool that it offers."""

PLACEHOLDER_KEY = "parley-placeholder"
"""API key sent to a server behind --api-base if the environment contains none."""

Messages = Sequence[dict[str, Any]]

_TEXT_HINT = "harness run ... --protocol text"
_PROBE_TOKENS, _PROBE_CALL_TOKENS, _LONGEST_PROBE_S = 16, 64, 30.0
_PROBE_PAUSES_S = (0.5, 1.0, 2.0)
_MOST_CHARACTERS_A_TOKEN = 8
_WORTH_SAYING_S = 5.0
_LONGEST_PAUSE_S = 60.0
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
_NOT = re.compile(r"\bnot\b|n't\b|unsupported|unexpected|\bonly\b|\bmust\b|unknown|invalid", re.IGNORECASE)
_REASONING = re.compile(
    r"reasoning|thinking|thought|signature|extra (?:inputs|fields)|additional propert|unknown|unrecogni[sz]ed|unsupported|"
    r"unexpected|not (?:permitted|allowed)|extra_forbidden",
    re.IGNORECASE,
)
_REMEMBERED = 10_000
"""Number of conversations whose last prompt size is remembered."""


@dataclass(frozen=True)
class ModelSettings:
    """Model by its LiteLLM name, its address, and its timeouts.

    None stands for the provider's own address, the key in the environment, no temperature, the provider's limit of output
    tokens, a context of unknown size, LiteLLM's price, and no meter. A call times out after `timeout_s` without data, and a
    failing call is retried for `patience_s` with exponential backoff.
    """

    name: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = 0.0
    max_tokens: int | None = None
    context: int | None = None
    timeout_s: float = TIMEOUT_S
    patience_s: float = PATIENCE_S
    first_pause_s: float = 1.0
    price: Price | None = None
    meter: Meter | None = field(default=None, repr=False)


def pause_s(attempt: int, first_s: float) -> float:
    """Return a random pause after a failed attempt, counted from 1; its upper bound doubles each time."""
    return random.uniform(0, min(_LONGEST_PAUSE_S, first_s * 2 ** min(attempt - 1, 30)))  # noqa: S311 - no secret


class Quirks:
    """Parameters that one model at one server rejected, and requests without them.

    A rejected `temperature`, `logprobs` or earlier reasoning is omitted. A rejected `max_tokens` is sent under another name,
    and if that is rejected too, no limit is sent. The text of a rejected `system` role is prepended to the first user message.
    Each change is reported once, applies to the rest of the run, and is recorded in `effective`; lost reasoning is recorded in
    the reply.
    """

    def __init__(self, model: str, requested: Mapping[str, Any], say_once: Callable[[str], None]) -> None:
        """Start without known rejections; `requested` are the sampling parameters by name."""
        self._model, self._requested, self._say_once = model, dict(requested), say_once
        self._sent = {name: value for name, value in requested.items() if name != "max_tokens"}
        self._limit: str | None = "max_tokens"
        """Name of the parameter that limits output tokens; None if none is sent."""

        self._gives_chances = self._takes_reasoning = True
        self.refuses_system = False
        """True once a system message was rejected."""

    @property
    def effective(self) -> dict[str, Any]:
        """Parameters that are actually sent, as far as is known now."""
        return {**self._parameters(), **({"system_role": "user"} if self.refuses_system else {})}

    def learn(self, effective: Mapping[str, Any]) -> None:
        """Apply the rejections that an earlier client recorded in `effective`."""
        if "max_completion_tokens" in effective:
            self._rename_limit()
        self.refuses_system |= "system_role" in effective
        for name in set(self._parameters()) - set(effective):
            self.drop(name)

    def adapted(self, request: Mapping[str, Any], *, chances: bool = False, limit: int | None = None) -> dict[str, Any]:
        """Return the request with accepted parameters, and without rejected roles and reasoning.

        `limit` replaces the requested limit of output tokens for this call.
        """
        messages = [dict(message) for message in request["messages"]]
        messages = messages if self._takes_reasoning else without_reasoning(messages)
        messages = without_system(messages) if self.refuses_system else messages
        asked = ASKED_CHANCES if chances and self._gives_chances else {}
        return {**request, "messages": messages, **self._parameters(limit), **asked}

    def work_around(self, refusal: Refused, request: Mapping[str, Any]) -> bool:
        """Remember a rejected parameter. Return False if a request cannot do without it."""
        limit = next((name for name in _LIMITS if name in request), None)
        if "temperature" in request and _is_about("temperature", refusal):
            self.drop("temperature")
        elif "logprobs" in request and _is_about("logprobs", refusal):
            self._gives_chances = False
            self._say_once(f"{self._model} returns no token probabilities, so the numbers in its text are used")
        elif limit is not None and _is_about(limit, refusal) and _UNSUPPORTED.search(str(refusal)):
            if limit == "max_tokens":
                self._rename_limit()
            else:
                self.drop(limit)
        elif _is_about_system(refusal, {message["role"] for message in request["messages"]}):
            self.refuses_system = True
            self._say_once(f"{self._model} does not accept system messages, so their text is put before the first user message")
        else:
            return False
        return True

    def drop(self, name: str) -> None:
        """Omit a parameter from now on, and report it."""
        value = self._requested.get("max_tokens" if name in _LIMITS else name)
        self._sent.pop(name, None)
        self._limit = None if name in _LIMITS else self._limit
        if value is not None:
            self._say_once(f"{self._model} does not accept {name} {value:g}, so the provider's default applies")

    def lost_reasoning(self, messages: Messages, sent: Messages, body: bytes) -> bool:
        """Return True if an answered request did not contain the reasoning in `messages`; report and remember a rejection."""
        if not carries_reasoning(messages):
            return False
        if not carries_reasoning(sent):
            self._takes_reasoning = False
            self._say_once(f"{self._model} rejects its earlier reasoning, so it is not sent, and episodes are marked")
        elif has_arrived(body, messages):
            return False
        else:
            self._say_once(f"{self._model}: LiteLLM does not send back its earlier reasoning, so episodes are marked")
        return True

    def _parameters(self, limit: int | None = None) -> dict[str, Any]:
        most = self._requested.get("max_tokens") if limit is None else limit
        return {**self._sent, **({} if self._limit is None or most is None else {self._limit: most})}

    def _rename_limit(self) -> None:
        self._limit = self._limit and "max_completion_tokens"
        self._say_once(f"{self._model} does not accept max_tokens, so max_completion_tokens is sent")


class ContextBudget:
    """Limit check: prompts must fit into `context` tokens, together with the `reply` tokens that a request reserves.

    The check uses the provider's count for the same conversation one turn earlier, and estimates newer messages by the
    characters per token of that prompt, so only a conversation without a count is tokenized.
    """

    def __init__(self, context: int | None, reply: int | None, model: str) -> None:
        """Create the check; nothing is checked if `context` is None."""
        self._context, self._reply, self._model = context, reply or 1, model
        self._counted: dict[int, tuple[int, int, int]] = {}
        self._lock = threading.Lock()

    def check(self, messages: Messages, tools: Messages) -> None:
        """Raise ContextOverflow if a prompt does not fit."""
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
            raise ContextOverflow(f"the prompt takes about {tokens} tokens{told}, and --context is {self._context}")

    def note(self, messages: Messages, tools: Messages, usage: Usage) -> None:
        """Remember the token counts of the provider."""
        if self._context is None:
            return
        key, characters = _digest(messages, tools)
        with self._lock:
            self._counted[key] = (usage.prompt_tokens, usage.completion_tokens, characters)
            if len(self._counted) > _REMEMBERED:
                del self._counted[next(iter(self._counted))]


class ModelClient:
    """Client of one model."""

    def __init__(self, settings: ModelSettings, *, say: Callable[[str], None] = to_stderr) -> None:
        self.settings, self.say = settings, say
        asked = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
        self.requested = {name: value for name, value in asked.items() if value is not None}
        self.halt = threading.Event()
        """Event that ends every pause with Cancelled; may be set from any thread."""

        self.quirks = Quirks(settings.name, self.requested, self.say_once)
        self._base = settings.api_base and public_address(settings.api_base)
        self._telling = Telling(settings.name, self._base, self._keys)
        self._context = ContextBudget(settings.context, settings.max_tokens, settings.name)
        self._secrets = tuple(filter(None, [settings.api_key, *secrets_of(settings.api_base or "")]))
        self._said, self._probed, self._numbers = set[str](), set[bool](), count(1)
        self._lock, self._settling, self._probing = threading.Lock(), threading.Lock(), threading.Lock()
        self._is_settled = self._is_met = False
        """Flags: parameters are determined, and the server was reached at least once, even if it rejected the call."""

    @cached_property
    def _gate(self) -> RateLimiter:
        """Rate limiter of its provider, by address, or by the provider's name for the default address."""
        settings = self.settings
        try:
            usual = library().get_llm_provider(settings.name)[1]
        except Exception:  # noqa: BLE001 - whatever is wrong, the call itself will say it better
            usual = settings.name
        return gate_of(settings.api_base or usual)

    @property
    def name(self) -> str:
        """LiteLLM name of the model."""
        return self.settings.name

    @property
    def effective(self) -> dict[str, Any]:
        """Parameters that are actually sent, as far as is known now."""
        return self.quirks.effective

    @property
    def price(self) -> Price | None:
        """Token price, as set by the user or from LiteLLM's table; None if it is unknown."""
        return self.settings.price or listed_price(self.settings.name)

    def identity(self) -> dict[str, Any]:
        """Return the client's part of a frozen plan."""
        context = {} if self.settings.context is None else {"context": self.settings.context}
        return {"model": self.settings.name, "api_base": self._base, "requested": dict(self.requested), **context}

    def check(self) -> None:
        """Raise UsageError for an unknown provider or a missing key; determine the parameters that the model accepts."""
        settings, base = self.settings, self._base
        if settings.name == LOCAL:
            check_installed()
            return
        if base is not None and not base.startswith(("http://", "https://")):
            raise UsageError(f"--api-base must begin with http:// or https://, not {base!r}", hint=f"--api-base http://{base}")
        needs_key = base is None and settings.api_key is None
        if needs_key:
            require_key(settings.name)
        litellm = library()
        try:
            litellm.get_llm_provider(settings.name, api_base=settings.api_base)
        except Exception:  # noqa: BLE001 - whatever it raises, it does not know the provider
            raise unknown_provider(settings.name, has_base=base is not None) from None
        if needs_key and (missing := self._missing_keys()):
            raise no_key(settings.name, missing)
        self._settle()

    def complete(self, messages: Messages, tools: Messages = (), *, chances: bool = False) -> Completion:
        """Return one reply, with token probabilities if they are requested and the provider returns them.

        Raises ProviderFailure if the retry time is used up or the provider rejects the request, ProviderLost, ContextOverflow,
        MalformedToolCall, LimitReached if the spending limit of the run is reached, and ClientFailure for our own bugs.
        """
        with self._gate.visited(), own_bugs():
            self._context.check(messages, tools)
            try:
                completion = self._patiently(messages, tools, chances=chances)
            except Refused as refusal:
                raise self._telling.refused(refusal) from None
            self._context.note(messages, tools, completion.usage)
        if self.settings.meter is not None:
            self.settings.meter.add(completion.usage)
        return completion

    def probe(self, *, tools: bool = False) -> None:
        """Make one small call, or with `tools` at most two, before a run starts; only once per client.

        Raises ProviderLost, and SetupFault if the model does not see tools. A server that rejects just this call counts as
        available.
        """
        with self._probing, self._gate.visited(), own_bugs():
            if tools not in self._probed:
                self.say_once(self._probe(tools=tools))
            self._probed |= {False, tools}

    def once(self, messages: Messages, tools: Messages = (), *, limit: int, timeout_s: float) -> Completion:
        """Return the reply to one call without retries, of at most `limit` tokens; raises CallFailure and SetupFault."""
        self._settle()
        return self._asked(messages, tools, limit=limit, timeout_s=timeout_s)

    def say_once(self, line: str) -> None:
        """Print a message once per client."""
        with self._lock:
            new = line not in self._said
            self._said.add(line)
        if new:
            self.say(line)

    def _probe(self, *, tools: bool) -> str:
        """Make the small calls and return the messages about them; raises ProviderLost and SetupFault."""
        began, pauses, name = time.monotonic(), iter(_PROBE_PAUSES_S), self._telling.name
        ask = partial(self.once, timeout_s=min(self.settings.timeout_s, _LONGEST_PROBE_S))
        while True:
            try:
                if tools:
                    said = ask(TOOL_PROBE, (READY,), limit=_PROBE_CALL_TOKENS)
                    if fault := tools_fault(said, partial(ask, TOOL_PROBE, limit=_PROBE_TOKENS), name):
                        raise fault
                else:
                    ask(PROBE, limit=_PROBE_TOKENS)
                return f"{name} answered a first small call in {time.monotonic() - began:.1f} s"
            except ConnectionFailed as failure:
                raise self._telling.never_there(failure) from None
            except RateLimited as busy:
                return f"{name} is available but busy: {busy}"
            except RetryableFailure as failure:
                is_over = isinstance(failure, NotAnApi) or time.monotonic() - began > _LONGEST_PROBE_S
                pause = None if is_over else next(pauses, None)
                if pause is None:
                    raise self._telling.not_ready(failure) from None
                self.halt.wait(pause)
            except AccessDenied as refusal:
                raise self._telling.refused(refusal) from None
            except CallFailure as failure:
                return f"{name} is available but rejected a first small call: {failure}"

    def _patiently(self, messages: Messages, tools: Messages, *, chances: bool) -> Completion:
        """Retry until there is a reply, and record in it the time spent waiting for the provider."""
        self._settle()
        began, queued_s, waited_s, attempt = time.monotonic(), 0.0, 0.0, 0
        while True:
            try:
                with self._gate.passed(self.halt) as in_queue_s:
                    attempt, queued_s = attempt + 1, queued_s + in_queue_s
                    waited_s = time.monotonic() - began if attempt > 1 else in_queue_s
                    if self.halt.is_set():
                        raise Cancelled("interrupted while asking the model")
                    if self.settings.meter is not None:
                        self.settings.meter.admit()
                    return replace(self._asked(messages, tools, chances=chances), waited_s=waited_s)
            except RetryableFailure as failure:
                if isinstance(failure, ConnectionFailed) and not self._is_met:
                    raise self._telling.never_there(failure) from None
                told, spent_s = failure.retry_after, time.monotonic() - began
                pause = pause_s(attempt, self.settings.first_pause_s) if told is None else told
                if max(spent_s - queued_s, self._gate.unanswered_s) + pause >= self.settings.patience_s:
                    raise self._telling.gave_up(failure, spent_s) from None
                # the rate limit was reported once for all calls
                if pause >= _WORTH_SAYING_S and told is None:
                    self.say(f"{self.settings.name}: {failure}; retrying in {pause:.0f} s")
                self.halt.wait(pause)
            except CallFailure as failure:
                failure.waited_s = waited_s
                raise

    def _asked(
        self, messages: Messages, tools: Messages, *, chances: bool = False, limit: int | None = None,
        timeout_s: float | None = None,
    ) -> Completion:  # fmt: skip
        """Make one attempt, repeated without rejected parameters as long as they can be omitted."""
        sent = messages
        while True:
            request = self.quirks.adapted(self._request(sent, tools, timeout_s), chances=chances, limit=limit)
            try:
                return self._attempt(request, messages, next(self._numbers) if limit is None else 0)
            except CallFailure as failure:
                if tools and refuses_tools(failure):
                    raise self._telling.no_tools(failure) from None
                if not isinstance(failure, Refused) or isinstance(failure, ContentFiltered):
                    raise
                if not self.quirks.work_around(failure, request):
                    if not refuses_reasoning(failure, request["messages"]):
                        raise
                    sent = without_reasoning(sent)

    def _attempt(self, request: dict[str, Any], messages: Messages, number: int) -> Completion:
        """Make one call and parse the reply. If the call is rate-limited, slow down all clients of this provider."""
        asked_at, limit_s = time.monotonic(), request["timeout"]
        silent_for = f"the {limit_s:g} s that --timeout allows" if limit_s == self.settings.timeout_s else f"{limit_s:g} s"
        try:
            answer = ask(request, self._secrets, silent_for)
            said = read_completion(answer, request, number, self.settings.price)
        except CallFailure as failure:
            # LiteLLM rejects a parameter by itself, without calling the server.
            self._is_met |= not isinstance(failure, ConnectionFailed | UnsupportedParameter)
            if isinstance(failure, RetryableFailure):
                self._held_back(failure, asked_at)
            elif not isinstance(failure, UnsupportedParameter):
                self._gate.answered()
            raise
        self._is_met = True
        self._gate.answered()
        return replace(said, lost_reasoning=self.quirks.lost_reasoning(messages, request["messages"], answer.sent))

    def _held_back(self, failure: RetryableFailure, asked_at: float) -> None:
        self._gate.failed()
        told, pause = [], failure.retry_after or 0.0
        if isinstance(failure, RateLimited) and (most := self._gate.crowded(asked_at)) is not None:
            told.append(f"from now on {most} {'call' if most == 1 else 'calls'} at a time")
        # a call whose requested pause exceeds its patience gives up, and does not block other calls
        closed = 0 < pause < self.settings.patience_s and self._gate.close(pause)
        if closed and pause >= _WORTH_SAYING_S:
            told.append(f"the next in {pause:.0f} s")
        if told:
            self.say(f"{self.settings.name}: {failure}; {', '.join(told)}")

    def _request(self, messages: Messages, tools: Messages, timeout_s: float | None) -> dict[str, Any]:
        settings = self.settings
        request: dict[str, Any] = {"model": settings.name, "messages": messages, "timeout": timeout_s or settings.timeout_s}
        request |= {"tools": list(tools)} if tools else {}
        if settings.name == LOCAL:
            return addressed(request)
        if settings.api_base is not None:
            request["api_base"] = settings.api_base
        if settings.api_key is not None or (settings.api_base is not None and self._missing_keys()):
            request["api_key"] = settings.api_key or PLACEHOLDER_KEY
        return request

    def _settle(self) -> None:
        """Ask LiteLLM, once, for each parameter whether the model accepts it, before the first call."""
        with self._settling:
            if self._is_settled:
                return
            litellm = library()
            try:
                model, provider, _, _ = litellm.get_llm_provider(self.settings.name, api_base=self.settings.api_base)
            except Exception:  # noqa: BLE001 - the call itself will say it better
                provider = None
            for name, value in self.requested.items() if provider else ():
                try:
                    litellm.get_optional_params(model=model, custom_llm_provider=provider, **{name: value})
                except litellm.UnsupportedParamsError:
                    self.quirks.drop(name)
            self._is_settled = True

    def _missing_keys(self) -> list[str]:
        environment = library().validate_environment(model=self.settings.name)
        return [str(name) for name in environment["missing_keys"]]

    def _keys(self) -> list[str]:
        return self._missing_keys() or [f"{library().get_llm_provider(self.settings.name)[1].upper()}_API_KEY"]


def tools_fault(said: Completion, without: Callable[[], Completion], name: str) -> SetupFault | None:
    """Return the message if tools do not reach the model; None if they do, or if that cannot be determined.

    `said` answers `TOOL_PROBE` with the tool; `without` makes the call without it, and is used only if `said` contains no call.
    """
    if said.actions:
        return None
    if is_written_call(said.text, (READY,)):
        return SetupFault(f"{name} returned a tool call as text", "tools_not_parsed", hint=_TEXT_HINT)
    if said.usage.estimated or not hides_tools(said, without(), TOOL_PROBE):
        return None
    told = f"{name} does not show tools to the model: its prompt has {said.usage.prompt_tokens} tokens with a tool and without"
    return SetupFault(told, "tools_not_seen", hint=_TEXT_HINT)


def hides_tools(said: Completion, bare: Completion, messages: Sequence[dict[str, Any]]) -> bool:
    """Return True if a server counts as many tokens for a prompt without tools (`bare`) as for the same prompt with them.

    A count that is too small for any prompt of this length is ignored, because some servers report made-up numbers.
    """
    is_counted = not (said.usage.estimated or bare.usage.estimated)
    is_plausible = bare.usage.prompt_tokens >= len(json.dumps(messages)) / _MOST_CHARACTERS_A_TOKEN
    return is_counted and is_plausible and bare.usage.prompt_tokens >= said.usage.prompt_tokens


def without_system(messages: Messages) -> list[dict[str, Any]]:
    """Return the messages with the text of system messages prepended to the first user message."""
    system = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "system")
    others = [dict(message) for message in messages if message["role"] != "system"]
    first = next((message for message in others if message["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": system}, *others]
    if system:
        first["content"] = f"{system}\n\n{first['content']}"
    return others


def carries_reasoning(messages: Messages) -> bool:
    """Return True if a message of the model contains reasoning."""
    return any(True for message in messages for _ in reasoning_texts(message))


def has_arrived(sent: str | bytes, messages: Messages) -> bool:
    """Return True if a request body contains the latest reasoning in `messages`, or if that cannot be determined."""
    latest = next((texts for message in reversed(messages) if (texts := list(reasoning_texts(message)))), [])
    try:
        body = json.dumps(json.loads(sent), ensure_ascii=False)
    except ValueError:
        return True
    return all(json.dumps(text, ensure_ascii=False)[1:-1] in body for text in latest)


def refuses_reasoning(refusal: Refused, messages: Messages) -> bool:
    """Return True if a rejection may concern the reasoning in the messages, or fields that a server does not know."""
    is_parameter = isinstance(refusal, UnsupportedParameter) or re.search("temperature|logprobs", str(refusal))
    is_about = refusal.status in {400, 422} and _REASONING.search(str(refusal))
    return not is_parameter and bool(is_about) and carries_reasoning(messages)


def _is_about_system(refusal: Refused, roles: Collection[str]) -> bool:
    """Return True if the server rejects the system role itself, not the content of a system message or the order of roles."""
    if "system" not in roles or ("assistant" in roles and "roles must alternate" in str(refusal).lower()):
        return False
    return _SYSTEM.search(str(refusal)) is not None and _NOT.search(str(refusal)) is not None


def _is_about(parameter: str, refusal: Refused) -> bool:
    """Return True if the rejection is about this parameter."""
    return (isinstance(refusal, UnsupportedParameter) or refusal.status in {400, 422}) and parameter in str(refusal)


_text = partial(json.dumps, ensure_ascii=False, default=str)


def _digest(messages: Messages, tools: Messages) -> tuple[int, int]:
    """Return a hash of a prompt, and its number of characters."""
    text = "\n".join(map(_text, (*tools, *messages)))
    return hash(text), len(text)
