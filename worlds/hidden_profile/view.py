"""What a seat is shown: the brief, its own facts, the options, and what was said.

What the texts are never given cannot leak: another seat's facts, the key, a weight, a rule's formal side, anybody else's vote,
the rationale of an imported task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worlds.core.texts import Texts
from worlds.hidden_profile.deal import Deal
from worlds.hidden_profile.options import sentence
from worlds.hidden_profile.rules.ballot import indented, refusal
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.settings import Settings

Said = tuple[int, str]
"""Seat and text of one message."""


_SHOWN = (
    "rounds", "talk", "minutes", "track", "horizon", "heard", "vote_view", "exchange_decide", "exchanging", "reveal_all",
    "stakes", "variant",
)  # fmt: skip
"""The settings of a session that its texts may name."""


class View:
    """The texts of one session."""

    def __init__(self, scenario: Scenario, settings: Settings, dealt: Deal, texts: Texts) -> None:
        self._scenario, self._settings, self._dealt, self._texts = scenario, settings, dealt, texts
        self._topics = {seat: topic for seat in range(scenario.agents) if (topic := self._topic(seat))}

    def system(self, seat: int) -> str:
        """The rules of a seat, with its facts."""
        facts = [self._scenario.by_id[fact].text for fact in self._dealt.hands[seat]]
        return self._render("system", seat, brief=self._scenario.brief, facts=facts)

    def pre_vote(self, seat: int) -> str:
        """The first vote, before anybody has spoken."""
        return self._render("pre_vote", seat)

    def turn(self, seat: int, number: int, said: Sequence[Said], reminder: str = "") -> str:
        """A turn of talk; `said` is what this seat is to read, `reminder` its own first vote where it is reminded of it."""
        return self._render("turn", seat, number=number, said=_lines(said), reminder=reminder)

    def chat(self, seat: int, said: Sequence[Said]) -> str:
        """An invitation to say something in the chat; `said` is what is new to this seat."""
        return self._render("chat", seat, said=_lines(said))

    def poll(self, seat: int, said: Sequence[Said]) -> str:
        """The question where a seat stands after a round, asked of it alone."""
        return self._render("poll", seat, said=_lines(said))

    def post_vote(self, seat: int, said: Sequence[Said]) -> str:
        """The second vote, after the talk."""
        return self._render("post_vote", seat, said=_lines(said))

    def again(self, given: str, problem: str) -> str:
        """Return the question for a vote that is not valid; `problem` is why it was not read, where that is known."""
        return refusal(problem) + self._render("again", None, given=given[:80])

    def _render(self, name: str, seat: int | None, **values: Any) -> str:
        """A text for one seat, or for any; what it may name stands in `placeholders`."""
        shown = {one: getattr(self._settings, one) for one in _SHOWN}
        if seat is not None:
            values |= {"person": seat + 1}
        options = [(option, self._scenario.label(option)) for option in self._dealt.options]
        extra = sentence(self._settings.variant, seat or 0, self._topics)
        return self._texts.render(name, people=self._scenario.agents, options=options, extra=extra, **shown, **values)

    def _topic(self, seat: int) -> str:
        """The option that a seat's own facts touch most, for expert roles."""
        own = [self._scenario.by_id[fact] for fact in self._dealt.hands[seat] if self._scenario.by_id[fact].scope == "private"]
        touched = [option for fact in own for option in fact.about]
        return self._scenario.label(max(self._dealt.options, key=touched.count)) if touched else ""


def _lines(said: Sequence[Said]) -> list[Said]:
    """Messages as they are shown, with the numbers of who said them."""
    return [(seat + 1, indented(text)) for seat, text in said]
