"""What a seat is shown: its own calendar, its own mail, the round's meeting - and of a meeting's label only what is its own.

The words are `wording`'s, and those of the templates in texts/; what they are given is decided here, from one seat's point of
view. What is never given cannot be shown: another seat's calendar, costs or labels, the meetings to come, a sensitivity tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from worlds.calendar import wording
from worlds.calendar.mail import Message
from worlds.calendar.rules.items import Cells, lines
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import Settings

TEXTS = Path(__file__).with_name("texts")


@cache
def template(name: str) -> Template:
    """One of the texts, compiled once."""
    # texts for models are Markdown, not HTML for a browser
    loader = Environment(  # noqa: S701
        loader=FileSystemLoader(TEXTS), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return loader.get_template(f"{name}.md.j2")


class View:
    """The texts of one game."""

    def __init__(self, scenario: Scenario, settings: Settings) -> None:
        self._scenario, self._settings = scenario, settings
        self._calendars: dict[int, tuple[Cells, str]] = {}
        """By seat, the calendar it was shown last, and how."""

    def system(self, seat: int) -> str:
        """The system prompt of a seat (paper, Appendix A.2)."""
        scale = sorted({errand.cost for mine in self._scenario.errands for errand in mine})
        shape = {"agents": list(self._scenario.agents), "slots": self._scenario.slots, "costs": scale}
        return template("system").render(settings=self._settings, seat=seat, **shape)

    def round_start(
        self, seat: int, number: int, meeting: Meeting, cells: Cells, spent: int, sweep: int, mail: Sequence[Message]
    ) -> str:
        """A participant's first turn of a round."""
        rounds, budget = len(self._scenario.meetings), self._budget(sweep)
        return wording.round_start(number, rounds, *self._seen(seat, meeting, cells), spent, mail, budget)

    def turn(self, meeting: Meeting, sweep: int, mail: Sequence[Message]) -> str:
        """A later turn of cheap talk."""
        return wording.turn(meeting, mail, self._budget(sweep))

    def activation(self, seat: int, meeting: Meeting, cells: Cells, sweep: int, mail: Sequence[Message]) -> str:
        """The first turn of somebody who takes no part in the meeting and was written to."""
        return wording.activation(*self._seen(seat, meeting, cells), mail, self._budget(sweep))

    def voluntary(self, seat: int, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> str:
        """What an outsider who was written to may do before the decision."""
        return wording.voluntary(*self._seen(seat, meeting, cells), mail)

    def decision(self, seat: int, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> str:
        """What a participant decides by: the calendar as it is now."""
        return wording.decision(meeting, *self._seen(seat, meeting, cells), mail)

    def retry(self, attempt: int, why: Sequence[str], *, schedule: bool) -> str:
        """Why a batch was refused, and the whole of it asked for again."""
        return wording.retry(attempt, self._settings.decision_retries + 1, why, schedule=schedule)

    def _seen(self, seat: int, meeting: Meeting, cells: Cells) -> tuple[str, str]:
        """What the text is about and the own calendar, as this seat may see them."""
        label = meeting.label if seat in meeting.participants else ""
        if self._calendars.get(seat, ((), ""))[0] is not cells:
            self._calendars[seat] = cells, "\n".join(lines(cells, labels=True))
        return wording.headline(meeting, label), self._calendars[seat][1]

    def _budget(self, sweep: int) -> str:
        return wording.turns_left(sweep + 1, self._settings.turn_cap)
