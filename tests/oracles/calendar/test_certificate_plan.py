"""Plans are played with the rules' own batches, and every game there is on tiny tasks is searched for a cheaper one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product

import pytest

from oracles.calendar.certificate import Round, certify, plan_batches
from tests.worlds.calendar import brute
from tests.worlds.calendar.random_tasks import canonical, small
from worlds.calendar.rules.batch import Batch, apply_batch, check_batch
from worlds.calendar.rules.items import Cells, Item
from worlds.calendar.rules.resolution import resolve
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario

Placement = tuple[tuple[Item, int], ...]


def played(scenario: Scenario, rounds: list[Round]) -> list[int]:
    """What each agent pays, as scored, when the rounds are played; every batch must hold and every round succeed."""
    calendars, paid = list(scenario.calendars), [0] * len(scenario.agents)
    for number, (meeting, acts) in enumerate(zip(scenario.meetings, rounds, strict=True)):
        assert set(acts["decision"]) == set(meeting.participants)
        for phase in ("voluntary", "decision"):
            for agent, actions in acts[phase].items():
                item = meeting.item() if phase == "decision" else None
                batch = check_batch(calendars[agent], actions, item, justify=True)
                assert isinstance(batch, Batch), (agent, actions, batch)
                calendars[agent] = apply_batch(calendars[agent], batch, item)
                paid[agent] += sum(scenario.scored_cost(move.item.cost) for move in batch.moves)
        found = resolve(calendars, meeting, [*scenario.prior, *scenario.meetings[:number]])
        assert found.is_coordinated
    return paid


def slots_of(certificate: Mapping[str, Mapping[str, int]]) -> dict[int, int]:
    """The assignment of a certificate, moves of prior meetings too."""
    return {int(number): slot for number, slot in {**certificate["assignment"], **certificate["prior_moves"]}.items()}


@pytest.mark.parametrize("density", [0.4, 0.6, 0.8])
def test_played_plans_cost_what_the_certificate_says(density: float) -> None:
    """On tasks of the published shape the optimum, played round by round, costs each agent exactly its share."""
    for seed in range(20):
        scenario = canonical(seed, density=density)
        certificate = certify(scenario).document()
        if certificate["optimum"] is not None:
            assert played(scenario, plan_batches(scenario, slots_of(certificate))) == certificate["per_agent"]


@pytest.mark.property
def test_every_schedule_of_small_tasks_can_be_played() -> None:
    """Any schedule, not only the best, becomes batches that hold, with prior meetings and long ones, at its direct cost."""
    outsiders = games = 0
    for seed in range(200):
        scenario = small(seed)
        for schedule in list(brute.schedules(scenario))[:: 1 + seed % 7]:
            ids = [item.id for item in (*scenario.meetings, *scenario.prior)]
            rounds = plan_batches(scenario, dict(zip(ids, schedule.slots, strict=True)))
            assert played(scenario, rounds) == list(schedule.per_agent)
            games += 1
            outsiders += any(acts["voluntary"] for acts in rounds)

    assert games > 1000
    assert outsiders > 100


def tiny(count: int) -> Iterator[Scenario]:
    """Tasks small enough to search every game: two agents, at most four slots, meetings of one slot."""
    for seed in range(10_000):
        scenario = small(seed, most=3)
        items = (*scenario.meetings, *scenario.prior)
        short = all(item.duration == 1 for item in items)
        if len(scenario.agents) == 2 and scenario.slots <= 4 and len(scenario.meetings) <= 2 and len(items) > 1 and short:
            yield scenario
            count -= 1
            if not count:
                return


def placements(scenario: Scenario, agent: int, items: list[Item]) -> list[Placement]:
    """Every way in which an agent's calendar can hold these items and its blocked errands."""
    blocked = {errand.slot for errand in scenario.errands[agent] if errand.blocked}
    cells = [slot for slot in range(scenario.slots) if slot not in blocked]
    return [tuple(zip(items, chosen, strict=True)) for chosen in permutations(cells, len(items))]


def cheapest_game(scenario: Scenario) -> int | None:
    """The least that all agents pay in any game in which every round succeeds, by searching all of them."""
    items = [[item for item in dict.fromkeys(cells) if item and not item.blocked] for cells in scenario.calendars]
    start = tuple(
        tuple((item, cells.index(item)) for item in mine) for mine, cells in zip(items, scenario.calendars, strict=True)
    )
    states = {start: 0}
    for meeting in scenario.meetings:
        for agent in meeting.participants:
            items[agent] = [*items[agent], meeting.item()]
        after: dict[tuple[Placement, ...], int] = {}
        ends = [end for end in product(*(placements(scenario, a, mine) for a, mine in enumerate(items))) if joint(end)]
        for (before, cost), end in product(states.items(), ends):
            total = cost + sum(moved(scenario, old, new) for old, new in zip(before, end, strict=True))
            after[end] = min(total, after.get(end, total))
        states = after
    return min(states.values(), default=None)


def joint(calendars: tuple[Placement, ...]) -> bool:
    """Whether each meeting is in one slot on all its calendars."""
    places = {(item.id, slot) for placement in calendars for item, slot in placement if item.kind == "meeting"}
    return len({number for number, _ in places}) == len(places)


