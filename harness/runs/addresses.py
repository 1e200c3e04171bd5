"""Confirmation of API addresses: an API key is sent only to an address that a person typed or confirmed.

An address that is only in a file is not trusted, because a run.json or a configuration from elsewhere may name any server. An
address is the base URL of a server, or the name of a model if its provider accepts a server's address as part of the name.
"""

from __future__ import annotations

from harness.agent import AgentSpec
from harness.errors import UsageError
from harness.runs.request import Confirmed
from harness.secrets import HIDDEN, public_address


def settled(
    spec: AgentSpec, file: str, sentence: str, *, typed: str | None, confirmed: Confirmed,
    typed_models: frozenset[str] = frozenset(),
) -> AgentSpec:  # fmt: skip
    """Return a recorded spec with its final address: `typed`, or else the recorded one if a person confirms it.

    `file` is the name of the file in messages (`runs/a/run.json`), and `sentence` the beginning of a message (`runs/a was
    played`). Raises UsageError, with the flag to type, for an address that is not confirmed. `typed_models` are models that
    were typed, so they need no confirmation.
    """
    for model in spec.models:
        if "//" in model and model not in typed_models and not confirmed(f"{sentence} by {model}"):
            raise UsageError(f"{file} names an address as its model: {model}", hint=f"--model {model}")
    if spec.api_base is not None and typed is None and HIDDEN in spec.api_base:
        raise UsageError(f"{file} names {spec.api_base} without its key", hint="the same command with --api-base URL")
    if spec.api_base is not None and typed is None and not confirmed(f"{sentence} at {public_address(spec.api_base)}"):
        why = f"{file} names {spec.api_base}, and a file does not decide where an API key is sent"
        raise UsageError(why, hint=f"the same command with --api-base {spec.api_base}")
    return spec if typed is None else spec.model_copy(update={"api_base": typed})
