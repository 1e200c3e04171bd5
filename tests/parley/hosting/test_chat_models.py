"""A model in a chat of people: asked when somebody has said something new, it may pass, and nobody waits for it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.agent import SeatSpec
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Messages, Script
from tests.parley.hosting.hosted import PATIENT_S, hosted
from tests.parley.hosting.test_hosting import labels
from tests.worlds.calendar.hostile_games import retold
from validators.episode import Episode
from validators.hidden_profile.replay import find_lies
from worlds.core.events import Turned, read_log

pytestmark = pytest.mark.property

TASK = "hidden-profile/bakery-switch"
SEATS = (
    *(SeatSpec(seat=seat, kind="policy", name="silent") for seat in (1, 2)),
    SeatSpec(seat=3, kind="model", name="openai/m"),
)


class SlowModel:
    """Thinks about its first message until it is let go, then passes once, then says what it was told last."""

    def __init__(self) -> None:
        self.asked, self.free, self.passed = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, messages: Messages) -> str:
        """Its reply."""
        told = str(messages[-1]["content"])
        if '"vote"' in told:
            return json.dumps({"vote": re.findall(r"\[(\w+)\]", told)[0], "rationale": "so"})
        if "Are you there?" in told:
            self.passed.set()
            return "PASS"
        if "Person 1: Say something!" in told:
            return "<think>They want me.</think>Something."
        self.asked.set()
        assert self.free.wait(PATIENT_S), "nobody let the model go"
        return "Good morning."


def turns_of(log: bytes, seat: int) -> Sequence[Turned]:
    """What a seat was asked in the chat, and said."""
    events = read_log(log)
    return [event for event in events if isinstance(event, Turned) and (event.seat, event.phase) == (seat, "DISCUSSION")]


def test_people_go_on_while_a_model_thinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a model says is logged as the answer to what it had read, however much was said meanwhile, and so it is judged."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    model = SlowModel()
    with (
        OpenAIServer(Script(play=model)) as server,
        hosted(tmp_path / "run", TASK, SEATS, {"talk": "chat"}, api_base=server.url) as (held, (ada,)),
    ):
        ada.post(do="join", name="Ada")
        option = labels(ada)[0]
        ada.vote(option)
        ada.until('name="said"')
        assert model.asked.wait(PATIENT_S), "the model was never asked"
        for words in ("Good.", "Are you there?"):
            ada.say(words)
            ada.until(f"<span>{words}</span>")
        model.free.set()
        ada.until("<span>Good morning.</span>")
        assert model.passed.wait(PATIENT_S), "the model was not asked again"
        ada.say("Say something!")
        shown = ada.until("<span>Something.</span>")
        ada.post(do="finish")
        ada.vote(option)
        result = held.result()
        sent = [received.messages for received in server.requests]

    log = (Path(result.path) / "events.jsonl").read_bytes()
    first, *later = turns_of(log, 3)
    assert not any(words in shown for words in ("PASS", "They want me"))
    assert [turn.reply for turn in later if turn.no_reply is None][:1] == ["PASS"]
    assert "Are you there?" not in first.text
    assert {"Person 1: Good.", "Person 1: Are you there?"} <= {*later[0].text.splitlines()}
    assert [turn.text for turn in (first, *later) if turn.no_reply is None] == [
        messages[-1]["content"] for messages in sent if "The chat is open" in messages[-1]["content"]
    ]
    assert find_lies(Episode(tuple(read_log(log)))) == []
    asked_later = retold(log, lambda rows: rows[first.seq].update(turn=f"{int(first.turn[0]) + 2}-3-1"))
    assert "does not show what its seat was to read" in find_lies(asked_later)[0]
    assert (result.status, result.metrics["lies"], result.seats[3].model) == ("graded", 0, "openai/m")
    assert result.seats[3].tokens.prompt > 0
