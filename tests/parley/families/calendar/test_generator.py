"""The generator: what every scenario it makes keeps to, over hundreds of shapes."""

from __future__ import annotations

import json
import random
from collections import Counter
from math import floor

import pytest

from harness.errors import UsageError
from oracles.calendar.certificate import plan_batches
from oracles.calendar.problem import build_problem
from parley.families.calendar.authoring.generator import Edition, Parameters, balanced, drawn, generate, parameters
from worlds.calendar.rules.scenario import Scenario
from worlds.core.chance import Stream

EDITION = Edition("tests")


def shapes() -> list[Parameters]:
    """A few hundred parameters that a scenario exists for, all features mixed."""
    rng, made = random.Random(4), []
    for seed in range(300):
        agents, long = rng.randint(3, 7), rng.random() < 0.4
        densities = tuple(rng.choice((0.6, 0.7, 0.8, 1.0)) for _ in range(agents))
        meetings = rng.randint(1, 5)
        made.append(
            parameters(
                seed=seed,
                num_agents=agents,
                num_slots=33 if long else rng.choice((16, 20)),
                num_meetings=meetings,
                participants=rng.randint(2, 3),
                density=rng.choice((densities, 0.8)),
                pref_level=rng.randint(1, 3),
                meeting_cost_level=rng.randint(1, 2),
                balanced=rng.random() < 0.5,
                force_witness_errand=rng.random() < 0.8,
                blocked=rng.choice((0, 2, (1,) * agents)),
                duration=tuple(rng.randint(1, 2) for _ in range(meetings)) if long else 1,
                prior_meetings=rng.randint(0, 2),
            )
        )
    return made


@pytest.fixture(scope="module", params=[6, pytest.param(1, marks=pytest.mark.property)])
def made(request: pytest.FixtureRequest) -> list[tuple[Parameters, Scenario]]:
    """Each shape with its scenario, or each sixth one."""
    return [(shape, generate(shape, EDITION)) for shape in shapes()[:: request.param]]


def cells(scenario: Scenario, agent: int) -> set[int]:
    """The cells that the witness takes of an agent's calendar."""
    return {
        cell
        for meeting in scenario.meetings
        if agent in meeting.participants
        for cell in range(scenario.witness[meeting.id], scenario.witness[meeting.id] + meeting.duration)
    }


def standing(scenario: Scenario, agent: int) -> set[int]:
    """The cells of prior meetings."""
    return {meeting.slot for meeting in scenario.prior if agent in meeting.participants}


@pytest.mark.property
def test_the_witness_can_be_played(made: list[tuple[Parameters, Scenario]]) -> None:
    """The hidden schedule is possible: no conflict, no blocked errand under it, and room for all that it displaces."""
    for _, scenario in made:
        assert len(plan_batches(scenario, scenario.witness)) == len(scenario.meetings)
        assert build_problem(scenario).has_room_for(range(len(scenario.meetings)))


def test_no_errand_of_the_witness_is_blocked(made: list[tuple[Parameters, Scenario]]) -> None:
    """Blocked errands are as many as asked for and never on an agent's own witness cells."""
    for shape, scenario in made:
        for agent, mine in enumerate(scenario.errands):
            blocked = {errand.slot for errand in mine if errand.blocked}
            assert len(blocked) == shape.blocked_of(agent)
            assert blocked.isdisjoint(cells(scenario, agent))


def test_errands_are_the_papers_number_within_capacity(made: list[tuple[Parameters, Scenario]]) -> None:
    """floor(slots x density) errands, and never so many that meetings and errands do not fit into a calendar."""
    for shape, scenario in made:
        for agent, mine in enumerate(scenario.errands):
            taken = len(cells(scenario, agent)) + len(standing(scenario, agent))
            wanted = floor(round(shape.num_slots * shape.densities[agent], 9))
            assert len(mine) == min(wanted, shape.num_slots - taken)


def test_witness_cells_hold_errands_first(made: list[tuple[Parameters, Scenario]]) -> None:
    """With force_witness_errand an agent's witness is covered as far as its errands reach."""
    for shape, scenario in made:
        for agent, mine in enumerate(scenario.errands):
            witness = cells(scenario, agent)
            covered = len(witness & {errand.slot for errand in mine})
            assert not shape.force_witness_errand or covered == min(len(witness), len(mine))


def test_ids_do_not_tell_the_witness(made: list[tuple[Parameters, Scenario]]) -> None:
    """Errand ids rise with the slots, so that the order of filling cannot be read off them."""
    for _, scenario in made:
        for agent, mine in enumerate(scenario.errands):
            assert [errand.id for errand in mine] == [agent * scenario.slots + place for place in range(1, len(mine) + 1)]
            assert [errand.slot for errand in mine] == sorted(errand.slot for errand in mine)


def test_labels_are_unique_in_a_scenario(made: list[tuple[Parameters, Scenario]]) -> None:
    """Every item has a label and an id of the bank as long as it lasts, and none is given twice."""
    for _, scenario in made:
        errands = [errand for mine in scenario.errands for errand in mine]
        named = [errand.label for errand in errands if errand.label]
        meetings = [meeting.label for meeting in (*scenario.meetings, *scenario.prior)]
        assert len(set(named)) == len(named) == min(len(errands), 120)
        assert len(set(meetings)) == len(meetings)
        assert all(meetings)
        assert all(bool(item.label) == bool(item.label_id) for item in (*errands, *scenario.meetings))


