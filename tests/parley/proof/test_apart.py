"""What comes out of a sandbox is data, and nothing that it says counts before pods have shown it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec
from harness.agents.solutions import SolutionAgent, holds_seats, violation_names
from harness.errors import RuntimeFailure, TaskInvalid, UsageError
from harness.paths import ROOT
from harness.pod import SandboxedRuntime
from harness.records import RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.trust import admitted
from parley.proof import sandboxed_proof
from parley.proof.findings import TaskProof
from parley.proof.plays import Scope, play
from parley.proof.proof import verify
from parley.proof.sandboxed_proof import choose_sandbox, instructed_apart, proved_apart
from parley.proof.sync import new_task, sync

ALONE = "contract/presigned-url-download"
GAMES = ("calendar/uniform-01", "hidden-profile/salt-mill-murder")
PROVED: dict[str, Any] = {"task_id": "presigned-url-download", "checks": [], "clients": [], "seconds": 0.1}


def outside(tmp_path: Path, name: str = ALONE) -> Task:
    """A copy of a task of ours, somewhere else."""
    return read_task(Path(shutil.copytree(ROOT / "tasks" / name, tmp_path / "elsewhere" / name)))


class Liar:
    """A prover that says what it was told to, as a folder's code can make any prover do."""

    name = "liar"

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def confined(self, run_id: str, command: Sequence[str], stdin: bytes, *, limit_s: float, most: int) -> bytes:
        """The lie."""
        return self.answer


def lied(task: Task, answer: Any) -> list[tuple[str, bool]]:
    """The checks that come of an answer."""
    said = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return [(check.name, check.ok) for check in proved_apart(Liar(said), Scope(task, [0])).checks]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000, b"9" * 5000, {**PROVED, "task_id": "another"},
        {**PROVED, "checks": 1}, {**PROVED, "more": 1}, {**PROVED, "checks": [{"name": "a", "ok": "perhaps"}]},
    ],
    ids=["nothing", "list", "null", "torn", "bytes", "deep", "number", "another", "shape", "field", "type"],
)  # fmt: skip
def test_nonsense_is_a_failed_check(tmp_path: Path, answer: Any) -> None:
    """Whatever is not a proof of this task is a finding, never an exception."""
    assert lied(outside(tmp_path), answer) == [("prover", False), ("apart", True)]


def test_a_proof_without_its_clients_fails(tmp_path: Path) -> None:
    """An answer that says all is well must tell of every client that the folder's text names, or it is not believed."""
    task = outside(tmp_path)
    one = {"player": "solve", "seed": 0, "label": "SUCCESS", "trace_hash": "x"}

    assert lied(task, PROVED) == [("clients", False), ("apart", True)]
    assert lied(task, {**PROVED, "clients": [one, {**one, "player": "made-up"}]}) == [("clients", False), ("apart", True)]


def test_words_of_a_proof_are_shown_and_no_more(tmp_path: Path) -> None:
    """Letters that a terminal obeys are gone; a place is text; only clients that the text names are played."""
    finding = {"path": "/etc/shadow", "line": 1, "rule": "\x1b]0;mine\x07", "message": "\u202egood \ud800"}
    check = {"name": "lint", "ok": False, "findings": [finding, {**finding, "path": "presigned-url-download/task.toml"}]}
    clients = [{"player": "sol\x1bve", "seed": 0, "label": "", "trace_hash": ""}]
    task = outside(tmp_path)
    proved = proved_apart(
        Liar(json.dumps({**PROVED, "checks": [check], "clients": clients}).encode()),  # type: ignore[arg-type]
        Scope(task, [0]),
    )
    told = [finding for check in proved.checks for finding in check.findings]

    assert proved.clients == ()
    assert [one.path for one in told] == ["/etc/shadow", str(task.path / "task.toml")]
    assert {one.rule for one in told} == {"\ufffd]0;mine\ufffd"}
    assert {one.message for one in told} == {"\ufffdgood \ufffd"}


def test_an_instruction_that_is_none(tmp_path: Path) -> None:
    """What the room could not render is the folder's fault; an answer of another shape is the room's."""
    task = outside(tmp_path)
    with pytest.raises(TaskInvalid, match=r"elsewhere/contract/presigned.*server\.py:3: no \ufffd"):
        instructed_apart(
            Liar(b'{"error": "presigned-url-download/environment/api/server.py:3: no \\u001b"}'),  # type: ignore[arg-type]
            task.path,
        )
    with pytest.raises(RuntimeFailure, match="not a valid instruction"):
        instructed_apart(Liar(b"[]"), task.path)  # type: ignore[arg-type]


def test_without_a_sandbox_nothing_is_proved(tmp_path: Path) -> None:
    """A caller that brings no sandbox is refused, not served here."""
    with pytest.raises(UsageError, match="needs a sandbox"):
        verify([outside(tmp_path)], [0], workers=1)


@pytest.fixture(
    scope="module",
    params=[pytest.param("docker", marks=pytest.mark.docker), pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)],
)
def sandbox(request: pytest.FixtureRequest) -> Iterator[SandboxedRuntime]:
    """Both real ones."""
    made = choose_sandbox(request.param, lambda line: None)
    made.set_up()
    yield made
    made.sweep()


def names(proof: TaskProof) -> set[str]:
    """The kinds of checks in a proof."""
    return {check.name.partition(":")[0] for check in proof.checks}


