"""What a run costs and may cost: prices of a file, and limits that hold over threads, seats, parts and sessions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec, Budget
from harness.agents.llm.meter import Meter, RunLimits, Spent
from harness.agents.llm.response_cache import ResponseCache
from harness.cli.summary import show_closing
from harness.errors import LimitReached, UsageError
from harness.paths import ROOT
from harness.prices import Price, read_prices
from harness.records import Result
from harness.registry import Task, read_task
from harness.runs.ledger import FILE, RunLedger
from harness.runs.plan import task_refs
from harness.runs.request import RunRequest
from harness.runs.session import Person, RunSession, WatchedRun
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Script
from tests.harness.agents.imap_model import imap
from worlds.core.chance import PUBLISHED_KEY, key_digest

PRICE = Price(input=10.0, output=100.0)


class Quiet:
    """A person who hears nothing and watches without a word."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def person(self) -> Person:
        """As a session has it."""
        return Person(self.lines.append, self.watching)

    def watching(self, watched: WatchedRun) -> Any:
        """Nobody looks."""
        return _Silence()


class _Silence:
    def __enter__(self) -> Any:
        return lambda event: None

    def __exit__(self, *_: object) -> None:
        return None


@pytest.fixture(scope="module")
def game() -> Task:
    """One calendar task."""
    return read_task(ROOT / "tasks" / "calendar" / "uniform-31")


@pytest.fixture
def server(presigned: Task) -> Iterator[OpenAIServer]:
    """Models that solve one contract, and play IMAP at seats."""
    play = SolutionModel([presigned], lambda task, attempt: "solve", "tool")
    with OpenAIServer(Script(match="scheduling assistant", play=imap), Script(play=play)) as running:
        yield running


def session(
    folder: Path,
    task: Task,
    server: OpenAIServer,
    *models: str,
    limits: RunLimits,
    replies: ResponseCache | None = None,
    **fields: Any,
) -> RunSession:
    """A run of the task by these models in process."""
    agents = tuple(
        AgentSpec(kind="llm", model=f"openai/{one}", interface="tool", api_base=server.url, prices={f"openai/{one}": PRICE})
        for one in models
    )
    request = RunRequest(
        tasks=task_refs([task]), seeds=(0,), agents=agents, limits=limits, key_digest=key_digest(PUBLISHED_KEY),
        runtime="inprocess", **fields,
    )  # fmt: skip
    return RunSession(request, [task], PUBLISHED_KEY, folder, Quiet().person(), replies=replies)


def calls(server: OpenAIServer) -> int:
    """How often a model was asked."""
    return len(server.requests)


@pytest.mark.property
def test_a_limit_ends_a_run_within_a_call_for_each_conversation(presigned: Task, server: OpenAIServer, tmp_path: Path) -> None:
    """Three threads: no call is begun once the limit is reached; what is left is unplayed, and a raised limit plays it."""
    limit = 0.05
    begun = session(tmp_path / "run", presigned, server, "any", limits=RunLimits(cost_usd=limit), attempts=9, workers=3)
    results = begun.play()
    costs = [json.loads(line)["cost_usd"] for line in (tmp_path / "run" / FILE).read_bytes().splitlines()]
    stopped = [one for one in results if one.cause == "limit"]

    assert len(results) < 9
    assert 1 <= len(stopped) <= 3
    assert {one.status for one in stopped} == {"ungraded"}
    assert sum(costs[:-3]) < limit <= sum(costs) <= limit + 3 * max(costs)
    assert len(costs) == calls(server) == begun.meter.spent.calls
    with pytest.raises(LimitReached, match=r"episodes are left: --max-cost of \$0.05 is reached") as reached:
        begun.check_limit(results)
    assert reached.value.exit_code == 3
    assert reached.value.hint.endswith("--max-cost MORE")

    before = calls(server)
    again = session(tmp_path / "run", presigned, server, "any", limits=RunLimits(cost_usd=limit), attempts=9, workers=3)
    assert ([one.status for one in again.play() if one.cause is None], calls(server)) == (
        ["graded"] * (len(results) - len(stopped)), before,
    )  # fmt: skip
    more = session(tmp_path / "run", presigned, server, "any", limits=RunLimits(cost_usd=50.0), attempts=9, workers=3)
    assert [one.status for one in more.play()] == ["graded"] * 9
    assert more.meter.spent.cost_usd > sum(costs)


