"""Generation as typed, through the real LiteLLM: every way a candidate can end, its record, its folder, the summary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from harness.authoring.sync import drift, vouched
from harness.cli.generate import generate_command
from harness.errors import GateFailed, UsageError
from harness.families.hidden_profile.authoring.folders import write_task
from harness.families.hidden_profile.authoring.ledger import FILE
from harness.registry import discover
from harness.testing.openai_server import OpenAIServer
from tests.hidden_profile.film import SCENARIO
from tests.hidden_profile.scripted_writers import DECOY, KEY, fields, scripts, vote, writer
from worlds.core.loading import SCENARIO as SCENARIO_FILE
from worlds.hidden_profile.rules.scenario import read_scenario

pytestmark = pytest.mark.property


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of tasks with one certified scenario, which prompts show."""
    root = tmp_path_factory.mktemp("tasks")
    write_task(root / "hidden-profile", "one-roll", SCENARIO, "easy")
    return root


class Made:
    """One run of the command: what it raised, what it told, what it left."""

    def __init__(self, root: Path, out: Path, server: OpenAIServer, *typed: str) -> None:
        flags = ("--model", "openai/any", "--api-base", server.url, "--out", str(out), "--sessions", "2", "--json")
        ran = CliRunner().invoke(command(root), ["generate", "hidden-profile", *flags, *typed])
        self.error, self.out = ran.exception, out
        self.told: dict[str, Any] = json.loads(ran.stdout) if ran.stdout else {}

    @property
    def records(self) -> list[dict[str, Any]]:
        """The candidates' records."""
        return [json.loads(line) for line in (self.out / FILE).read_text(encoding="utf-8").splitlines()[1:]]


def command(root: Path) -> typer.Typer:
    """The command line with a folder of tasks."""
    app = typer.Typer()

    @app.callback()
    def context(ctx: typer.Context) -> None:
        ctx.obj = {"tasks": root}

    app.add_typer(generate_command, name="generate")
    return app


def _no_cue(document: dict[str, Any]) -> None:
    document["facts"][-1]["cues"] = [["nowhere"], ["never"]]


def _verdict(document: dict[str, Any]) -> None:
    private = next(fact for fact in document["facts"] if fact["scope"] == "private")
    private["text"] += f" {KEY} is the best."
    _no_cue(document)


def _changed(document: dict[str, Any]) -> None:
    document["rules"].pop()


def _told_at_first(document: dict[str, Any]) -> None:
    document["brief"] += " " + next(fact["text"] for fact in document["facts"] if fact["scope"] == "private")


@pytest.fixture
def every_way(root: Path, tmp_path: Path) -> Iterator[Made]:
    """Six candidates: good, refused in words, changed, two that fail checks, good."""
    write = writer(lambda d: None, lambda d: "No.", _changed, _no_cue, _verdict)
    with OpenAIServer(*scripts(write)) as server:
        yield Made(root, tmp_path / "made", server, "--candidates", "6")


def test_summary_tells_every_way_a_candidate_ends(every_way: Made) -> None:
    """Generated, malformed, rejected by each check, passed and the rate add up; a model without a price has no dollars."""
    told = every_way.told

    assert every_way.error is None
    assert {name: told[name] for name in ("generated", "malformed", "not_certified", "not_selected", "passed")} == {
        "generated": 6, "malformed": 2, "not_certified": 2, "not_selected": 0, "passed": 2,
    }  # fmt: skip
    assert told["rejected"] == {"C6": 2, "C7": 1}
    assert (told["rate"], told["dollars"]) == (2 / 6, None)
    assert told["calls"] == sum(record["cost"]["calls"] for record in every_way.records)


def test_rejected_candidates_are_kept_with_reasons(every_way: Made) -> None:
    """Each record has the stage, the reason by name, and the reply as it came."""
    stages = [(record["stage"], sorted(record["reasons"])) for record in every_way.records]

    assert stages == [
        ("passed", []), ("malformed", ["malformed"]), ("malformed", ["malformed"]), ("certify", ["C6"]),
        ("certify", ["C6", "C7"]), ("passed", []),
    ]  # fmt: skip
    assert every_way.records[1]["reply"] == "No."
    assert every_way.records[3]["scenario"]["facts"][-1]["cues"] == [["nowhere"], ["never"]]


