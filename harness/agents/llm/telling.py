"""Messages about failed calls: which model, at which address, what the server said, and what to do next.

A failure that every other call would meet too is a ProviderLost and ends the run; one of a single call is a ProviderFailure.
Each carries the name of its row in `harness.causes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.agents.llm.failures import CallFailure, Denied, NoApi, Refused, Streamed, Transient, Unconnected, Why, Withheld
from harness.agents.llm.provider import public_address
from harness.errors import OutOfPatience, ProviderFailure, ProviderLost, SetupFault, Unreachable

_DENIALS: dict[Why, str] = {
    "key": "does not accept the key",
    "quota": "says that the account has nothing left to spend",
    "access": "does not let this account in",
    "model": "knows no such model, or has nothing at that address",
}


class Telling:
    """Messages about the failures of one model."""

    def __init__(self, name: str, api_base: str | None, keys: Callable[[], Sequence[str]]) -> None:
        """`keys` names the variables that hold its key, asked for when they are to be named."""
        self._name, self._keys = name, keys
        self._base = public_address(api_base) if api_base else None

    @property
    def name(self) -> str:
        """The model, and where it is asked if that was typed."""
        return f"{self._name} at {self._base}" if self._base else self._name

    def gave_up(self, last: Transient, seconds: float) -> OutOfPatience:
        """Patience is used up."""
        asked = f", which asks to wait {last.retry_after:g} s" if last.retry_after else ""
        hint = "see that the server is up, or run again later with --resume"
        failure = OutOfPatience(f"{self._name}: no answer from {self._at(last)} in {seconds:.0f} s{asked}: {last}", hint=hint)
        failure.name = "provider_timeout" if last.is_silence else "provider_error"
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
        if isinstance(refusal, Withheld):
            withheld = ProviderFailure(f"{self._name}: {self._at(refusal)}: {refusal}")
            withheld.name = "content_filter"
            return withheld
        if not isinstance(refusal, Denied):
            failure = ProviderFailure(f"{self._name}: {self._at(refusal)} refused the request: {refusal}")
            failure.name = "provider_refusal"
            return failure
        told = f"{self._name}: {self._at(refusal)} {_DENIALS[refusal.why]}: {refusal}"
        return ProviderLost(told, hint=self._cure(refusal.why))

    def no_tools(self, failure: CallFailure) -> SetupFault:
        """The server takes no tools."""
        told = f"{self._name}: {self._at(failure)} takes no tools: {failure}; run with --protocol text"
        return SetupFault(told, "tools_not_seen", hint="harness run ... --protocol text")

    def not_ready(self, last: Transient) -> ProviderLost:
        """The one call before a run brought no answer."""
        if isinstance(last, NoApi):
            hint = "--api-base URL of an API; most end in /v1"
            if isinstance(last, Streamed):
                hint = "--api-base URL of a server, or of a proxy before it, that answers without streaming"
            return ProviderLost(f"{self._name}: {self._at(last)} answers with {last}", hint=hint)
        hint = "see that the server is up and has the model ready, or --no-probe to begin all the same"
        return ProviderLost(f"{self._name}: no answer from {self._at(last)} to a first call: {last}", hint=hint)

    def _at(self, failure: CallFailure) -> str:
        return self._base or failure.where or "its provider"

    def _cure(self, why: Why) -> str:
        if why == "key":
            keys = self._keys()
            return f"check {' and '.join(keys)}" if keys else "check the API key"
        if why == "model":
            of = f"; {self._base.rstrip('/')}/models lists what is served" if self._base else ""
            return f"check --model {self._name}{of}"
        return "see to that account, or use another one's key"
