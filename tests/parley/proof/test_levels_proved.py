"""Each level of a task is proved: one at which the oracle fails, or a client earns another label, is named with its seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.registry import read_task
from harness.trust import admitted
from parley.proof.claims import episodes
from parley.proof.findings import ProofReport
from parley.proof.plays import Scope
from parley.proof.sync import sync, vouched

pytestmark = pytest.mark.property

Prove = Callable[[Path], ProofReport]
TOML = "task.toml"


def leveled(folder: Path, *tables: str) -> Path:
    """The task with levels from 2 on."""
    path = folder / TOML
    levels = "".join(f"[metadata.parley.levels.{number}]\n{table}\n" for number, table in enumerate(tables, start=2))
    path.write_text(path.read_text().replace("[agent]", f"{levels}[agent]"))
    sync(folder, vouched)
    return folder


def told(report: ProofReport, folder: Path) -> dict[str, tuple[str, int, str]]:
    """Each finding by its rule: file, line and message."""
    found_at = {}
    for finding in report.findings():
        found_at[finding.rule] = (Path(finding.path).relative_to(folder).as_posix(), finding.line, finding.message)
    return found_at


def line(folder: Path, name: str, text: str) -> int:
    """The line of a file that holds a text."""
    return next(n for n, row in enumerate((folder / name).read_text().splitlines(), start=1) if text in row)


def test_a_level_that_holds(folder: Path, prove: Prove) -> None:
    """The oracle, nop, every wrong client and the three cells are checked at it, on the first seed."""
    report = prove(leveled(folder, "knobs = { window_seconds = 30 }"))
    checks = {check.name.removeprefix("level:2:") for check in report.tasks[0].checks if check.name.startswith("level:2:")}

    assert report.ok
    assert {"oracle", "nop", "budget", "violation:late_ticket", "cell:validity"} <= checks
    assert {0, None} == {check.seed for check in report.tasks[0].checks if check.name.startswith("level:")}


def test_a_level_at_which_the_oracle_fails(folder: Path, prove: Prove) -> None:
    """It is found at the level's table, with level and seed."""
    leveled(folder, "knobs = { window_seconds = 30 }", "budgets = { steps = 2 }")
    found_at = told(prove(folder), folder)
    file, number, message = found_at["level:3:oracle"]

    assert (file, number) == (TOML, line(folder, TOML, "levels.3"))
    assert message.startswith("at level 3, seed 0: must succeed, ended as OTHER")
    assert not any(rule.startswith(("level:2:", "oracle")) for rule in found_at)


def test_a_client_that_counts_on_the_default(folder: Path, prove: Prove) -> None:
    """One that is late by the first level's window alone is found where it is named."""
    found_at = told(prove(leveled(folder, "knobs = { window_seconds = 200 }")), folder)
    file, number, message = found_at["level:2:violation:late_ticket"]

    assert (file, number) == ("solution/violations.py", line(folder, "solution/violations.py", '"late_ticket"'))
    assert message.startswith("at level 2, seed 0: must earn EXPIRED_BEFORE_USE, earned SUCCESS")


def test_clients_take_turns_at_the_levels(folder: Path) -> None:
    """Unless all is played, the oracle plays at each level, and every other client at one of them, the highest first."""
    task = admitted(read_task(leveled(folder, *(f"knobs = {{ window_seconds = {life} }}" for life in (60, 40, 30)))))
    played = Scope(task, [4, 5]).leveled()
    levels = {player: [level for level, one, _ in played if one == player] for _, player, _ in played}
    others = [levels[name] for name in ("no_ticket", "late_ticket", "clipped_ticket", "late_and_clipped")]

    assert (levels["solve"], others) == ([4, 3, 2], [[4], [3], [2], [4]])
    assert {4} == {seed for *_, seed in played}
    assert 3 * 2 * len(levels) == len(Scope(task, [4, 5], thorough=True).leveled())


@pytest.mark.parametrize(("thorough", "seeds"), [(False, {4}), (True, {4, 5})])
def test_seeds_of_a_level(folder: Path, thorough: bool, seeds: set[int]) -> None:
    """The first, and all of them where the proof is to be thorough."""
    task = admitted(read_task(leveled(folder, "knobs = { window_seconds = 30 }")))
    played = [(seed, settings) for _, seed, settings in episodes(Scope(task, [4, 5], thorough))]

    assert seeds == {seed for seed, settings in played if settings == {"level": 2}}