def test_candidate_that_verify_would_refuse_is_rejected(root: Path, tmp_path: Path) -> None:
    """A brief that says what one person alone knows leaves the certificate whole, and is a reason all the same."""
    with OpenAIServer(*scripts(writer(_told_at_first))) as server:
        made = Made(root, tmp_path / "made", server, "--candidates", "1")

    assert made.told["rejected"] == {"recited": 1}


def test_passed_candidates_are_tasks(every_way: Made) -> None:
    """Each is a whole, certified task folder that says where it comes from, and execution is on record."""
    tasks = discover(every_way.out.parent)
    origins = [read_scenario(task.world_folder / SCENARIO_FILE).origin for task in tasks]

    assert [task.task_id for task in tasks] == ["gen-001-birds-and-mice", "gen-006-birds-and-mice"] == every_way.told["tasks"]
    assert [drift(task.path, vouched) for task in tasks] == [[], []]
    assert [(one["candidate"], one["certified"], one["model"]) for one in origins] == [
        (1, True, "openai/any"), (6, True, "openai/any"),
    ]  # fmt: skip
    assert every_way.records[0]["execution"] | {"by_hand": {}} == {"full": 1.0, "hidden": 0.0, "by_hand": {}, "invalid": 0}


@pytest.mark.parametrize(("favourite", "bound"), [(KEY, ["hand", "hidden"]), (DECOY, ["full"])])
def test_execution_rejects(root: Path, tmp_path: Path, favourite: str, bound: list[str]) -> None:
    """A certified candidate that everybody or nobody solves is kept out, and a run without any is a gate that said no."""
    with OpenAIServer(*scripts(writer(), lambda messages: vote(favourite))) as server:
        made = Made(root, tmp_path / "made", server, "--candidates", "1")

    assert isinstance(made.error, GateFailed)
    assert (made.records[0]["stage"], sorted(made.records[0]["reasons"])) == ("execute", bound)
    assert [path.name for path in made.out.iterdir()] == [FILE]


def test_text_track_is_gated_by_execution_alone(root: Path, tmp_path: Path) -> None:
    """Prose that the judge solves as wanted becomes an uncertified task without its rationale; its ledger has it."""

    def write(messages: Any) -> str:
        people = int(messages[0]["content"].partition("how many people there are (")[2][0])
        return json.dumps(fields(people))

    with OpenAIServer(*scripts(write, match="Write one new task")) as server:
        made = Made(root, tmp_path / "made", server, "--candidates", "2", "--format", "text")
    (first, _) = discover(made.out.parent)
    files = [path for path in first.path.rglob("*") if path.is_file()]

    assert (made.error, made.told["passed"]) == (None, 2)
    assert read_scenario(first.world_folder / SCENARIO_FILE).origin["certified"] is False
    assert first.parley is not None
    assert "Grade" not in str(first.parley.pattern)
    assert [path for path in files if b"by a table" in path.read_bytes()] == []
    assert "by a table" in made.records[0]["reply"]


def test_judge_may_be_another_model(root: Path, tmp_path: Path) -> None:
    """The writer writes once at temperature 1, the judge tries at 0."""
    with OpenAIServer(*scripts(writer())) as server:
        Made(root, tmp_path / "made", server, "--candidates", "1", "--judge", "openai/other")
        asked = [(request.body["model"], request.body["temperature"]) for request in server.requests]

    assert asked[0] == ("any", 1.0)
    assert set(asked[1:]) == {("other", 0.0)}


@pytest.mark.parametrize(
    ("typed", "why"), [(["--format", "verse"], "--format must be one of formal, text"), ([], "name a model")]
)
def test_command_says_what_is_missing(root: Path, tmp_path: Path, typed: list[str], why: str) -> None:
    """A wrong track and a missing model are errors before anything is asked."""
    model = ["--model", "openai/any"] if typed else []
    ran = CliRunner().invoke(command(root), ["generate", "hidden-profile", "--out", str(tmp_path / "made"), *model, *typed])

    assert isinstance(ran.exception, UsageError)
    assert why in str(ran.exception)
    assert not (tmp_path / "made").exists()


def test_prompts_need_an_example(tmp_path: Path) -> None:
    """A folder of tasks without any certified scenario is an error that says so."""
    with OpenAIServer(*scripts(writer())) as server:
        made = Made(tmp_path, tmp_path / "made", server)

    assert isinstance(made.error, UsageError)
    assert "no certified scenario" in str(made.error)