@pytest.mark.property
def test_a_limit_holds_over_the_parts_of_a_sweep(presigned: Task, server: OpenAIServer, tmp_path: Path) -> None:
    """Two models: what the first spends is not there for the second."""
    begun = session(tmp_path / "run", presigned, server, "a", "b", limits=RunLimits(tokens=20_000), attempts=1, workers=1)
    results = begun.play()

    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["model=openai-a", "model=openai-b", FILE]
    assert [(one.model, one.cause) for one in results] == [("openai/a", None), ("openai/b", "limit")]
    assert 20_000 <= begun.meter.spent.tokens < 26_000
    with pytest.raises(LimitReached, match="1 of 2 episodes are left: --max-tokens of 20000 is reached"):
        begun.check_limit(results)


@pytest.mark.property
def test_a_limit_ends_a_game(game: Task, server: OpenAIServer, tmp_path: Path) -> None:
    """Seats that are asked beside each other are under way together; no more are asked, and the game has no grade."""
    limits = RunLimits(tokens=10_000)
    begun = session(tmp_path / "run", game, server, "imap", limits=limits, workers=1)
    (result,) = begun.play()
    costs = [one["prompt"] + one["completion"] for one in map(json.loads, (tmp_path / "run" / FILE).read_bytes().splitlines())]

    assert (result.status, result.cause) == ("ungraded", "limit")
    assert sum(costs[:-5]) < 10_000 <= sum(costs)
    assert calls(server) == len(costs)


def test_a_model_without_a_price_is_refused_under_a_limit(presigned: Task, server: OpenAIServer, tmp_path: Path) -> None:
    """Before anything starts, for the run's limit and for an episode's budget; the file of prices is named."""
    for limits, budget, flag in [
        (RunLimits(cost_usd=1.0), Budget(), "--max-cost"),
        (RunLimits(), Budget(cost_usd=1.0), "--cost"),
    ]:
        begun = session(tmp_path / "run", presigned, server, "any", limits=limits, budget=budget)
        begun.check(resumed=False)
        (agent,) = begun.request.agents
        unpriced = begun.request.model_copy(update={"agents": (agent.model_copy(update={"prices": {}}),)})
        with pytest.raises(UsageError, match=f"openai/any has no known price, so {flag} cannot be enforced") as refused:
            RunSession(unpriced, [presigned], PUBLISHED_KEY, tmp_path / "run", Quiet().person()).check(resumed=False)
        assert "--prices FILE" in refused.value.hint
    assert not (tmp_path / "run").exists()


def test_prices_of_a_file(tmp_path: Path) -> None:
    """By model, per million tokens; cached tokens cost what others do unless the file says so."""
    path = tmp_path / "prices.toml"
    path.write_text('["a/b"]\ninput = 2\noutput = 8\ncached = 0.5\n[c]\ninput = 1.5\noutput = 3\n', encoding="utf-8")
    prices = read_prices(path)

    assert prices["a/b"].dollars(1_000_000, 500_000, 400_000) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.5 * 8)
    assert prices["c"].dollars(1_000_000, 0, 1_000_000) == 1.5


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[a]\ninput = 1\n", "a.output: Field required"),
        ("[a]\ninput = -1\noutput = 1\n", "a.input: Input should be greater than or equal to 0"),
        ("[a]\ninput = inf\noutput = 1\n", "a.input: Input should be a finite number"),
        ("[a]\ninput = 1\noutput = 1\nreasoning = 2\n", "a.reasoning: Extra inputs are not permitted"),
        ("a = 3\n", "a: Input should be a valid dictionary or instance of Price"),
        ("[a\n", "is not a valid file of prices"),
    ],
)
def test_prices_that_are_none(tmp_path: Path, text: str, why: str) -> None:
    """One line that names the model and the key."""
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        read_prices(path)

    assert why in str(refused.value)


def test_a_ledger_outlives_a_kill(tmp_path: Path) -> None:
    """What was written counts, a last line that was cut off does not, and the file is the owner's alone to write."""
    ledger = RunLedger(tmp_path)
    assert ledger.read() == Spent()
    for _ in range(2):
        ledger.note(Spent(1, 10, 5, 0.25))
    with ledger.path.open("ab") as file:
        file.write(b'{"calls": 1, "prom')

    assert ledger.read() == Spent(2, 20, 10, 0.5)
    assert ledger.path.stat().st_mode & 0o022 == 0


def test_a_meter_without_limits_admits_everything() -> None:
    """And one whose limit is reached nothing; an earlier session's spending counts."""
    Meter(spent=Spent(9, 10**9, 10**9, 1e6)).admit()
    with pytest.raises(LimitReached, match=r"--max-cost of \$1 is reached \(\$1.5000 spent\)"):
        Meter(RunLimits(cost_usd=1.0), Spent(cost_usd=1.5)).admit()


