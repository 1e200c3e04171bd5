"""What a command makes is on stdout, plain where that is no terminal; what it says while it does so is on stderr."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.tables import show_table
from parley.commands.verify import show_mutants, show_siege
from parley.proof.attacks.base import AttackRow, AttackRun
from parley.proof.mutants.run import MutantReport, TriedMutant

Command = Callable[..., subprocess.CompletedProcess[str]]
ENTRY = {
    "id": 4,
    "name": "Who took it?",
    "description": "One of two took it.",
    "shared_information": ["Both were seen."],
    "hidden_information": ["X has an alibi.", "X cannot play.", "X was away."],
    "possible_answers": ["Mr. X", "Mrs. Y", "The cook"],
    "correct_answer": "Mrs. Y",
    "rationale": "",
}
PROVED = ("task", "verdict", "checks", "failed", "seconds")
PRINTED: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "list": (("list", "calendar"), ("calendar: 120 tasks", "difficulty"), ""),
    "models": (("models",), ("name", "--model", "provider", "family", "kind", "size", "price"), ""),
    "doctor": (("doctor",), ("runtime", "works", "why"), "Python 3"),
    "verify": (("verify", "presigned-url-download", "--seeds", "0"), PROVED, "1 of 1 tasks passed"),
    "verify --mutations": (
        ("verify", "presigned-url-download", "--mutations"),
        ("task", "mutation", "predicted", "direct pass", "by handles", ""),
        "pairs of task and mutation change bytes",
    ),
    "generate calendar": (
        ("generate", "calendar", "--name", "x", "--label", "easy", "--agents", "3", "--meetings", "2", "--participants", "2",
         "--slots", "4", "--out", "OUT"),
        ("task_id", "difficulty", "optimum", "worst", "optima", "feasible", "total", "per_seat", "lookahead"),
        "1 tasks in",
    ),
    "import hiddenbench": (
        ("import", "hiddenbench", "FILE", "--out", "OUT"),
        ("task_id", "options", "always-last", "most-mentioned", "fewest-negative", "longest", "longest-texts"),
        "1 tasks in",
    ),
    "run of many": (
        ("run", "presigned-url-download", "--agent", "nop", "--runtime", "inprocess", "--seeds", "0-12", "--out", "OUT"),
        ("task", "episodes", "success", "mean reward", "labels"),
        "0 of 13 succeeded",
    ),
}  # fmt: skip
"""The command, the heads of its table, and what it says beside it."""


@pytest.mark.property
@pytest.mark.parametrize("command", PRINTED)
def test_the_table_is_what_a_file_holds(harness: Command, tmp_path: Path, command: str) -> None:
    """`command > file` holds the table in plain lines, and nothing of what is said beside it."""
    typed, heads, said = PRINTED[command]
    (tmp_path / "FILE").write_text(json.dumps([ENTRY]), encoding="utf-8")
    done = harness(*(tmp_path / word if word in {"FILE", "OUT"} else word for word in typed))
    first, *rows = done.stdout.splitlines()

    assert done.returncode == 0, done.stderr
    assert heads == tuple(re.split(" {2,}", first)) + ("",) * (heads[-1] == "")
    assert rows
    assert "\t" not in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert said in done.stderr
    assert not said or said not in done.stdout


def test_the_table_of_mutants_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """`verify --mutants` prints its survivors and the table there, and the share on stderr."""
    one = {
        "kind": "server",
        "path": "server.py",
        "line": 3,
        "within": "",
        "text": "",
        "operator": "flip",
        "was": "<",
        "becomes": ">",
    }
    mutants = (TriedMutant(id="a", fate="survived", **one), TriedMutant(id="b", fate="died", **one))
    show_mutants(MutantReport(mutants=mutants, seconds=2.0))
    out, err = capsys.readouterr()

    assert out.splitlines()[0] == "server.py:3: [flip] survived: `<` -> `>`"
    assert [line.split()[:3] for line in out.splitlines()[1:]] == [
        ["files", "mutants", "died"],
        ["server", "2", "1"],
        ["all", "2", "1"],
    ]
    assert err == "50.0% of the mutants that are not equivalent were caught, 2 s\n"


def test_the_table_of_attacks_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """So does `verify --attacks` with holes and its table; notes and the count go to stderr."""
    row = AttackRow(
        attack=1, name="x", scope="folder", task_id="t", outcome="broken", examined=2, holes=("a hole",), notes=("n",)
    )
    show_siege(AttackRun(ok=False, seconds=1.0, runtime="inprocess", rows=(row,)))

    assert capsys.readouterr() == (
        "t: [1 x] a hole\n"  # noqa: ISC004 - three lines of one text
        "attack  name  flaw classes  rows  examined  outcome\n"
        "     1  x                      1         2  1 broken\n",
        "t: [1 x] note: n\n1 of 1 attacks succeeded in inprocess, 1.0 s\n",
    )


def test_attacks_that_could_not_be_made_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    """One reason for several attacks is one line, and no sentence begins with how few succeeded."""
    error = AttackRow(attack=1, name="x", scope="folder", task_id="t", outcome="error", reason="no image")
    held = AttackRow(attack=2, name="y", scope="folder", task_id="t", outcome="held", examined=1)
    none, some = ((error,) * 3, (error, error, held))
    told = [AttackRun(ok=False, seconds=1.0, runtime="docker", rows=rows) for rows in (none, some)]
    for siege in told:
        show_siege(siege)
    out, err = capsys.readouterr()

    assert err.splitlines() == [
        "3 of 3 attacks could not be made in docker, 1.0 s",
        "2 of 3 attacks could not be made; of the others, 0 of 1 attacks succeeded in docker, 1.0 s",
    ]
    assert [line for line in out.splitlines() if "no image" in line] == [
        f"t: [{count} attacks] could not be made: no image" for count in (3, 2)
    ]
    assert out.count("flaw classes") == 1


def test_beside_json_a_table_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """Where stdout holds a document, its table goes to stderr."""
    show_table(("a", "b"), [(1, "x")], title="T")
    show_table(("a", "b"), [(2, "y")], beside_json=True)

    assert capsys.readouterr() == ("T\na  b\n1  x\n", "a  b\n2  y\n")


@pytest.mark.property
def test_only_a_run_has_a_table_beside_json(root: Path) -> None:
    """No other command sends a table to stderr: not images, attacks or generate, which take minutes to ask."""
    modules = [path for room in ("harness", "parley") for path in (root / room).rglob("*.py") if path.name != "output.py"]
    calls = [
        (path.name, any(word.arg == "beside_json" for word in node.keywords))
        for path in modules
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "show_table"
    ]

    assert {name for name, beside in calls if beside} == {"report.py", "closing.py"}
    assert {"doctor.py", "verify.py", "generate.py"} <= {name for name, beside in calls if not beside}
