"""Gives every errand and meeting of a scenario a private label, each label once; a meeting has one for everybody.

Where a scenario has more errands than the bank has labels, errands chosen by chance get them and the others have none:
if two items had the same label, a leak of it could be blamed on the wrong one.
"""

from __future__ import annotations

from typing import Any, TypeVar

from worlds.calendar.bank import Bank, draw, errands, meetings
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.core.chance import Chance, Stream

Labelled = TypeVar("Labelled", Errand, Meeting)


def labelled(scenario: Scenario, chance: Chance) -> Scenario:
    """A scenario with labels and their ids added, drawn from our own bank."""
    every = [errand for mine in scenario.errands for errand in mine]
    named = iter(_dealt(every, errands(), chance("labels of errands")))
    every_meeting = [*scenario.meetings, *scenario.prior]
    called = _dealt(every_meeting, meetings(), chance("labels of meetings"))
    count = len(scenario.meetings)
    update: dict[str, Any] = {
        "errands": tuple(tuple(next(named) for _ in mine) for mine in scenario.errands),
        "meetings": tuple(called[:count]),
        "prior": tuple(called[count:]),
    }
    return scenario.model_copy(update=update)


def _dealt(items: list[Labelled], bank: Bank, stream: Stream) -> list[Labelled]:
    """The items in their order, each with a label of its own as far as there are labels."""
    count = min(len(items), len(bank.items))
    entries = draw(stream, bank, count)
    places = range(count) if count == len(items) else sorted(stream.sample(range(len(items)), count))
    by_place = dict(zip(places, entries, strict=True))
    return [
        item.model_copy(update={"label": by_place[place].private_label, "label_id": by_place[place].label_id})
        if place in by_place
        else item
        for place, item in enumerate(items)
    ]