def test_shown_costs_are_levels(made: list[tuple[Parameters, Scenario]]) -> None:
    """Level l is shown as a power of ten and scored as l; the uniform setting needs no scale."""
    for shape, scenario in made:
        shown = {errand.cost for mine in scenario.errands for errand in mine}
        assert shown <= {10**level for level in range(shape.errand_level)}
        assert {scenario.scored_cost(cost) for cost in shown} <= set(range(1, shape.errand_level + 1))
        assert (scenario.scale == {}) is (shape.errand_level == shape.meeting_cost_level == 1)


def test_origin_makes_the_scenario_again(made: list[tuple[Parameters, Scenario]]) -> None:
    """The parameters that a scenario records, read back from its file, give its bytes."""
    for _, scenario in made[:40]:
        recorded = Scenario.model_validate_json(scenario.to_json()).origin
        again = generate(Parameters.model_validate_json(json.dumps(recorded["parameters"])), Edition(recorded["suite"]))
        assert again.to_json() == scenario.to_json()


def test_canonical_densities_are_three_levels() -> None:
    """At 16 slots and three meetings 0.6, 0.8 and 1.0 give 9, 12 and 13 errands, of which 2, 4 and 6 are blocked."""
    shape = parameters(density=(0.6, 0.8, 1.0, 0.6, 1.0), blocked=6)

    scenario = generate(shape, EDITION)

    assert [len(mine) for mine in scenario.errands] == [9, 12, 13, 9, 13]
    assert [sum(errand.blocked for errand in mine) for mine in scenario.errands] == [2, 4, 6, 2, 6]


def test_density_counts_as_it_is_written() -> None:
    """0.29 of 100 slots are 29 errands, although the nearest binary number is less."""
    assert parameters(num_slots=100, density=0.29).errands_of(0, 3) == 29


def test_balanced_costs_are_balanced_for_each_agent() -> None:
    """Every agent has each level equally often or once more, whatever number of errands it has."""
    shape = parameters(density=(0.6, 0.8, 1.0, 0.5, 0.7), pref_level=3, balanced=True)

    for mine in generate(shape, EDITION).errands:
        counts = Counter(errand.cost for errand in mine)
        assert set(counts) == {1, 10, 100}
        assert max(counts.values()) - min(counts.values()) <= 1


def test_costs_by_chance_are_uniform() -> None:
    """Drawn levels come out equally often in the long run, and balanced ones in an order that is drawn."""
    stream = Stream("k", "t", 0, "costs")
    counts = Counter(drawn(30_000, 3, stream))

    assert all(abs(counts[cost] - 10_000) < 400 for cost in (1, 10, 100))
    assert len({tuple(balanced(6, 3, stream)) for _ in range(50)}) > 20


def test_given_participant_lists_are_used() -> None:
    """Fixed participants are who takes part, in ascending order."""
    lists = ((2, 0), (1, 3, 4), (0, 1), (2, 3), (4, 0))

    scenario = generate(parameters(participant_lists=lists), EDITION)

    assert [meeting.participants for meeting in scenario.meetings] == [tuple(sorted(one)) for one in lists]


def test_a_private_key_gives_another_edition() -> None:
    """Another key makes another scenario of the same parameters, and only the key's digest is recorded."""
    public, private = generate(parameters(), EDITION), generate(parameters(), Edition("tests", "a secret"))

    assert public.errands != private.errands
    assert "key" not in public.origin
    assert "a secret" not in private.to_json()
    assert len(private.origin["key"]) == 16


def test_changed_costs_leave_the_rest_alone() -> None:
    """Each step draws from its own stream: another cost level moves no errand and no meeting."""
    uniform, varied = generate(parameters(blocked=6), EDITION), generate(parameters(blocked=6, pref_level=3), EDITION)

    assert uniform.witness == varied.witness
    assert [[(e.slot, e.blocked, e.label) for e in mine] for mine in uniform.errands] == [
        [(e.slot, e.blocked, e.label) for e in mine] for mine in varied.errands
    ]


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"density": 1.5}, "a density lies in 0..1"),
        ({"density": (0.6, 0.8)}, "density lists 2 values for 5 agents"),
        ({"blocked": (1, 2)}, "blocked lists 2 values for 5 agents"),
        ({"blocked": -1}, "blocked errands cannot be fewer than 0"),
        ({"duration": (1, 2)}, "duration lists 2 values for 5 meetings"),
        ({"duration": 17}, "a duration lies in 1..16"),
        ({"participants": 6}, "6 participants are more than the 5 agents"),
        ({"participant_lists": ((0, 1),)}, "participant_lists lists 1 values for 5 meetings"),
        ({"num_meetings": 1, "participant_lists": ((0, 9),)}, r"participant list \[0, 9\] must be"),
        ({"num_agents": 1}, "num_agents"),
        ({"pref_level": 0}, "pref_level"),
        ({"colour": 3}, "colour"),
    ],
)
def test_parameters_refuse_by_rule(values: dict[str, object], rule: str) -> None:
    """Parameters that make no sense are refused with the rule, before anything is drawn."""
    with pytest.raises(UsageError, match=rule):
        parameters(**values)


@pytest.mark.property
@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"num_meetings": 40}, "40 meetings and 0 prior ones do not fit into 16 slots"),
        ({"prior_meetings": 30}, "5 meetings and 30 prior ones do not fit"),
        (
            {"density": 0.2, "blocked": 3},
            r"off the hidden schedule, so 1 \(--blocked at its density\) cannot be blocked",
        ),
    ],
)
def test_generation_without_room_is_refused(values: dict[str, object], rule: str) -> None:
    """What turns out to have no room is refused with the rule and the flag to change."""
    with pytest.raises(UsageError, match=rule) as refused:
        generate(parameters(**values), EDITION)

    assert "harness generate calendar" in refused.value.hint
