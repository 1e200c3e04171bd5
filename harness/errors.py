"""Errors of the command line, with their exit codes and an optional hint: the next command to type.

ParleyError (worlds.core.errors)
├── HarnessError             exit 2
│   ├── UsageError           exit 2   a wrong flag, option, model or plan
│   ├── UnknownTask          exit 2   no such task; names the nearest
│   ├── GateFailed           exit 1   a completed check with a negative result
│   ├── TaskInvalid          exit 4   a task folder that breaks the format
│   │   └── EndlessLoop               its code did not terminate (parley.proof.plays)
│   ├── BoundaryError        exit 3   a failure outside the task, attributed to its place
│   │   ├── ProviderFailure           the model provider
│   │   │   ├── RetriesExhausted      no answer within the time limit of a call
│   │   │   └── ProviderLost          would affect every episode: ends the run, not only the episode
│   │   │       └── Unreachable       an address that has never answered
│   │   ├── RuntimeFailure            containers, sandboxes, images
│   │   │   ├── ClientFailure         our own model client raised: a bug of ours, not the model's
│   │   │   ├── ImageFailure          an image that can be neither built nor pulled
│   │   │   └── WorkerEnded           a worker process was killed, or died (parley.workers)
│   │   ├── WorldFailure              the world's own process or rules
│   │   ├── VerifierFailure           the verifier
│   │   ├── SetupFault                the run was set up wrongly: tools not seen, context too small
│   │   └── LimitReached              --max-cost or --max-tokens: no further model call is started
│   └── Cancelled            exit 130 the user interrupted; 143 and 129 by TERM and HUP
└── CallFailure (harness.agents.llm.failures)  one model call; handled by its caller
    ├── RetryableFailure              worth a retry
    │   ├── ResponseTimeout           no complete answer: a timeout, a broken connection
    │   │   └── ConnectionFailed      no connection was made; retried if the server has answered before
    │   ├── RateLimited               rate limit; all calls to that provider are delayed
    │   └── NotAnApi                  a web page answered
    │       └── UnexpectedStream      a stream answered a request that asked for none
    ├── Refused                       a retry would not help
    │   ├── ContentFiltered           a content filter withheld the reply
    │   ├── UnsupportedParameter      unless this parameter is omitted
    │   └── AccessDenied              nor would any other call: key, quota, access, model, only streams
    ├── ContextOverflow               the conversation exceeds the model's context
    └── MalformedToolCall             a tool call that cannot be parsed

`boundary()` converts all foreign exceptions to one of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from harness.causes import CauseName, Responsible
from harness.refusals import Cancelled, GateFailed, HarnessError, TaskInvalid, UnknownTask, UsageError, quoted
from worlds.core.errors import ParleyError

__all__ = [
    "BoundaryError", "Cancelled", "ClientFailure", "GateFailed", "HarnessError", "ImageFailure", "LimitReached",
    "ProviderFailure", "ProviderLost", "RetriesExhausted", "RuntimeFailure", "SetupFault", "TaskInvalid", "UnknownTask",
    "Unreachable", "UsageError", "VerifierFailure", "WorldFailure", "boundary", "quoted",
]  # fmt: skip


class BoundaryError(HarnessError):
    """Failure outside the task; `cause` says where."""

    exit_code = 3
    cause: ClassVar[Responsible] = "runtime"
    may_pass: ClassVar[bool] = False
    """True if a later attempt at the same episode may succeed."""

    name: CauseName = "runtime_failure"
    """Row of `harness.causes.CAUSES`."""


class ProviderFailure(BoundaryError):
    """Failure of the model provider, or failure to reach it."""

    cause = "provider"
    name: CauseName = "provider_error"


class RetriesExhausted(ProviderFailure):
    """Timeout: the provider did not answer within the time that one call may wait."""

    may_pass = True
    name: CauseName = "provider_timeout"


class ProviderLost(ProviderFailure):
    """Failure that would affect every episode, so the run ends: a wrong key, an exhausted quota, endless failures."""

    name: CauseName = "provider_lost"


class Unreachable(ProviderLost):
    """Address of a model that has never answered."""


class RuntimeFailure(BoundaryError):
    """Failure of containers, sandboxes or images."""

    cause = "runtime"
    may_pass = True


class ClientFailure(RuntimeFailure):
    """Unexpected exception in our own model client: a bug of ours, not attributed to the model."""

    name: CauseName = "client_failure"


class ImageFailure(RuntimeFailure):
    """Image that can be neither built nor pulled; the message begins with the Dockerfile's `path:line` if one requires it."""

    may_pass = False


class WorldFailure(BoundaryError):
    """World process that died, or rules that raised."""

    cause = "world"
    name: CauseName = "world_fault"


class VerifierFailure(BoundaryError):
    """Verifier that did not deliver a verdict."""

    cause = "verifier"
    name: CauseName = "verifier_failure"


class SetupFault(BoundaryError):
    """Run that is set up wrongly for this model or server, so the episode says nothing about the model."""

    cause = "setup"

    def __init__(self, message: str, name: CauseName, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.name = name


class LimitReached(BoundaryError):
    """Spending limit of the whole run reached: no further model call is made."""

    cause = "limit"
    name: CauseName = "spending_limit"


@contextmanager
def boundary(failure: type[BoundaryError], doing: str, *expected: type[BaseException]) -> Iterator[None]:
    """Convert the `expected` exceptions raised while `doing` something to `failure`; our own exceptions pass through."""
    try:
        yield
    except ParleyError:
        raise
    except expected as error:
        first = str(error).strip().splitlines()
        raise failure(f"{doing}: {first[0] if first else type(error).__name__}") from error
