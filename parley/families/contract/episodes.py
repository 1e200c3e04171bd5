"""Episodes in formats of other programs, by the name that `harness export episodes --format` takes.

`contractbench` is the record of the paper's Appendix G, one JSON object per episode, with its eleven keys and no others:

    task_id               the task
    category              validity, integrity or both
    seed                  the instance
    agent                 the model as LiteLLM names it, or the agent's name without a model
    success               True if the goal was reached and no contract was broken
    failure_label         one of the fifteen labels; SUCCESS for a success
    failure_detail        as in the verdict; for EXPIRED_BEFORE_USE the paper's four keys
    steps                 requests that the world answered
    tool_calls            calls that the model made
    virtual_time_elapsed  virtual seconds
    trace_hash            SHA-256, the last of the event log's chain

Our reward.json has a single key, because Harbor's pass@k allows no others, so this file is the only complete record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.records import Result

_AS_THEY_ARE = ("success", "failure_label", "failure_detail", "steps", "tool_calls", "virtual_time_elapsed", "trace_hash")


def contractbench(result: Result) -> dict[str, Any]:
    """Return one graded episode in the format of Appendix G, keys in its order."""
    return {
        "task_id": result.task_id,
        "category": result.category,
        "seed": result.seed,
        "agent": result.model or result.agent,
        **{name: getattr(result, name) for name in _AS_THEY_ARE},
    }


FORMATS: dict[str, Callable[[Result], dict[str, Any]]] = {"contractbench": contractbench}
