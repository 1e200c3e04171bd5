"""Files of the published layout, made of our own games: everything dropped that the published harness does not write."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from oracles.calendar.protocols import PROTOCOLS
from parley.families.calendar.trace import is_trace, replayed
from parley.families.calendar.trace.upstream import read_upstream, upstream_game
from tests.oracles.calendar.typed_games import typed_log
from tests.parley.families.calendar.test_trace import PRIOR, REFUSED
from tests.parley.families.calendar.tracing import Document, in_published_layout, of_type, trace_of
from tests.worlds.calendar.random_tasks import canonical
from tests.worlds.calendar.scripted_games import DECISION, TALK, VOLUNTARY, agreed, broken, dm, logged, move, put


def same_game(document: Document, published: Document) -> None:
    """The published file comes to the same calendars, rounds, messages and shown costs as our own trace."""
    record, again = upstream_game(read_upstream(published))
    final, ours = again.final, document["final_state"]

    assert replayed(published).differences == ()
    for name in ("calendars", "per_agent_cost_shown", "per_agent_messages_sent", "per_agent_messages_received"):
        assert final[name] == ours[name]
    assert [row["label"] for row in final["round_outcomes"]] == [row["label"] for row in ours["round_outcomes"]]
    assert [row["per_agent_slot"] for row in final["round_outcomes"]] == [r["per_agent_slot"] for r in ours["round_outcomes"]]
    assert (record.config.options["profile"], record.config.record.options["profile"]) == ("paper", "paper")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_protocol_games(protocol: str, tmp_path: Path) -> None:
    """Games of all protocols, with a prior meeting and blocked errands, under the published rules."""
    document = trace_of(typed_log(tmp_path, PRIOR, protocol, "paper"))

    same_game(document, in_published_layout(document, 4))


def test_labels_costs_and_measures_come_back(tmp_path: Path) -> None:
    """Costs of 1, 10 and 100 are scored as 1, 2, 3, so that all measures are those of our own file."""
    document = trace_of(typed_log(tmp_path, canonical(3), "imap", "paper"))
    _, again = upstream_game(read_upstream(in_published_layout(document, 4)))
    measured = again.measures.model_dump(mode="json")

    assert document["cost_scale"] == {"shown": [1, 10, 100], "scored": [1, 2, 3]}
    assert {name for name in measured if measured[name] != document["metrics"][name]} <= {"lies"}
    assert measured["paid"] > 0


def test_tries_that_nothing_tells_of(tmp_path: Path) -> None:
    """A second try of a round that was rolled back is in no event: it is taken for silence, and that is said."""
    document = trace_of(logged(tmp_path, REFUSED, profile="paper"))
    published = in_published_layout(document, 4)

    assert replayed(published).unchecked[-1] == "5 replies are missing in the file and count as empty"
    assert replayed(published).differences == ()


def test_second_tries_without_events(tmp_path: Path) -> None:
    """What was sent again after a refusal is read off what was refused, and what was applied."""
    script = {**REFUSED, (DECISION, 1, 0): [[put(1, 0)], [put(1, 2)]], (DECISION, 1, 1): [[put(1, 0)], "no", broken(put(1, 2))]}
    log = logged(tmp_path, script, profile="paper")
    document = trace_of(log)
    published = in_published_layout(document, 4)

    assert len(of_type(published, "decide_end")) < len(of_type(document, "decide_end"))
    same_game(document, published)


def test_a_cap_that_no_configuration_tells(tmp_path: Path) -> None:
    """Talk that ended while somebody was talking was cut off there: by a cap of two turns."""
    talking = {(TALK, 1, 1): [[dm(0)]] * 9, **agreed(1, 2), **agreed(2, 3)}
    document = trace_of(logged(tmp_path, talking, profile="paper", turn_cap=2))
    published = in_published_layout(document, None)
    record, _ = upstream_game(read_upstream(published))

    assert record.config.options["turn_cap"] == 2
    same_game(document, published)


@pytest.mark.parametrize(("told", "channels"), [("all_groupchat", "all"), ("dm+participant_groupchat", "dm+participants"),
                                                (["dm", "groupchat"], "dm+all"), (None, "dm")])  # fmt: skip
def test_channels_by_their_published_names(told: Any, channels: str, tmp_path: Path) -> None:
    """One name, several joined, a list, an alias; direct messages where nothing is said."""
    published = in_published_layout(trace_of(logged(tmp_path, agreed(1, 2), profile="paper")), 4)
    of_type(published, "game_start")[0]["communication_protocol"] = told
    record, _ = upstream_game(read_upstream(published))

    assert record.config.options["channels"] == channels


def test_a_game_that_was_stopped(tmp_path: Path) -> None:
    """Replies that end before the game does leave it stopped, with the cause that the file names."""
    document = trace_of(logged(tmp_path, REFUSED, profile="paper", turns=9))
    published = {**in_published_layout(document, 4), "stopped": "max_cost"}
    _, again = upstream_game(read_upstream(published))

    assert (again.measures.ended_by, again.measures.finished, again.measures.scheduled) == ("max_cost", False, 0)


def test_replies_in_other_shapes(tmp_path: Path) -> None:
    """Tool calls apart from their arguments, and a raw reply that is no text: the actions that were recorded count."""
    script = {**agreed(1, 2), **agreed(2, 3), (TALK, 1, 1): [[dm(0), dm(2)]], (VOLUNTARY, 1, 2): [[move(5, 2, 1)]]}
    document = trace_of(logged(tmp_path, script, profile="paper"))
    published = in_published_layout(document, 4)
    for data in of_type(published, "turn_end", "decide_end"):
        data["raw"] = {"choices": [data["raw"]]}
        data["tool_calls"] = [
            {"name": call["type"], "arguments": {key: value for key, value in call.items() if key != "type"}}
            for call in data["tool_calls"]
        ]

    same_game(document, published)


def test_agents_and_task_are_taken_from_the_file(tmp_path: Path) -> None:
    """Models by seat; the task by the name that the configuration has, or by its scenario."""
    published = in_published_layout(trace_of(logged(tmp_path, agreed(1, 2), profile="paper")), 4)
    for place, data in enumerate(of_type(published, "agent_registered")):
        data["model"] = "gpt-5" if place else "claude"
    record, _ = upstream_game(read_upstream(published))
    published["config"]["task"] = {"task_id": "b037_easy 5a"}
    named, _ = upstream_game(read_upstream(published))

    assert [seat.model for seat in record.config.record.seats] == ["claude", "gpt-5", "gpt-5", "gpt-5"]
    assert (record.config.record.agent, record.config.record.model) == ("mixed", None)
    assert record.config.task.id == f"imported-{record.config.task.digest[:12]}"
    assert named.config.task.id == "b037_easy-5a"


def test_where_the_file_tells_another_game(tmp_path: Path) -> None:
    """A slot, a cost and a message that its replies do not come to are told by their paths."""
    published = in_published_layout(trace_of(logged(tmp_path, REFUSED, profile="paper")), 4)
    tampered = copy.deepcopy(published)
    of_type(tampered, "resolution")[1]["per_agent_slot"]["0"] = 1
    of_type(tampered, "dm_sent")[0]["content"] = "good bye"
    tampered["final_state"]["per_agent_cost"]["2"] = 99
    told = [line.partition(": ")[0] for line in replayed(tampered).differences]

    assert told == ["messages[0][2]", "rounds[1].per_agent_slot.0", "final_state.per_agent_cost[2]"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: [data.pop("calendar_render") for data in of_type(d, "agent_registered")], "calendar_render"),
        (lambda d: d.update(events=of_type(d, "round_start")), "no trace in the published layout"),
        (lambda d: [data["meeting"].pop("participants") for data in of_type(d, "round_start")], "participants"),
        (lambda d: d.update(events=[e for e in d["events"] if e["type"] != "round_start"]), "a round must have begun"),
    ],
)
def test_files_that_make_no_game(change: Any, why: str, tmp_path: Path) -> None:
    """What is missing is named."""
    published = in_published_layout(trace_of(logged(tmp_path, agreed(1, 2), profile="paper")), 4)
    change(published)

    with pytest.raises(UsageError, match=why):
        upstream_game(read_upstream(published))


def test_the_layout_is_known_without_a_schema(tmp_path: Path) -> None:
    """A file with registered agents is one; it is JSON to the letter."""
    published = in_published_layout(trace_of(logged(tmp_path, agreed(1, 2), profile="paper")), 4)

    assert is_trace(json.loads(json.dumps(published)))
    assert set(published) == {
        "game_id", "config", "events", "final_state", "metrics", "started_at", "ended_at", "stopped",
    }  # fmt: skip
