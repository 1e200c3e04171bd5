"""Each attack finds the flaw that carries its number, and nothing where the flaw is mended: seventeen small foreign folders.

Each takes half a minute, so CI tries one in four, and the proof all. That every attack, and not only its own, finds nothing in
any twin takes a quarter of an hour, and is part of the proof too.
What the attacks say of our own folders is `harness verify --attacks`, a step of CI.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.runtimes.docker.runtime import DockerRuntime
from parley.proof.attacks.base import AttackRow
from parley.proof.attacks.suite import ATTACKS, run_attacks
from tests.parley.proof.attacks import flaws_answers, flaws_files, flaws_machine
from tests.parley.proof.attacks.flawed import Flaw

pytestmark = pytest.mark.docker
FLAWS = (*flaws_files.FLAWS, *flaws_answers.FLAWS, *flaws_machine.FLAWS)
SAMPLED = FLAWS[::4]
"""Of each kind of flaw some."""

SOUND = Flaw("sound", 0, {})


@pytest.fixture(scope="module")
def docker() -> Iterator[DockerRuntime]:
    """What runs foreign folders."""
    made = DockerRuntime()
    yield made
    made.engine.api.close()


@pytest.mark.parametrize(
    "flaw", [pytest.param(flaw, id=flaw.name, marks=() if flaw in SAMPLED else pytest.mark.proof) for flaw in FLAWS]
)
def test_a_flaw_is_found_and_its_twin_holds(docker: DockerRuntime, flaw: Flaw, tmp_path: Path) -> None:
    """The attack breaks the flawed folder, with evidence, and holds on the twin, having examined something there."""
    attack = [one for one in ATTACKS if one.number == flaw.attack]
    flawed, twin = flaw.folder(tmp_path), flaw.twin(tmp_path)

    rows = {row.task_id: row for row in run_attacks([flawed, twin], docker, attacks=attack).rows}

    assert (rows[flawed.task_id].outcome, rows[flawed.task_id].reason) == ("broken", None)
    assert rows[flawed.task_id].holes
    assert (rows[twin.task_id].outcome, rows[twin.task_id].holes, rows[twin.task_id].reason) == ("held", (), None)
    assert rows[twin.task_id].examined >= 1


@pytest.fixture(scope="module")
def twins(docker: DockerRuntime, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[AttackRow]]:
    """The rows of every attack on the folder that the flaws are changes of, and on each mended twin, by the flaw's name."""
    tasks = {flaw.name: flaw.twin(tmp_path_factory.mktemp(flaw.name)) for flaw in (SOUND, *FLAWS)}
    rows = run_attacks(list(tasks.values()), docker).rows
    return {name: [row for row in rows if row.task_id == task.task_id] for name, task in tasks.items()}


@pytest.mark.proof
@pytest.mark.parametrize("flaw", [SOUND, *FLAWS], ids=lambda flaw: flaw.name)
def test_no_attack_succeeds_where_nothing_is_wrong(twins: dict[str, list[AttackRow]], flaw: Flaw) -> None:
    """Every attack holds or does not apply."""
    rows = twins[flaw.name]

    assert [(row.attack, row.outcome, row.holes, row.reason) for row in rows if not row.passes] == []
    assert {row.attack for row in rows} == {attack.number for attack in ATTACKS}
