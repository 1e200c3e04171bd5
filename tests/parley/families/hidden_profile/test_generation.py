"""Generation as typed, through the real LiteLLM: every way a candidate can end, its record, its folder, the summary."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from harness.errors import GateFailed, UsageError
from harness.registry import discover
from oracles.hidden_profile.decks import prove_deck
from parley.commands.kinds import generate_command
from parley.families.hidden_profile.authoring.drafts import Fields, as_scenario, examples
from parley.families.hidden_profile.authoring.folders import write_task
from parley.families.hidden_profile.authoring.generation import FILE, GenerationRequest, drafted
from parley.families.hidden_profile.authoring.skeleton import STARTER
from parley.proof.sync import drift, vouched
from parley.testing.openai_server import OpenAIServer
from tests.parley.families.hidden_profile.scripted_writers import (
    LABELS,
    LEADER,
    answer,
    fields,
    prose_judge,
    scripts,
    vote,
    writer,
)
from worlds.core.loading import SCENARIO as SCENARIO_FILE
from worlds.hidden_profile.rules.deck import Deck, read_task
from worlds.hidden_profile.rules.scenario import Scenario, read_scenario

pytestmark = pytest.mark.property
STARTING = Deck.model_validate_json(STARTER.read_bytes())


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of tasks with one certified deck, which prompts show, and one scenario that has no certificate."""
    root = tmp_path_factory.mktemp("tasks")
    write_task(root / "hidden-profile", "one-roll", STARTING, "easy")
    write_task(root / "hidden-profile", "prose", prose(), "easy")
    return root


def prose() -> Scenario:
    """A task in the published fields."""
    return as_scenario(Fields.model_validate(fields(3)), "prose", "a wood", {})


def read_deck(path: Path) -> Deck:
    """The deck of a task."""
    deck = read_task(path)
    assert isinstance(deck, Deck)
    return deck


class Made:
    """One run of the command: what it raised, what it told, what it left."""

    def __init__(self, root: Path, out: Path, server: OpenAIServer, *typed: str, json_: bool = True) -> None:
        flags = ("--model", "openai/any", "--api-base", server.url, "--out", str(out), "--sessions", "2", "--yes")
        ran = CliRunner().invoke(command(root), ["generate", "hidden-profile", *flags, *(["--json"] if json_ else []), *typed])
        self.error, self.out, self.shown, self.said = ran.exception, out, ran.stdout, ran.stderr
        self.told: dict[str, Any] = json.loads(ran.stdout) if json_ and ran.stdout else {}

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
    document["cards"][-1]["texts"][0]["cues"] = [["nowhere"], ["never"]]


def _verdict(document: dict[str, Any]) -> None:
    private = next(card for card in document["cards"] if card["scope"] == "private")
    private["texts"][1]["text"] += f" {LEADER} is the best."
    _no_cue(document)


def _changed(document: dict[str, Any]) -> None:
    document["agents"] += 1


def _told_at_first(document: dict[str, Any]) -> None:
    document["brief"] += " " + next(card["texts"][0]["text"] for card in document["cards"] if card["scope"] == "private")


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
    assert (told["rate"], told["published_rate"], told["certified"], told["dollars"]) == (2 / 6, None, True, None)
    assert told["calls"] == sum(record["cost"]["calls"] for record in every_way.records)


def test_rejected_candidates_are_kept_with_reasons(every_way: Made) -> None:
    """Each record has the stage, the reason by name, and the reply as it came."""
    stages = [(record["stage"], sorted(record["reasons"])) for record in every_way.records]

    assert stages == [
        ("passed", []), ("malformed", ["malformed"]), ("malformed", ["malformed"]), ("certify", ["C6"]),
        ("certify", ["C6", "C7"]), ("passed", []),
    ]  # fmt: skip
    assert every_way.records[1]["reply"] == "No."
    assert every_way.records[3]["scenario"]["cards"][-1]["texts"][0]["cues"] == [["nowhere"], ["never"]]