def test_a_good_folder_holds(sandbox: SandboxedRuntime, tmp_path: Path) -> None:
    """Proved apart, a copy of a task of ours has every check it has here, and then oracle, nop and a violation in pods."""
    task = outside(tmp_path)
    here = verify([admitted(task)], [0, 1], workers=1).tasks[0]
    there = verify([task], [0, 1], sandbox=sandbox).tasks[0]
    in_pods = [check.name for check in there.checks if check.name.startswith(f"{sandbox.name}:")]

    assert there.ok, [finding for check in there.failed for finding in check.findings]
    assert names(there) - names(here) == {"apart", sandbox.name}
    assert [check for check in there.checks if check in here.checks] == list(here.checks)
    assert sorted(name.split(":")[1] for name in in_pods) == ["nop", "oracle", "violation"]


def test_a_fastapi_app_holds(sandbox: SandboxedRuntime, tmp_path: Path) -> None:
    """What proves tasks from elsewhere can load an app."""
    proof = verify([read_task(new_task(tmp_path, "contract", "an-app", "fastapi"))], [0], sandbox=sandbox).tasks[0]

    assert proof.ok, [finding for check in proof.failed for finding in check.findings]


def test_a_folder_that_lies_about_itself_is_found_in_pods(sandbox: SandboxedRuntime, tmp_path: Path) -> None:
    """A server that behaves as it should beside the prover, and otherwise in its own room, leaves another trace there."""
    task = outside(tmp_path)
    server = task.world_folder / "server.py"
    text = server.read_text(encoding="utf-8")
    old = "    def prepare(self) -> None:\n"
    assert old in text
    lie = f'{old}        if not __import__("sys").argv[0].endswith("prover.py"):\n            self.chance("more").hex(4)\n'
    lie += "            self.knob = lambda name: 1.0\n"
    server.write_text(text.replace(old, lie, 1), encoding="utf-8")
    proof = verify([task], [0], sandbox=sandbox).tasks[0]
    failed = {check.name for check in proof.failed}

    assert not proof.ok
    assert any(name.startswith(f"{sandbox.name}:") for name in failed)


def test_what_the_folder_prints_is_no_answer(sandbox: SandboxedRuntime, tmp_path: Path) -> None:
    """Its files have neither the prover's input nor its output."""
    task = outside(tmp_path)
    for relative in ("solution/solve.py", "tests/test_outcome.py", "environment/api/server.py"):
        path = task.path / relative
        said = "import os, sys\n\nprint('{\"task_id\": 1}', flush=True)\nos.write(1, b'{}')\nassert os.read(0, 9) == b''\n"
        path.write_text(path.read_text(encoding="utf-8") + said, encoding="utf-8")
    proof = verify([task], [0], sandbox=sandbox).tasks[0]

    assert {check.name for check in proof.failed} <= {"lint"}
    assert {"oracle", "determinism", f"{sandbox.name}"} <= names(proof)


@pytest.mark.parametrize(
    ("code", "limit_s", "why"),
    [
        ("while True:\n    pass\n", 8.0, "killed"),
        ("import os\nos._exit(7)\n", 600.0, "ended with 7"),
        ("raise ValueError('x' * 4_000_000)\n", 600.0, "than 1048576 bytes"),
    ],
    ids=["for ever", "exits", "floods"],
)
def test_a_prover_that_does_not_answer(
    sandbox: SandboxedRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, limit_s: float, why: str
) -> None:
    """It is killed at its limit, or its answer is none; the folder fails, and the command goes on."""
    monkeypatch.setattr(sandboxed_proof, "LIMIT_S", limit_s)
    monkeypatch.setattr(sandboxed_proof, "MOST", 1 << 20)
    task = outside(tmp_path)
    (task.path / "solution" / "solve.py").write_text(code, encoding="utf-8")
    proved = proved_apart(sandbox, Scope(task, [0]))
    (told,) = [check for check in proved.checks if check.name == "prover"]

    assert not told.ok
    assert why in told.detail
    assert proved.clients == ()


def test_sync_renders_in_the_sandbox(sandbox: SandboxedRuntime, tmp_path: Path) -> None:
    """It writes the bytes that are written here: nothing is left to write in a copy of ours, and what was lost comes back."""
    task = outside(tmp_path)
    (task.path / "instruction.md").unlink()
    apart_from_here = sync(task.path, lambda folder: instructed_apart(sandbox, folder))

    assert apart_from_here == [task.path / "instruction.md"]
    assert (task.path / "instruction.md").read_bytes() == (ROOT / "tasks" / ALONE / "instruction.md").read_bytes()
    (task.path / "environment/api/server.py").write_text("x = 1\ny =\n", encoding="utf-8")
    with pytest.raises(TaskInvalid, match=rf"{task.path}/environment/api/server.py:2: "):
        sync(task.path, lambda folder: instructed_apart(sandbox, folder))


@pytest.mark.parametrize("name", GAMES)
def test_a_game_played_from_main_leaves_the_trace_it_leaves_here(sandbox: SandboxedRuntime, tmp_path: Path, name: str) -> None:
    """The oracle plays from `main` where its code may not run here; a wrong client of the family plays by call."""
    task = outside(tmp_path, name)
    wrong = violation_names(task)[0]
    for player in ("solve", wrong):
        agent = AgentSpec() if player == "solve" else AgentSpec(kind="violation", name=player)
        plan = Plan("r", [task], [0], 1, agent)
        (result,) = run_plan(
            plan, sandbox, RunFolder(tmp_path / f"run-{player}"), workers=1, images=sandbox.prepare([task]), progress=print
        )
        expected = play(admitted(task), player, 0)

        assert holds_seats(SolutionAgent(player), task, sandbox.name) is (player == "solve")
        assert (result.status, result.trace_hash) == ("graded", expected.trace_hash)
        assert result.success is (player == "solve")
