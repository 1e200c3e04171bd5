"""Whatever in a trace is not what its replies come to is found, and named by its path."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from parley.families.calendar.trace import is_trace, replayed
from parley.families.calendar.trace.exporting import differences
from parley.reports.reading.model import read_document
from tests.harness.corruptions import VALUES
from tests.harness.corruptions import changed as values_changed
from tests.parley.families.calendar.test_trace import REFUSED
from tests.parley.families.calendar.tracing import Document, of_type, trace_of
from tests.worlds.calendar.scripted_games import logged

RECORDED = {"reasoning", "usage", "latency_ms"}
"""What of an event only the record knows."""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """A game with refused batches, an outsider and mended replies."""
    return trace_of(logged(tmp_path_factory.mktemp("game"), REFUSED))


def leaves(value: Any, path: str) -> Iterator[str]:
    """The path of every value that is no list and no object, and of every empty one."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{place}]")
    else:
        yield path


def changed(value: Any, name: str = "") -> Any:
    """The value with each of its leaves changed to another of its kind."""
    if isinstance(value, dict) and value:
        return {key: changed(inner, key) for key, inner in value.items()}
    if isinstance(value, list) and value:
        return [changed(inner, name) for inner in value]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return {"calendars": {"errand_id": 99}, "broken": [1], "consistency_violated_meeting_ids": [1], "letter": "A"}.get(
        name, {"x": 1} if value == {} else 7
    )


def paths(document: Document) -> set[str]:
    """Where a replay finds differences."""
    return {line.partition(": ")[0] for line in replayed(document).differences}


@pytest.mark.parametrize("part", ["final_state", "metrics"])
def test_every_field_is_covered(part: str, traced: Document) -> None:
    """With each leaf changed each leaf is told, and nothing besides."""
    tampered = {**traced, part: changed(copy.deepcopy(traced[part]))}
    below = set(leaves(traced[part], part))

    assert len(below) > 40
    # a list or an object that was empty is told by itself, or by what was put into it
    assert {path.removesuffix(".x") for path in paths(tampered)} == below


@pytest.mark.property
@pytest.mark.parametrize("number", range(4))
def test_every_event_is_covered(number: int, traced: Document) -> None:
    """No value of any event can be changed unseen, but for what only the record knows."""
    for place, event in list(enumerate(traced["events"]))[number::4]:
        tampered = copy.deepcopy(traced)
        data = {key: value if key in RECORDED else changed(value, key) for key, value in event["data"].items()}
        tampered["events"][place] = {**event, "data": data}
        try:
            told = paths(tampered)
        except UsageError:
            # what is told of a turn has another shape by now
            continue
        assert told, event


def test_one_letter_of_a_reply(traced: Document) -> None:
    """The lowest bit of one byte of any reply: the log's hash tells, also where nothing else does."""
    replies = [one["raw"] for one in of_type(traced, "turn_end", "decide_end")]
    for number, reply in enumerate(replies):
        tampered = copy.deepcopy(traced)
        middle = len(reply) // 2
        of_type(tampered, "turn_end", "decide_end")[number]["raw"] = (
            reply[:middle] + chr(ord(reply[middle]) ^ 1) + reply[middle + 1 :]
        )
        assert "trace_hash" in paths(tampered)


def test_another_slot_in_a_reply(traced: Document) -> None:
    """The meeting goes elsewhere: calendars, measures and events are told."""
    tampered = copy.deepcopy(traced)
    (said,) = (one for one in of_type(tampered, "decide_end") if (one["agent_id"], one["attempt"]) == (0, 2))
    said["raw"] = said["raw"].replace('"slot": 2', '"slot": 3')
    told = paths(tampered)

    assert "final_state.round_outcomes[0].per_agent_slot.0" in told
    assert "metrics.rounds[0].label" in told
    assert any(path.endswith("data.tool_calls[0].slot") for path in told)


def test_calendars(traced: Document) -> None:
    """A calendar of the scenario, of the end, as an event shows it, and as a prompt did."""
    for change, where in (
        (lambda d: d["config"]["scenario"]["errands"][0][0].update(cost=3), "final_state.calendars[0][0].cost"),
        (lambda d: d["final_state"]["calendars"][3].__setitem__(0, {"errand_id": 9, "cost": 1}), "final_state.calendars[3][0]"),
        (lambda d: _first(d, "turn_start", "calendar_render"), "events[6].data.calendar_render"),
        (lambda d: _first(d, "turn_start", "prompt_sent"), "metrics.lies"),
        (lambda d: _first(d, "batch_applied", "calendar_render_after"), "calendar_render_after"),
    ):
        tampered = copy.deepcopy(traced)
        change(tampered)
        assert any(path.endswith(where) for path in paths(tampered)), where


def _first(document: Document, kind: str, field: str) -> None:
    """One digit of the first calendar that such an event shows."""
    data = of_type(document, kind)[0]
    data[field] = data[field].replace("Slot 1:", "Slot 7:")


