"""Runs the attacks: machine attacks once per set of stamped files, folder attacks on every folder.

The attacks on a folder run in sequence, in an order that does not depend on the table below; several folders run in parallel.
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
from parley.proof.attacks.answers import hand_in_dummies, plant_answers, search_answers, submits
from parley.proof.attacks.base import Attack, AttackRow, AttackRun
from parley.proof.attacks.content import hand_in_hostile_content, hand_in_links, linkable
from parley.proof.attacks.folder import read_hostile_folders, run_marked_code
from parley.proof.attacks.grading import crash_verifier, play_honeypot, reach_floor_and_ceiling
from parley.proof.attacks.plant_files import hooks_plan, late_plans, leave, plant_rewards, tools_plan
from parley.proof.attacks.resources import examine_privileges, use_up
from parley.proof.attacks.routes import request_routes
from parley.proof.attacks.seats import take_seats
from parley.proof.attacks.services import services_beside
from parley.proof.attacks.target import Host, Target, handed_in, watched

ATTACKS = (
    Attack(1, "planted reward", "folder", plant_rewards, ("T.5", "T.10"), ("V7",)),
    Attack(2, "late daemon", "machine", lambda target: leave(target, *late_plans(target.task)), ("T.5", "T.10"), ("V1",)),
    Attack(
        3, "trojans on the tool path", "machine", lambda target: leave(target, tools_plan(target.task)), ("T.5", "T.10"),
        ("V1", "V7"),
    ),
    Attack(4, "test runner hooks", "machine", lambda target: leave(target, hooks_plan(target.task)), ("T.5", "T.10"), ("V1",)),
    Attack(5, "answers in reach", "folder", search_answers, ("T.5",), ("V2",)),
    Attack(6, "empty, dummy and all-options artifacts", "folder", hand_in_dummies, ("T.10",), ("V5", "V6"), needs=submits),
    Attack(
        7, "answers planted without the work", "folder", plant_answers, ("T.4", "T.10"), ("V7",),
        needs=lambda target: target.has_solution, lacking="the folder has no solution",
    ),
    Attack(8, "links and devices as artifact", "machine", hand_in_links, ("T.5", "T.10"), ("V3",), needs=linkable),
    Attack(
        9, "hostile content", "folder", hand_in_hostile_content, ("T.10",), ("V3", "V4"),
        needs=lambda target: not target.foreign or handed_in(target),
    ),
    Attack(10, "verifier's crash", "machine", crash_verifier, ("T.3", "T.10"), ("V6",)),
    Attack(11, "privileges", "machine", examine_privileges, ("T.4", "T.5"), ("V8",)),
    Attack(
        12, "routes of the machine", "folder", request_routes, ("T.5",), ("V1", "V2"),
        needs=lambda target: not target.foreign or services_beside(target.task), lacking="no service runs beside the agent",
    ),
    Attack(13, "floor and ceiling", "folder", reach_floor_and_ceiling, ("T.1", "T.3", "T.4", "T.6", "T.8", "T.9"), ()),
    Attack(
        14, "honeypot", "folder", play_honeypot, ("T.7", "T.10"), ("V6",),
        needs=lambda target: target.has_solution, lacking="the folder has no solution",
    ),
    Attack(15, "resources", "machine", use_up, ("T.3",), ("V8",)),
    Attack(
        16, "seats", "machine", take_seats, ("T.5", "T.10"), ("V1", "V4"),
        needs=lambda target: target.task.is_seated, lacking="the task has one seat",
    ),
    Attack(17, "the folder itself", "folder", read_hostile_folders, ("T.10",), ("V8",)),
    Attack(17, "code before trust", "machine", run_marked_code, ("T.10",), ("V4", "V8")),
)  # fmt: skip
"""Every attack, by number."""

STAMPED = (
    "environment/Dockerfile", "environment/docker-compose.yaml", "environment/api/Dockerfile", "tests/Dockerfile",
    "tests/test.sh",
)  # fmt: skip
"""Files that define a folder's machines."""

Progress = Callable[[AttackRow], None]


def run_attacks(
    tasks: Sequence[Task],
    runtime: Runtime,
    *,
    attacks: Sequence[Attack] = ATTACKS,
    workers: int = 2,
    progress: Progress = lambda row: None,
) -> AttackRun:
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
    return AttackRun(ok=all(row.passes for row in ordered), seconds=seconds, runtime=runtime.name, rows=ordered)


def machine_digest(task: Task) -> str:
    """Return a digest of a folder's machines: stamped files and the environment, agent and verifier of task.toml.

    The verifier of a foreign folder may use any file of the folder, so each foreign folder has its own machine.
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
    refused = _refused(task, runtime)
    for attack, shared_by in attacks:
        started = time.perf_counter()
        row = _row(attack, task, outcome="error", **refused) if refused else _struck(attack, target)
        yield row.model_copy(update={"shared_by": shared_by, "seconds": round(time.perf_counter() - started, 3)})


def _refused(task: Task, runtime: Runtime) -> dict[str, str]:
    """Return why this runtime refuses a folder or cannot build it, as fields of its rows; empty if it can be attacked."""
    try:
        if refused := runtime.refuses(task):
            return {"reason": refused}
        runtime.prepare([task])
    except HarnessError as error:
        return {"reason": str(error), "hint": error.hint}
    return {}


def _struck(attack: Attack, target: Target) -> AttackRow:
    try:
        if not attack.needs(target):
            return _row(attack, target.task, outcome="n/a", reason=attack.lacking)
        exam = attack.strike(target)
    except Exception as error:  # noqa: BLE001 - the error becomes the outcome of the row
        return _row(attack, target.task, outcome="error", reason=f"{type(error).__name__}: {error}".splitlines()[0])
    outcome = "broken" if exam.holes else "held" if exam.examined else "vacuous"
    return _row(attack, target.task, outcome=outcome, examined=exam.examined, holes=tuple(exam.holes), notes=tuple(exam.notes))


def _row(attack: Attack, task: Task, **more: object) -> AttackRow:
    told = {"attack": attack.number, "name": attack.name, "scope": attack.scope, "task_id": task.task_id}
    return AttackRow.model_validate({**told, "benchjack": attack.benchjack, "abc": attack.abc, **more})
