"""What verify asks of a hidden profile besides its episodes: the proof check by check, mutants by name, both witnesses."""

from __future__ import annotations

from pathlib import Path

from harness.authoring.report import ProofCheck
from harness.families.hidden_profile.authoring.claims import claims
from harness.families.hidden_profile.authoring.folders import write_task
from harness.registry import read_task
from oracles.hidden_profile.mutants import mutants
from oracles.hidden_profile.prover import CHECKS
from tests.hidden_profile.film import SCENARIO, changed
from worlds.hidden_profile.rules.scenario import Scenario


def claimed(folder: Path, scenario: Scenario) -> dict[str, ProofCheck]:
    """The checks of a scenario's task, by name."""
    return {check.name: check for check in claims(read_task(write_task(folder, "one-roll", scenario, "easy")))}


def test_every_check_mutant_and_witness_is_named(tmp_path: Path) -> None:
    """A certified scenario has a check for each part of its proof and each of its eight mutants, and all hold."""
    found = claimed(tmp_path, SCENARIO)

    assert list(found) == [
        *(name for name, _, _ in CHECKS), "recited", *(f"mutant:{mutant.name}" for mutant in mutants(SCENARIO)), "witnesses",
    ]  # fmt: skip
    assert [check.name for check in found.values() if not check.ok] == []
    for mutant in mutants(SCENARIO):
        assert mutant.check in found[f"mutant:{mutant.name}"].detail


def test_failed_check_is_found_by_name_and_place(tmp_path: Path) -> None:
    """A scenario that is no hidden profile fails the checks that say so, at its file, and is not asked about mutants."""
    found = claimed(tmp_path, changed("u4", asserts=[]))

    assert not found["C1"].ok
    assert "all facts leave wedding in" in str(found["C1"].findings[0])
    assert "scenario.json:1: [C1]" in str(found["C1"].findings[0])
    assert not any(name.startswith("mutant") for name in found)


def test_cue_of_the_brief_is_found(tmp_path: Path) -> None:
    """A fact that whoever repeats the brief would seem to tell is a finding, though the certificate stands."""
    found = claimed(tmp_path, changed("u3", cues=[["nephew"], ["roll", "developer"]]))

    assert [name for name, check in found.items() if not check.ok] == ["recited"]
    assert "u3 fires on the brief" in found["recited"].detail


def test_broken_scenario_is_one_finding(tmp_path: Path) -> None:
    """A scenario that cannot be read is said once, with what is wrong."""
    task = read_task(write_task(tmp_path, "one-roll", SCENARIO, "easy"))
    (task.world_folder / "scenario.json").write_text("{}", encoding="utf-8")

    (only,) = claims(task)
    assert (only.name, only.ok) == ("scenario", False)
