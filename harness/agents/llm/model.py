"""A model that can be asked: parameters it takes, retries by total time, and tokens and cost on every answer.

1. `check` says before anything starts what would fail anyway: a provider nobody knows, a key that is not set, no scheme.
2. A parameter that the model refuses (`gpt-5` takes no temperature) is left out and said once; `requested` and `effective`
   are both kept. LiteLLM is asked first; a provider that refuses where LiteLLM did not know is believed too.
3. A failed call is repeated until `patience_s` is used up, after Retry-After where the provider names it, else after
   exponential pauses. All that time is the provider's: `Completion.waited_s` lets an agent keep it off its wall budget.
   Where nobody was there from the first, nobody is waited for: that is a mistyped address or a server that was not started.
One client serves a whole run, from many threads.
"""

from __future__ import annotations

import difflib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_before_delay, wait_random_exponential
from tenacity.nap import sleep_using_event

from harness.agents.llm.chances import ASKED
from harness.agents.llm.completion import Completion, listed_price, read_completion
from harness.agents.llm.meter import Meter
from harness.agents.llm.provider import (
    ParameterRefused,
    Refused,
    Transient,
    Unconnected,
    ask,
    library,
    public_address,
    scrub,
    secrets_of,
)
from harness.errors import Cancelled, OutOfPatience, ProviderFailure, Unreachable, UsageError
from harness.prices import Price
from worlds.core.errors import ParleyError

PLACEHOLDER_KEY = "parley-placeholder"
"""What a server behind --api-base is shown where the environment has no key."""

_LONGEST_PAUSE_S = 60.0
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

    timeout_s: float = 300.0
    """Real seconds one call may be silent."""

    patience_s: float = 600.0
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
        litellm, settings = library(), self.settings
        if settings.api_base is not None and not settings.api_base.startswith(("http://", "https://")):
            base = public_address(settings.api_base)
            raise UsageError(f"--api-base must begin with http:// or https://, not {base!r}", hint=f"--api-base http://{base}")
        try:
            litellm.get_llm_provider(settings.name, api_base=settings.api_base)
        except Exception:  # noqa: BLE001 - whatever it raises, it does not know the provider
            raise _unknown_provider(litellm, settings) from None
        missing = self._missing_keys()
        if missing and settings.api_base is None and settings.api_key is None:
            hint = f"export {missing[0]}=..., or --api-base URL for a server that takes any key"
            raise UsageError(f"{settings.name} needs {' and '.join(missing)}, not set here", hint=hint)
        self._settle_parameters()

    def complete(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = (), *, chances: bool = False
    ) -> Completion:
        """One answer, with the chances of its tokens where these are asked for and the provider names them.

        Raises ProviderFailure when patience is used up or the provider refuses, Unreachable, ContextFull, and LimitReached
        where the run may spend no more.
        """
        started = time.monotonic()
        try:
            self._settle_parameters()
            for attempt in self._retrying():
                with attempt:
                    asked = time.monotonic()
                    # What failed attempts and pauses took; the first attempt waits for nothing.
                    waited = asked - started if attempt.retry_state.attempt_number > 1 else 0.0
                    return self._attempt(messages, tools, waited, chances=chances)
        except Transient as last:
            if isinstance(last, Unconnected) and not self._met:
                raise self._never_there(last) from None
            raise self._gave_up(str(last), time.monotonic() - started, last.retry_after) from None
        except Refused as refusal:
            raise self._refused(refusal) from None
        raise AssertionError("tenacity returns or raises")

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

    def _attempt(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], waited_s: float, *, chances: bool
    ) -> Completion:
        if self.halt.is_set():
            raise Cancelled("interrupted while asking the model")
        if self.settings.meter is not None:
            self.settings.meter.admit()
        request = self._request(messages, tools, chances=chances)
        while True:
            try:
                response = self._ask(request)
                break
            except Refused as refusal:
                self._do_without(refusal, request)
                request = self._request(messages, tools, chances=chances)
        with self._lock:
            self._answers += 1
            number = self._answers
        completion = read_completion(response, request, number, waited_s, self.settings.price)
        if self.settings.meter is not None:
            self.settings.meter.add(completion.usage)
        return completion

    def _ask(self, request: dict[str, Any]) -> Any:
        try:
            response = ask(request, self._secrets())
        except ParleyError as failure:
            # LiteLLM refuses a parameter by itself, without asking anybody.
            self._met |= not isinstance(failure, Unconnected | ParameterRefused)
            raise
        self._met = True
        return response

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

    def _retrying(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception(self._may_pass),
            stop=stop_before_delay(self.settings.patience_s),
            wait=self._pause,
            before_sleep=self._announce,
            sleep=sleep_using_event(self.halt),
            reraise=True,
        )

    def _may_pass(self, failure: BaseException) -> bool:
        return isinstance(failure, Transient) and (self._met or not isinstance(failure, Unconnected))

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, Transient) and error.retry_after is not None:
            return error.retry_after
        return wait_random_exponential(multiplier=self.settings.first_pause_s, max=_LONGEST_PAUSE_S)(state)

    def _announce(self, state: RetryCallState) -> None:
        pause = state.upcoming_sleep
        if pause >= _WORTH_SAYING_S and state.outcome is not None:
            self.say(f"{self.settings.name}: {state.outcome.exception()}; asking again in {pause:.0f} s")

    def _gave_up(self, last: str, seconds: float, retry_after: float | None) -> OutOfPatience:
        where = public_address(self.settings.api_base) if self.settings.api_base else "the provider"
        asked = f", which asks to wait {retry_after:g} s" if retry_after else ""
        hint = "see that the server is up, or run again later with --resume"
        return OutOfPatience(f"{self.settings.name}: no answer from {where}{asked} in {seconds:.0f} s: {last}", hint=hint)

    def _never_there(self, failure: Unconnected) -> Unreachable:
        if self.settings.api_base is None:
            hint = "see that this machine has a network, or --api-base URL for a server that it reaches"
            return Unreachable(f"{self.settings.name}: its provider cannot be reached: {failure}", hint=hint)
        where = public_address(self.settings.api_base)
        hint = "start that server, or type another --api-base URL"
        return Unreachable(f"{self.settings.name}: nobody answers at {where}: {failure}", hint=hint)

    def _refused(self, refusal: Refused) -> ProviderFailure:
        name = self.settings.name
        if refusal.status in {401, 403}:
            keys = self._missing_keys() or self._known_keys()
            hint = f"check {' and '.join(keys)}" if keys else "check the API key"
            return ProviderFailure(f"{name}: the provider does not accept the key: {refusal}", hint=hint)
        return ProviderFailure(f"{name}: the provider refused the request: {refusal}")

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
