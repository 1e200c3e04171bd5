"""Each single breakage of a good task makes its proof fail, at the line to go to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import TaskInvalid
from harness.registry import read_task
from harness.runtimes.inprocess import InProcessRuntime
from harness.trust import admitted
from parley.proof.findings import ProofReport, ProvedClient
from parley.proof.proof import prove_in, verify
from parley.proof.sync import sync, vouched

pytestmark = pytest.mark.property

Broken = Callable[[str, str, str], list[tuple[str, int, str]]]
SERVER, VIOLATIONS = "environment/api/server.py", "solution/violations.py"


def line(folder: Path, name: str, text: str) -> int:
    """The line of a file that holds a text."""
    return next(n for n, row in enumerate((folder / name).read_text().splitlines(), start=1) if text in row)


CLAIMS = {
    "lint", "drift", "oracle", "nop", "violation", "cell", "leak", "determinism", "seeds", "results", "secrets", "budget",
    "knob", "gives-up", "recovers", "submission", "twice", "tampered", "left-out", "hidden-tests", "draws", "deadlines",
    "rules", "disturbed", "artifacts",
}  # fmt: skip
"""What is claimed of a contract task."""


def test_report_shape(folder: Path, prove: Callable[[Path], ProofReport]) -> None:
    """The JSON has the documented keys, and a check for each claim."""
    document = json.loads(prove(folder).model_dump_json())
    (task,) = document["tasks"]

    assert {"ok", "seconds", "tasks", "shared"} == set(document)
    assert {"task_id", "ok", "seconds", "checks"} == set(task)
    assert {"name", "seed", "ok", "detail", "findings"} == set(task["checks"][0])
    assert CLAIMS == {check["name"].partition(":")[0] for check in task["checks"]}


def test_expected_value_in_an_error(folder: Path, broken: Broken) -> None:
    """A refusal that tells the right slice is found at the handler that gave it."""
    old = '        check_header(call, "X-Seed-Slice", self.slice)'
    new = """        expected = self.slice
        if call.header("X-Seed-Slice") not in (None, expected):
            raise Violation(Label.WRONG_VALUE, f"the slice must be {expected}", field="slice")
        check_header(call, "X-Seed-Slice", expected)"""

    assert [(SERVER, line(folder, SERVER, "def give_value"), "leak")] == broken(SERVER, old, new)


def test_wrong_label(folder: Path, broken: Broken) -> None:
    """A client that earns another label than announced is found where it is named."""
    number = line(folder, VIOLATIONS, '"no_slice"')

    assert [(VIOLATIONS, number, "violation:no_slice")] == broken(
        VIOLATIONS, '"no_slice": ("MISSING_CONSTRAINT"', '"no_slice": ("WRONG_VALUE"'
    )


def test_label_outside_the_taxonomy(folder: Path, broken: Broken) -> None:
    """A label that does not exist is a finding of lint, and no episode earns it."""
    number = line(folder, VIOLATIONS, '"no_slice"')
    found = broken(VIOLATIONS, '"no_slice": ("MISSING_CONSTRAINT"', '"no_slice": ("LAZY"')

    assert [(VIOLATIONS, number, "violations"), (VIOLATIONS, number, "violation:no_slice")] == found


def test_client_that_raises_before_its_violation(folder: Path, prove: Callable[[Path], ProofReport]) -> None:
    """A wrong client that never gets to its violation fails its check, with what it raised."""
    path = folder / VIOLATIONS
    path.write_text(path.read_text().replace("mangle=clipped)),", "mangle=lambda ticket: ticket[None])),", 1))
    failed = [check for task in prove(folder).tasks for check in task.failed if check.name == "violation:clipped_ticket"]

    assert [check.seed for check in failed] == [0, 1]
    assert "must earn MUTATED_TOKEN, earned OTHER; the client raised TypeError" in failed[0].detail


def test_instruction_of_seed_0(folder: Path, broken: Broken) -> None:
    """An instruction that is not the world's own for seed 0 is found at its first differing line."""
    assert broken("instruction.md", "holds one value", "holds a value") == [("instruction.md", 3, "drift")]


