"""What scripted groups must score on a deal, exactly, by playing them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from oracles.hidden_profile.groups import group
from oracles.hidden_profile.session import play
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import WorldTable


@dataclass(frozen=True, slots=True)
class Scores:
    """Accuracies of the votes after the talk."""

    average: Fraction
    majority: Fraction
    grounded: Fraction


def played(table: WorldTable, name: str) -> Scores:
    """The accuracies of a group; raises KeyError for a name that is none."""
    session = play(table, group(name, table.scenario.agents))
    return Scores(session.average, Fraction(session.majority), session.grounded)


def guessing(scenario: Scenario) -> Fraction:
    """The accuracy of a vote at random."""
    return Fraction(1, len(scenario.options))
