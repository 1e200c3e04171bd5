"""Recorded games of the released code against traces: our game, written in the published layout and read back, is theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.families.calendar.trace.upstream import read_upstream, upstream_game
from tests.oracles.calendar.reference_cases import Game, cases
from tests.oracles.calendar.typed_games import typed_log
from tests.parley.families.calendar.tracing import in_published_layout, trace_of

pytestmark = pytest.mark.reference

PROTOCOLS = {"imap": "IMAP", "sd-map": "SD-MAP", "dsm-welfare": "DSM-welfare", "dsm-private": "DSM-private"}
EVERY = 6
"""One task in six is played; `test_reference_*` play all of them without traces."""


@pytest.mark.parametrize("cap", [4, 15])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_imported_games_are_the_recorded_ones(protocol: str, cap: int, reference: Path, tmp_path: Path) -> None:
    """Meetings, slots, costs and messages, seat by seat."""
    for number, case in enumerate(list(cases(reference))[::EVERY]):
        document = trace_of(typed_log(tmp_path / str(number), case.scenario, protocol, "paper", cap))
        _, again = upstream_game(read_upstream(in_published_layout(document, cap)))
        final = again.final
        game = Game(
            [row["meeting_id"] for row in final["round_outcomes"] if row["coordinated"]],
            {row["meeting_id"]: {int(a): slot for a, slot in row["per_agent_slot"].items()} for row in final["round_outcomes"]},
            final["per_agent_cost_shown"],
            final["per_agent_messages_sent"],
        )

        assert game.differences(case.recorded(PROTOCOLS[protocol], cap)) == []
