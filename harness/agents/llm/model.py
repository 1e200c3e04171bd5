"""A model that can be asked: parameters it takes, retries by total time, and tokens and cost on every answer.

1. `check` says before anything starts what would fail anyway: a provider nobody knows, a key that is not set, no scheme.
2. A parameter that the model refuses (`gpt-5` takes no temperature) is left out and said once; `requested` and `effective`
   are both kept. LiteLLM is asked first; a provider that refuses where LiteLLM did not know is believed too.
3. A failed call is repeated until `patience_s` is used up, after Retry-After where the provider names it, else after
   exponential pauses. All that time, and that of waiting for others at the provider's gate, is the provider's:
   `Completion.waited_s` lets an agent keep it off its wall budget.
   Where nobody was there from the first, nobody is waited for: that is a mistyped address or a server that was not started.
4. `probe` is one small call before a run: what would fail every episode is said within seconds.
5. An exception that nobody meant to raise on the way to an answer is a bug of ours (ClientFailure), never the model's doing.
One client serves a whole run, from many threads.
"""

from __future__ import annotations

import difflib
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tenacity import RetryCallState

from harness.agent import PATIENCE_S, TIMEOUT_S
from harness.agents.llm.chances import ASKED
from harness.agents.llm.completion import Completion, read_completion
from harness.agents.llm.failures import CallFailure, Crowded, Denied, NoApi, ParameterRefused, Refused, Transient, Unconnected
from harness.agents.llm.gate import ProviderGate, gate_of
from harness.agents.llm.local import LOCAL, addressed, check_installed
from harness.agents.llm.meter import Meter
from harness.agents.llm.model_table import listed_price, no_key, require_key
from harness.agents.llm.patience import Patience
from harness.agents.llm.provider import ask, library, public_address, scrub, secrets_of
from harness.agents.llm.telling import Telling
from harness.errors import Cancelled, ClientFailure, UsageError
from harness.prices import Price
from worlds.core.errors import ParleyError

PLACEHOLDER_KEY = "parley-placeholder"
"""What a server behind --api-base is shown where the environment has no key."""

PROBE = ({"role": "user", "content": "Answer with one word: ready"},)
"""What a model is asked before a run begins."""

_PROBE_TOKENS = 16
_PROBE_S = 30.0
_PROBE_PAUSES_S = (0.5, 1.0, 2.0)
_WORTH_SAYING_S = 5.0


@dataclass(frozen=True)
class ModelSettings:
    """Which model, where, and how patiently."""

    name: str
    """As LiteLLM names it: `gpt-5`, `anthropic/claude-...`, `openai/anything` with `api_base`."""

    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    """None: from the environment, where LiteLLM looks for it."""

    temperature: float | None = 0.0
    """None: not sent."""

    max_tokens: int | None = None
    """Output tokens of one answer; None: the provider's own limit."""

    timeout_s: float = TIMEOUT_S
    """Real seconds one call may be silent."""

    patience_s: float = PATIENCE_S
    """Real seconds in which a failing call is repeated."""

    first_pause_s: float = 1.0
    """Where exponential pauses start."""

    price: Price | None = None
    """None: as LiteLLM's table has it."""

    meter: Meter | None = field(default=None, repr=False)
    """Counts the calls of a whole run, and may forbid one; None: nobody counts."""

    def parameters(self) -> dict[str, Any]:
        """The sampling parameters asked for."""
        asked = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {name: value for name, value in asked.items() if value is not None}


