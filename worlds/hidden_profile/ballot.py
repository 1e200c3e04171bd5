"""A vote is an option by its id or its label, as `rules.ballot` reads them; anything else is no vote.

A reply that holds several ballots is one vote where they name one option, and none where they contradict each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from worlds.core.replies import parse_reply, without_thoughts
from worlds.hidden_profile.rules.ballot import contradicts_itself, field, option_of
from worlds.hidden_profile.rules.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote as it was cast: what a reply came to; without an option it is invalid."""

    option: str | None
    rationale: str
    given: str
    """What stood where the option belongs."""


def read_ballot(scenario: Scenario, reply: str) -> Ballot:
    """The ballot in a reply: a JSON object with `vote` and `rationale`, or the option alone; thoughts before it are none."""
    reply = without_thoughts(reply)
    if contradicts_itself(scenario, reply):
        return Ballot(None, "", "")
    value = parse_reply(reply).value
    given = field(value, "vote") if isinstance(value, dict) else reply if len(reply) <= 200 else ""
    said = field(value, "rationale") if isinstance(value, dict) else ""
    text = given if isinstance(given, str) else ""
    return Ballot(option_of(scenario, text), said if isinstance(said, str) else "", text[:200])