def results(*stopped: str | None) -> list[Result]:
    """Episodes of a model, ended by these budgets."""
    return [
        Result(
            run="run", task_id=f"task-{number % 2}", family="contract", seed=number, attempt=1, agent="llm", model="openai/any",
            runtime="inprocess", status="graded", success=by is None, reward=float(by is None), stopped_by=by,
            failure_label="OTHER" if by else "SUCCESS", key_digest="", cost_usd=0.25,
            tokens={"calls": 3, "prompt": 1000, "cached": 100, "completion": 50, "reasoning": 5},
        )
        for number, by in enumerate(stopped)
    ]  # fmt: skip


def test_closing_block_of_many(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A row a task with what stopped it and what it cost, and totals below, with what lost attempts took."""
    many = results(*["cost", "virtual_time", "context", *[None] * 11])
    show_closing(many, tmp_path, beside_json=False, spent=Spent(50, 20_000, 1000, 4.0))
    out, err = capsys.readouterr()

    assert [re.split(r" {2,}", line.strip()) for line in out.splitlines()] == [
        ["task", "episodes", "success", "mean reward", "stopped by", "calls", "tokens", "cost", "labels"],
        ["task-0", "7", "5", "0.714", "1 cost, 1 context", "21", "7.35k", "$1.75", "2 OTHER, 5 SUCCESS"],
        ["task-1", "7", "6", "0.857", "1 virtual time", "21", "7.35k", "$1.75", "1 OTHER, 6 SUCCESS"],
    ]
    assert err.endswith(
        f"\n11 of 14 succeeded, mean reward 0.785714; run in {tmp_path} (0 B)\n"
        "  stopped: the budget of cost is used up (1), the task's budget of virtual time is used up (1), "
        "the conversation is longer than the model's context (1)\n"
        "  42 calls, tokens 14,000 in (1,400 cached), 700 out (70 reasoning), $3.50\n"
        "  in total, with attempts that were lost or abandoned: 50 calls, 21k tokens, $4.00\n"
    )


def test_closing_line_says_what_is_left(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A run that a limit stopped before its first episode has no `0 of 0`, one that was stopped later says what it left."""
    show_closing([], tmp_path, beside_json=False, spent=Spent(1, 20, 1, 0.5), planned=33)
    none = capsys.readouterr().err
    show_closing(results(*[None] * 13), tmp_path, beside_json=False, planned=33)
    some = capsys.readouterr().err

    assert none.splitlines()[1:] == [
        f"none of 33 episodes was played; run in {tmp_path} (0 B)",
        "  in total, with attempts that were lost or abandoned: 1 call, 21 tokens, $0.5000",
    ]
    assert f"\n13 of 13 succeeded, mean reward 1.0; 20 of 33 not played; run in {tmp_path} (0 B)\n" in some


def test_spent_is_data() -> None:
    """A line of the ledger is the sum's own fields."""
    assert Spent(**asdict(Spent(1, 2, 3, 0.5, 1))) + Spent(1) == Spent(2, 2, 3, 0.5, 1)


@pytest.mark.property
def test_kept_replies_cost_a_run_nothing(
    presigned: Task, server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second run out of the cache spends nothing of its limit, and is told as kept; what goes on with it names the cache."""
    runs = [
        session(
            tmp_path / name, presigned, server, "any", limits=RunLimits(cost_usd=1.0), replies=ResponseCache(tmp_path / "kept")
        )
        for name in ("one", "two")
    ]
    ((first,), (second,)) = (run.play() for run in runs)
    asked = first.tokens.calls
    show_closing([second], tmp_path, beside_json=False, spent=runs[1].meter.spent)

    assert first.cost_usd is not None
    assert first.cost_usd > 0
    assert (second.tokens.kept, second.cost_usd, second.kept_usd) == (asked, 0.0, first.cost_usd)
    assert [run.meter.spent.calls for run in runs] == [asked, 0]
    totals = capsys.readouterr().err.splitlines()[-1]
    assert totals.startswith(f"  {asked} calls ({asked} from the cache), tokens ")
    assert totals.endswith(f", $0.00 (${first.cost_usd:.4f} saved by the cache)")
    assert runs[1].resume_line == (
        f"harness run --resume {tmp_path}/two --api-base {server.url} --cache {tmp_path}/kept"
    )  # fmt: skip
