"""Checks of a command line that do not import the command's own modules, which takes noticeably long."""

from __future__ import annotations

from collections.abc import Sequence

_KEY_NOT_CERTAIN = ("--api-base", "--config", "--resume", "--executor", "--dry-run", "--print-config", "--help")
"""Options of `harness run` with which a key may come from elsewhere, or is not needed."""


def check(words: Sequence[str]) -> None:
    """Raise UsageError if `harness run` names a model whose API key is certainly needed and not set."""
    if any(word.partition("=")[0] in _KEY_NOT_CERTAIN for word in words):
        return
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--model":
            from harness.agents.llm.model_table import require_key  # noqa: PLC0415 - no model plays as a rule

            for model in (value if equals else "".join(words[place + 1 : place + 2])).split(","):
                require_key(model)
