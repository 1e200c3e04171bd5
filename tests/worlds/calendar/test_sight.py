"""A seat sees its own calendar and what was sent to it: everything delivered to each seat is walked for what is others'."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from harness.registry import Task
from tests.sampling import spread
from tests.shipped import SHIPPED
from worlds.calendar.rules.items import read_lines
from worlds.calendar.rules.scenario import Scenario, read_scenario
from worlds.core.events import Seated, Turned
from worlds.core.loading import open_world
from worlds.core.seated import SEAT_HEADER, seat_token
from worlds.core.testing import InProcess, world_in_process
from worlds.core.wire import HOST_HEADER, request

TASKS = [task for task in SHIPPED if task.family == "calendar"]
THOUGHT = "a thought of seat {seat} about {label}"


def chatty(scenario: Scenario, turn: Mapping[str, Any]) -> str:
    """A seat that writes to everybody once, thinks of its secrets aloud, and decides on its first free slot."""
    own = next(errand.label for errand in scenario.errands[turn["seat"]])
    actions: list[dict[str, Any]] = []
    if turn["phase"] == "CHEAP_TALK" and "Your calendar:" in turn["text"]:
        actions = [{"type": "dm", "to": to, "content": f"hello {to}"} for to in scenario.agents if to != turn["seat"]]
    if turn["phase"] == "DECISION":
        free = [slot for slot, item in enumerate(read_lines(turn["text"])) if item is None]
        meeting = scenario.meetings[turn["round"] - 1]
        actions = [{"type": "schedule", "meeting_id": meeting.id, "slot": free[0] if free else 0}]
    return json.dumps({"thinking": THOUGHT.format(seat=turn["seat"], label=own), "actions": actions})


def play(task: Task, scenario: Scenario, options: Mapping[str, Any]) -> InProcess:
    """A whole game of such seats."""
    world = world_in_process(task.world_folder, overrides=options)
    turns = json.loads(world(request("GET", "/turns")).body)["turns"]
    while turns:
        answer = world(request("POST", f"/turns/{turns[0]['id']}", body=chatty(scenario, turns[0])))
        turns = json.loads(answer.body)["turns"]
    return world


def delivered(world: InProcess, seat: int) -> list[str]:
    """Every text that a seat was given: its rules, and its turns."""
    (session,) = [event for event in world.events if isinstance(event, Seated)]
    return [session.seats[seat], *(event.text for event in world.events if isinstance(event, Turned) and event.seat == seat)]


def secrets_of(scenario: Scenario, seat: int) -> set[str]:
    """What only this seat may read: labels and ids of its errands, and labels of meetings that it takes part in."""
    errands = scenario.errands[seat]
    return {errand.label for errand in errands} | {f"Errand #{errand.id} " for errand in errands}


def labels_hidden_from(scenario: Scenario, seat: int) -> set[str]:
    """Labels of meetings in which a seat takes no part."""
    return {one.label for one in (*scenario.meetings, *scenario.prior) if seat not in one.participants}


def leaks(texts: Iterable[str], secrets: Iterable[str]) -> Iterator[str]:
    """Each secret that stands in some text."""
    whole = "\n".join(texts)
    return (secret for secret in secrets if secret and secret in whole)


@pytest.mark.parametrize("task", spread(TASKS), ids=lambda task: task.task_id)
def test_nothing_of_others_is_delivered(task: Task) -> None:
    """No label, no errand, no thought of another seat, and no label of a meeting that is not one's own."""
    scenario = read_scenario(task.world_folder / "scenario.json")
    world = play(task, scenario, {})
    for seat in scenario.agents:
        texts, others = delivered(world, seat), [other for other in scenario.agents if other != seat]

        assert [*leaks(texts, {secret for other in others for secret in secrets_of(scenario, other)})] == []
        assert [*leaks(texts, labels_hidden_from(scenario, seat))] == []
        assert [*leaks(texts, {"a thought of seat"})] == []


@pytest.mark.parametrize("task", TASKS[::30], ids=lambda task: task.task_id)
def test_own_things_are_shown(task: Task) -> None:
    """The walk can find what it looks for: each seat is shown every label of its own, and its meetings'."""
    scenario = read_scenario(task.world_folder / "scenario.json")
    world = play(task, scenario, {})
    for seat in scenario.agents:
        mine = {errand.label for errand in scenario.errands[seat]}
        mine |= {meeting.label for meeting in scenario.meetings if seat in meeting.participants}

        assert mine == {label for label in mine if label in "\n".join(delivered(world, seat))}


@pytest.mark.parametrize("task", TASKS[::30], ids=lambda task: task.task_id)
def test_calendars_shown_are_ones_own(task: Task) -> None:
    """Every calendar in a seat's texts is its own at that moment, cell by cell: never a cell of another's."""
    scenario = read_scenario(task.world_folder / "scenario.json")
    world = play(task, scenario, {})
    for seat in scenario.agents:
        ids = {errand.id for errand in scenario.errands[seat]}
        for text in delivered(world, seat)[1:]:
            shown = read_lines(text)

            assert {item.id for item in shown if item and item.kind == "errand"} <= ids
            assert {item.id for item in shown if item and item.kind == "meeting" and seat not in item.participants} == set()


@pytest.mark.parametrize("task", TASKS[::30], ids=lambda task: task.task_id)
def test_meetings_to_come_are_told_to_nobody(task: Task) -> None:
    """A meeting is named to nobody before its round."""
    scenario = read_scenario(task.world_folder / "scenario.json")
    turned = [event for event in play(task, scenario, {}).events if isinstance(event, Turned)]
    for number, meeting in enumerate(scenario.meetings, start=1):
        early = [event.text for event in turned if event.round < number]

        assert not any(re.search(rf"\bM{meeting.id}\b", text) or meeting.label in text for text in early)


def test_routes_tell_a_seat_no_more_than_its_texts() -> None:
    """What /session and /turns answer to a seat's token holds no secret of another, and neither do answers to its posts."""
    task = TASKS[0]
    scenario = read_scenario(task.world_folder / "scenario.json")
    world = InProcess(open_world(task.world_folder, host_token="host"))
    heard: dict[int, list[str]] = {seat: [] for seat in scenario.agents}
    while turns := json.loads(world(request("GET", "/turns", headers={HOST_HEADER: "host"})).body)["turns"]:
        seat, turn = turns[0]["seat"], turns[0]
        mine = {SEAT_HEADER: seat_token("host", seat)}
        heard[seat] += [world(request("GET", target, headers=mine)).body.decode() for target in ("/session", "/turns")]
        answer = world(request("POST", f"/turns/{turn['id']}", headers=mine, body=chatty(scenario, turn)))
        heard[seat].append(answer.body.decode())
    for seat, texts in heard.items():
        others = {secret for other in scenario.agents if other != seat for secret in secrets_of(scenario, other)}

        assert [*leaks(texts, others | labels_hidden_from(scenario, seat))] == []
        assert any(errand.label in text for errand in scenario.errands[seat] for text in texts)