@contextmanager
def _own_bugs() -> Iterator[None]:
    """What nobody meant to raise while a model is asked is our own doing: neither its answer nor its provider's failure."""
    try:
        yield
    except (ParleyError, OSError, MemoryError):
        raise
    except Exception as bug:
        frame = traceback.extract_tb(bug.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        raise ClientFailure(f"our model client failed at {where}: {type(bug).__name__}: {scrub(str(bug))}") from bug


def to_stderr(line: str) -> None:
    """Where a client talks to people, unless told otherwise."""
    print(line, file=sys.stderr, flush=True)


class ModelClient:
    """Asks one model."""

    def __init__(self, settings: ModelSettings, *, say: Callable[[str], None] = to_stderr) -> None:
        self.settings, self.say = settings, say
        self.requested = settings.parameters()
        self.halt = threading.Event()
        """Set it, from any thread, to end every pause with Cancelled."""

        self._effective = dict(self.requested)
        self._said: set[str] = set()
        self._gives_chances = True
        """Whether the provider names the chances of tokens, as far as is known now."""

        self._settled = False
        self._settling = threading.Lock()
        self._lock = threading.Lock()
        self._answers = 0
        # Whether somebody has ever spoken at the other end, if only to refuse.
        self._met = False
        self._probing, self._is_probed = threading.Lock(), False
        self._telling = Telling(settings.name, settings.api_base, lambda: self._missing_keys() or self._known_keys())

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
        with self._lock:
            return dict(self._effective)

    def identity(self) -> dict[str, Any]:
        """What belongs in a frozen plan."""
        base = self.settings.api_base
        return {"model": self.settings.name, "api_base": base and public_address(base), "requested": dict(self.requested)}

    def check(self) -> None:
        """Raise UsageError for an unknown provider or a missing key; settle which parameters the model takes."""
        if self.settings.name == LOCAL:
            check_installed()
            return
        settings = self.settings
        if settings.api_base is not None and not settings.api_base.startswith(("http://", "https://")):
            base = public_address(settings.api_base)
            raise UsageError(f"--api-base must begin with http:// or https://, not {base!r}", hint=f"--api-base http://{base}")
        needs_key = settings.api_base is None and settings.api_key is None
        if needs_key:
            require_key(settings.name)
        litellm = library()
        try:
            litellm.get_llm_provider(settings.name, api_base=settings.api_base)
        except Exception:  # noqa: BLE001 - whatever it raises, it does not know the provider
            raise _unknown_provider(litellm, settings) from None
        if needs_key and (missing := self._missing_keys()):
            raise no_key(settings.name, missing)
        self._settle_parameters()

    def complete(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = (), *, chances: bool = False
    ) -> Completion:
        """One answer, with the chances of its tokens where these are asked for and the provider names them.

        Raises ProviderFailure when patience is used up or the provider refuses, ProviderLost, ContextFull, UnreadableCall,
        LimitReached where the run may spend no more, and ClientFailure for what we did wrong ourselves.
        """
        with self._gate.visited(), _own_bugs():
            response, request, waited_s = self._answered(messages, tools, chances=chances)
        with self._lock:
            self._answers += 1
            number = self._answers
        completion = read_completion(response, request, number, waited_s, self.settings.price)
        if self.settings.meter is not None:
            self.settings.meter.add(completion.usage)
        return completion

    def probe(self) -> None:
        """One small call before a run begins, once in the life of this client; raises ProviderLost where it shows no provider.

        What a server refuses of just this call, and its saying that it is busy, shows that somebody is there who knows us.
        """
        with self._probing, self._gate.visited(), _own_bugs():
            if not self._is_probed:
                self.say_once(self._probed())
            self._is_probed = True

    def learn(self, effective: Mapping[str, Any]) -> None:
        """Leave out what an earlier call, whose answer is known, was found to be refused."""
        for name in set(self.effective) - set(effective):
            self._drop(name)

    @property
    def price(self) -> Price | None:
        """What its tokens cost, as it was typed or as LiteLLM's table has it; None where nobody knows."""
        return self.settings.price or listed_price(self.settings.name)

    def say_once(self, line: str) -> None:
        """Tell people something once in the life of this client."""
        with self._lock:
            new = line not in self._said
            self._said.add(line)
        if new:
            self.say(line)

    def _answered(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, chances: bool
    ) -> tuple[Any, dict[str, Any], float]:
        """The answer, the request that brought it, and for how many seconds the provider kept us waiting before that."""
        call = Patience(self._gate, self.settings.patience_s, self.settings.first_pause_s)
        try:
            self._settle_parameters()
            for attempt in call.attempts(self._may_pass, self._announce, self.halt):
                with attempt:
                    return *self._attempt(messages, tools, call, chances=chances), call.waited_s
        except Transient as last:
            if isinstance(last, Unconnected) and not self._met:
                raise self._telling.never_there(last) from None
            raise self._telling.gave_up(last, call.seconds) from None
        except Refused as refusal:
            raise self._telling.refused(refusal) from None
        except CallFailure as failure:
            failure.waited_s = call.waited_s
            raise
        raise AssertionError("tenacity returns or raises")

    def _attempt(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], call: Patience, *, chances: bool
    ) -> tuple[Any, dict[str, Any]]:
        with self._gate.passed(self.halt) as queued_s:
            call.begins(queued_s)
            if self.halt.is_set():
                raise Cancelled("interrupted while asking the model")
            if self.settings.meter is not None:
                self.settings.meter.admit()
            request = self._request(messages, tools, chances=chances)
            while True:
                try:
                    return self._ask(request), request
                except Refused as refusal:
                    self._do_without(refusal, request)
                    request = self._request(messages, tools, chances=chances)

    def _probed(self) -> str:
        """Ask for a word; what is to be said of the answer."""
        request = self._request(PROBE, ()) | {"max_tokens": _PROBE_TOKENS, "timeout": min(self.settings.timeout_s, _PROBE_S)}
        began, name = time.monotonic(), self._telling.name
        pauses = iter(_PROBE_PAUSES_S)
        while True:
            try:
                self._ask(request)
                return f"{name} answered a first small call in {time.monotonic() - began:.1f} s"
            except Unconnected as failure:
                raise self._telling.never_there(failure) from None
            except Crowded as busy:
                return f"{name} is there, and busy: {busy}"
            except Transient as failure:
                pause = None if isinstance(failure, NoApi) or time.monotonic() - began > _PROBE_S else next(pauses, None)
                if pause is None:
                    raise self._telling.not_ready(failure) from None
                self.halt.wait(pause)
            except Denied as refusal:
                raise self._telling.refused(refusal) from None
            except CallFailure as failure:
                return f"{name} is there, and refused a first small call: {failure}"

    def _ask(self, request: dict[str, Any]) -> Any:
        asked_at = time.monotonic()
        try:
            response = ask(request, self._secrets())
        except CallFailure as failure:
            # LiteLLM refuses a parameter by itself, without asking anybody.
            self._met |= not isinstance(failure, Unconnected | ParameterRefused)
            if isinstance(failure, Transient):
                self._held_back(failure, asked_at)
            elif not isinstance(failure, ParameterRefused):
                self._gate.answered()
            raise
        self._met = True
        self._gate.answered()
        return response

    def _held_back(self, failure: Transient, asked_at: float) -> None:
        """Let all clients of this provider know what this one was told."""
        self._gate.failed()
        told, pause_s = [], failure.retry_after or 0.0
        if isinstance(failure, Crowded) and (most := self._gate.crowded(asked_at)) is not None:
            told.append(f"from now on {most} {'call' if most == 1 else 'calls'} at a time")
        # who is asked to wait for longer than he has patience gives up, and closes the way to nobody
        closed = 0 < pause_s < self.settings.patience_s and self._gate.close(pause_s)
        if closed and pause_s >= _WORTH_SAYING_S:
            told.append(f"the next in {pause_s:.0f} s")
        if told:
            self.say(f"{self.settings.name}: {failure}; {', '.join(told)}")

    def _do_without(self, refusal: Refused, request: dict[str, Any]) -> None:
        """Leave out what was refused; raises the refusal where it is about nothing that can be left out."""
        if "temperature" in request and _is_about("temperature", refusal):
            self._drop("temperature")
        elif "logprobs" in request and _is_about("logprobs", refusal):
            self._gives_chances = False
            self.say_once(f"{self.settings.name} names no probabilities of tokens: its numbers count as written")
        else:
            raise refusal

    def _request(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, chances: bool = False
    ) -> dict[str, Any]:
        settings = self.settings
        request: dict[str, Any] = {"model": settings.name, "messages": list(messages), "timeout": settings.timeout_s}
        request |= {**self.effective, **(ASKED if chances and self._gives_chances else {})}
        if tools:
            request["tools"] = list(tools)
        if settings.name == LOCAL:
            return addressed(request)
        if settings.api_base is not None:
            request["api_base"] = settings.api_base
        if settings.api_key is not None or (settings.api_base is not None and self._missing_keys()):
            request["api_key"] = settings.api_key or PLACEHOLDER_KEY
        return request

    def _settle_parameters(self) -> None:
        """Ask LiteLLM, once, for each parameter whether the model takes it."""
        # Nobody asks the model before the first thread has found out what it takes.
        with self._settling:
            if not self._settled:
                self._settle()
                self._settled = True

    def _settle(self) -> None:
        litellm = library()
        try:
            model, provider, _, _ = litellm.get_llm_provider(self.settings.name, api_base=self.settings.api_base)
        except Exception:  # noqa: BLE001 - the call itself will say it better
            return
        for name, value in self.requested.items():
            try:
                litellm.get_optional_params(model=model, custom_llm_provider=provider, **{name: value})
            except litellm.UnsupportedParamsError:
                self._drop(name)

    def _drop(self, name: str) -> None:
        with self._lock:
            self._effective.pop(name, None)
        self.say_once(
            f"{self.settings.name} does not take {name} {self.requested[name]:g}: left out, the provider's default applies"
        )

    def _may_pass(self, failure: BaseException) -> bool:
        return isinstance(failure, Transient) and (self._met or not isinstance(failure, Unconnected))

    def _announce(self, state: RetryCallState) -> None:
        pause, failure = state.upcoming_sleep, state.outcome.exception() if state.outcome else None
        # what closed the way to all was said for all
        if pause >= _WORTH_SAYING_S and isinstance(failure, Transient) and failure.retry_after is None:
            self.say(f"{self.settings.name}: {failure}; asking again in {pause:.0f} s")

    def _missing_keys(self) -> list[str]:
        environment = library().validate_environment(model=self.settings.name)
        return [str(name) for name in environment["missing_keys"]]

    def _known_keys(self) -> list[str]:
        provider = library().get_llm_provider(self.settings.name)[1]
        return [f"{provider.upper()}_API_KEY"]

    def _secrets(self) -> tuple[str, ...]:
        settings = self.settings
        return (*filter(None, [settings.api_key]), *(secrets_of(settings.api_base) if settings.api_base else ()))


def _is_about(parameter: str, refusal: Refused) -> bool:
    """Whether a refusal would not have come without a parameter."""
    return (isinstance(refusal, ParameterRefused) or refusal.status in {400, 422}) and parameter in str(refusal)


def _unknown_provider(litellm: Any, settings: ModelSettings) -> UsageError:
    prefix, slash, _ = settings.name.partition("/")
    providers = [str(getattr(p, "value", p)) for p in litellm.provider_list]
    near = difflib.get_close_matches(prefix, providers, n=1)
    if slash and near:
        return UsageError(f"no provider is called {prefix!r}", hint=f"--model {near[0]}/{settings.name.partition('/')[2]}")
    hint = f"--model openai/{settings.name}" if settings.api_base else "--model PROVIDER/NAME, for example openai/gpt-5"
    return UsageError(scrub(f"no provider is known for the model {settings.name!r}"), hint=hint)
