"""A hidden-profile session as tables: who voted what against the key, what was said, and which facts came to light.

A seat has the world's number, from 0. Its prompts call it Person 1 and so on, and its facts are those of one of the scenario's
hands, dealt by the seed: three names, which stand side by side in the first table and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.reading import Breach, Cell, RecordedEpisode, Section
from harness.reading.parts import measured, notes
from worlds.core.models import Lenient
from worlds.hidden_profile.labels import Label
from worlds.hidden_profile.rules.measures import Measures
from worlds.hidden_profile.rules.scenario import Scenario


class _Started(Lenient):
    scenario: Scenario
    people: tuple[int, ...]
    hands: tuple[tuple[str, ...], ...]


class _Said(Lenient):
    round: int
    text: str
    cites: tuple[str, ...]
    stance: str | None
    no_reply: str | None


class _Voted(Lenient):
    when: str
    option: str | None
    given: str
    rationale: str
    no_reply: str | None


def sections(episode: RecordedEpisode) -> list[Section]:
    """Votes, facts and talk; those that the folder says something of."""
    opening = next((note for _, note in notes(episode, "session_start", _Started)), None)
    if opening is None:
        return []
    session = measured(episode, Measures)
    made = [_votes(episode, opening, session), _facts(opening, session), _talk(episode), _rationales(episode)]
    return [section for section in made if section.rows]


def breach(episode: RecordedEpisode) -> Breach | None:
    """Which seats missed the key, and what they lacked."""
    opening = next((note for _, note in notes(episode, "session_start", _Started)), None)
    session = measured(episode, Measures)
    if opening is None or session is None or not session.finished:
        return None
    key, label = opening.scenario.key, episode.result.failure_label
    missed = [row for row in session.seats if row.after != key]
    last = [place for place, note in notes(episode, "vote", _Voted) if note.when == "POST_VOTE"]
    if not missed or label is None:
        return None
    return Breach(
        label=label,
        rule=f"{len(missed)} of {len(session.seats)} seats did not vote {key}: {_lacked(label, session, opening)}",
        where=f"the last vote at {last[-1].at:g} s" if last else "",
        seq=last[-1].seq if last else None,
    )


def _lacked(label: str, session: Measures, opening: _Started) -> str:
    """What a label means of the seats that failed."""
    key = opening.scenario.key
    missed = [row for row in session.seats if row.after != key]
    if label == Label.INVALID_VOTE:
        return f"no option was voted by {_seats([row.seat for row in missed if row.after is None])}"
    if label == Label.NOT_POOLED:
        untold = [fact for fact in opening.scenario.of_scope("private") if fact not in session.surfaced]
        unaware = _seats([row.seat for row in missed if not row.could_know])
        return f"{unaware} had heard too little to know" + (f"; nobody told {', '.join(untold)}" if untold else "")
    if label == Label.NOT_HEARD:
        return f"{_seats([row.seat for row in missed])} could have known, and voted otherwise"
    return f"{_seats([row.seat for row in missed])} voted otherwise, and nothing is proved of the scenario"


def _seats(numbers: Sequence[int]) -> str:
    return f"seat{'s' if len(numbers) != 1 else ''} {', '.join(map(str, numbers))}"


def _votes(episode: RecordedEpisode, opening: _Started, session: Measures | None) -> Section:
    scenario = opening.scenario
    cast = {(note.when, place.seat): _choice(note) for place, note in notes(episode, "vote", _Voted)}
    could = {row.seat: row.could_know for row in (session.seats if session else ())}
    rows = [
        (
            seat,
            f"Person {seat + 1}",
            person,
            cast.get(("PRE_VOTE", seat), "-"),
            cast.get(("POST_VOTE", seat), "-"),
            could.get(seat),
        )
        for seat, person in enumerate(opening.people)
    ]
    key = f"The key is {scenario.key} ({scenario.label(scenario.key)})"
    if scenario.decoy is not None:
        key += f", the decoy {scenario.decoy} ({scenario.label(scenario.decoy)})"
    return Section(
        title="Votes",
        columns=("seat", "called", "hand", "before", "after", "could know the key in the end"),
        rows=tuple(rows),
        notes=(f"{key}.",),
    )


def _choice(vote: _Voted) -> str:
    if vote.no_reply is not None:
        return f"none ({vote.no_reply})"
    return vote.option if vote.option is not None else f"invalid: {vote.given[:40]!r}"


def _facts(opening: _Started, session: Measures | None) -> Section:
    """The private facts: who held each, and the turn of the talk that first told it."""
    surfaced = session.surfaced if session else {}
    rows = [
        (fact, _holders(opening, fact), surfaced.get(fact, "never"), opening.scenario.by_id[fact].text)
        for fact in opening.scenario.of_scope("private")
    ]
    return Section(
        title="Private facts", columns=("fact", "held by seats", "first told in turn", "fact in words"), rows=tuple(rows)
    )


def _holders(opening: _Started, fact: str) -> str:
    return ", ".join(str(seat) for seat, hand in enumerate(opening.hands) if fact in hand)


def _talk(episode: RecordedEpisode) -> Section:
    said = list(notes(episode, "message", _Said))
    structured = any(note.stance or note.cites for _, note in said)
    columns = ("turn", "round", "seat", *(("stance", "cites") if structured else ()), "said")
    return Section(title="Talk", columns=columns, rows=tuple(_rows_of_talk(episode, structured=structured)))


def _rows_of_talk(episode: RecordedEpisode, *, structured: bool) -> Iterator[tuple[Cell, ...]]:
    for turn, (place, note) in enumerate(notes(episode, "message", _Said), start=1):
        words = note.text if note.no_reply is None else f"(no reply: {note.no_reply})"
        beside: tuple[Cell, ...] = (note.stance, " ".join(note.cites)) if structured else ()
        yield (turn, note.round, place.seat, *beside, words)


def _rationales(episode: RecordedEpisode) -> Section:
    rows = [(note.when, place.seat, _choice(note), note.rationale) for place, note in notes(episode, "vote", _Voted)]
    return Section(title="Votes with their reasons", columns=("vote", "seat", "option", "reason"), rows=tuple(rows))
