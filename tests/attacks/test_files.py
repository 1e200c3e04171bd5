"""Attacks 1 to 4, 8 and 14 on folders with the flaw that each looks for, and on their mended twins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.attacks.suite import ATTACKS, besiege
from harness.runtimes.docker.runtime import DockerRuntime
from tests.attacks.flawed import Flaw
from tests.attacks.flaws_files import FLAWS

pytestmark = pytest.mark.docker
MINE = tuple(attack for attack in ATTACKS if attack.number in {1, 2, 3, 4, 8, 13, 14})


@pytest.fixture(scope="module")
def docker() -> Iterator[DockerRuntime]:
    """What runs foreign folders."""
    made = DockerRuntime()
    yield made
    made.engine.api.close()


@pytest.mark.parametrize("flaw", FLAWS, ids=lambda flaw: flaw.name)
def test_flaw_is_found(docker: DockerRuntime, flaw: Flaw, tmp_path: Path) -> None:
    """The attack whose number the flaw carries succeeds, and says how."""
    chosen = [attack for attack in MINE if attack.number == flaw.attack]

    siege = besiege([flaw.folder(tmp_path)], docker, attacks=chosen)

    (row,) = siege.rows
    assert (row.outcome, row.reason) == ("broken", None)
    assert row.examined > 0
    assert not siege.ok


@pytest.mark.parametrize("flaw", FLAWS, ids=lambda flaw: flaw.name)
def test_nothing_is_found_in_the_mended_twin(docker: DockerRuntime, flaw: Flaw, tmp_path: Path) -> None:
    """No attack on files succeeds, and each examined something."""
    siege = besiege([flaw.twin(tmp_path)], docker, attacks=MINE)

    assert [(row.attack, row.outcome, row.holes, row.reason) for row in siege.rows if row.outcome != "held"] == []
