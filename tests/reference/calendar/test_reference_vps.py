"""Every recorded game of the reference cases, replayed from its own log: privacy losses, costs and the published aggregates."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from oracles.calendar.certificate import certify
from tests.oracles.calendar.reference_cases import VPS_DIGITS, Case, cases
from tests.oracles.calendar.typed_games import typed_log
from tests.worlds.calendar.hostile_games import episode_of
from validators.calendar import assess
from validators.calendar.evidence import measure_privacy
from validators.calendar.replay import replay

pytestmark = pytest.mark.reference

PROTOCOLS = {"IMAP": "imap", "SD-MAP": "sd-map", "DSM-welfare": "dsm-welfare", "DSM-private": "dsm-private"}
SCALE = {1: 1, 100: 2, 1000: 3}
COLUMNS = {
    "coord": "coordination",
    "excess": "excess",
    "fair": "fairness",
    "msgs": "messages_per_scheduled",
    "vps": "excess_vps",
    "vps_raw": "vps",
}
"""The aggregate's names and ours."""

SUITES = ("A_uniform_blocked", "A_varied_blocked")


def of_suite(reference: Path, suite: str) -> Iterator[Case]:
    """The cases of one suite."""
    return (case for case in cases(reference) if case.suite == suite)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("cap", [4, 15])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_recorded_games_are_measured_alike(reference: Path, tmp_path: Path, protocol: str, cap: int, suite: str) -> None:
    """Each seat's loss equals the recorded one, no log has a lie, and the means equal the aggregate's in every column."""
    rows = []
    for case in of_suite(reference, suite):
        scenario = case.scenario.model_copy(update={"scale": SCALE if suite == SUITES[1] else {}})
        episode = episode_of(typed_log(tmp_path, scenario, PROTOCOLS[protocol], "paper", cap))
        rebuilt = replay(episode)
        rows.append(assess(episode, json.loads(json.dumps(certify(scenario).document()))).metrics["means"])

        assert rebuilt.lies == ()
        assert [round(loss, VPS_DIGITS) for loss in measure_privacy(rebuilt).by_target] == case.vps(protocol, cap)

    aggregate = json.loads((reference / "calbench" / "games.json").read_text())["aggregate"]
    published = aggregate[f"{suite}|{protocol}|turns{cap}"]
    assert {name: round(statistics.mean(row[ours] for row in rows), 4) for name, ours in COLUMNS.items()} == published
