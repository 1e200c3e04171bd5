"""Overflow of a model's context in the words of many servers, and errors that only sound like it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import tomli

from harness.agents.llm.failures import (
    CODES,
    PHRASES,
    CallFailure,
    ContextOverflow,
    answer_failure,
    body_failure,
    hidden_error,
    read_error_body,
)
from harness.paths import ROOT

HERE = Path(__file__).parent
FULL: list[dict[str, Any]] = tomli.loads((HERE / "context_bodies.toml").read_text("utf-8"))["body"]
OTHERS: list[dict[str, Any]] = tomli.loads((HERE / "other_bodies.toml").read_text("utf-8"))["body"]


def classified(status: int, text: str) -> CallFailure:
    """The failure of an answer."""
    if status == 200:
        hidden = hidden_error(json.loads(text))
        assert hidden is not None
        return body_failure(*hidden, str)
    return answer_failure(status, {}, text, str)


def test_the_table_is_broad() -> None:
    """At least 25 bodies of at least 12 servers, each with its source, and 15 bodies that mean something else."""
    assert len(FULL) >= 25
    assert len({one["server"].partition(",")[0].split()[0] for one in FULL}) >= 12
    assert len(OTHERS) >= 15
    assert all(one["source"] for one in (*FULL, *OTHERS))


@pytest.mark.parametrize("one", FULL, ids=lambda one: one["server"])
def test_a_full_context_is_recognised(one: dict[str, Any]) -> None:
    """Every recorded body is a full context, at the status it came with."""
    assert type(classified(one["status"], one["text"])) is ContextOverflow


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_the_status_does_not_matter(status: int) -> None:
    """A body with a code or a phrase means the same at every status that servers send it with."""
    worded = [one for one in FULL if one["status"] not in {200, 413}]

    assert {type(classified(status, one["text"])) for one in worded} == {ContextOverflow}


@pytest.mark.parametrize("one", OTHERS, ids=lambda one: one["what"])
def test_other_errors_are_not_taken_for_it(one: dict[str, Any]) -> None:
    """Lengths of names, outputs and images, limits of tokens, deadlines and echoes of the conversation are not."""
    assert type(classified(one["status"], one["text"])).__name__ == one["kind"]


def test_every_server_of_the_table_is_documented() -> None:
    """docs/providers.md has a row for the servers of each code and phrase, and the numbers of bodies."""
    page = (ROOT / "docs" / "providers.md").read_text("utf-8")
    servers = {name.partition(" (")[0] for row in (*CODES.values(), *PHRASES.values()) for name in row.split(", ")}

    assert [name for name in sorted(servers) if name not in page] == []
    assert f"{len(FULL)} recorded bodies" in page
    assert f"{len(OTHERS)} similar bodies" in page


def test_every_row_of_the_table_has_a_body() -> None:
    """No code and no phrase stands in the table that no recorded body has."""
    said = [read_error_body(one["text"]) for one in FULL]
    texts = [body.text.lower() for body in said]
    unused = [code for code in CODES if not any(code in text for text in texts)]
    unused += [phrase for phrase in PHRASES if not any(re.search(phrase, text, re.MULTILINE) for text in texts)]

    assert unused == []