def test_boilerplate_drift(folder: Path, broken: Broken) -> None:
    """An edited boilerplate file is found at its first differing line."""
    number = line(folder, "environment/docker-compose.yaml", "stop_grace_period")

    assert [("environment/docker-compose.yaml", number, "drift")] == broken(
        "environment/docker-compose.yaml", "period: 1s", "period: 9s"
    )


def test_unknown_key(folder: Path) -> None:
    """A key that task.toml does not have is refused at its line before anything is proved."""
    path = folder / "task.toml"
    path.write_text(path.read_text().replace("steps = 10", "steps = 10\nstepz = 11"))

    with pytest.raises(TaskInvalid, match=rf"task\.toml:{line(folder, 'task.toml', 'stepz')}: .*unknown key"):
        read_task(folder)


def test_wall_clock(folder: Path, broken: Broken) -> None:
    """A world that reads the machine's time is found at the line that reads it, and at the traces that differ."""
    found = broken(
        SERVER, '        self.value = self.chance("value").hex(32)', "        self.value = str(__import__('time').time_ns())"
    )
    number = line(folder, SERVER, "time_ns")

    assert (SERVER, number, "import") in found
    assert (SERVER, line(folder, SERVER, "def prepare"), "determinism") in found


def test_wall_clock_by_another_name(folder: Path, broken: Broken) -> None:
    """Renaming an import hides nothing."""
    old = "from worlds.core.calls import"
    found = broken(SERVER, old, f"from time import monotonic as elapsed\n\n{old}")

    assert [(SERVER, line(folder, SERVER, "monotonic"), "wall-clock")] == found


def test_same_instance_for_every_seed(folder: Path, broken: Broken) -> None:
    """A world that ignores the seed is found where it draws."""
    old = "        self.ticket: Contract | None = None"
    new = f"""{old}
        self.value, self.range = "1" * 32, (1, 24)
        self.anchor = type(self.anchor)("a" * 384)
        self.chance = type(self.chance)("key", "my-task", 0)"""

    assert (SERVER, line(folder, SERVER, "def prepare"), "seeds") in broken(SERVER, old, new)


def test_oracle_that_fails(folder: Path, broken: Broken) -> None:
    """An oracle that does not succeed is found at `solve`."""
    found = broken("solution/solve.py", "    play(api, instruction, wait)", "    play(api, instruction, wait, shift=1)")

    assert ("solution/solve.py", line(folder, "solution/solve.py", "def solve"), "oracle") in found


def test_handler_that_fails(folder: Path, broken: Broken) -> None:
    """A handler that raises is found at the line that raised, not at the client that met it."""
    found = broken(SERVER, '        ticket = self.chance("ticket").base64url(24)', "        ticket = {}['oops']")

    assert {(SERVER, line(folder, SERVER, "['oops']"))} <= {(path, number) for path, number, _ in found}


def test_a_claim_of_the_family_left_out(folder: Path, broken: Broken) -> None:
    """Hidden tests that do not import a test of their family are told the line to write."""
    name = "tests/test_outcome.py"
    found = broken(name, "test_contracts_kept, ", "")

    assert (name, 1, "hidden-tests") in found


def test_knob_end_out_of_reach(folder: Path, broken: Broken) -> None:
    """A knob whose end makes the task impossible is found in task.toml."""
    path = folder / "task.toml"
    path.write_text(path.read_text().replace("default = 120, min = 10,", "default = 120, min = 1,"))
    sync(folder, vouched)
    found = broken("task.toml", "", "")

    assert ("task.toml", line(folder, "task.toml", "window_seconds"), "knob:window_seconds=1") in found


def test_cell_that_is_not_filled(folder: Path, broken: Broken) -> None:
    """A cell of Proposition 1 filled by the wrong client is found at that client."""
    found = broken(VIOLATIONS, '"validity": "late_ticket"', '"validity": "late_and_clipped"')

    assert [(VIOLATIONS, line(folder, VIOLATIONS, '"late_and_clipped": ('), "cell:validity")] == found


