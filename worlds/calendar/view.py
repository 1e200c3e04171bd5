"""What a seat is shown: its own calendar, its own mail, the round's meeting - and of a meeting's label only what is its own.

Every text is a template in texts/, rendered here from one seat's point of view. What the templates are never given cannot be
shown: another seat's calendar, costs or labels, the meetings to come, a sensitivity tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

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
    compiled = loader.get_template(f"{name}.md.j2")
    # no text uses Jinja's own globals, and copying them is half of what a short text costs
    compiled.globals = {}
    return compiled


class View:
    """The texts of one game; what several of them share is rendered once."""

    def __init__(self, scenario: Scenario, settings: Settings) -> None:
        self._scenario, self._settings = scenario, settings
        self._parts: dict[tuple[object, ...], str] = {}
        self._calendars: dict[int, tuple[Cells, str]] = {}
        """By seat, the calendar it was shown last, and how."""

    def system(self, seat: int) -> str:
        """The system prompt of a seat (paper, Appendix A.2)."""
        scale = sorted({errand.cost for mine in self._scenario.errands for errand in mine})
        return self._render("system", seat=seat, agents=list(self._scenario.agents), costs=scale)

    def round_start(
        self, seat: int, number: int, meeting: Meeting, cells: Cells, spent: int, sweep: int, mail: Sequence[Message]
    ) -> str:
        """A participant's first turn of a round."""
        shown = {"number": number, "rounds": len(self._scenario.meetings), "spent": spent}
        return self._render("round_start", **shown, **self._seen(seat, meeting, cells, mail), budget=self._budget(sweep))

    def turn(self, meeting: Meeting, sweep: int, mail: Sequence[Message]) -> str:
        """A later turn of cheap talk."""
        return self._render("turn", meeting=meeting, inbox=self._inbox(mail), budget=self._budget(sweep))

    def activation(self, seat: int, meeting: Meeting, cells: Cells, sweep: int, mail: Sequence[Message]) -> str:
        """The first turn of somebody who takes no part in the meeting and was written to."""
        return self._render("activation", **self._seen(seat, meeting, cells, mail), budget=self._budget(sweep))

    def voluntary(self, seat: int, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> str:
        """What an outsider who was written to may do before the decision."""
        return self._render("voluntary", **self._seen(seat, meeting, cells, mail))

    def decision(self, seat: int, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> str:
        """What a participant decides by: the calendar as it is now."""
        return self._render("decision", **self._seen(seat, meeting, cells, mail))

    def retry(self, attempt: int, why: Sequence[str], *, schedule: bool) -> str:
        """Why a batch was refused, and the whole of it asked for again."""
        return self._render("retry", attempt=attempt, why=why, schedule=schedule)

    def _seen(self, seat: int, meeting: Meeting, cells: Cells, mail: Sequence[Message]) -> dict[str, Any]:
        label = meeting.label if seat in meeting.participants else ""
        calendar = self._calendar(seat, cells)
        return {
            "meeting": meeting, "about": self._part("_about", (meeting.id, label), meeting=meeting, label=label),
            "calendar": calendar, "mail": mail, "inbox": self._inbox(mail),
        }  # fmt: skip

    def _calendar(self, seat: int, cells: Cells) -> str:
        if self._calendars.get(seat, ((), ""))[0] is not cells:
            self._calendars[seat] = cells, "\n".join(lines(cells, labels=True))
        return self._calendars[seat][1]

    def _budget(self, sweep: int) -> str:
        return self._part("_budget", (sweep,), turn=sweep + 1, cap=self._settings.turn_cap)

    def _inbox(self, mail: Sequence[Message]) -> str:
        return self._render("_inbox", mail=mail).rstrip("\n") if mail else self._part("_inbox", (), mail=mail)

    def _part(self, name: str, about: tuple[object, ...], **values: Any) -> str:
        """A part that many texts of a game share."""
        key = (name, *about)
        if key not in self._parts:
            self._parts[key] = self._render(name, **values).rstrip("\n")
        return self._parts[key]

    def _render(self, name: str, **values: Any) -> str:
        return template(name).render(settings=self._settings, slots=self._scenario.slots, **values)
