"""Attacks 9, 10, 11, 13, 15 and 17 hold on folders of ours, one with a submission and one with seats, in both sandboxes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.attacks.base import Attack
from harness.attacks.suite import ATTACKS, besiege
from harness.registry import read_task
from harness.runtimes.base import Runtime
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from harness.runtimes.docker.runtime import DockerRuntime

RUNTIMES: dict[str, type[Runtime]] = {"docker": DockerRuntime, "bubblewrap": BubblewrapRuntime}
PARAMS = [pytest.param("docker", marks=pytest.mark.docker), pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)]
NUMBERS = {9, 10, 11, 13, 15, 17}


@pytest.fixture(scope="module", params=PARAMS)
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """A sandbox."""
    made = RUNTIMES[request.param]()
    yield made
    if isinstance(made, DockerRuntime):
        made.engine.api.close()


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.number in NUMBERS], ids=lambda attack: attack.name)
def test_an_attack_holds(attack: Attack, runtime: Runtime, root: Path) -> None:
    """It examined something, and found nothing."""
    names = ["contract/presigned-url-download", *(["calendar/uniform-01"] if attack.scope == "folder" else [])]

    siege = besiege([read_task(root / "tasks" / name) for name in names], runtime, attacks=[attack])

    assert [(row.task_id, row.outcome, row.holes, row.reason) for row in siege.rows if row.outcome != "held"] == []
    assert len(siege.rows) == len(names)