def moved(scenario: Scenario, before: Placement, after: Placement) -> int:
    """What one agent pays for a batch from one calendar to another."""
    return sum(scenario.scored_cost(old[0].cost) for old, new in zip(before, after, strict=False) if old != new)


@pytest.mark.property
def test_no_game_is_cheaper_than_the_optimum() -> None:
    """On tiny tasks the optimum is what the cheapest of all games costs, and where there is none no game succeeds."""
    found = [(cheapest_game(scenario), certify(scenario).document()) for scenario in tiny(60)]

    assert [game for game, _ in found] == [certificate["optimum"] for _, certificate in found]
    assert any(game is None for game, _ in found)
    assert any(certificate["prior_moves"] for _, certificate in found)


def test_prior_meetings_may_swap_with_errands_of_a_full_agent() -> None:
    """An agent without a free cell can still move a prior meeting, into the cell of the errand that takes its place."""
    errands = ((Errand(slot=2, id=1, cost=1, blocked=True),), tuple(Errand(slot=slot, id=slot + 1, cost=1) for slot in (1, 2)))
    scenario = Scenario(
        slots=3,
        errands=errands,
        meetings=(Meeting(id=1, participants=(0,)),),
        prior=(PriorMeeting(id=9, participants=(0, 1), slot=0),),
    )
    slots = {1: 0, 9: 1}

    assert played(scenario, plan_batches(scenario, slots)) == [1, 2]
    assert cheapest_game(scenario) == certify(scenario).document()["optimum"] == 0
    assert certify(scenario).document()["worst_per_agent"] == [1, 2]


def test_who_moves_a_prior_meeting_and_when() -> None:
    """In the first round its participants move it: those of the round with their decision, others in the voluntary phase."""
    blocked = tuple(Errand(slot=slot, id=slot, cost=1, blocked=True) for slot in (2, 3))
    scenario = Scenario(
        slots=4,
        errands=((), blocked, ()),
        meetings=(Meeting(id=1, participants=(0, 1)), Meeting(id=2, participants=(0, 1))),
        prior=(PriorMeeting(id=9, participants=(0, 2), slot=0),),
    )
    (first, second) = plan_batches(scenario, {1: 1, 2: 0, 9: 2})
    move = {"type": "reschedule", "item_id": "M9", "from_slot": 0, "to_slot": 2, "justification": "room for M2"}

    assert first["decision"][0] == [{"type": "schedule", "meeting_id": 1, "slot": 1}, move]
    assert first["voluntary"] == {2: [{**move, "justification": "it moves on all its calendars"}]}
    assert second == {
        "decision": {agent: [{"type": "schedule", "meeting_id": 2, "slot": 0}] for agent in (0, 1)},
        "voluntary": {},
    }


def test_rounds_without_a_slot_have_no_decision() -> None:
    """A subset is planned like the whole, the rounds of the other meetings left empty."""
    scenario = canonical(3)
    rounds = plan_batches(scenario, {2: certify(scenario.subset([2])).document()["assignment"]["2"]})

    assert [bool(acts["decision"]) for acts in rounds] == [False, True, False, False, False]


def test_prior_meetings_move_in_the_first_round_that_has_a_decision() -> None:
    """A round that is left out has no batch for them to be in."""
    meetings = tuple(Meeting(id=number, participants=(0,)) for number in (1, 2))
    prior = (PriorMeeting(id=9, participants=(0,), slot=0),)
    first, second = plan_batches(Scenario(slots=3, errands=((),), meetings=meetings, prior=prior), {2: 0, 9: 1})

    assert first == {"decision": {}, "voluntary": {}}
    assert [action["type"] for action in second["decision"][0]] == ["schedule", "reschedule"]


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ({1: 0}, "#1 of agent 0 cannot make room for M1"),
        ({1: 1, 2: 1}, "M2 cannot be at slot 1 of agent 0"),
        ({1: 4}, "M1 cannot be at slot 4 of agent 0"),
        ({1: 1, 2: 2, 3: 3}, "#2 of agent 0 cannot make room for M1"),
    ],
)
def test_what_is_no_schedule_is_refused(slots: dict[int, int], message: str) -> None:
    """Blocked errands, double booking, slots outside and calendars without room are errors that name the item."""
    errands = (Errand(slot=0, id=1, cost=1, blocked=True), Errand(slot=1, id=2, cost=1))
    meetings = tuple(Meeting(id=number, participants=(0,)) for number in (1, 2, 3))

    with pytest.raises(ValueError, match=message):
        plan_batches(Scenario(slots=4, errands=(errands,), meetings=meetings), slots)


def test_cells_are_the_calendars_of_the_scenario() -> None:
    """A plan that is played leaves every agent with all it had: nothing is lost or made twice."""
    scenario = canonical(5)
    calendars: list[Cells] = list(scenario.calendars)
    for meeting, acts in zip(scenario.meetings, plan_batches(scenario, slots_of(certify(scenario).document())), strict=True):
        for agent, actions in acts["decision"].items():
            batch = check_batch(calendars[agent], actions, meeting.item(), justify=True)
            assert isinstance(batch, Batch)
            calendars[agent] = apply_batch(calendars[agent], batch, meeting.item())

    for before, after in zip(scenario.calendars, calendars, strict=True):
        assert {item for item in after if item and item.kind == "errand"} == {item for item in before if item}
