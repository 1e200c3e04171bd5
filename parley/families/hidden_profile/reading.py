"""Sections of a hidden-profile episode: the transcript of its session, and the facts that wrong voters lacked.

1. People are numbered as in their prompts, from Person 1. Only the first table also has each person's seat number, as in flags
and in the log (from 0), and the number of the hand in the scenario that the seat was dealt.
2. A private fact is marked in the turn that first told it, and as `not u1` in the one that first said otherwise. The marks come
from the verdict, so an episode that was never judged has none. On the free track, facts without cues have none either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.records import SeatResult
from parley.families.hidden_profile.naming import called
from parley.reports.reading import Breach, Cell, RecordedEpisode, Section
from parley.reports.reading.model import measured, notes
from worlds.core.faults import FaultCause, SeatFault
from worlds.core.models import Lenient
from worlds.hidden_profile.labels import Label
from worlds.hidden_profile.rules.measures import Consensus, Measures, SeatMeasures
from worlds.hidden_profile.rules.scenario import Scenario

FIRST, LAST = "PRE_VOTE", "POST_VOTE"


class OpeningNote(Lenient):
    """The first note of a session."""

    scenario: Scenario
    people: tuple[int, ...]
    """Number of the scenario's hand, from 1, by seat."""

    hands: tuple[tuple[str, ...], ...]
    deal: dict[str, str] = {}


class MessageNote(Lenient):
    """The note of a message."""

    round: int
    text: str
    cites: tuple[str, ...]
    stance: str | None
    no_reply: str | None


class VoteNote(Lenient):
    """The note of a vote."""

    when: str
    option: str | None
    given: str
    rationale: str
    no_reply: str | None


class PollNote(Lenient):
    """The note of a person's private stance after a round."""

    round: int
    option: str | None


class RevealNote(Lenient):
    """The note of a person's facts that were read out before the talk."""

    facts: tuple[str, ...]


def persons(seats: Iterable[int]) -> str:
    """Return `Person 1`, or `Persons 1, 2`."""
    numbers = [str(called(seat)) for seat in seats]
    return f"Person{'s' if len(numbers) != 1 else ''} {', '.join(numbers)}"


def players(seats: Iterable[SeatResult]) -> dict[int, str]:
    """Return the player of each seat."""
    return {one.seat: one.model or one.name for one in seats}


def named_persons(seats: Iterable[int], names: Mapping[int, str]) -> str:
    """Return `Person 1 (gpt-5), Person 2 (gpt-5)`, without players if none is known."""
    seats = list(seats)
    return ", ".join(f"Person {called(seat)}" + f" ({names.get(seat, '?')})" for seat in seats) if names else persons(seats)


def transcript(episode: RecordedEpisode, opening: OpeningNote, session: Measures | None) -> list[Section]:
    """Return the sections of a session, as far as the folder has them."""
    made = [
        _people(opening),
        tabulate_hands(episode, opening, session),
        _votes(episode, opening, session, FIRST),
        _talk(episode, opening, session),
        _votes(episode, opening, session, LAST),
    ]
    return [section for section in made if section.rows]


def _people(opening: OpeningNote) -> Section:
    rows = [(called(seat), seat, hand, _own(opening, seat) or "nothing") for seat, hand in enumerate(opening.people)]
    note = "Tables number people from 1, as prompts do. Flags, GET /session and the log name seats; matrices name hands."
    return Section(title="People", columns=("person", "seat", "hand", "points of their own"), rows=tuple(rows), notes=(note,))


def _own(opening: OpeningNote, seat: int) -> str:
    """Return the facts of a person that not all people have, in the file's order."""
    common, hand = _common(opening), dict(enumerate(opening.hands)).get(seat, ())
    return " ".join(fact for fact in opening.scenario.by_id if fact in hand and fact not in common)


def _common(opening: OpeningNote) -> set[str]:
    return set.intersection(*map(set, opening.hands)) if opening.hands else set()


def tabulate_hands(episode: RecordedEpisode, opening: OpeningNote, session: Measures | None) -> Section:
    """Return every fact that was dealt, with the people who have it, and the turn and person that first told it."""
    common, told = _common(opening), _tellers(episode, session)
    rows: list[tuple[Cell, ...]] = []
    for fact in opening.scenario.facts:
        holders = [called(seat) for seat, hand in enumerate(opening.hands) if fact.id in hand]
        who = "all" if fact.id in common else ", ".join(map(str, holders))
        if holders:
            first = told.get(fact.id, "never" if session else None) if fact.scope == "private" else None
            kind = {"noise": "idle"}.get(fact.scope, fact.scope)
            rows.append((who, fact.id, kind, first, fact.text))
    # facts that all know are first, then each person's own facts, in the file's order
    rows.sort(key=lambda row: (row[0] != "all", str(row[0])))
    return Section(title="Hands", columns=("person", "fact", "kind", "first told", "in words"), rows=tuple(rows))


