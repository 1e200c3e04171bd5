"""The paper's own numbers, from published.toml: always marked as published, never ranked against ours.

They were measured on the authors' tasks, which were not released; what stands beside them here has the same shape and names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tomli

from harness.report.models import printed_name

PATH = Path(__file__).with_name("published.toml")
MARK = "published"


@cache
def numbers() -> Mapping[str, Any]:
    """The whole file."""
    return tomli.loads(PATH.read_text(encoding="utf-8"))


def protocol_rows(setting: str, method: str) -> Sequence[Mapping[str, Any]]:
    """The rows of Table 2 for one protocol in one cost setting."""
    return [row for row in numbers()["protocols"] if (row["setting"], row["method"]) == (setting, method)]


def model_rows(table: str, setting: str | None, model: str | None) -> Sequence[Mapping[str, Any]]:
    """The rows of one list for a model as LiteLLM names it, in a cost setting where the list has them; none for others."""
    name = printed_name(model, "calendar")
    return [row for row in numbers()[table] if row["model"] == name and row.get("setting") == setting]


def source(place: str) -> str:
    """Where published numbers come from, for a note under a table."""
    return f"{MARK}: {place} of {numbers()['source']}; the authors' tasks and harness"
