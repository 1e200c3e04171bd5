"""The mutations of the contract family, by the text that `--mutate` takes: one or several, joined by +.

`clip=200+resort` first clips what the agent wrote, then sorts what is left: in the order in which they are named, seen from
the agent.
"""

from __future__ import annotations

from harness.errors import UsageError
from worlds.contract.mutations import mutating as mutating_one
from worlds.contract.mutations import parse
from worlds.core.errors import ManifestError
from worlds.core.wire import Transport


def check(text: str) -> None:
    """Raise UsageError for a mutation that does not exist."""
    for mutation in text.split("+"):
        try:
            parse(mutation)
        except ManifestError as error:
            raise UsageError(str(error)) from None


def mutating(transport: Transport, text: str) -> Transport:
    """`transport` behind all of them; raises UsageError for an unknown one."""
    check(text)
    for mutation in reversed(text.split("+")):
        transport = mutating_one(transport, mutation)
    return transport