def test_times_and_names(traced: Document) -> None:
    """A time, the task's id and digest, and the scale of costs."""
    for change, where in (
        (lambda d: d["events"][6].update(timestamp=1), "events[6].timestamp"),
        (lambda d: d["events"][7].update(timestamp=1), "trace_hash"),
        (lambda d: d.update(task_id="other"), "task_id"),
        (lambda d: d.update(task_digest="other"), "task_digest"),
        (lambda d: d["cost_scale"].update(scored=[1, 2, 3, 5]), "cost_scale.scored[3]"),
        (lambda d: d.update(stopped="wall"), "stopped"),
        (lambda d: d["config"]["options"].update(turn_cap=1), "trace_hash"),
    ):
        tampered = copy.deepcopy(traced)
        change(tampered)
        assert where in paths(tampered)


def test_events_that_are_gone_or_made_up(traced: Document) -> None:
    """A message that was taken out, and one that was put in."""
    sent = next(place for place, event in enumerate(traced["events"]) if event["type"] == "dm_sent")
    for events in (
        traced["events"][:sent] + traced["events"][sent + 1 :],
        traced["events"][: sent + 1] + traced["events"][sent:],
    ):
        assert any(path.startswith("events") for path in paths({**traced, "events": events}))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d.pop("metrics"), "metrics: Field required"),
        (lambda d: d.update(more=1), "more: Extra inputs"),
        (lambda d: of_type(d, "turn_end")[0].pop("raw"), "an event turn_end: raw"),
        (lambda d: d["config"]["scenario"].update(slots=0), "this game cannot be played again"),
        (lambda d: d["config"]["options"].pop("profile"), "this game cannot be played again"),
        (lambda d: d["events"].append({"type": "stop", "timestamp": 0, "data": {}}), "an event stop is none"),
    ],
)
def test_what_is_no_trace(change: Any, why: str, traced: Document) -> None:
    """A file that lacks what a trace has, or has more, is refused by name."""
    tampered = copy.deepcopy(traced)
    change(tampered)

    with pytest.raises(UsageError, match=why):
        replayed(tampered)


def test_whose_file_it_is(traced: Document) -> None:
    """Ours by its schema; nothing else that is JSON."""
    assert is_trace(traced)
    assert not any(is_trace(other) for other in (None, [], {}, {"schema": "hidden-profile/1"}, {"events": []}, {"events": [1]}))


def test_numbers_and_truths_are_compared_by_value() -> None:
    """1 and 1.0 are one number, True is none; what is missing, and what is too much, has a line of its own."""
    assert list(differences({"a": 1.0, "b": [1]}, {"a": 1, "b": [1]})) == []
    assert list(differences({"a": True, "c": 0}, {"a": 1, "b": 2})) == [
        "a: True in the file, 1 by the rules", "b: nothing in the file, 2 by the rules",
        "c: 0 in the file, nothing by the rules",
    ]  # fmt: skip
    assert list(differences([1, 2], [1], "x")) == ["x: 2 entries in the file, 1 by the rules"]


@pytest.mark.property
@pytest.mark.parametrize("name", VALUES)
def test_hostile_trace_is_replayed_or_refused(name: str, traced: Document, tmp_path: Path) -> None:
    """Every value of a kind is huge, odd or gone, in the whole trace and in each part: `replay` answers in words."""
    kinds, new = VALUES[name]
    whole = traced.model_dump(mode="json") if hasattr(traced, "model_dump") else copy.deepcopy(traced)
    for part in (None, *whole):
        document = {
            key: values_changed(one, kinds, new) if part in {None, key} else copy.deepcopy(one) for key, one in whole.items()
        }
        file = tmp_path / "trace.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        with suppress(UsageError):
            read = read_document(file)
            assert not is_trace(read) or replayed(read).title


@pytest.mark.parametrize(
    ("data", "limit"),
    [
        (b'{"a":' + b"9" * 400 + b"}", "limit digits"),
        (b"[" + b"[]," * 2_000_000 + b"[]]", "limit json_values"),
        (b"[" + b"{}" * 300_000 + b"]", "limit json_objects"),
        (b"[" * 100_000, "no JSON"),
        (b" " * (65 << 20), "limit record_bytes"),
    ],
    ids=["digits", "values", "objects", "deep", "bytes"],
)
def test_trace_over_the_budget_is_refused(data: bytes, limit: str, tmp_path: Path) -> None:
    """One line with the name of the limit, before anything is made of the document."""
    (tmp_path / "trace.json").write_bytes(data)

    with pytest.raises(UsageError, match=limit):
        read_document(tmp_path / "trace.json")


def test_trace_that_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    """A FIFO that nobody writes to does not keep anybody waiting."""
    os.mkfifo(tmp_path / "trace.json")

    with pytest.raises(UsageError, match="is a FIFO"):
        read_document(tmp_path / "trace.json")
