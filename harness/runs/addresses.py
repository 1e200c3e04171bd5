"""Confirmation of API addresses: a key is sent only to an address that a person typed or confirmed, never on a file's word.

A run.json or a configuration that came from elsewhere may name any server. An address is the base URL of a server, or the name
of a model if a provider accepts its server's address there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from harness.agent import AgentSpec
from harness.errors import UsageError
from harness.secrets import HIDDEN, public_address

Confirmed = Callable[[str], bool]
"""Callback that asks a person to confirm a sentence, and returns True for yes."""


class Names(NamedTuple):
    """Names of the file in messages: `runs/a/run.json`, and the beginning of a sentence, `runs/a was played`."""

    file: str
    sentence: str


def settled(
    spec: AgentSpec, names: Names, *, typed: str | None, confirmed: Confirmed, typed_models: frozenset[str] = frozenset()
) -> AgentSpec:
    """Return the spec of a file with the final address: `typed`, or the file's own if a person confirms it.

    Raises UsageError, with the flag to type, for an address that is not confirmed. `typed_models` are models that were typed,
    so they need no confirmation.
    """
    for model in _models(spec):
        if "//" in model and model not in typed_models and not confirmed(f"{names.sentence} by {model}"):
            raise UsageError(f"{names.file} names an address as its model: {model}", hint=f"--model {model}")
    if spec.api_base is not None and typed is None and HIDDEN in spec.api_base:
        raise UsageError(f"{names.file} names {spec.api_base} without its key", hint="the same command with --api-base URL")
    if spec.api_base is not None and typed is None and not confirmed(f"{names.sentence} at {public_address(spec.api_base)}"):
        raise UsageError(
            f"{names.file} names {spec.api_base}, and a file does not decide where an API key is sent",
            hint=f"the same command with --api-base {spec.api_base}",
        )
    return spec if typed is None else spec.model_copy(update={"api_base": typed})


def _models(spec: AgentSpec) -> Iterator[str]:
    yield from (name for name in (spec.model, *(seat.name for seat in spec.holders if seat.kind == "model")) if name)
