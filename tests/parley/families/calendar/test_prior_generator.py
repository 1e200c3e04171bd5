"""Prior meetings in the way: where the generator puts them, what it keeps free for them, and what it leaves as it was."""

from __future__ import annotations

import random
from math import floor
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.taskfile import read_taskfile
from oracles.calendar.certificate import plan_batches
from oracles.calendar.problem import build_problem
from parley.families.calendar.authoring.folders import task_toml
from parley.families.calendar.authoring.generator import Edition, Parameters, draft, generate, parameters
from worlds.calendar.options import CHANNELS
from worlds.calendar.rules.scenario import Scenario

EDITION = Edition("tests")


def shapes() -> list[Parameters]:
    """Parameters with prior meetings in the way."""
    rng, made = random.Random(9), []
    for seed in range(60):
        agents, long = rng.randint(5, 7), rng.random() < 0.3
        meetings = rng.randint(1, 5)
        made.append(
            parameters(
                seed=seed,
                num_agents=agents,
                num_slots=33 if long else rng.choice((16, 20)),
                num_meetings=meetings,
                participants=3 if agents < 6 else rng.randint(2, 3),
                density=tuple(rng.choice((0.6, 0.8, 1.0)) for _ in range(agents)),
                pref_level=rng.randint(1, 3),
                meeting_cost_level=rng.randint(1, 2),
                balanced=rng.random() < 0.5,
                force_witness_errand=rng.random() < 0.8,
                blocked=rng.choice((0, 2)),
                duration=tuple(rng.randint(1, 2) for _ in range(meetings)) if long else 1,
                prior_meetings=rng.randint(1, meetings),
                prior_in_the_way=True,
            )
        )
    return made


@pytest.fixture(scope="module")
def made() -> list[tuple[Parameters, Scenario]]:
    """Each shape with its scenario."""
    return [(shape, draft(shape, EDITION)) for shape in shapes()]


def test_each_stands_where_the_witness_has_a_meeting(made: list[tuple[Parameters, Scenario]]) -> None:
    """Another meeting for each, which shares a participant with it; the witness moves it to another slot."""
    for shape, scenario in made:
        assert len(scenario.prior) == shape.prior_meetings
        slots = {one.id: scenario.witness[one.id] for one in scenario.meetings}
        for standing in scenario.prior:
            wanted = [one for one in scenario.meetings if slots[one.id] == standing.slot]
            assert any(set(one.participants) & set(standing.participants) for one in wanted)
            assert scenario.witness[standing.id] != standing.slot


def test_no_meeting_holds_one(made: list[tuple[Parameters, Scenario]]) -> None:
    """Somebody in it is outside of each new meeting."""
    for _, scenario in made:
        for standing in scenario.prior:
            assert not any(set(standing.participants) <= set(one.participants) for one in scenario.meetings)


def test_the_witness_can_be_played(made: list[tuple[Parameters, Scenario]]) -> None:
    """With its moves of prior meetings it is a schedule, and every agent has room for its meetings."""
    for _, scenario in made:
        assert len(plan_batches(scenario, scenario.witness)) == len(scenario.meetings)
        assert build_problem(scenario).has_room_for(range(len(scenario.meetings)))


def test_moving_one_costs_its_price_alone(made: list[tuple[Parameters, Scenario]]) -> None:
    """No errand lies where the witness puts it, nor under the meeting that takes its slot."""
    for _, scenario in made:
        problem = build_problem(scenario)
        for place, standing in enumerate(scenario.prior, start=problem.meetings):
            price = scenario.scored_cost(standing.cost) * len(standing.participants)
            assert problem.prices[place, scenario.witness[standing.id]] == price
        taking = [
            (place, scenario.witness[one.id])
            for place, one in enumerate(scenario.meetings)
            if any(scenario.witness[one.id] == standing.slot for standing in scenario.prior)
        ]
        assert any(problem.prices[place, slot] == 0 for place, slot in taking)


def test_errands_are_the_papers_number_within_capacity(made: list[tuple[Parameters, Scenario]]) -> None:
    """floor(slots x density) errands, or as many as leave room for the meetings and for what is kept free."""
    for shape, scenario in made:
        for agent, mine in enumerate(scenario.errands):
            meetings = sum(one.duration for one in scenario.meetings if agent in one.participants)
            standing = sum(agent in one.participants for one in scenario.prior)
            wanted = floor(round(shape.num_slots * shape.densities[agent], 9))
            assert len(mine) <= min(wanted, shape.num_slots - meetings - standing)
            assert len(mine) >= min(wanted, shape.num_slots - 2 * meetings - 2 * standing)


def test_origin_says_it_only_where_it_is_so() -> None:
    """Scenarios that are made without it are the bytes that they were before there was such a parameter."""
    without = generate(parameters(blocked=6, prior_meetings=2), EDITION)
    with_it = generate(parameters(blocked=6, prior_meetings=2, prior_in_the_way=True), EDITION)

    assert "prior_in_the_way" not in without.origin["parameters"]
    assert with_it.origin["parameters"]["prior_in_the_way"] is True
    assert set(without.witness) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"prior_meetings": 0}, "prior meetings in the way are 1..5"),
        ({"prior_meetings": 6}, "prior meetings in the way are 1..5"),
        ({"prior_meetings": 1, "participants": 5}, "need agents outside each meeting"),
    ],
)
def test_parameters_refuse_by_rule(values: dict[str, int], rule: str) -> None:
    """Too many of them, none, and meetings of everybody are refused before anything is drawn."""
    with pytest.raises(UsageError, match=rule):
        parameters(prior_in_the_way=True, **values)


def test_pairs_that_every_meeting_holds_are_refused() -> None:
    """Where each possible prior meeting lies in some new one, no place is found for it."""
    shape = parameters(
        num_agents=3, num_meetings=3, participants=2, participant_lists=((0, 1), (0, 2), (1, 2)), prior_meetings=1,
        prior_in_the_way=True,
    )  # fmt: skip

    with pytest.raises(UsageError, match="do not fit into 16 slots with somebody outside each meeting"):
        draft(shape, EDITION)


def test_task_toml_tells_them_apart(tmp_path: Path) -> None:
    """A task with prior meetings has a pattern of its own, and tells the channels that its plan cannot be played on."""
    texts = {}
    for count in (0, 2):
        scenario = draft(parameters(blocked=6, pref_level=3, prior_meetings=count), EDITION)
        (tmp_path / "task.toml").write_text(task_toml("a-task", scenario, "easy"))
        texts[count] = read_taskfile(tmp_path / "task.toml").metadata.parley

    assert [ours.pattern for ours in texts.values() if ours] == ["Varied costs", "Varied-prior costs"]
    assert [ours.declared_options["channels"].default for ours in texts.values() if ours] == ["dm", "dm"]
    assert [ours.declared_options["channels"].values for ours in texts.values() if ours] == [CHANNELS, CHANNELS]
    assert [ours.declared_options["channels"].floor for ours in texts.values() if ours] == [
        (), tuple(channel for channel in CHANNELS if not channel.startswith("dm")),
    ]  # fmt: skip
