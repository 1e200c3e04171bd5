"""A hidden-profile episode for a reader: the transcript of its session, and what those who voted wrongly had missed."""

from __future__ import annotations

from harness.families.hidden_profile.transcript import LAST, OpeningNote, VoteNote, named, persons, transcript
from harness.reading import Breach, RecordedEpisode, Section
from harness.reading.parts import measured, notes
from worlds.hidden_profile.labels import Label
from worlds.hidden_profile.rules.measures import Measures


def sections(episode: RecordedEpisode) -> list[Section]:
    """People, hands, first votes, talk and last votes; those that the folder says something of."""
    opening = next((note for _, note in notes(episode, "session_start", OpeningNote)), None)
    return transcript(episode, opening, measured(episode, Measures)) if opening else []


def breach(episode: RecordedEpisode) -> Breach | None:
    """Who missed the key, and what they lacked."""
    opening = next((note for _, note in notes(episode, "session_start", OpeningNote)), None)
    session = measured(episode, Measures)
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
        rule=f"{len(missed)} of {len(session.seats)} people did not vote {right}: {_lacked(label, session, opening)}",
        where=f"the last vote at {last[-1].at:g} s" if last else "",
        seq=last[-1].seq if last else None,
    )


def _lacked(label: str, session: Measures, opening: OpeningNote) -> str:
    """What a label means of the people who failed."""
    key = opening.scenario.key
    missed = [row for row in session.seats if row.after != key]
    if label == Label.INVALID_VOTE:
        return f"no option was voted by {persons(row.seat for row in missed if row.after is None)}"
    if label == Label.NOT_POOLED:
        untold = [fact for fact in opening.scenario.of_scope("private") if fact not in session.surfaced]
        unaware = persons(row.seat for row in missed if not row.could_know)
        return f"{unaware} had heard too little to know" + (f"; nobody told {', '.join(untold)}" if untold else "")
    if label == Label.NOT_HEARD:
        return f"{persons(row.seat for row in missed)} could have known, and voted otherwise"
    return f"{persons(row.seat for row in missed)} voted otherwise, and nothing is proved of the scenario"
