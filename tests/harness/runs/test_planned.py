"""The plan before a run, and the list of runs after it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.agent import AgentSpec, Budget
from harness.agents.llm.meter import Spent
from harness.cli.amounts import duration, short
from harness.cli.flags import RunFlags
from harness.cli.settings import folder_for, new_agents
from harness.errors import UsageError
from harness.prices import Price
from harness.records import RunFolder
from harness.registry import Task
from harness.runs.episode_filter import EVERYTHING
from harness.runs.ledger import RunLedger
from harness.runs.plan import Plan
from harness.runs.request import RunRequest
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.commands.dry_run import Experience, PartForecast, forecast

Command = Callable[..., subprocess.CompletedProcess[str]]
MODEL = AgentSpec(kind="llm", model="openai/any", interface="tool")


@pytest.mark.property
def test_dry_run_plays_nothing(harness: Command, tmp_path: Path) -> None:
    """Counts, price, estimate with its source, and what the plan can show; without a key, and without a folder."""
    out = tmp_path / "run"
    done = harness("run", "contract", "--model", "gpt-5,gpt-4o", "--k", "3", "--max-cost", "20", "--out", out, "--dry-run")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "plan: 33 tasks x 1 seed x 3 attempts x 2 parts = 198 episodes, 2 at a time",
        "model=gpt-5: gpt-5 plays 99 episodes",
        "  gpt-5: $1.25 in, $10 out per million tokens",
        "  about 960 calls, 3.17M tokens in, 146k out, $5.42, 25:34",
        "  estimated for contract from default token counts, measured with a scripted player",
        "model=gpt-4o: gpt-4o plays 99 episodes",
        "  gpt-4o: $2.5 in, $10 out per million tokens",
        "  about 960 calls, 3.17M tokens in, 146k out, $9.38, 25:34",
        "  estimated for contract from default token counts, measured with a scripted player",
        "in total: 1,920 calls, 6.33M tokens in, 292k out, $14.79, 51:09",
        "the run stops at $20.00, and can be resumed with a higher limit",
        "33 tasks x 3 attempts cannot show a difference of less than about 18 points between two models",
    ]
    assert not out.exists()


@pytest.mark.property
def test_a_run_is_listed_and_planned_again(harness: Command, tmp_path: Path) -> None:
    """What is there, how far it is, by which command; a plan of the rest is estimated from what was played."""
    run = ("run", "presigned-url-download", "--agent", "oracle", "--runtime", "inprocess", "--out", tmp_path / "runs" / "one")
    assert harness(*run).returncode == 0
    (row,) = json.loads(harness("runs", tmp_path / "runs", "--json").stdout)
    table = harness("runs", tmp_path / "runs").stdout.splitlines()
    plan = json.loads(harness("run", "--resume", tmp_path / "runs" / "one", "--k", "3", "--dry-run", "--json").stdout)
    (part,) = plan["parts"]

    assert (row["run"], row["tasks"], row["who"], row["state"]) == ("one", "presigned-url-download", "oracle", "complete")
    assert (row["done"], row["planned"], row["success"], row["cost_usd"]) == (1, 1, 1, 0.0)
    assert row["command"].startswith("harness run presigned-url-download --agent oracle")
    assert row["begun"] <= row["ended"]
    head, first = (re.split(r" {2,}", line.strip()) for line in table[:2])
    assert head == ["run", "begun", "ended", "tasks", "who", "done", "success", "cost", "size", "state"]
    assert first[5:8] + first[9:] == ["1/1", "1", "-", "complete"]
    assert part["episodes"] == {"planned": 3, "play": 2, "repeat": 0, "keep": 1, "leave": 0}
    assert part["sources"] == {"contract": "1 earlier episode of oracle"}
    assert plan["mde"] is None
    assert json.loads((tmp_path / "runs" / "one" / "run.json").read_bytes())["amendments"] == []


def test_an_interrupted_run_is_unfinished_and_a_held_one_runs(harness: Command, presigned: Task, tmp_path: Path) -> None:
    """By the grades that it has, and by the lock on its folder."""
    folder = RunFolder(tmp_path / "run")
    plan = Plan("run", [presigned], [0, 1], 1, AgentSpec(kind="nop"))
    (first, _) = run_plan(plan, InProcessRuntime(), folder, workers=1, images={}, progress=lambda event: None)
    Path(first.path, "result.json").unlink()
    with folder.held():
        (held,) = json.loads(harness("runs", tmp_path, "--json").stdout)
    (left,) = json.loads(harness("runs", tmp_path, "--json").stdout)

    assert [(one["state"], one["done"], one["planned"]) for one in (held, left)] == [("running", 1, 2), ("unfinished", 1, 2)]


def test_calls_that_no_episode_shows_are_told(harness: Command, presigned: Task, tmp_path: Path) -> None:
    """What lost attempts took is told below the table; of a sweep for all its parts together, of a part alone not at all."""
    for folder, part in ((tmp_path / "alone", ""), (tmp_path / "sweep" / "a", "a"), (tmp_path / "sweep" / "b", "b")):
        plan = Plan("run", [presigned], [0], 1, AgentSpec(kind="nop"), part=part)
        run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=lambda event: None)
    for folder, calls in ((tmp_path / "alone", 2), (tmp_path / "sweep", 3)):
        RunLedger(folder).note(Spent(calls=calls, prompt=1000, cost_usd=0.5))
    listed, part = harness("runs", tmp_path), harness("runs", tmp_path / "sweep" / "a")
    rows = json.loads(harness("runs", tmp_path, "--json").stdout)

    assert [line.strip() for line in listed.stdout.splitlines()[4:]] == [
        f"{tmp_path}/{name}: in total, with attempts that were lost or abandoned, {calls} calls, 1k tokens, $0.5000"
        for name, calls in (("sweep", 3), ("alone", 2))
    ]
    assert "in all" not in part.stdout
    assert {row["run"]: row["all_calls"]["calls"] for row in rows} == {"alone": 2, "sweep/a": 3, "sweep/b": 3}


def expected(
    presigned: Task, folder: Path, spec: AgentSpec, budget: Budget | None = None, price: Price | None = None
) -> PartForecast:
    """Two episodes of a spec."""
    plan = Plan("run", [presigned], [0], 2, spec, budget or Budget())
    return forecast(plan, "", {}, EVERYTHING, Experience([folder]), lambda model: price, 2)


def test_an_estimate_is_bounded_by_budgets(presigned: Task, tmp_path: Path) -> None:
    """No more turns or tokens than an episode may take; without a price there are no dollars."""
    free = expected(presigned, tmp_path, MODEL, price=Price(input=1.0, output=2.0))
    few = expected(presigned, tmp_path, MODEL, Budget(turns=5))
    tight = expected(presigned, tmp_path, MODEL, Budget(tokens=1000))

    assert (free.calls, free.prompt, free.completion) == (19, 63962, 2950)
    assert free.cost_usd == pytest.approx((63962 + 2 * 2950) / 1e6, rel=1e-3)
    assert (few.calls, few.cost_usd) == (10, None)
    assert tight.prompt + tight.completion == pytest.approx(2000, abs=2)
    assert expected(presigned, tmp_path, AgentSpec(kind="oracle")).cost_usd == 0.0


def test_folders_are_named_so_that_a_person_knows_them(
    presigned: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time, the task or the families, and the model or agent; two of one second have two names."""
    monkeypatch.chdir(tmp_path)
    spec = AgentSpec(kind="llm", model="anthropic/claude-x")
    request = RunRequest(tasks={}, seeds=(0,), agents=(spec,), key_digest="")
    named = folder_for(request, [presigned])
    named.mkdir(parents=True)

    assert named.name.partition("-")[2].partition("-")[2] == "presigned-url-download-claude-x"
    assert folder_for(request, [presigned, presigned]).name.endswith("-contract-claude-x")
    assert folder_for(request, [presigned]) != named