def _tellers(episode: RecordedEpisode, session: Measures | None) -> dict[str, str]:
    """Return for each private fact the turn that first told it, and its speaker."""
    speakers = {turn: place.seat for turn, (place, _) in enumerate(notes(episode, "message", MessageNote), 1)}
    surfaced = session.surfaced if session else {}
    return {
        fact: f"turn {turn}, Person {called(speakers[turn] or 0)}" if turn in speakers else "read out"
        for fact, turn in surfaced.items()
    }


def _votes(episode: RecordedEpisode, opening: OpeningNote, session: Measures | None, when: str) -> Section:
    key, is_last = opening.scenario.key, when == LAST
    measured: dict[int, SeatMeasures] = {row.seat: row for row in (session.seats if session else ())}
    cast = [(place.seat or 0, note) for place, note in notes(episode, "vote", VoteNote) if note.when == when]
    rows: list[tuple[Cell, ...]] = []
    for seat, vote in cast:
        could = (measured[seat].could_know if seat in measured else None,) if is_last else ()
        rows.append((called(seat), vote.option == key, *could, _choice(opening.scenario, vote), vote.rationale))
    return Section(
        title="Last votes" if is_last else "First votes",
        columns=("person", "right", *(("could know",) if is_last else ()), "vote", "reason"),
        rows=tuple(rows),
        notes=(_key(opening), _tally(session, cast, key)) if is_last else (),
    )


def _tally(session: Measures | None, cast: Sequence[tuple[int, VoteNote]], key: str) -> str:
    right = sum(vote.option == key for _, vote in cast)
    told = f"{right} of {len(cast)} are right"
    if session is None or session.integration is None:
        return f"{told}."
    return f"{told}; {100 * session.integration:.0f} % of the private facts were told."


def _key(opening: OpeningNote) -> str:
    """Return the right option, and the option favoured by the shared facts if it is known."""
    scenario, kind = opening.scenario, opening.deal.get("kind")
    told = f"The right option is {named(scenario, scenario.key)}"
    if scenario.decoy is not None:
        return f"{told}; the shared facts favour {named(scenario, scenario.decoy)}" + (f", a {kind} deal." if kind else ".")
    return f"{told}; the shared facts favour this option too: a manifest deal." if kind == "manifest" else f"{told}."


def named(scenario: Scenario, option: str) -> str:
    """Return an option as ballots show it; an untrusted log may name an unknown one."""
    return f"[{option}] {scenario.label(option)}" if option in scenario.option_ids else f"[{option}]"


def _choice(scenario: Scenario, vote: VoteNote) -> str:
    if vote.no_reply is not None:
        return f"none ({vote.no_reply})"
    return named(scenario, vote.option) if vote.option is not None else f"invalid: {vote.given[:40]!r}"


def _talk(episode: RecordedEpisode, opening: OpeningNote, session: Measures | None) -> Section:
    """Return the talk, with the facts that each turn told first, and a line at the first agreement of all."""
    said, consensus = list(notes(episode, "message", MessageNote)), session.consensus if session else None
    is_structured = any(note.stance or note.cites for _, note in said)
    ends, polled, stance = _ends(said), _polled(episode), (None,) if is_structured else ()
    rows: list[tuple[Cell, ...]] = []
    if read_out := _read_out(episode):
        rows.append((None, None, "all", *stance, None, read_out))
    for turn, (place, note) in enumerate(said, start=1):
        words = note.text if note.no_reply is None else f"(no reply: {note.no_reply})"
        rows.append(
            (turn, note.round, called(place.seat or 0), *((note.stance,) if stance else ()), _new(session, turn), words)
        )
        if turn in ends and note.round in polled:
            rows.append((None, note.round, "all", *stance, None, polled[note.round]))
        if turn in ends and consensus and consensus.round == note.round:
            rows.append((None, note.round, "all", *((consensus.option,) if stance else ()), None, _agreed(consensus)))
    columns = ("turn", "round", "person", *(("stance",) if is_structured else ()), "tells first", "said")
    return Section(title="Talk", columns=columns, rows=tuple(rows), notes=tuple(_of_talk(opening, session)) if said else ())


def _polled(episode: RecordedEpisode) -> dict[int, str]:
    """Return the stances that people took when asked after each round."""
    told: dict[int, list[str]] = {}
    for place, note in notes(episode, "poll", PollNote):
        told.setdefault(note.round, []).append(f"{called(place.seat or 0)} for {f'[{note.option}]' if note.option else 'none'}")
    return {number: f"(asked alone where they stand: Person {', '.join(stood)})" for number, stood in told.items()}


def _read_out(episode: RecordedEpisode) -> str:
    facts = [(place.seat or 0, note.facts) for place, note in notes(episode, "reveal", RevealNote)]
    told = "; ".join(f"Person {called(seat)}: {' '.join(own)}" for seat, own in facts if own)
    return f"(read out before the talk: {told})" if told else ""


def _new(session: Measures | None, turn: int) -> str | None:
    """Return the private facts first told in a turn, and those that it was the first to deny or contradict."""
    if session is None:
        return None
    told = [fact for fact, first in session.surfaced.items() if first == turn]
    return " ".join((*told, *(f"not {fact}" for fact, first in session.falsified.items() if first == turn))) or None


