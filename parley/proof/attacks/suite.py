"""Runs the attacks: machine attacks once per set of stamped files, folder attacks on every folder.

The order of the table below does not determine when an attack runs. A folder's attacks run in sequence, several folders in
parallel.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from harness.errors import HarnessError
from harness.pod import Runtime
from harness.registry import Task
from parley.proof.attacks.answers import AnswersInReach, DummyArtifact, PlantedAnswer
from parley.proof.attacks.base import Attack, AttackRow, Reason, Siege
from parley.proof.attacks.content import HostileContent, Links
from parley.proof.attacks.folder import CodeBeforeTrust, HostileFolder
from parley.proof.attacks.grading import FloorAndCeiling, Honeypot, VerifiersCrash
from parley.proof.attacks.plant_files import LateDaemon, PlantedReward, RunnerHooks, Trojans
from parley.proof.attacks.resources import Privileges, UsedUp
from parley.proof.attacks.routes import MachineRoutes
from parley.proof.attacks.seats import Seats
from parley.proof.attacks.target import Host, Target, watched

ATTACKS: tuple[Attack, ...] = (
    PlantedReward(), LateDaemon(), Trojans(), RunnerHooks(), AnswersInReach(), DummyArtifact(), PlantedAnswer(), Links(),
    HostileContent(), VerifiersCrash(), Privileges(), MachineRoutes(), FloorAndCeiling(), Honeypot(), UsedUp(), Seats(),
    HostileFolder(), CodeBeforeTrust(),
)  # fmt: skip
"""Every attack, by number."""

STAMPED = (
    "environment/Dockerfile", "environment/docker-compose.yaml", "environment/api/Dockerfile", "tests/Dockerfile",
    "tests/test.sh",
)  # fmt: skip
"""Files that define a folder's machines."""

Progress = Callable[[AttackRow], None]


def besiege(
    tasks: Sequence[Task],
    runtime: Runtime,
    *,
    attacks: Sequence[Attack] = ATTACKS,
    workers: int = 2,
    progress: Progress = lambda row: None,
) -> Siege:
    """Attack every folder. Errors of attacks become rows; interrupts propagate."""
    started = time.perf_counter()
    rows: list[AttackRow] = []
    with watched() as host, ThreadPoolExecutor(workers, thread_name_prefix="attack") as pool:
        pending = [pool.submit(list, _assault(task, runtime, host, chosen)) for task, chosen in _orders(tasks, attacks)]
        try:
            for done in pending:
                for row in done.result():
                    rows.append(row)
                    progress(row)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    ordered = tuple(sorted(rows, key=lambda row: (row.attack, row.task_id)))
    seconds = round(time.perf_counter() - started, 3)
    return Siege(ok=all(row.passes for row in ordered), seconds=seconds, runtime=runtime.name, rows=ordered)


def machine_digest(task: Task) -> str:
    """Return a digest of a folder's machines: stamped files and the environment, agent and verifier of task.toml.

    The verifier of a foreign folder may use any of its files, so its machine is its own.
    """
    if task.parley is None:
        return task.digest
    total = hashlib.sha256()
    for name in STAMPED:
        path = task.path / Path(name)
        content = path.read_bytes() if path.is_file() else b""
        total.update(b"%d:%s" % (len(content), content))
    for section in (task.file.environment, task.file.agent, task.file.verifier):
        total.update(section.model_dump_json().encode())
    return total.hexdigest()


def one_of_each_machine(tasks: Sequence[Task]) -> list[Task]:
    """Return the first folder of each set that shares its machines, as a sample to attack."""
    return [group[0] for group in _by_machine(tasks)]


def _by_machine(tasks: Sequence[Task]) -> list[list[Task]]:
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(machine_digest(task), []).append(task)
    return list(groups.values())


def _orders(tasks: Sequence[Task], attacks: Sequence[Attack]) -> Iterator[tuple[Task, list[tuple[Attack, int]]]]:
    """Yield each folder with its attacks, and for each attack the number of folders that share the machine."""
    for group in _by_machine(tasks):
        for place, task in enumerate(group):
            mine = [attack for attack in attacks if attack.scope == "folder" or place == 0]
            yield task, [(attack, len(group) if attack.scope == "machine" else 1) for attack in mine]


def _assault(task: Task, runtime: Runtime, host: Host, attacks: Sequence[tuple[Attack, int]]) -> Iterator[AttackRow]:
    task = replace(task, path=task.path.resolve())
    target = Target(task, runtime, host)
    why = _unbuildable(task, runtime)
    for attack, shared_by in attacks:
        started = time.perf_counter()
        row = why(attack) if why else _struck(attack, target)
        yield row.model_copy(update={"shared_by": shared_by, "seconds": round(time.perf_counter() - started, 3)})


def _unbuildable(task: Task, runtime: Runtime) -> Callable[[Attack], AttackRow] | None:
    """Return a function for the rows of a folder that this runtime refuses or cannot build, or None."""
    try:
        refused = runtime.refuses(task)
        if refused is None:
            runtime.prepare([task])
            return None
    except HarnessError as error:
        refused, hint = str(error), error.hint
    else:
        hint = ""
    return lambda attack: _row(attack, task, outcome="error", reason=refused, hint=hint)


def _struck(attack: Attack, target: Target) -> AttackRow:
    try:
        reason: Reason | None = attack.inapplicable(target)
        if reason is not None:
            return _row(attack, target.task, outcome="n/a", reason=reason.value)
        exam = attack.strike(target)
    except Exception as error:  # noqa: BLE001 - a row that could not be had is told as such, and fails the siege
        return _row(attack, target.task, outcome="error", reason=f"{type(error).__name__}: {error}".splitlines()[0])
    outcome = "broken" if exam.holes else "held" if exam.examined else "vacuous"
    return _row(attack, target.task, outcome=outcome, examined=exam.examined, holes=tuple(exam.holes), notes=tuple(exam.notes))


def _row(attack: Attack, task: Task, **more: object) -> AttackRow:
    flaw = attack.flaw
    ids = {"benchjack": flaw.benchjack, "abc": flaw.abc, "openenv": flaw.openenv}
    return AttackRow.model_validate(
        {"attack": attack.number, "name": attack.name, "scope": attack.scope, "task_id": task.task_id, **ids, **more}
    )
