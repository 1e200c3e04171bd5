"""What a seat is shown: its own calendar, its own mail, the round's meeting - and of a meeting's label only what is its own.

The words are those of the templates in texts/; what they may name stands in `placeholders`, and what they are given is decided
here, from one seat's point of view. What is never given cannot be shown: another seat's calendar, costs or labels, the meetings
to come, a sensitivity tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from worlds.calendar.mail import Message
from worlds.calendar.rules.items import Cells, drawn
from worlds.calendar.rules.letters import turn_bounds
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import CHANNELS, Settings
from worlds.core.texts import Texts

RULES = (
    "turn_cap", "decision_retries", "failed_rounds", "outsiders", "blocked_attempts", "exhausted", "voluntary", "justification",
    "outcomes",
)  # fmt: skip
"""The settings that texts name as they are."""


class RoundOpening(NamedTuple):
    """What a seat is told when a round begins for it."""

    number: int
    """Of the round."""

    spent: int
    """What its person has paid so far."""

    outcomes: Sequence[str]
    """Of earlier rounds, a line each, where outcomes are told."""


class View:
    """The texts of one game."""

    def __init__(self, scenario: Scenario, settings: Settings, texts: Texts) -> None:
        self._scenario, self._settings, self._texts = scenario, settings, texts
        bounds = turn_bounds(len(scenario.agents), scenario.slots)
        self._game = {
            "agents": list(scenario.agents), "slots": scenario.slots, "rounds": len(scenario.meetings),
            "channels": [channel for channel in CHANNELS if channel in settings.channels],
            "message_cap": settings.message_cap or 0, "turn_messages": bounds.messages,
            "turn_characters": bounds.characters, **{name: getattr(settings, name) for name in RULES},
        }  # fmt: skip

    def system(self, seat: int) -> str:
        """The system prompt of a seat (paper, Appendix A.2)."""
        # of the scale alone: which costs calendars hold is each one's own
        other = (seat + 1) % len(self._scenario.agents)
        return self._render("system", seat=seat, other=other, costs=sorted(self._scenario.scale))

    def round_start(
        self, seat: int, opening: RoundOpening, meeting: Meeting, cells: Cells, sweep: int, mail: Sequence[Message]
    ) -> str:
        """A participant's first turn of a round."""
        seen = self._seen(seat, meeting, cells, mail)
        return self._render("round_start", turn=sweep + 1, **_opened(opening), **seen)

    def turn(self, meeting: Meeting, sweep: int, mail: Sequence[Message]) -> str:
        """A later turn of cheap talk."""
        return self._render("turn", meeting=meeting.id, mail=_letters(mail), turn=sweep + 1)

    def activation(self, seat: int, number: int, meeting: Meeting, cells: Cells, sweep: int, mail: Sequence[Message]) -> str:
        """The first turn, in round `number`, of somebody who takes no part in the meeting and was written to."""
        return self._render("activation", round=number, turn=sweep + 1, **self._seen(seat, meeting, cells, mail))

    def voluntary(self, seat: int, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> str:
        """What an outsider who was written to may do before the decision."""
        return self._render("voluntary", **self._seen(seat, meeting, cells, mail))

    def decision(self, seat: int, opening: RoundOpening, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> str:
        """What a participant decides by: the calendar as it is now; its first turn of the round where there is no talk."""
        return self._render("decision", **_opened(opening), **self._seen(seat, meeting, cells, mail))

    def retry(self, attempt: int, why: Sequence[str], *, schedule: bool) -> str:
        """Why a batch was refused, and the whole of it asked for again."""
        attempts = self._settings.decision_retries + 1
        return self._render("retry", attempt=attempt, attempts=attempts, why=list(why), schedule=schedule)

    def reflection(self, seat: int, target: int, number: int) -> str:
        """What a seat is asked of another's calendar when a round is over (paper, Appendix F.3)."""
        return self._render("reflection", seat=seat, target=target, round=number)

    def _render(self, name: str, **values: Any) -> str:
        return self._texts.render(name, **self._game, **values)

    def _seen(self, seat: int, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> dict[str, Any]:
        """The meeting, the own calendar and the mail, as this seat may see them."""
        return {
            "seat": seat, "meeting": meeting.id, "participants": list(meeting.participants), "duration": meeting.duration,
            "label": meeting.label if seat in meeting.participants else "", "calendar": drawn(cells),
            "mail": _letters(mail),
        }  # fmt: skip


def _opened(opening: RoundOpening) -> dict[str, Any]:
    return {"round": opening.number, "spent": opening.spent, "results": list(opening.outcomes)}


def _letters(mail: Sequence[Message]) -> list[tuple[int, str, int, str]]:
    """Mail as it is shown; a line of a message is set in, so that none can pass for a line of ours."""
    return [(one.sender, one.channel, one.meeting, "\n    ".join(one.content.splitlines())) for one in mail]
