"""Sections of a calendar game: outcomes of meetings and calendars, costs of seats, and messages.

Seats are the agents of the game and have the same numbers everywhere, as in the prompts and the scenario. Calendars are those
of the validator's replay, so they follow from the log by the rules. Faults of a round are described in sentences that name each
seat by its number and its player.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from harness.causes import FORFEITS
from harness.records import Result
from parley.families.calendar.seat_rows import name_of, prose_writers
from parley.reports.reading import Breach, Cell, RecordedEpisode, Section
from parley.reports.reading.model import measured, notes
from validators.calendar.replay import NoGame, replay
from validators.episode import Episode
from worlds.calendar.labels import Label
from worlds.calendar.rules.items import Item
from worlds.calendar.rules.measures import Measures, RoundMeasures
from worlds.core.faults import SeatFault
from worlds.core.models import Lenient

_CONFLICTS = {
    "no_schedule": "never scheduled it",
    "blocked": "sent only batches that moved a blocked errand",
    "schedule_occupied": "scheduled it onto an item that stayed",
    "target_occupied": "moved an item onto another that stayed",
}
"""For each conflict, the action of a seat whose last batch was refused only for this conflict."""


def seat_names(result: Result) -> dict[int, str]:
    """Return the name of each seat in sentences: `seat 2 (gpt-5)`."""
    return {one.seat: f"seat {one.seat} ({name_of(one)})" for one in result.seats}


def fault_sentence(row: RoundMeasures, names: Mapping[int, str]) -> str:
    """Return a clause that says which seats caused the failure of a round, and how; "" if the rules name no seat."""
    deeds: dict[str, list[str]] = {}
    shared: list[str] = []
    for one in row.faults:
        name = names.get(one.seat, f"seat {one.seat}")
        if one.cause == "different_slots":
            shared.append(f"{name} slot {one.detail}")
        else:
            deeds.setdefault(_deed(one, row), []).append(name)
    told = [f"{', '.join(who)} {deed}" for deed, who in deeds.items()]
    if shared:
        chosen = f"no slot was chosen by more than half of the participants ({', '.join(shared)})"
        told.append(f"{chosen}, and the rules do not say which of them was wrong")
    return ", and ".join(told)


def _deed(fault: SeatFault, row: RoundMeasures) -> str:
    match fault.cause:
        case "no_reply":
            return f"sent no decision: {FORFEITS.get(fault.detail, fault.detail)}"
        case "unreadable":
            return "sent a decision that could not be read"
        case "refused":
            return _CONFLICTS.get(fault.detail, f"sent only batches that were refused ({fault.detail})")
        case "touched_blocked":
            return "tried to move a blocked errand, which fails the round under these rules"
        case "moved_meeting":
            return f"moved meeting M{fault.meeting} to slot {fault.detail}, away from where it stood"
        case _:
            others = Counter(slot for slot in row.slots.values() if slot is not None and str(slot) != fault.detail)
            most = f"{'the' if len(others) == 1 else 'most'} others slot {others.most_common(1)[0][0]}"
            return f"chose slot {fault.detail}, {most}"


WHY = {
    Label.SLOT_MISMATCH: "its participants chose different slots",
    Label.BLOCKED_ITEM: "a batch touched a blocked errand",
    Label.NO_SCHEDULE: "a participant never scheduled it",
    Label.PRIOR_MEETING_MOVED: "it cost a meeting that stood already",
    Label.SLOT_OCCUPIED: "a slot that was chosen was not free",
    Label.TARGET_OCCUPIED: "an item was moved to where another stood",
    Label.SEVERAL: "several things went wrong at once",
}
"""Explanation of each label of a meeting, used for verdicts of older versions, which do not name seats."""


class _Started(Lenient):
    round: int
    participants: tuple[int, ...]


class _Resolved(Lenient):
    round: int


class _Message(Lenient):
    round: int
    channel: str
    to: tuple[int, ...]
    content: str


class _Refused(Lenient):
    round: int
    conflicts: tuple[tuple[str, str], ...]


class _Committed(Lenient):
    round: int
    slot: int | None
    cost: int
    moves: tuple[tuple[str, int, int], ...]


def sections(episode: RecordedEpisode) -> list[Section]:
    """Return meetings, seats, calendars, messages and decisions, as far as the folder has them."""
    game = measured(episode, Measures)
    made = [*_results(episode, game), *_calendars(episode), _messages(episode), _decisions(episode)]
    return [section for section in made if section.rows]


def breach(episode: RecordedEpisode) -> Breach | None:
    """Return the breach: the first meeting that was not scheduled, its round, and the turns of the seats at fault."""
    game = measured(episode, Measures)
    lost = [row for row in (game.rounds if game else ()) if not row.coordinated]
    reason = episode.result.failure_detail.get("reason")
    if not lost or reason == "no_turns":
        return None
    first, others = lost[0], len(lost) - 1
    more = f"; {others} more meeting{'' if others == 1 else 's'} failed" if others else ""
    if not first.reached:
        ended = episode.result.stopped or reason
        return Breach(label=first.label, rule=f"the game ended before the round of meeting M{first.meeting}: {ended}{more}")
    known = WHY[Label(first.label)] if first.label in set(WHY) else "no rule explains the failure"
    why = fault_sentence(first, seat_names(episode.result)) or known
    resolved = next((place for place, note in notes(episode, "resolution", _Resolved) if note.round == first.round), None)
    return Breach(
        label=first.label,
        rule=f"meeting M{first.meeting} was not scheduled: {why}{more}",
        where=f"round {first.round}, resolved at {resolved.at:g} s" if resolved else f"round {first.round}",
        seq=resolved.seq if resolved else None,
        turns=tuple(dict.fromkeys(one.turn for one in first.faults if one.turn is not None)),
    )


def _results(episode: RecordedEpisode, game: Measures | None) -> Iterator[Section]:
    if game is None:
        return
    participants = {note.round: note.participants for _, note in notes(episode, "round_start", _Started)}
    yield Section(
        title="Meetings",
        columns=("round", "meeting", "participants", "outcome", "lost by seat", "chosen slots (seat: slot)"),
        rows=tuple(_meeting(row, participants.get(row.round, ())) for row in game.rounds),
        notes=(_sums(game),),
    )
    writers = prose_writers(episode.result)
    seats = [
        (one.seat, one.scheduled, one.meetings, one.paid, one.oracle_cost, one.excess, one.messages,
         None if one.seat in writers else one.vps)
        for one in game.seats
    ]  # fmt: skip
    columns = ("seat", "scheduled", "of", "paid", "optimum", "excess", "messages", "VPS (slots)")
    said = ("VPS is of typed messages: a seat that wrote prose has none",) if writers else ()
    yield Section(title="Seats", columns=columns, rows=tuple(seats), notes=said)
    if game.reflection is not None:
        yield _reflections(game)


def _reflections(game: Measures) -> Section:
    """Return for each seat the beliefs of the others about it, and the number of its own answers that could be parsed."""
    rows = [
        (one.seat, one.raw_reflection_vps, one.reflection_vps, one.excess_reflection_vps, one.beliefs, one.unreadable)
        for one in game.seats
    ]
    columns = ("seat", "moved (slots)", "rightly", "excess", "own answers", "unreadable")
    return Section(title="Beliefs of this seat's calendar, by the others' answers", columns=columns, rows=tuple(rows))


def _sums(game: Measures) -> str:
    costs = (game.optimum, game.optimum_all, game.worst_all)
    optimum, all_of_them, worst = ("-" if cost is None else f"{cost:g}" for cost in costs)
    regret = "-" if game.regret is None else f"{game.regret:.3g}"
    return (
        f"{game.scheduled} of {game.meetings} scheduled; paid {game.paid}, optimum of these {optimum}, of all {all_of_them}, "
        f"worst {worst}; regret {regret}, reward {game.reward:.3g}"
    )


def _meeting(row: RoundMeasures, participants: tuple[int, ...]) -> tuple[Cell, ...]:
    letter = f"{row.letter} " if row.letter else ""
    chosen = ", ".join(f"{seat}: {'-' if slot is None else slot}" for seat, slot in row.slots.items())
    told = chosen if row.reached else "never played"
    return (
        row.round,
        f"M{row.meeting}",
        ", ".join(map(str, participants)),
        f"{letter}{row.label}",
        ", ".join(map(str, sorted({one.seat for one in row.faults}))) or None,
        told,
    )


def _calendars(episode: RecordedEpisode) -> Iterator[Section]:
    """Yield slots by seats, each cell at the beginning and, if it differs, at the end; nothing if the log holds no game."""
    try:
        game = replay(Episode(episode.events)) if episode.events else None
    except NoGame:
        game = None
    if game is None:
        return
    pairs = [zip(*both, strict=True) for both in zip(game.scenario.calendars, game.calendars, strict=True)]
    yield Section(
        title="Calendars",
        columns=("slot", *(f"seat {seat}" for seat in game.scenario.agents)),
        rows=tuple((slot, *(_change(*both) for both in row)) for slot, row in enumerate(zip(*pairs, strict=True))),
        notes=("an item and its cost as shown, x if blocked; > the item at the end, if it is another; - is free",),
    )


def _change(before: Item | None, after: Item | None) -> str:
    begun = f"{before.name} {'x' if before.blocked else before.cost}" if before else "-"
    return begun if before == after else f"{begun} > {after.name if after else '-'}"


def _messages(episode: RecordedEpisode) -> Section:
    rows = [
        (note.round, place.seat, ", ".join(map(str, note.to)), note.channel, note.content)
        for place, note in notes(episode, "message", _Message)
    ]
    return Section(title="Messages", columns=("round", "from", "to", "channel", "message"), rows=tuple(rows))


def _decisions(episode: RecordedEpisode) -> Section:
    """Return the batches that each seat's calendar accepted and refused, in the order of the log."""
    refused = [
        (place, note.round, "refused", None, "; ".join(text for _, text in note.conflicts))
        for place, note in notes(episode, "batch_rejected", _Refused)
    ]
    taken = [(place, note.round, "taken", note.cost, _moves(note)) for place, note in notes(episode, "committed", _Committed)]
    rows = [(round_, place.seat, how, cost, told) for place, round_, how, cost, told in sorted([*refused, *taken])]
    return Section(title="Decisions", columns=("round", "seat", "batch", "cost shown", "what"), rows=tuple(rows))


def _moves(note: _Committed) -> str:
    moves = [f"{item} from {source} to {target}" for item, source, target in note.moves]
    return ", ".join([*([f"meeting at {note.slot}"] if note.slot is not None else []), *moves])