def test_cells_must_be_declared(folder: Path, broken: Broken) -> None:
    """A world that issues artifacts must say which violations fill the cells."""
    found = broken(
        VIOLATIONS,
        'CELLS = {"validity": "late_ticket", "integrity": "clipped_ticket", "both": "late_and_clipped"}',
        "CELLS = {}",
    )
    number = line(folder, VIOLATIONS, "CELLS =")

    assert [(VIOLATIONS, number, f"cell:{cell}") for cell in ("validity", "integrity", "both")] == found


def test_world_that_does_not_load(folder: Path, broken: Broken) -> None:
    """A syntax error in the server is one line to go to, whoever trips over it."""
    found = broken(SERVER, "    def prepare(self) -> None:", "    def prepare(self) -> None")

    assert {(SERVER, line(folder, SERVER, "def prepare"))} == {(path, number) for path, number, _ in found}


def test_solution_that_does_not_load(folder: Path, broken: Broken) -> None:
    """A violations.py that raises on import is a finding, not a crash."""
    found = broken(VIOLATIONS, "from solve import play", "from solve import plays")

    assert {VIOLATIONS} == {path for path, _, _ in found}


def test_two_workers_find_the_same(folder: Path) -> None:
    """A second process, with another PYTHONHASHSEED, leaves the same traces and the same report."""
    tasks = [admitted(read_task(folder))]

    def told(report: ProofReport) -> list[tuple[str, int | None, bool, str]]:
        return [(check.name, check.seed, check.ok, check.detail) for task in report.tasks for check in task.checks]

    heard: list[str] = []
    report = verify(tasks, [0], workers=2, progress=lambda proved: heard.append(proved.task_id))

    assert report.ok
    assert heard == ["my-task"]
    assert told(verify(tasks, [0], workers=1)) == told(report)


def test_order_of_a_set_shows(folder: Path) -> None:
    """A world that depends on the order of a set of strings is caught by the second process."""
    path = folder / SERVER
    old = '        self.value = self.chance("value").hex(32)'
    path.write_text(path.read_text().replace(old, old + ' + "".join({f"key {n}" for n in range(50)})'))
    report = verify([admitted(read_task(folder))], [0], workers=2)

    assert {"determinism"} == {check.name for check in report.tasks[0].failed}


def test_a_runtime_plays_the_same_clients(folder: Path) -> None:
    """Given a runtime, every client plays in it too and must leave the trace that it left in process."""
    report = verify([admitted(read_task(folder))], [0], runtimes=[InProcessRuntime()], workers=1)
    names = [check.name for check in report.tasks[0].checks if check.name.startswith("inprocess:")]

    assert report.ok
    assert len(names) == 13
    assert {"inprocess:oracle", "inprocess:nop", "inprocess:violation:no_slice"} <= set(names)


def test_a_client_that_must_win_wins_in_a_runtime(root: Path) -> None:
    """A client in time by an instant earns 1 in every runtime; a proof that promises the same of `nop` is not believed."""
    task = read_task(root / "tasks" / "contract" / "adversarial-shortcut-injection")
    promised = [ProvedClient(player=name, seed=0, label="SUCCESS") for name in ("authorize_in_the_last_instant", "nop")]

    in_time, idle = prove_in(InProcessRuntime(), task, [0], promised, workers=1)

    assert in_time.ok
    assert (idle.ok, idle.detail) == (False, "must earn SUCCESS, earned OTHER")


class Other(InProcessRuntime):
    """A second runtime, by its name."""

    name = "other"


def test_sample_plays_few_clients_on_the_first_seed_in_each_runtime(folder: Path) -> None:
    """Of a task on two seeds each runtime plays oracle, nop and one violation on the first; in process all are played."""
    report = verify([admitted(read_task(folder))], [1, 2], runtimes=[InProcessRuntime(), Other()], sample=True, workers=1)
    checks = report.tasks[0].checks
    played = {(name, client): check.seed for check in checks for name, _, client in [check.name.partition(":")]}
    inside = {name: [client for room, client in played if room == name] for name in ("inprocess", "other")}

    assert report.ok
    assert inside["inprocess"] == inside["other"]
    assert [client.partition(":")[0] for client in sorted(inside["other"])] == ["nop", "oracle", "violation"]
    assert {played[name, client] for name, clients in inside.items() for client in clients} == {1}
    assert {check.seed for check in checks if check.name == "determinism"} == {1, 2}
