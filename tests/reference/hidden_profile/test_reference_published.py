"""The published numbers that reports show are those of the transcription, each one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from parley.families.hidden_profile.published import numbers, variant_rows

pytestmark = pytest.mark.reference

NAMES = {
    "Very Cooperative": "very_cooperative", "Cooperative": "cooperative", "Constructive": "constructive",
    "Conflictual": "conflictual", "Very Conflictual": "very_conflictual", "Zero-shot CoT": "think_aloud",
    "Informing Asymmetry": "asymmetry",
}  # fmt: skip


@pytest.fixture(scope="module")
def paper() -> dict[str, Any]:
    """The transcription."""
    folder = os.environ.get("PARLEY_REFERENCE")
    assert folder, "set PARLEY_REFERENCE to the folder of reference cases"
    document: dict[str, Any] = json.loads((Path(folder) / "papers" / "hiddenbench.json").read_text(encoding="utf-8"))
    return document


def test_variants_are_as_printed(paper: dict[str, Any]) -> None:
    """Tables A1 and A2, and the default of study 1 before them."""
    printed = [*paper["table_a1_strategies"]["rows"], *paper["table_a2_strategies"]["rows"]]
    first, *ours = variant_rows()

    assert [(row["variant"], row["average"], row["majority"]) for row in ours] == [
        (NAMES[row["strategy"]], row["average"], row["majority"]) for row in printed
    ]
    assert (first["average"], first["sessions"]) == (
        paper["study_1"]["gpt41"]["hidden_post"],
        paper["table_a1_strategies"]["sessions"],
    )


def test_study_1_is_as_printed(paper: dict[str, Any]) -> None:
    """GPT-4.1 and people on the three crafted tasks."""
    model, people = numbers()["study1"]
    theirs, human = paper["study_1"]["gpt41"], paper["study_1"]["human"]

    assert [model[name] for name in ("pre", "post", "full", "full_post", "gain")] == [
        theirs["hidden_pre"], theirs["hidden_post"], theirs["full_pre"], theirs["full_post"], theirs["hidden_gain_pp"] / 100,
    ]  # fmt: skip
    assert model["hidden"] == model["known"] == 3 * paper["study_1"]["sessions_per_condition"]
    assert [people[name] for name in ("post", "full", "p", "messages")] == [
        human["hidden_post"], human["full_pre"], human["p"], human["mean_messages_per_group"],
    ]  # fmt: skip
    assert people["hidden"] == f"{human['groups']} groups in all"
    assert (
        people["unit"]
        == f"{human['group_size']} people each, {human['participants']} together, {human['chat_minutes']} minutes of chat"
    )


def test_study_2_is_as_printed(paper: dict[str, Any]) -> None:
    """What the text says of Figure 4: ranges, and the models with a number."""
    figure, ours = paper["figure_4_text"], numbers()["study2"]
    short = {"hidden_pre": "pre", "hidden_post": "post", "full_pre": "full", "gain": "gain", "gap_to_full": "gap"}
    printed = [
        {"player": row["model"]}
        | {short[name]: value for name, value in (row | row.get("derived", {})).items() if name in short}
        for row in figure["models"]
    ]

    assert ours["rows"] == printed
    assert ours["ranges"] == {short[name]: value for name, value in figure["ranges"].items()}
    assert (ours["tasks"], ours["models"]) == (paper["benchmark"]["tasks"], paper["benchmark"]["models_evaluated"])
    assert ours["hidden"] == ours["tasks"] * paper["benchmark"]["sessions_per_task_per_condition"]
