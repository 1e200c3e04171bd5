"""A model client: parameters that the model takes, retries by total time, and tokens and cost of every answer.

1. `check` reports before anything starts what would fail anyway: an unknown provider, a missing key, an address without scheme.
2. What the model refuses (`gpt-5` takes no temperature) is left out and reported once (see `quirks`). LiteLLM is asked first,
   then the provider is believed.
3. A failed call is retried until `patience_s` is used up, except where no server was ever reached. That time is the provider's:
   `Completion.waited_s` keeps it off an agent's wall budget. Waiting for others at the provider's gate uses up no patience,
   since there the provider answers somebody; where it answers nobody, all questions share one patience.
4. `probe` makes one or two small calls before a run. A model that calls the offered tool sees it. Where no call comes and the
   prompt has as many tokens with the tool as without, the server drops tools. A model that ignores tools is an agent like any.
5. One client serves a run, from many threads.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from harness.agent import PATIENCE_S, TIMEOUT_S
from harness.agents.llm.completion import Completion, is_written_call, read_completion, without_reasoning
from harness.agents.llm.failures import (
    CallFailure,
    Crowded,
    Denied,
    NoApi,
    ParameterRefused,
    Refused,
    Telling,
    Transient,
    Unconnected,
    Withheld,
    refuses_tools,
)
from harness.agents.llm.gate import ProviderGate, gate_of
from harness.agents.llm.local import LOCAL, addressed, check_installed
from harness.agents.llm.meter import Meter
from harness.agents.llm.model_table import listed_price, no_key, require_key
from harness.agents.llm.provider import ask, library, own_bugs, public_address, secrets_of, unknown_provider
from harness.agents.llm.quirks import ContextBudget, Quirks, refuses_reasoning
from harness.errors import Cancelled, SetupFault, UsageError
from harness.prices import Price

PROBE = ({"role": "user", "content": "Answer with one word: ready"},)
TOOL_PROBE = ({"role": "user", "content": "Call the tool `ready` now. If there is no such tool, answer with one word: no"},)
READY: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "ready", "description": "Say that you are ready.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    },
}  # fmt: skip
"""What a model is asked before a run that needs no tools, and before one that does, with the tool that is offered then."""

PLACEHOLDER_KEY = "parley-placeholder"
"""What a server behind --api-base is shown where the environment has no key."""

_TEXT_HINT = "harness run ... --protocol text"
_PROBE_TOKENS, _PROBE_CALL_TOKENS, _LONGEST_PROBE_S = 16, 64, 30.0
_PROBE_PAUSES_S = (0.5, 1.0, 2.0)
_MOST_CHARACTERS_A_TOKEN = 8
_WORTH_SAYING_S = 5.0
_LONGEST_PAUSE_S = 60.0

Messages = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class ModelSettings:
    """Which model, as LiteLLM names it, where, and how patiently.

    None stands for the provider's own address, the key in the environment, no temperature, the provider's limit of output
    tokens, a context of which the server says when it is full, LiteLLM's price, and nobody who counts the calls of a run.
    """

    name: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = 0.0
    max_tokens: int | None = None
    context: int | None = None
    timeout_s: float = TIMEOUT_S
    """Real seconds one call may be silent."""

    patience_s: float = PATIENCE_S
    """Real seconds in which a failing call is repeated, after pauses that start at `first_pause_s` and grow exponentially."""

    first_pause_s: float = 1.0
    price: Price | None = None
    meter: Meter | None = field(default=None, repr=False)


def to_stderr(line: str) -> None:
    """Where a client talks to people, unless told otherwise."""
    print(line, file=sys.stderr, flush=True)


def pause_s(attempt: int, first_s: float) -> float:
    """A random pause after a failed attempt, counted from 1; its limit doubles each time."""
    return random.uniform(0, min(_LONGEST_PAUSE_S, first_s * 2 ** min(attempt - 1, 30)))  # noqa: S311 - no secret


class ModelClient:
    """Asks one model."""

    def __init__(self, settings: ModelSettings, *, say: Callable[[str], None] = to_stderr) -> None:
        self.settings, self.say = settings, say
        asked = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
        self.requested = {name: value for name, value in asked.items() if value is not None}
        self.halt = threading.Event()
        """Set it, from any thread, to end every pause with Cancelled."""

        self.quirks = Quirks(settings.name, self.requested, self.say_once)
        self._base = settings.api_base and public_address(settings.api_base)
        self._telling = Telling(settings.name, self._base, self._keys)
        self._context = ContextBudget(settings.context, settings.max_tokens, settings.name)
        self._secrets = tuple(filter(None, [settings.api_key, *secrets_of(settings.api_base or "")]))
        self._said: set[str] = set()
        self._settled, self._is_met, self._answers = False, False, 0
        """Met: whether somebody has ever spoken at the other end, if only to refuse."""

        self._lock, self._settling, self._probing = threading.Lock(), threading.Lock(), threading.Lock()
        self._is_probed = {False: False, True: False}

    @cached_property
    def _gate(self) -> ProviderGate:
        """The way to its provider, by its address, or by the provider's name where that has the usual one."""
        settings = self.settings
        try:
            usual = library().get_llm_provider(settings.name)[1]
        except Exception:  # noqa: BLE001 - whatever is wrong, the call itself will say it better
            usual = settings.name
        return gate_of(settings.api_base or usual)

    @property
    def name(self) -> str:
        """As LiteLLM names it."""
        return self.settings.name

    @property
    def effective(self) -> dict[str, Any]:
        """The parameters that are really sent, as far as is known now."""
        return self.quirks.effective

    @property
    def price(self) -> Price | None:
        """What its tokens cost, as it was typed or as LiteLLM's table has it; None where nobody knows."""
        return self.settings.price or listed_price(self.settings.name)

    def identity(self) -> dict[str, Any]:
        """What belongs in a frozen plan."""
        context = {} if self.settings.context is None else {"context": self.settings.context}
        return {"model": self.settings.name, "api_base": self._base, "requested": dict(self.requested), **context}

    def check(self) -> None:
        """Raise UsageError for an unknown provider or a missing key; settle which parameters the model takes."""
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
        """One answer, with the chances of its tokens where these are asked for and the provider names them.

        Raises ProviderFailure when patience is used up or the provider refuses, ProviderLost, ContextFull, UnreadableCall,
        LimitReached where the run may spend no more, and ClientFailure for what we did wrong ourselves.
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
        """Make one small call, or with `tools` at most two, before a run begins; only once in the life of this client.

        Raises ProviderLost for a provider that cannot be used, and SetupFault where the model is not shown tools. A server that
        refuses just this call, or says that it is busy, is there and knows us.
        """
        with self._probing, self._gate.visited(), own_bugs():
            if not self._is_probed[tools]:
                self.say_once(self._probe(tools=tools))
            self._is_probed |= {False: True, tools: True}

    def once(self, messages: Messages, tools: Messages = (), *, limit: int, timeout_s: float) -> Completion:
        """Return the answer to one call that is not retried, of at most `limit` tokens; raises CallFailure and SetupFault."""
        self._settle()
        return self._asked(messages, tools, limit=limit, timeout_s=timeout_s)

    def learn(self, effective: Mapping[str, Any]) -> None:
        """Leave out what an earlier call, whose answer is known, was found to be refused."""
        self.quirks.learn(effective)

    def say_once(self, line: str) -> None:
        """Tell people something once in the life of this client."""
        with self._lock:
            new = line not in self._said
            self._said.add(line)
        if new:
            self.say(line)

    def _probe(self, *, tools: bool) -> str:
        """Make the small calls and return what is to be said of them; raises ProviderLost and SetupFault."""
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
            except Unconnected as failure:
                raise self._telling.never_there(failure) from None
            except Crowded as busy:
                return f"{name} is there, and busy: {busy}"
            except Transient as failure:
                is_over = isinstance(failure, NoApi) or time.monotonic() - began > _LONGEST_PROBE_S
                pause = None if is_over else next(pauses, None)
                if pause is None:
                    raise self._telling.not_ready(failure) from None
                self.halt.wait(pause)
            except Denied as refusal:
                raise self._telling.refused(refusal) from None
            except CallFailure as failure:
                return f"{name} is there, and refused a first small call: {failure}"

    def _patiently(self, messages: Messages, tools: Messages, *, chances: bool) -> Completion:
        """Ask until there is an answer, with the seconds for which the provider kept us waiting before it."""
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
            except Transient as failure:
                if isinstance(failure, Unconnected) and not self._is_met:
                    raise self._telling.never_there(failure) from None
                is_told, spent_s = failure.retry_after is not None, time.monotonic() - began
                pause = (
                    failure.retry_after if failure.retry_after is not None else pause_s(attempt, self.settings.first_pause_s)
                )
                if max(spent_s - queued_s, self._gate.unanswered_s) + pause >= self.settings.patience_s:
                    raise self._telling.gave_up(failure, spent_s) from None
                # what closed the way to all was said for all
                if pause >= _WORTH_SAYING_S and not is_told:
                    self.say(f"{self.settings.name}: {failure}; asking again in {pause:.0f} s")
                self.halt.wait(pause)
            except CallFailure as failure:
                failure.waited_s = waited_s
                raise

    def _asked(
        self,
        messages: Messages,
        tools: Messages,
        *,
        chances: bool = False,
        limit: int | None = None,
        timeout_s: float | None = None,
    ) -> Completion:
        """Make one attempt, and another one without whatever was refused, as long as that can be left out."""
        sent = messages
        while True:
            request = self.quirks.adapted(self._request(sent, tools, timeout_s), chances=chances, limit=limit)
            try:
                return self._attempt(request, messages, is_counted=limit is None)
            except CallFailure as failure:
                if tools and refuses_tools(failure):
                    raise self._telling.no_tools(failure) from None
                if not isinstance(failure, Refused) or isinstance(failure, Withheld):
                    raise
                if not self.quirks.work_around(failure, request):
                    if not refuses_reasoning(failure, request["messages"]):
                        raise
                    sent = without_reasoning(sent)

    def _attempt(self, request: dict[str, Any], messages: Messages, *, is_counted: bool) -> Completion:
        """Make one call and return what the answer says, or let all clients of this provider know what this one was told."""
        asked_at, limit_s = time.monotonic(), request["timeout"]
        silent_for = f"the {limit_s:g} s that --timeout allows" if limit_s == self.settings.timeout_s else f"{limit_s:g} s"
        try:
            answer = ask(request, self._secrets, silent_for)
            with self._lock:
                self._answers += is_counted
                number = self._answers
            said = read_completion(answer, request, number, self.settings.price)
        except CallFailure as failure:
            # LiteLLM refuses a parameter by itself, without asking anybody.
            self._is_met |= not isinstance(failure, Unconnected | ParameterRefused)
            if isinstance(failure, Transient):
                self._held_back(failure, asked_at)
            elif not isinstance(failure, ParameterRefused):
                self._gate.answered()
            raise
        self._is_met = True
        self._gate.answered()
        return replace(said, lost_reasoning=self.quirks.lost_reasoning(messages, request["messages"], answer.sent))

    def _held_back(self, failure: Transient, asked_at: float) -> None:
        """Let all clients of this provider know what this one was told."""
        self._gate.failed()
        told, pause = [], failure.retry_after or 0.0
        if isinstance(failure, Crowded) and (most := self._gate.crowded(asked_at)) is not None:
            told.append(f"from now on {most} {'call' if most == 1 else 'calls'} at a time")
        # who is asked to wait for longer than he has patience gives up, and closes the way to nobody
        closed = 0 < pause < self.settings.patience_s and self._gate.close(pause)
        if closed and pause >= _WORTH_SAYING_S:
            told.append(f"the next in {pause:.0f} s")
        if told:
            self.say(f"{self.settings.name}: {failure}; {', '.join(told)}")

    def _request(self, messages: Messages, tools: Messages, timeout_s: float | None) -> dict[str, Any]:
        settings = self.settings
        request: dict[str, Any] = {"model": settings.name, "messages": messages, "timeout": timeout_s or settings.timeout_s}
        if tools:
            request["tools"] = list(tools)
        if settings.name == LOCAL:
            return addressed(request)
        if settings.api_base is not None:
            request["api_base"] = settings.api_base
        if settings.api_key is not None or (settings.api_base is not None and self._missing_keys()):
            request["api_key"] = settings.api_key or PLACEHOLDER_KEY
        return request

    def _settle(self) -> None:
        """Ask LiteLLM, once, for each parameter whether the model takes it; nobody asks the model before that."""
        with self._settling:
            if self._settled:
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
            self._settled = True

    def _missing_keys(self) -> list[str]:
        environment = library().validate_environment(model=self.settings.name)
        return [str(name) for name in environment["missing_keys"]]

    def _keys(self) -> list[str]:
        """The variables that hold its key."""
        return self._missing_keys() or [f"{library().get_llm_provider(self.settings.name)[1].upper()}_API_KEY"]


def tools_fault(said: Completion, without: Callable[[], Completion], name: str) -> SetupFault | None:
    """Return what is wrong with how tools reach the model, None where nothing is, or where nothing can be known.

    `said` answers `TOOL_PROBE` with the tool; `without` asks it without, and is called only where `said` holds no call.
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
    """True where a server counts as many tokens for a prompt without tools (`bare`) as for the same with them.

    A server that counts fewer tokens than any prompt of this length has reports a made-up number, which says nothing.
    """
    is_counted = not (said.usage.estimated or bare.usage.estimated)
    is_plausible = bare.usage.prompt_tokens >= len(json.dumps(messages)) / _MOST_CHARACTERS_A_TOKEN
    return is_counted and is_plausible and bare.usage.prompt_tokens >= said.usage.prompt_tokens
