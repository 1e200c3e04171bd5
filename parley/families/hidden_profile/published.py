"""The paper's own numbers, from published.toml: always marked as published, never ranked against ours.

They were measured on the authors' tasks, most of them generated and none certified. The human rows are of three tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import tomli

from harness.headline import PublishedHeadline
from parley.reports.table import Row

PATH = Path(__file__).with_name("published.toml")
MARK = "published"
PEOPLE = "people"
BESIDE_ALL = {PEOPLE, "15 models"}
"""Names of the human row and of the mean over the paper's models, which are shown beside every model."""


@cache
def numbers() -> Mapping[str, Any]:
    """Return the whole file."""
    return tomli.loads(PATH.read_text(encoding="utf-8"))


def accuracy_rows() -> Iterator[Row]:
    """Yield people and GPT-4.1 on three tasks (study 1), the means of the edition of 2026, and Figure 4 (study 2)."""
    studies = [(row, f"{MARK}, study 1") for row in numbers()["study1"]]
    studies += [(numbers()["edition2026"], f"{MARK}, edition of 2026")]
    second = numbers()["study2"]
    studies += [({**{name: second[name] for name in ("tasks", "hidden", "known")}, **row}, MARK) for row in second["rows"]]
    for row, mark in studies:
        shown = {name: value for name, value in row.items() if name not in {"unit", "p", "messages"}}
        yield {"rule": "average", "scope": "all", **shown, "source": mark}


def headline() -> PublishedHeadline:
    """Return the printed accuracies after the talk, average rule."""
    posts = {str(row["player"]): post for row in accuracy_rows() if isinstance(post := row.get("post"), float)}
    return PublishedHeadline(posts, source("Figure 4, study 1"))


def variant_rows() -> list[Row]:
    """Return Tables A1 and A2, one row per variant."""
    theirs = numbers()["variants"]
    base = {"player": theirs["player"], "tasks": theirs["tasks"], "sessions": theirs["sessions"], "source": MARK}
    return [{**base, **row} for row in theirs["rows"]]


def people() -> str:
    """Return the human reference in one line: the values, the sample size, and the source."""
    row = next(row for row in numbers()["study1"] if row["player"] == PEOPLE)
    return (
        f"{MARK}: people on {row['tasks']} tasks of the paper, {row['hidden']} ({row['unit']}): {row['post']:.3f} after it, "
        f"{row['full']:.3f} with full information (p = {row['p']:.3f}), {row['messages']} messages a group"
    )


def source(place: str) -> str:
    """Return the source of published numbers, for a note under a table."""
    return f"{MARK}: {place} of {numbers()['source']}; the authors' tasks, prompts and sessions"
