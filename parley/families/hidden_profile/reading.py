"""Sections of a hidden-profile episode: the transcript of its session, and the facts that wrong voters lacked."""

from __future__ import annotations

from collections.abc import Mapping

from parley.families.hidden_profile.transcript import (
    LAST,
    OpeningNote,
    VoteNote,
    named,
    named_persons,
    persons,
    players,
    transcript,
)
from parley.reports.reading import Breach, RecordedEpisode, Section
from parley.reports.reading.model import measured, notes
from worlds.core.faults import FaultCause, SeatFault
from worlds.hidden_profile.labels import Label
from worlds.hidden_profile.rules.measures import Measures

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