def test_brief_that_tells_a_point_is_rejected(root: Path, tmp_path: Path) -> None:
    """Who repeats the brief would be heard to tell what one person alone knows."""
    with OpenAIServer(*scripts(writer(_told_at_first))) as server:
        made = Made(root, tmp_path / "made", server, "--candidates", "1")

    assert made.told["rejected"] == {"C6": 1}


def test_passed_candidates_are_tasks(every_way: Made) -> None:
    """Each is a whole, certified deck in a folder that says where it comes from, and execution is on record for both kinds."""
    tasks = discover(every_way.out.parent)
    decks = [read_deck(task.world_folder / SCENARIO_FILE) for task in tasks]
    tried = every_way.records[0]["execution"]

    assert [task.task_id for task in tasks] == ["gen-001-birds-and-mice", "gen-006-birds-and-mice"] == every_way.told["tasks"]
    assert [drift(task.path, vouched) for task in tasks] == [[], []]
    assert [(one["candidate"], one["certified"], one["model"]) for one in (deck.origin for deck in decks)] == [
        (1, True, "openai/any"), (6, True, "openai/any"),
    ]  # fmt: skip
    assert [prove_deck(deck).failed_checks for deck in decks] == [(), ()]
    assert [task.parley and task.parley.certificate for task in tasks] == [None, None]
    assert {kind: played | {"by_hand": {}} for kind, played in tried.items()} == {
        "hidden": {"full": 1.0, "alone": 0.0, "by_hand": {}, "invalid": 0},
        "manifest": {"full": 1.0, "alone": 1.0, "by_hand": {}, "invalid": 0},
    }


def _not_the_leader(messages: Any) -> str:
    """Votes an option that the brief and all points leave, unless it is the leader: then another."""
    found = answer(messages[0]["content"])
    return vote(LABELS[0] if found == LEADER else found or LEADER)


@pytest.mark.parametrize(
    ("play", "bounds"),
    [
        (lambda messages: vote(LEADER), ["full-hidden"]),
        (_not_the_leader, ["full-manifest"]),
        (lambda messages: "Hm.", ["full-hidden", "full-manifest"]),
    ],
    ids=["leader", "never the leader", "nobody"],
)
def test_execution_rejects(root: Path, tmp_path: Path, play: Callable[[Any], str], bounds: list[str]) -> None:
    """A certified deck that is not solved with everything, on deals of either kind, is kept out; none kept is a gate's no."""
    with OpenAIServer(*scripts(writer(), play)) as server:
        made = Made(root, tmp_path / "made", server, "--candidates", "1")

    assert isinstance(made.error, GateFailed)
    assert (made.records[0]["stage"], sorted(made.records[0]["reasons"])) == ("execute", bounds)
    assert [path.name for path in made.out.iterdir()] == [FILE]


def _prose_writer(messages: Any) -> str:
    people = int(messages[0]["content"].partition("how many people there are (")[2][0])
    return json.dumps(fields(people))


def test_text_track_is_gated_by_execution_alone(root: Path, tmp_path: Path) -> None:
    """Prose that the judge solves as wanted becomes an uncertified task without its rationale; its ledger has it."""
    with OpenAIServer(*scripts(_prose_writer, prose_judge, match="Write one new task")) as server:
        made = Made(root, tmp_path / "made", server, "--candidates", "2", "--format", "text")
    (first, _) = discover(made.out.parent)
    files = [path for path in first.path.rglob("*") if path.is_file()]

    assert (made.error, made.told["passed"], made.told["certified"]) == (None, 2, False)
    assert list(made.records[0]["execution"]) == ["hidden"]
    assert read_scenario(first.world_folder / SCENARIO_FILE).origin["certified"] is False
    assert first.parley is not None
    assert first.parley.certificate == "uncertified"
    assert [path for path in files if b"by a table" in path.read_bytes()] == []
    assert "by a table" in made.records[0]["reply"]


