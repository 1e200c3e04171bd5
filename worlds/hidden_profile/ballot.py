"""A vote is an option by its id or its exact label, after folding case, spaces and typography; anything else is no vote."""

from __future__ import annotations

from dataclasses import dataclass

from worlds.core.replies import parse_reply
from worlds.hidden_profile.rules.ballot import option_of
from worlds.hidden_profile.rules.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Vote:
    """What a reply to a vote came to; without an option it is invalid."""

    option: str | None
    rationale: str
    given: str
    """What stood where the option belongs."""


def read_vote(scenario: Scenario, reply: str) -> Vote:
    """The vote in a reply: a JSON object with `vote` and `rationale`, or the option alone."""
    value = parse_reply(reply).value
    given = value.get("vote") if isinstance(value, dict) else reply if len(reply) <= 200 else ""
    said = value.get("rationale") if isinstance(value, dict) else ""
    text = given if isinstance(given, str) else ""
    return Vote(option_of(scenario, text), said if isinstance(said, str) else "", text[:200])
