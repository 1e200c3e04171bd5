"""`harness doctor --model` against servers with one fault each: it finds the fault, and a run with its flags works."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.cli import app
from harness.cli.hints import report_error
from parley.commands import model_diagnosis
from tests.harness.agents.faulty_servers import FAULTS, TASK, FaultyServer
from worlds.core.errors import ParleyError

DEMANDING = FAULTS["demands reasoning back"]
HERE = ("--runtime", "inprocess", "--patience", "5")
pytestmark = pytest.mark.property


class Typed(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its JSON document."""
        return json.loads(self.out)


Typing = Callable[..., Typed]


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typing:
    """Runs a command in this process, which imports LiteLLM once, and gives the doctor as long as it takes."""
    monkeypatch.setattr(model_diagnosis, "_MINUTE_S", 600.0)

    def run(*words: object) -> Typed:
        monkeypatch.setattr(sys, "argv", ["harness", *map(str, words)])
        capsys.readouterr()
        try:
            app(prog_name="harness", standalone_mode=False)
            code = 0
        except ParleyError as error:
            code = report_error(error)
        return Typed(code, *capsys.readouterr())

    return run


def rows(report: Any) -> dict[str, dict[str, Any]]:
    """The rows of a report by check."""
    return {row["check"]: row for row in report["checks"]}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_avoided(types: Typing, tmp_path: Path, name: str) -> None:
    """Its row has the verdict; with the printed flags the task is solved, or the doctor says that nothing helps."""
    fault = FAULTS[name]
    with FaultyServer(fault) as server:
        base = server.url.removesuffix("/v1") + fault.path
        model_diagnosis = types("doctor", "--model", "openai/any", "--api-base", base, "--json")
        assert rows(model_diagnosis.json)[fault.check]["verdict"] == fault.verdict, model_diagnosis.out
        assert (model_diagnosis.code, model_diagnosis.json["command"] is not None) == (
            (0, True) if fault.works else (1, False)
        ), model_diagnosis.out
        if not fault.works:
            assert rows(model_diagnosis.json)[fault.check]["advice"]
            return
        words = shlex.split(model_diagnosis.json["command"])
        assert set(fault.flags) <= set(words)
        run = types(*words[1:], *HERE, *fault.typed, "--json", "--out", tmp_path / "run")

    assert run.code == 0, run.err
    assert {(one["status"], one["reward"]) for one in run.json["episodes"]} == {("graded", 1.0)}, run.err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ignores tools", "does not show tools to the model: its prompt has"),
        ("returns calls as text", "returned a tool call as text"),
        ("refuses tools", "does not support tools: "),
    ],
)
def test_a_run_ends_before_money_is_spent(types: Typing, tmp_path: Path, name: str, said: str) -> None:
    """Without flags it ends before the first episode, and its hint is the whole command that works."""
    with FaultyServer(FAULTS[name]) as server:
        line = ("run", TASK, "--model", "openai/any", "--api-base", server.url, "--interface", "tool", *HERE)
        refused = types(*line, "--out", tmp_path / "run")
        assert not (tmp_path / "run").exists()
        hint = refused.err.splitlines()[-1].partition("try: ")[2]
        again = types(*shlex.split(hint)[1:])

    assert (refused.code, said in refused.err) == (3, True), refused.err
    assert shlex.split(hint) == ["harness", *line, "--out", str(tmp_path / "run"), "--protocol", "text"]
    assert (again.code, "1 of 1 succeeded" in again.err) == (0, True), again.err


def test_the_settings_are_a_file_for_a_run(types: Typing, tmp_path: Path) -> None:
    """What `-o` writes plays alike by `--config`, where the address is typed."""
    file = tmp_path / "mine.toml"
    with FaultyServer(FAULTS["ignores tools"]) as server:
        model_diagnosis = types("doctor", "--model", "openai/any", "--api-base", server.url, "-o", file)
        line = ("run", TASK, "--interface", "tool", "--config", file, "--api-base", server.url, *HERE)
        run = types(*line, "--out", tmp_path / "run")

    assert model_diagnosis.code == 0
    assert model_diagnosis.out.splitlines()[-1].endswith(f"--model openai/any --api-base {server.url} --protocol text")
    assert file.read_text().splitlines()[1:] == ['model = "openai/any"', f'api-base = "{server.url}"', 'protocol = "text"']
    assert (run.code, "1 of 1 succeeded" in run.err) == (0, True), run.err


@pytest.mark.parametrize(
    ("reasons", "insists", "verdict", "seen"),
    [
        (True, False, "yes", "sent back in the next turn and accepted"),
        (True, True, "yes", "sent back in the next turn and accepted; the server requires it"),
        (False, False, "note", "none is returned"),
    ],
)
@pytest.mark.parametrize("name", ["returns calls as text", "refuses tool results"])
def test_reasoning_is_tried_as_the_protocol_sends_it(
    types: Typing, name: str, *, reasons: bool, insists: bool, verdict: str, seen: str
) -> None:
    """Where a run has to use `--protocol text`, the row is about turns of plain text, which carry reasoning too."""
    refuses = FAULTS[name].refuses if not insists else lambda body: FAULTS[name].refuses(body) or DEMANDING.refuses(body)
    with FaultyServer(replace(FAULTS[name], reasons=reasons, refuses=refuses)) as server:
        model_diagnosis = types("doctor", "--model", "openai/any", "--api-base", server.url, "--json")

    assert "--protocol text" in model_diagnosis.json["command"]
    assert (rows(model_diagnosis.json)["reasoning"]["verdict"], rows(model_diagnosis.json)["reasoning"]["seen"]) == (
        verdict,
        seen,
    )


def test_a_machine_and_a_model_are_two_questions(types: Typing) -> None:
    """Options about a model need one."""
    wrong = types("doctor", "--api-base", "http://127.0.0.1:9/v1")

    assert (wrong.code, wrong.err.splitlines()[-1]) == (2, "  try: harness doctor --model MODEL")


def test_nobody_is_there(types: Typing) -> None:
    """One row, exit 1."""
    model_diagnosis = types("doctor", "--model", "openai/any", "--api-base", "http://127.0.0.1:9/v1", "--json")

    assert (model_diagnosis.code, [(row["check"], row["verdict"]) for row in model_diagnosis.json["checks"]]) == (
        1,
        [("reachable", "no")],
    )
