"""Each seat's part in each round: what it sent, told, moved and paid, and what the optimal schedule would have had it pay.

1. A message is typed where it is one object of a known protocol that holds no words besides. What a seat told by typed messages
   is measured; of a seat that wrote prose in a round, the number here says nothing of what the prose told.
2. A meeting that stood is moved alone where not all its participants moved it in the same round.
3. `oracle_cost` follows the certificate's schedule of all meetings (paper, G.2: cost above the oracle schedule). Costs there
   are direct, so a seat pays for a meeting what stands in its slot on the seat's first calendar.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from validators.calendar.evidence import is_typed
from validators.calendar.history import Committed, Replay
from validators.calendar.reflections import Reflections
from validators.calendar.vps import Privacy
from worlds.calendar.rules.certificate import Certificate
from worlds.calendar.rules.measures import Role, SeatRoundMeasures
from worlds.calendar.rules.scenario import Meeting, Scenario

Cell = tuple[int, int]
"""Round and seat."""


def seat_rounds(
    replay: Replay, certificate: Certificate, losses: Privacy, answers: Reflections | None = None
) -> tuple[SeatRoundMeasures, ...]:
    """One row for each round and seat, in that order, rounds that were never reached included."""
    sent = Counter((message.round, message.sender) for message in replay.messages)
    prose = Counter((message.round, message.sender) for message in replay.messages if not is_typed(message.content))
    told: defaultdict[Cell, float] = defaultdict(float)
    for (number, target, _), pair in losses.pairs.items():
        told[number, target] += pair.loss
    batches: defaultdict[Cell, list[Committed]] = defaultdict(list)
    for one in replay.committed:
        batches[one.round, one.seat].append(one)
    movers = _movers(replay.committed)
    rows = []
    for number, meeting in enumerate(replay.scenario.meetings, start=1):
        for seat in replay.scenario.agents:
            cell, mine = (number, seat), batches[number, seat]
            moves = [move.item for one in mine for move in one.batch.moves]
            moved = sorted({item.id for item in moves if item.kind == "meeting"})
            rows.append(
                SeatRoundMeasures(
                    round=number,
                    seat=seat,
                    role=_role(meeting, seat),
                    messages=sent[cell],
                    prose=prose[cell],
                    vps=round(told[cell], 9),
                    moves=len(moves),
                    cost=sum(replay.scored(one) for one in mine),
                    oracle_cost=oracle_cost(replay.scenario, certificate, meeting, seat),
                    reflection_vps=answers.in_round(number, seat) if answers else None,
                    moved=tuple(moved),
                    alone=tuple(item for item in moved if not _participants(replay.scenario, item) <= movers[number, item]),
                )
            )
    return tuple(rows)


def oracle_cost(scenario: Scenario, certificate: Certificate, meeting: Meeting, seat: int) -> int | None:
    """What a participant pays for one meeting in the certificate's schedule; None for outsiders and without a schedule."""
    slot = (certificate.assignment or {}).get(str(meeting.id))
    if slot is None or seat not in meeting.participants:
        return None
    in_the_way = {item for item in scenario.calendars[seat][slot : slot + meeting.duration] if item is not None}
    return sum(scenario.scored(item.cost) for item in in_the_way)


def _role(meeting: Meeting, seat: int) -> Role:
    if seat == meeting.order[0]:
        return "first"
    return "participant" if seat in meeting.participants else "outsider"


def _movers(committed: Sequence[Committed]) -> Mapping[Cell, set[int]]:
    """Round and meeting -> the seats that moved it."""
    movers: defaultdict[Cell, set[int]] = defaultdict(set)
    for one in committed:
        for move in one.batch.moves:
            if move.item.kind == "meeting":
                movers[one.round, move.item.id].add(one.seat)
    return movers


def _participants(scenario: Scenario, meeting: int) -> set[int]:
    return set(scenario.meeting(meeting).participants)