def agents(presigned: Task, **typed: str) -> list[str]:
    """The names of the parts that these flags make."""
    flags = RunFlags(**typed, interface="tool", typed=frozenset(typed))
    specs = new_agents(flags, [presigned], None, [{}], lambda what: False)
    return [
        part.name for part in RunRequest(tasks={}, seeds=(0,), agents=specs, key_digest="", options={"level": ("1", "2")}).parts
    ]


def test_models_make_a_sweep(presigned: Task) -> None:
    """One part each, beside agents and options; one model alone is no sweep of models."""
    assert agents(presigned, model="openai/a,b") == [
        "model=openai-a,level=1", "model=openai-a,level=2", "model=b,level=1", "model=b,level=2"
    ]  # fmt: skip
    assert agents(presigned, model="a") == ["level=1", "level=2"]
    assert agents(presigned, model="a,b", agent="llm,oracle")[2:] == [
        "model=b,level=1", "model=b,level=2", "agent=oracle,level=1", "agent=oracle,level=2"
    ]  # fmt: skip
    for wrong, why in (("a,,b", "takes names joined by commas"), ("a,a", "names a twice"), (",", "takes names joined")):
        with pytest.raises(UsageError, match=f"--model {why}"):
            agents(presigned, model=wrong)


@pytest.mark.parametrize(("count", "told"), [(0, "0"), (950, "950"), (12_345, "12.3k"), (999_600, "1000k"), (4.56e6, "4.56M")])
def test_short_counts(count: float, told: str) -> None:
    """In three digits."""
    assert short(count) == told


@pytest.mark.parametrize(("seconds", "told"), [(7.4, "0:07"), (750, "12:30"), (11_100, "3:05:00")])
def test_durations(seconds: float, told: str) -> None:
    """As a clock shows them."""
    assert duration(seconds) == told


@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("bash", {"COMP_WORDS": "harness run --max-c", "COMP_CWORD": "2"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "harness run --max-c"}),
    ],
)
def test_shells_complete_flags(harness: Command, shell: str, asked: dict[str, str]) -> None:
    """Of a command whose module is imported only when it is typed."""
    done = harness(env={"_HARNESS_COMPLETE": f"complete_{shell}", **asked})

    assert "--max-cost" in done.stdout
    assert "--max-tokens" not in done.stdout


def test_help_shows_no_python(harness: Command) -> None:
    """What a flag takes is said in plain words, and the version with its commit."""
    told = harness("run", "--help").stdout

    assert "--model TEXT" in told
    assert not {"<str>", "<list[str]>", "<int range>", "<path>"} & set(told.split())
    assert harness("--version").stdout.startswith("harness 0.1.0")
