"""The command line: one line says what is wrong, the next what to type, and the exit code which kind of wrong it was."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.cli.help import GROUPS

Command = Callable[..., subprocess.CompletedProcess[str]]
LOADED = """
import contextlib, io, json, sys
from harness.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
print(json.dumps(sorted(sys.modules)))
"""
HEAVY = {"litellm", "docker", "ortools", "duckdb", "fastapi", "starlette", "uvicorn", "openai", "pytest", "httpx"}


class Said(NamedTuple):
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


Line = tuple[str, ...]
PRESIGNED: Line = ("run", "presigned-url-download")
FIRST: Line = (*PRESIGNED, "--runtime", "inprocess", "--seeds", "0-2", "--out", "RUN", "--json", "--workers", "3")
RESUMED: Line = tuple("--resume" if word == "--out" else word for word in FIRST)
REPEATED = "run presigned-url-download --runtime inprocess --seeds 0-2 --json --workers 3"
ALL: Line = ("run", "--runtime", "inprocess")
OPTIONS = "handles, mitigate, mutate, payload_bytes, stop_on_violation, window_seconds"
NO_OPTION = f"presigned-url-download has no option 'x'; it has {OPTIONS}"
NO_SCRIPT = "/nowhere.json: not a JSON list of actions: [Errno 2] No such file or directory: '/nowhere.json'"
NEAR = "presigned-url-download, presigned-url-integrity"
NO_TASK = f"no task named 'presigned-url-downlod'; did you mean {NEAR}?"
AGENTS = "known: oracle, nop, violation:<name>, scripted, llm, replay:<run>, human"
LABELS: Line = ("generate", "labels", "--model", "openai/any", "--api-base", "http://127.0.0.1:1", "--out", "/dev/null/x.json")
MISTAKES: dict[Line, str] = {
    ("run", "presigned-url-downlod"): f"{NO_TASK}\n  try: harness list",
    ("list", "zzzz"): "no task named 'zzzz'\n  try: harness list",
    (*PRESIGNED, "--agent", "robot"): f"no agent named 'robot'; {AGENTS}",
    (*PRESIGNED, "--agent", "violation:"): f"no agent named 'violation:'; {AGENTS}",
    (*PRESIGNED, "--agent", "llm"): "the llm agent and --model must be used together\n  try: harness run --model gpt-5",
    (*PRESIGNED, "--script", "/nowhere.json"): NO_SCRIPT,
    (*PRESIGNED, "--seeds", "x"): "seeds must look like 0-9 or 1,4,7-9, not 'x'",
    (*PRESIGNED, "--seeds", "9-1"): "seeds '9-1' is not a range from low to high",
    (*PRESIGNED, "--set", "window_seconds"): "--set must look like name=value, not 'window_seconds'",
    (*PRESIGNED, "--control", "=9"): "--control must look like name=value, not ''",
    (
        *PRESIGNED,
        "--set",
        "window_seconds=1",
    ): "window_seconds must be in 9..90, not 1\n  try: harness show presigned-url-download",
    (*PRESIGNED, "--set", "x=1"): f"{NO_OPTION}\n  try: harness show presigned-url-download",
    (*PRESIGNED, "--runtime", "podman"): "runtime must be one of auto, docker, bubblewrap, inprocess, not 'podman'",
    (
        *PRESIGNED,
        "--resume",
        "/nowhere",
    ): "/nowhere holds no run.json to resume\n  try: harness run presigned-url-download --out FOLDER",
    LABELS: "/dev/null/x.json cannot be written: File exists\n  try: the same command with another path",
    ("--tasks", "/nowhere", "list"): "/nowhere is not a folder of tasks",
    (*FIRST, "-k", "1"): f"RUN already holds a run\n  try: harness {REPEATED} -k 1 --resume RUN",
    (*RESUMED, "--seeds", "0-1"): "--seeds 0,1 is less than the 0,1,2 of this run, which may only grow\n"
    f"  try: leave it out, or harness {REPEATED} --seeds 0-1 --out NEW_FOLDER",
}
OTHERS: tuple[Line, ...] = (
    FIRST, RESUMED, ALL, ("--help",), ("list", "--json"), ("list", "contract"), ("show", "presigned-url-download", "--json"),
    ("frobnicate",),
)  # fmt: skip


@pytest.fixture(scope="module")
def said(harness: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[Line, Said]:
    """What every command line of this module said; RUN in a line stands for a folder."""
    lines, folder = [*OTHERS, *MISTAKES], str(tmp_path_factory.mktemp("cli") / "folder")
    told = [harness(*(word.replace("RUN", folder) for word in line)) for line in lines]
    return {
        line: Said(one.returncode, one.stdout.replace(folder, "RUN"), one.stderr.replace(folder, "RUN"))
        for line, one in zip(lines, told, strict=True)
    }


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistake(said: dict[Line, Said], words: Line) -> None:
    """A mistake is exit 2, nothing on stdout, and exactly these words."""
    assert Said(2, "", f"harness: {MISTAKES[words]}\n") == said[words]


def test_options_stand_under_headings(harness: Command) -> None:
    """Each option of a command with groups is in one of them, the ten most used of `run` first."""
    for command, groups in GROUPS.items():
        done = harness(command, "--help")
        names = " ".join(groups.values()).split()

        assert (done.returncode, len(names)) == (0, len(set(names)))
        assert re.findall(r"^(\w.*):$", done.stdout, re.MULTILINE) == ["Arguments", *groups]
        assert len(names) == len(re.findall(r"^  (?:-\w, )?--", done.stdout, re.MULTILINE))
    assert len(GROUPS["run"]["Most used"].split()) == 10


def test_unknown_command(said: dict[Line, Said]) -> None:
    """A command there is not is exit 2 too."""
    done = said["frobnicate",]

    assert (2, True) == (done.code, "No such command 'frobnicate'" in done.err)


def test_list_json(said: dict[Line, Said]) -> None:
    """A listing for programs has id, family, difficulty, certificate and path of every task."""
    rows = json.loads(said["list", "--json"].out)

    assert all(set(row) == {"task_id", "family", "difficulty", "certificate", "path"} for row in rows)
    assert "presigned-url-download" in [row["task_id"] for row in rows]


def test_list_plain(said: dict[Line, Said]) -> None:
    """A family is a heading with the number of its tasks, which stand below it."""
    rows = [line.split() for line in said["list", "contract"].out.splitlines()]
    assert rows[0] == ["contract:", "33", "tasks", "difficulty"]
    assert ["presigned-url-download", "hard"] in rows


def test_show_json(said: dict[Line, Said]) -> None:
    """One task for programs: its row, its digest, its file."""
    shown = json.loads(said["show", "presigned-url-download", "--json"].out)

    assert (12, 64) == (shown["metadata"]["parley"]["budgets"]["steps"], len(shown["digest"]))


@pytest.mark.parametrize("words", ["--help", "list"])
def test_light_commands_import_nothing_heavy(root: Path, words: str) -> None:
    """Help and listings load no model client, no solver, no database, no web framework and no Docker SDK."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, words], cwd=root, capture_output=True, text=True, timeout=120, check=True
    )

    assert set() == HEAVY & {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_run_json(said: dict[Line, Said]) -> None:
    """A run tells people on stderr, a line an episode, and programs on stdout."""
    done = said[FIRST]
    told = json.loads(done.out)

    assert (0, {"episodes": 3, "success": 3, "mean_reward": 1.0, "ungraded": 0}) == (done.code, told["summary"])
    assert ("RUN", 3) == (told["path"], len(told["episodes"]))
    assert ["[1/3]", "[2/3]", "[3/3]"] == [line[:5] for line in done.err.splitlines() if line.startswith("[")]


def test_resume_of_a_finished_run(said: dict[Line, Said]) -> None:
    """Nothing is played again, and the results are the same."""
    assert (0, said[FIRST].out) == (said[RESUMED].code, said[RESUMED].out)
    assert "[1/3]" not in said[RESUMED].err


def test_all_tasks_need_a_word(said: dict[Line, Said]) -> None:
    """No name means all, which is shown first and not done without a yes."""
    done = said[ALL]

    assert (2, "") == (done.code, done.out)
    assert re.match(r"plan: \d+ tasks x 1 seed x 1 attempt = (\d+) episodes, 2 at a time\noracle plays \1 episodes\n", done.err)
    assert done.err.endswith(
        "points between two models\nharness: no task was named, and running all tasks needs confirmation at a terminal\n"
        "  try: harness run --runtime inprocess --yes, or one task first: harness run --runtime inprocess "
        "adversarial-shortcut-injection\n"
    )


def test_broken_task_is_exit_4(harness: Command, tmp_path: Path) -> None:
    """A task folder that breaks the format is named with its line."""
    folder = tmp_path / "tasks" / "contract" / "a"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text('schema_version = "1.4"\n\n[wrong]\n', encoding="utf-8")
    done = harness("--tasks", tmp_path / "tasks", "list")

    assert (4, f"harness: {folder}/task.toml:3: wrong: unknown key\n") == (done.returncode, done.stderr)


@pytest.mark.property
def test_resume_of_a_sweep_that_never_came_to_its_second_part(harness: Command, tmp_path: Path) -> None:
    """A folder that is missing is begun, one that is there is gone on with; where none is there, nothing is resumed."""
    plan = ("run", "presigned-url-download", "--runtime", "inprocess", "--agent", "oracle,nop", "--json")
    first = harness(*plan, "--out", tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "agent=nop")
    again = harness(*plan, "--resume", tmp_path / "run")

    assert json.loads(again.stdout)["summary"] == json.loads(first.stdout)["summary"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["agent=nop", "agent=oracle"]
    (tmp_path / "empty").mkdir()
    refused = harness(*plan, "--resume", tmp_path / "empty")
    assert (2, True) == (refused.returncode, f"{tmp_path}/empty holds no run.json to resume" in refused.stderr)
    assert [] == list((tmp_path / "empty").iterdir())
