"""What lies on the path between an agent and a contract's world: mutations, value handles, back-off.

Seen from the agent: `mutate` does to its bytes what production paths do; then, with `handles`, names become the values they
stand for; then, with `mitigate=backoff`, waits that were asked for are waited out; then comes the world, which by
`mitigate=ttl` adds X-Expires-In to answers that issue something. Mutations act in the order in which they are named:
`clip=200+resort` first clips what the agent wrote, then sorts what is left.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.agents.handles import HandleStore, resolving
from harness.errors import UsageError
from harness.families.contract.backoff import BackOff
from worlds.contract.mutations import mutating, parse
from worlds.core.errors import ManifestError
from worlds.core.manifest import OptionValue
from worlds.core.wire import Transport

MITIGATIONS = ("backoff", "ttl")


def check(options: Mapping[str, OptionValue]) -> None:
    """Raise UsageError for a mutation or mitigation that does not exist."""
    for mutation in _parts(options, "mutate"):
        try:
            parse(mutation)
        except ManifestError as error:
            raise UsageError(str(error)) from None
    for name in _parts(options, "mitigate"):
        if name not in MITIGATIONS:
            raise UsageError(f"mitigate must be {' or '.join(MITIGATIONS)}, joined by +, not {name!r}")


def routed(send: Transport, options: Mapping[str, OptionValue], handles: HandleStore | None) -> Transport:
    """`send` behind everything that the options put in front of it; raises UsageError for what does not exist."""
    check(options)
    if "backoff" in _parts(options, "mitigate"):
        send = BackOff(send)
    if handles is not None:
        send = resolving(send, handles)
    for mutation in reversed(_parts(options, "mutate")):
        send = mutating(send, mutation)
    return send


def _parts(options: Mapping[str, OptionValue], name: str) -> list[str]:
    """What is joined by + in an option; an empty part stays, to be refused."""
    text = str(options.get(name) or "")
    return text.split("+") if text else []