def test_text_track_is_called_uncertified_and_has_the_published_yield_beside_its_own(root: Path, tmp_path: Path) -> None:
    """In each line of a candidate, in the last one, and in the table."""
    with OpenAIServer(*scripts(_prose_writer, prose_judge, match="Write one new task")) as server:
        made = Made(root, tmp_path / "made", server, "--candidates", "1", "--format", "text", json_=False)

    assert "candidate 1 of 1: gen-001-birds-and-mice passed, uncertified" in made.said
    assert "1 uncertified tasks in" in made.said
    assert "100.0% (published: 28.5%)" in made.shown


@pytest.mark.parametrize("track", ["formal", "text"])
def test_cost_is_told_and_nothing_is_asked(root: Path, tmp_path: Path, track: str) -> None:
    """`--cost` counts a call to write each candidate, and two for each vote of each session; nothing is written either."""
    out = tmp_path / "made"
    with OpenAIServer(*scripts(writer())) as server:
        made = Made(root, out, server, "--candidates", "2", "--format", track, "--cost")
        asked = len(server.requests)
    request = GenerationRequest(track, 2, 2)
    people = [drafted(request, examples(root / "hidden-profile"), number).agents for number in (1, 2)]

    assert (made.error, asked, out.exists()) == (None, 0, False)
    assert made.told["calls"] == sum(1 + 2 * n * 2 * 2 * (2 if track == "formal" else 1) for n in people)
    assert made.told["tokens"] > 1000


def test_nothing_is_spent_that_nobody_agreed_to(root: Path, tmp_path: Path) -> None:
    """Without --yes and without anybody at the terminal it is refused, with the next command; what is made is not counted."""
    typed = ["generate", "hidden-profile", "--model", "openai/any", "--out", str(tmp_path / "made"), "--candidates", "1"]
    with OpenAIServer(*scripts(writer())) as server:
        typed += ["--api-base", server.url, "--sessions", "2"]
        refused = CliRunner().invoke(command(root), typed).exception
        asked = len(server.requests)
        CliRunner().invoke(command(root), [*typed, "--yes"])
        again = CliRunner().invoke(command(root), typed)

    assert isinstance(refused, UsageError)
    assert (refused.exit_code, refused.hint, asked) == (2, "the same command with --yes, or with --cost", 0)
    assert again.exception is None
    assert "at most 0 model calls" in again.stderr


def test_judge_may_be_another_model(root: Path, tmp_path: Path) -> None:
    """The writer writes once at temperature 1, the judge tries at 0."""
    with OpenAIServer(*scripts(writer())) as server:
        Made(root, tmp_path / "made", server, "--candidates", "1", "--judge", "openai/other")
        asked = [(request.body["model"], request.body["temperature"]) for request in server.requests]

    assert asked[0] == ("any", 1.0)
    assert set(asked[1:]) == {("other", 0.0)}


@pytest.mark.parametrize(
    ("typed", "why"), [(["--format", "verse"], "--format must be one of formal, text"), ([], "--model is missing")]
)
def test_command_says_what_is_missing(root: Path, tmp_path: Path, typed: list[str], why: str) -> None:
    """A wrong track and a missing model are errors before anything is asked."""
    model = ["--model", "openai/any"] if typed else []
    ran = CliRunner().invoke(command(root), ["generate", "hidden-profile", "--out", str(tmp_path / "made"), *model, *typed])

    assert isinstance(ran.exception, UsageError)
    assert why in str(ran.exception)
    assert not (tmp_path / "made").exists()


def test_prompts_need_an_example(tmp_path: Path) -> None:
    """A folder of tasks without any certified deck is an error that says so."""
    with OpenAIServer(*scripts(writer())) as server:
        made = Made(tmp_path, tmp_path / "made", server)

    assert isinstance(made.error, UsageError)
    assert "no certified deck" in str(made.error)
