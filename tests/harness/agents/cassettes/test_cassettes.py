"""Each cassette is played as an episode: none is graded 0 for the provider, or ungraded for the model; no message is lost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from harness.agents.llm import model as model_client
from harness.agents.llm.model import pause_s, without_system
from harness.agents.llm.wire import Cassette, RecordedResponse, WireRule
from harness.causes import CAUSES
from harness.runs import session
from tests.harness.agents.cassettes.expected import CONTRACT, SEATS, Expected, table
from tests.harness.agents.cassettes.playing import GAME, Played, cassette, names, play

QUICK = {"anthropic-empty-content", "deepseek-reasoning-content", "mistral-call-ids", "openrouter-finish-error", "tgi-overflow"}
"""Played in every test run."""

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-0123456789", "GEMINI_API_KEY": "AIza-0123456789"}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real retries with short pauses, and no second try of a whole episode."""
    monkeypatch.setattr(model_client, "pause_s", lambda attempt, _: pause_s(attempt, 0.01))
    monkeypatch.setattr(session, "POLICIES", {})
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def check(played: Played, expected: Expected) -> None:
    """The record says how the episode ended, and blames and grades as the table of causes does."""
    result = played.result
    said = (result.status == "graded", result.reward, result.ended_by if expected.ended_by else None)
    assert said == (expected.reward is not None, expected.reward, expected.ended_by), (result.error, result.cause)
    if expected.ended_by is not None:
        row = CAUSES[expected.ended_by]
        assert (result.status == "graded", result.cause or "agent") == (row.is_graded, row.responsible)
    assert (played.wire is not None) >= (result.cause in {"provider", "setup"})


def check_conversation(played: Played) -> None:
    """Each request holds the conversation so far, and the record has every message of the model."""
    # a client that was refused the system role folds its text into the first user message
    conversations = [without_system(one.body["messages"]) for one in played.requests if "messages" in one.body]
    for shorter, longer in pairwise(conversations):
        assert longer[: len(shorter)] == shorter
    said = sum(one["role"] == "assistant" for one in conversations[-1]) if conversations else 0
    steps = sum(step["source"] == "agent" for step in played.trajectory["steps"])
    assert steps - 1 <= said <= steps


def test_every_cassette_has_a_row() -> None:
    """At least twenty of them, each with what it is about and where that was reported."""
    assert {*names()} == {*CONTRACT}
    assert len(names()) >= 20
    assert all(cassette(name).about and cassette(name).source.startswith("https://") for name in names())


@pytest.mark.parametrize("name", [one if one in QUICK else pytest.param(one, marks=pytest.mark.property) for one in CONTRACT])
def test_contract_by_tools(name: str, tmp_path: Path) -> None:
    """An episode of contract by tools ends as its row says."""
    expected = CONTRACT[name]
    played = play(cassette(name), tmp_path / "run", "--interface", "tool", model=expected.model)

    check(played, expected)
    check_conversation(played)


@pytest.mark.property
@pytest.mark.parametrize("name", SEATS)
def test_calendar_seats(name: str, tmp_path: Path) -> None:
    """A game whose models at all seats are behind the server ends as its row says."""
    check(play(cassette(name), tmp_path / "run", task=GAME), SEATS[name])


def test_the_page_has_every_row(root: Path) -> None:
    """The table of docs/cassettes.md is what these tests check."""
    page = (root / "docs" / "cassettes.md").read_text(encoding="utf-8")

    assert page.endswith(table({name: cassette(name).about for name in names()}))


@pytest.mark.property
def test_a_game_that_outgrows_the_model(tmp_path: Path) -> None:
    """Seats whose conversations do not fit any more forfeit their turns as `context`, graded, and the last calls are kept."""
    full = RecordedResponse(status=400, body={"object": "error", "code": 400, "type": "BadRequestError", "message": (
        "The decoder prompt (length 4107) is longer than the maximum model length of 4096. Make sure that `max_model_len` is "
        "no smaller than the number of text tokens.")})  # fmt: skip
    played = play(Cassette(rules=(WireRule(after=30, response=full),)), tmp_path / "run", task=GAME)

    assert (played.result.status, played.result.cause) == ("graded", None)
    assert {one.cause for one in played.result.forfeits} == {"context"}
    assert played.wire is not None
