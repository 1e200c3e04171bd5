"""Public Python library, and everything outside the harness: families, proofs, reports, hosting, training, export formats.

Programs write, for example, `from parley import Episode`. Each name below is imported on first use, so that using one of these
parts does not load the others.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "Agent": "harness.live_agent",
    "AgentIdentity": "harness.agent",
    "Budget": "harness.agent",
    "Report": "harness.agent",
    "Pod": "harness.pod",
    "Runtime": "harness.pod",
    "Task": "harness.registry",
    "Episode": "parley.training",
    "EpisodeVerdict": "parley.training",
    "SeatTurn": "parley.training",
    "judged": "parley.training",
    "task_named": "parley.training",
    "tasks_named": "parley.training",
    "OpenAIServer": "parley.testing.openai_server",
}
"""Public names, with the modules that define them."""

__all__ = [*_NAMES]  # noqa: PLE0604 - the keys are strings


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'parley' has no attribute {name!r}")
    return getattr(importlib.import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