def _ends(said: Sequence[tuple[Any, MessageNote]]) -> set[int]:
    """Return the last turn of each round."""
    return set({note.round: turn for turn, (_, note) in enumerate(said, start=1)}.values())


def _agreed(consensus: Consensus) -> str:
    """Return a line on the first consensus."""
    right = "the key" if consensus.right else "not the key"
    early = "; somebody still lacked a fact that the proof needs" if consensus.premature else ""
    return f"(now all stand for [{consensus.option}], {right}{early})"


def _of_talk(opening: OpeningNote, session: Measures | None) -> Iterator[str]:
    """Yield notes on facts that the table of the talk cannot show."""
    if session is None:
        yield "The episode was not judged, so no turn is marked with the facts that it told."
        return
    if session.consensus is None:
        yield "No stances were taken, so it is not known when the group agreed."
    elif session.consensus.round is None:
        yield "The people never all stood for one option at the same time."
    if session.early_stop is not None:
        yield f"The talk ended early, after round {session.early_stop}: all leaned alike, and nothing new was said."
    blank = [fact.id for fact in opening.scenario.facts if fact.scope == "private" and not fact.cues]
    if blank and session.track == "free":
        yield f"No cues say when {', '.join(blank)} {'is' if len(blank) == 1 else 'are'} told."


_OWN: Mapping[str, tuple[FaultCause, ...]] = {
    Label.INVALID_VOTE: ("no_vote", "invalid_vote"),
    Label.NOT_HEARD: ("wrong_vote",),
}
"""For each label of single people's faults, the causes that it covers; other labels are failures of the group."""


def read_session(episode: RecordedEpisode) -> tuple[OpeningNote | None, Measures | None]:
    """Return the first note of a session and its measures, each None if it is missing."""
    return next((note for _, note in notes(episode, "session_start", OpeningNote)), None), measured(episode, Measures)


def sections(episode: RecordedEpisode) -> list[Section]:
    """Return people, hands, first votes, talk and last votes, as far as the folder has them."""
    opening, session = read_session(episode)
    return transcript(episode, opening, session) if opening else []


def breach(episode: RecordedEpisode) -> Breach | None:
    """Return the breach: the people who voted wrongly, the facts that each lacked, and the last votes of those at fault."""
    opening, session = read_session(episode)
    if opening is None or session is None or not session.finished:
        return None
    key, label = opening.scenario.key, episode.result.failure_label
    missed = [row for row in session.seats if row.after != key]
    last = [place for place, note in notes(episode, "vote", VoteNote) if note.when == LAST]
    if not missed or label is None:
        return None
    right = named(opening.scenario, key)
    return Breach(
        label=label,
        rule=f"{len(missed)} of {len(session.seats)} people did not vote {right}: {_lacked(episode, session, opening)}",
        where=f"the last vote at {last[-1].at:g} s" if last else "",
        seq=last[-1].seq if last else None,
        turns=tuple(one.turn for one in session.faults if one.cause in _OWN.get(label, ()) and one.turn is not None),
    )


def _lacked(episode: RecordedEpisode, session: Measures, opening: OpeningNote) -> str:
    """Return an explanation of the label in terms of the people who failed, each by number and player, or of the group."""
    label, key = episode.result.failure_label, opening.scenario.key
    wrong = [row for row in session.seats if row.after not in {key, None}]
    told = [
        _without_vote(one, players(episode.result.seats)) for one in session.faults if one.cause in _OWN[Label.INVALID_VOTE]
    ]
    if not session.faults and label == Label.INVALID_VOTE:
        told.append(f"no option was named by {persons(row.seat for row in session.seats if row.after is None)}")
    if wrong and label == Label.INVALID_VOTE:
        told.append(f"{persons(row.seat for row in wrong)} voted otherwise")
    if label == Label.NOT_POOLED:
        unaware = persons(row.seat for row in wrong if not row.could_know)
        told.append(f"the group pooled too little, and {unaware} had heard too little to know")
        held = {
            fact: [seat for seat, hand in enumerate(opening.hands) if fact in hand]
            for fact in opening.scenario.of_scope("private")
        }
        told += [
            f"nobody told {fact}, which {persons(seats)} held" for fact, seats in held.items() if fact not in session.surfaced
        ]
    if label in {Label.NOT_POOLED, Label.NOT_HEARD}:
        names, aware = players(episode.result.seats), [row.seat for row in wrong if row.could_know]
        told += [f"{named_persons(aware, names)} could have known, and voted otherwise"] if aware else []
    return "; ".join(told) or f"{persons(row.seat for row in wrong)} voted otherwise, and the scenario is not certified"


def _without_vote(fault: SeatFault, names: Mapping[int, str]) -> str:
    why = f"gave no vote ({fault.detail})" if fault.cause == "no_vote" else "gave a vote that names no option"
    return f"{named_persons([fault.seat], names)} {why}"
