"""Attacks 9, 10 and 13 find the flaw that carries their number, and nothing in its mended twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.attacks.suite import ATTACKS, besiege
from harness.runtimes.docker.runtime import DockerRuntime
from tests.attacks.flawed import Flaw
from tests.attacks.flaws_machine import MACHINE_FLAWS

pytestmark = pytest.mark.docker


@pytest.mark.parametrize("flaw", MACHINE_FLAWS, ids=lambda flaw: flaw.name)
def test_a_flaw_is_found_and_its_twin_holds(flaw: Flaw, tmp_path: Path) -> None:
    """The attack breaks the flawed folder with evidence, and holds on the twin, of which it examined as much."""
    attacks = [attack for attack in ATTACKS if attack.number == flaw.attack]

    siege = besiege([flaw.folder(tmp_path), flaw.twin(tmp_path)], DockerRuntime(), attacks=attacks)

    flawed, twin = sorted(siege.rows, key=lambda row: row.task_id)
    assert (flawed.outcome, flawed.reason) == ("broken", None)
    assert flawed.holes
    assert (twin.outcome, twin.holes, twin.reason) == ("held", (), None)
    assert twin.examined >= flawed.examined
