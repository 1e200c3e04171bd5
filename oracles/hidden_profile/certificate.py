"""What is on record of a scenario with one deal: that nothing is proved of it, its hands, and how far words give it away.

Such a scenario names its key, so whoever has seen the file knows it (decision 0022); only decks are proved.
"""

from __future__ import annotations

from oracles.hidden_profile.guessers import scored
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.scenario import Scenario


def certify(scenario: Scenario) -> Certificate:
    """The certificate, which says that there is none: no check is asked, nor would fail."""
    hands = {str(seat): scenario.hand(seat) for seat in scenario.seats}
    return Certificate(scenario=scenario.id, certified=False, hands=hands, guessers=scored(scenario))
