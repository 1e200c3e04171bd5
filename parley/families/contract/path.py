"""Mutations, value handles and back-off between an agent and a contract's world.

A request goes through these steps. `mutate` changes the agent's bytes, as agent runtimes do in production. With `handles`,
handles are replaced by the stored values. With `mitigate=backoff`, the request waits in virtual time as servers ask: after an
answer with Retry-After (RFC 9110 section 10.2.3, in seconds), or with X-RateLimit-Remaining: 0 and a Reset, the next request to
the same path waits for the rest of that time (the paper's third lever, Appendix A). With `mitigate=ttl`, X-Expires-In is added
to answers that issue something. Mutations act in the order in which they are named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from harness.agents.handles import HandleStore, resolving
from harness.errors import UsageError
from worlds.contract.mutations import mutate_transport, parse_mutation
from worlds.core.errors import ManifestError
from worlds.core.manifest import OptionValue
from worlds.core.wire import Transport, WireRequest, WireResponse

_CLOCK, _WAIT = b"/clock", b"/clock/wait"


class BackOff:
    """A transport that waits as servers request."""

    def __init__(self, transport: Transport) -> None:
        self._send = transport
        self._free_at: dict[bytes, float] = {}

    def __call__(self, request: WireRequest) -> WireResponse:
        """Wait for the rest of this path's back-off, then send."""
        left = self._free_at.get(request.path, 0.0) - self._now() if request.path in self._free_at else 0.0
        if left > 0:
            self._send(WireRequest("POST", _WAIT, body=json.dumps({"seconds": left}).encode()))
        answer = self._send(request)
        self._free_at.pop(request.path, None)
        if asked := _asked(answer):
            self._free_at[request.path] = _seconds(answer.header("X-Virtual-Time")) + asked
        return answer

    def _now(self) -> float:
        return _seconds(self._send(WireRequest("GET", _CLOCK)).header("X-Virtual-Time"))


def _asked(answer: WireResponse) -> float:
    """Return the back-off that the answer requests, in seconds."""
    if answer.header("Retry-After") is not None:
        return _seconds(answer.header("Retry-After"))
    return _seconds(answer.header("X-RateLimit-Reset")) if answer.header("X-RateLimit-Remaining") == "0" else 0.0


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0


STORE = HandleStore
"""Class of the value store of an episode with `handles`."""

MITIGATIONS = ("backoff", "ttl")


def check(options: Mapping[str, OptionValue]) -> None:
    """Raise UsageError for an unknown mutation or mitigation."""
    for mutation in _parts(options, "mutate"):
        try:
            parse_mutation(mutation)
        except ManifestError as error:
            raise UsageError(str(error)) from None
    for name in _parts(options, "mitigate"):
        if name not in MITIGATIONS:
            raise UsageError(f"mitigate must be {' or '.join(MITIGATIONS)}, joined by +, not {name!r}")


def routed(send: Transport, options: Mapping[str, OptionValue], handles: HandleStore | None) -> Transport:
    """Return `send` wrapped in everything that the options enable. Raises UsageError for unknown values."""
    check(options)
    if "backoff" in _parts(options, "mitigate"):
        send = BackOff(send)
    if handles is not None:
        send = resolving(send, handles)
    for mutation in reversed(_parts(options, "mutate")):
        send = mutate_transport(send, mutation)
    return send


def _parts(options: Mapping[str, OptionValue], name: str) -> list[str]:
    """Split an option at each +. Empty parts are kept, so that they are refused."""
    text = str(options.get(name) or "")
    return text.split("+") if text else []
