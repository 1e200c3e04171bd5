"""Classes of failed model calls, and what people are told of them: which model, at which address, the server's words, what to do.

`Transient` failures are retried, `Refused` ones are not, and `Denied` is a refusal that every other call would meet too.
`ContextFull` and `UnreadableCall` are about what was said. How failures are told apart is in `classification`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from harness.errors import OutOfPatience, ProviderFailure, ProviderLost, SetupFault, Unreachable
from worlds.core.errors import ParleyError

Why = Literal["key", "quota", "access", "model", "stream"]

_DENIALS: dict[Why, str] = {
    "key": "does not accept the key",
    "quota": "says that the account has nothing left to spend",
    "access": "does not let this account in",
    "model": "knows no such model, or has nothing at that address",
    "stream": "answers in streams alone, which a run does not request",
}
_ANOTHER_SERVER = "--api-base URL of a server, or of a proxy before it, that answers without streaming"


class CallFailure(ParleyError):
    """One model call failed."""

    where: str | None = None
    """The server that was really asked, where that is known."""

    waited_s: float = 0.0
    """Real seconds for which the provider kept us waiting before the call that failed."""


class Transient(CallFailure):
    """A failure that a retry may cure; `retry_after` is the pause that the provider asked for, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Silent(Transient):
    """The server sent no complete answer: a timeout, or a connection that broke."""


class Unconnected(Silent):
    """No connection was made: refused, no such host, no route, no common TLS."""

    proxy: str | None = None
    """The variable and the address of the proxy that should have made it, where there is one."""


class Crowded(Transient):
    """A rate limit: the provider gets more calls, or tokens, than it takes at a time."""


class NoApi(Transient):
    """A web page answered, which is no API of models."""

    hint = "--api-base URL of an API; most end in /v1"


class Streamed(NoApi):
    """A stream answered a request that asked for none."""

    hint = _ANOTHER_SERVER


class Refused(CallFailure):
    """The provider will not answer this request, however often it is repeated."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ParameterRefused(Refused):
    """LiteLLM knows that the model does not take a parameter."""


class Denied(Refused):
    """The provider answers no request like ours, whatever is said in it."""

    def __init__(self, message: str, status: int | None, why: Why) -> None:
        super().__init__(message, status)
        self.why: Why = why


class Withheld(Refused):
    """The provider's content filter withheld the reply."""


class ContextFull(CallFailure):
    """The conversation is longer than the model can read."""


class UnreadableCall(CallFailure):
    """The model wrote a tool call that cannot be read: nested thousands deep, or refused by the server (`tool_use_failed`)."""


class Telling:
    """Messages about the failures of one model.

    A failure that every other call would meet too is a ProviderLost and ends the run; one of a single call is a ProviderFailure.
    """

    def __init__(self, name: str, base: str | None, keys: Callable[[], Sequence[str]]) -> None:
        """`base` is the address that was typed, without secrets; `keys` names the variables that hold the key."""
        self._name, self._base, self._keys = name, base, keys

    @property
    def name(self) -> str:
        """The model, and where it is asked if that was typed."""
        return f"{self._name} at {self._base}" if self._base else self._name

    def gave_up(self, last: Transient, seconds: float) -> OutOfPatience:
        """Patience is used up."""
        asked = f", which asks to wait {last.retry_after:g} s" if last.retry_after else ""
        hint = "see that the server is up, or run again later with --resume"
        failure = OutOfPatience(f"{self._name}: no answer from {self._at(last)} in {seconds:.0f} s{asked}: {last}", hint=hint)
        failure.name = "provider_timeout" if isinstance(last, Silent) else "provider_error"
        return failure

    def never_there(self, failure: Unconnected) -> Unreachable:
        """No connection was made to the server, from the first call on."""
        if failure.proxy is not None:
            variable = failure.proxy.partition("=")[0]
            hint = f"start that proxy, unset {variable}, or name the host of {self._at(failure)} in NO_PROXY"
            return Unreachable(f"{self._name}: the proxy {failure.proxy} cannot be used: {failure}", hint=hint)
        if self._base is None:
            hint = "see that this machine has a network, or --api-base URL for a server that it reaches"
            return Unreachable(f"{self._name}: {self._at(failure)} cannot be reached: {failure}", hint=hint)
        hint = "start that server, or type another --api-base URL"
        return Unreachable(f"{self._name}: nobody answers at {self._base}: {failure}", hint=hint)

    def refused(self, refusal: Refused) -> ProviderFailure:
        """The provider does not answer this request, or no request at all."""
        if isinstance(refusal, Denied):
            told = f"{self._name}: {self._at(refusal)} {_DENIALS[refusal.why]}: {refusal}"
            return ProviderLost(told, hint=self._cure(refusal.why))
        is_withheld = isinstance(refusal, Withheld)
        did = "" if is_withheld else " refused the request"
        failure = ProviderFailure(f"{self._name}: {self._at(refusal)}{did}: {refusal}")
        failure.name = "content_filter" if is_withheld else "provider_refusal"
        return failure

    def no_tools(self, failure: CallFailure) -> SetupFault:
        """The server takes no tools."""
        told = f"{self._name}: {self._at(failure)} takes no tools: {failure}; run with --protocol text"
        return SetupFault(told, "tools_not_seen", hint="harness run ... --protocol text")

    def not_ready(self, last: Transient) -> ProviderLost:
        """The one call before a run brought no answer."""
        if isinstance(last, NoApi):
            return ProviderLost(f"{self._name}: {self._at(last)} answers with {last}", hint=last.hint)
        hint = "see that the server is up and has the model ready, or --no-probe to begin all the same"
        return ProviderLost(f"{self._name}: no answer from {self._at(last)} to a first call: {last}", hint=hint)

    def _at(self, failure: CallFailure) -> str:
        return self._base or failure.where or "its provider"

    def _cure(self, why: Why) -> str:
        if why == "key":
            return f"check {' and '.join(self._keys()) or 'the API key'}"
        if why == "model":
            of = f"; {self._base.rstrip('/')}/models lists what is served" if self._base else ""
            return f"check --model {self._name}{of}"
        return _ANOTHER_SERVER if why == "stream" else "see to that account, or use another one's key"
