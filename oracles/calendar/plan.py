"""A schedule as batches: what each agent does in each round, so that everything displaced moves exactly once.

1. Prior meetings that the schedule moves go in the first round that has a decision: participants of its meeting move them with
   that decision, the others in the voluntary phase before. So they are in one place when the round is looked at.
2. A displaced errand goes to a cell in which nothing ends: no meeting, no prior meeting, no errand that stays. There are
   enough of these (`problem`, rule 3), and from the first round on they are free.
3. An agent's errands take these cells in ascending order, as rounds displace them. Nothing is moved twice, so an agent pays
   exactly what the certificate says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario

Action = dict[str, Any]
Round = dict[str, dict[int, list[Action]]]
"""`decision` and `voluntary`: agent -> its actions. Only agents that do something are named."""


def plan(scenario: Scenario, assignment: Mapping[int, int]) -> list[Round]:
    """The batches of every round that bring about a schedule.

    Args:
        scenario: the task.
        assignment: meeting -> slot; a prior meeting that is not named stays, and the round of a meeting that is not named has
            no decision.

    Raises:
        ValueError: the assignment is no schedule: it puts an item outside, over a blocked errand or over another item, or
            leaves no cell for what it displaces.
    """
    items = [item for item in (*scenario.meetings, *scenario.prior) if item.id in assignment or isinstance(item, PriorMeeting)]
    places = [(item, _place(item, assignment)) for item in items]
    order = {meeting.id: number for number, meeting in enumerate(scenario.meetings) if meeting.id in assignment}
    order |= {prior.id: min(order.values(), default=0) for prior in scenario.prior}
    rounds: list[Round] = [{"decision": {}, "voluntary": {}} for _ in scenario.meetings]
    for agent in scenario.agents:
        mine = [(item, slot) for item, slot in places if agent in item.participants]
        moves = _by_round(scenario, agent, mine, order)
        for number, meeting in enumerate(scenario.meetings):
            actions = moves.get(number, [])
            if agent in meeting.participants and meeting.id in assignment:
                here = {"type": "schedule", "meeting_id": meeting.id, "slot": assignment[meeting.id]}
                rounds[number]["decision"][agent] = [here, *actions]
            elif actions:
                phase = "decision" if agent in meeting.participants else "voluntary"
                rounds[number][phase][agent] = actions
    return rounds


def _place(item: Meeting, assignment: Mapping[int, int]) -> int:
    return assignment.get(item.id, item.slot) if isinstance(item, PriorMeeting) else assignment[item.id]


def _by_round(
    scenario: Scenario, agent: int, mine: list[tuple[Meeting, int]], order: Mapping[int, int]
) -> dict[int, list[Action]]:
    """An agent's reschedules by round, for the final places of its items; `order`: the round in which each goes there."""
    ends: dict[int, Meeting] = {}
    for item, slot in mine:
        for cell in range(slot, slot + item.duration):
            if cell in ends or not 0 <= cell < scenario.slots:
                raise ValueError(f"{item.item().name} cannot be at slot {slot} of agent {agent}")
            ends[cell] = item
    errands = {errand.slot: errand for errand in scenario.errands[agent]}
    spare = iter(sorted(set(range(scenario.slots)) - ends.keys() - errands.keys()))
    moves: dict[int, list[Action]] = {}
    for item, slot in mine:
        if isinstance(item, PriorMeeting) and item.slot != slot:
            moves.setdefault(order[item.id], []).append(_move(item.item().name, item.slot, slot, _reason(item, ends)))
    for item, slot in sorted(mine, key=lambda one: order[one[0].id]):
        under = [errands[cell] for cell in range(slot, slot + item.duration) if cell in errands]
        moves.setdefault(order[item.id], []).extend(_out_of_the_way(under, spare, item, agent))
    return moves


def _out_of_the_way(under: list[Errand], spare: Iterator[int], item: Meeting, agent: int) -> Iterator[Action]:
    for errand in under:
        target = next(spare, None)
        if errand.blocked or target is None:
            raise ValueError(f"#{errand.id} of agent {agent} cannot make room for {item.item().name}")
        yield _move(f"#{errand.id}", errand.slot, target, f"room for {item.item().name}")


def _reason(prior: PriorMeeting, ends: Mapping[int, Meeting]) -> str:
    """Why a prior meeting moves: what ends where it stood on this calendar, if anything does."""
    over = [ends[cell] for cell in range(prior.slot, prior.slot + prior.duration) if cell in ends and ends[cell] != prior]
    return f"room for {over[0].item().name}" if over else "it moves on all its calendars"


def _move(name: str, source: int, target: int, reason: str) -> Action:
    return {"type": "reschedule", "item_id": name, "from_slot": source, "to_slot": target, "justification": reason}
