"""Hidden profiles played by people, as in the paper's study of groups (section 4.2): a vote, a timed chat, another vote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from parley.families.hidden_profile.naming import called
from parley.families.hidden_profile.reading import read_session, tabulate_hands
from parley.hosting.group import Form
from parley.reports.reading import RecordedEpisode, Section
from worlds.core.turns import OpenTurn
from worlds.hidden_profile.rules.measures import SeatMeasures

HOSTED: Mapping[str, str] = {"talk": "chat"}
"""Default options of a hosted session."""

_BALLOT = "The options:\n"
_OPTION = re.compile(r"^- \[([^\]\n]+)\] (.+)$", re.MULTILINE)


def form(turn: OpenTurn) -> Form | None:
    """Return the form of a vote or a poll; None for a turn of talk and for a ballot with other wording than ours."""
    if turn.phase == "DISCUSSION":
        return None
    asked, _, ballot = turn.text.rpartition(_BALLOT)
    options = tuple((option, label) for option, label in _OPTION.findall(ballot))
    return Form(asked.strip(), options, "Why, in one or two sentences", _reply) if options else None


def _reply(choice: str, why: str) -> str:
    return json.dumps({"vote": choice, "rationale": why}, ensure_ascii=False)


def debrief(episode: RecordedEpisode) -> Iterator[Section]:
    """Yield what people may know after their session: when it could have been decided, and who held what."""
    opening, session = read_session(episode)
    if opening is None or session is None:
        return
    scenario = opening.scenario
    leader = f" What all of you knew spoke for: {scenario.label(scenario.decoy)}." if scenario.decoy else ""
    yield Section(
        title="When it could have been decided",
        columns=("person", "first vote", "last vote", "could know", "points heard wrongly"),
        rows=tuple(
            (
                called(row.seat),
                *(vote and scenario.label(vote) for vote in (row.before, row.after)),
                _since(row),
                len(row.heard_false),
            )
            for row in session.seats
        ),
        notes=(f"The right option was: {scenario.label(scenario.key)}.{leader}",),
    )
    hands = tabulate_hands(episode, opening, session)
    points = tuple(
        (who, words, first, (turn := session.falsified.get(str(fact))) and f"turn {turn}")
        for who, fact, _, first, words in hands.rows
    )
    yield Section(title="Who held what", columns=("person", "point", "first told", "first denied"), rows=points)


def _since(row: SeatMeasures) -> str | None:
    """Return from when on a person had heard enough to know the right option; None if that is not proved of the task."""
    if row.could_know is None:
        return None
    if row.decidable_turn is None:
        return "never: too little was told"
    return f"after turn {row.decidable_turn}" if row.decidable_turn else "from the start"
