"""Labels by a model: what is kept, what is dropped and why, through the real client and a local server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.errors import GateFailed, UsageError
from parley.commands.kinds import generate_command
from parley.families.calendar.commands.generate import prompt_of, write_bank
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import script
from worlds.calendar.bank import Tier, errand_bank, read_bank


def label(text: str, **changes: Any) -> dict[str, Any]:
    """A sensitive label as a model might write it."""
    return {
        "private_label": text,
        "public_label": "Appointment",
        "allowed_public_terms": ["appointment"],
        "forbidden_terms": ["Oncology!", "tumour marker"],
        "privacy_class": "medical",
        **changes,
    }


GOOD = [label(f"Oncology ward, bed {number} on floor two") for number in range(6)]


def written(*answers: object, count: int = 3) -> tuple[list[str], dict[str, int]]:
    """The labels kept from a model's answers in turn, and what was dropped."""
    left = [answer if isinstance(answer, str) else json.dumps(answer) for answer in answers]
    bank, dropped = write_bank(lambda prompt: left.pop(0) if left else "[]", "m", "errand", Tier.SENSITIVE, count)
    return [item.private_label for item in bank.items] if bank else [], dropped


def test_good_entries_are_kept_and_terms_normalised() -> None:
    """Entries that keep the bank's promises are kept in order, with normalised terms and ids of their own."""
    bank, dropped = write_bank(lambda prompt: json.dumps(GOOD), "m", "errand", Tier.SENSITIVE, 3)

    assert bank is not None
    assert [item.label_id for item in bank.items] == ["g001", "g002", "g003"]
    assert bank.items[0].forbidden_terms == ("oncology", "tumour marker")
    assert (bank.generation_model, dropped) == ("m", {})
    assert bank.generation_prompts == {Tier.SENSITIVE: prompt_of("errand", Tier.SENSITIVE, 3)}


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (label("Oncology at Dr 'Who' on floor two"), "private_label"),
        (label("short"), "private_label"),
        (label("Oncology on floor two", privacy_class="leisure"), "leisure does not go with tier sensitive"),
        (label("Oncology on floor two", forbidden_terms=["oncology"]), "1 forbidden terms in tier sensitive"),
        (label("Oncology on floor two", forbidden_terms="oncology"), "forbidden_terms"),
        (label(errand_bank().items[0].private_label, forbidden_terms=["biopsy", "breast"]), "known already"),
        ("just text", "no object"),
    ],
)
def test_bad_entries_are_dropped_by_reason(bad: object, why: str) -> None:
    """An entry that breaks a promise is dropped and counted, and the others stay."""
    assert written([GOOD[0], bad], count=1) == ([GOOD[0]["private_label"]], {why: 1})


def test_the_model_is_asked_for_what_is_missing() -> None:
    """Repeated labels are dropped and the model asked again; fenced and wrapped answers are read."""
    kept, dropped = written(GOOD[:1], [GOOD[0], GOOD[1]], "```json\n" + json.dumps({"labels": GOOD[2:4]}) + "\n```")

    assert (len(kept), dropped) == (3, {"known already": 1})


def test_a_model_that_writes_nothing_ends() -> None:
    """Answers without any entry give no bank, after a few tries."""
    assert written("I will not", "[]", "no", "never", json.dumps(GOOD)) == ([], {})


def run(*typed: str) -> BaseException | None:
    """Run the command as typed; what it raised, if anything."""
    return CliRunner().invoke(generate_command, ["labels", *typed]).exception


def test_command_writes_a_bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the real client the file is a bank that reads back; a second time it is not overwritten."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    out = tmp_path / "labels.json"
    typed = ("--model", "openai/any", "--tier", "sensitive", "--n", "4", "--out", str(out))
    with OpenAIServer(script(json.dumps(GOOD))) as server:
        assert run(*typed, "--api-base", server.url) is None

    assert len(read_bank(out).items) == 4
    assert isinstance(run(*typed, "--slots", "16"), SystemExit), "a flag of calendars is none of labels"
    assert "exists already" in str(run(*typed))


def test_command_says_when_nothing_would_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose labels all fail is a gate that said no, and nothing is written."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    out = tmp_path / "labels.json"
    with OpenAIServer(script(json.dumps([label("short")]))) as server:
        refused = run("--model", "openai/any", "--out", str(out), "--api-base", server.url)

    assert isinstance(refused, GateFailed)
    assert not out.exists()


@pytest.mark.parametrize("typed", [[], ["--model", "m"], ["--model", "m", "--out", "x", "--tier", "secret"]])
def test_command_needs_a_model_a_file_and_a_tier(typed: list[str]) -> None:
    """What is missing or unknown is an error before anything is asked."""
    assert isinstance(run(*typed), UsageError)
