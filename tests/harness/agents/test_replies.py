"""Replies that are kept: a plan that is played again asks nobody, and comes to the same verdicts."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.agent import AgentSpec, Budget
from harness.agent_factory import AgentPool, make_agent
from harness.agents.llm.failures import ContextOverflow
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.llm.response_cache import ConversationPlace, ResponseCache
from harness.paths import ROOT
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Fault, Script, ScriptedCall, ScriptedReply, ScriptedUsage, script

TASK = read_task(ROOT / "tasks/contract/presigned-url-download")
GAME = read_task(ROOT / "tasks/hidden-profile/evacuation-noon")
HELLO = [{"role": "user", "content": "hello"}]
HERE = ConversationPlace("task", 0, 1)
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sentinel-0123456789")


def client(server: OpenAIServer, name: str = "openai/x", **settings: float) -> ModelClient:
    """A client that is quick to give up, and silent."""
    quick = {"patience_s": 0.2, "first_pause_s": 0.01, **settings}
    return ModelClient(ModelSettings(name, server.url, **quick), say=lambda line: None)


def test_a_kept_reply_is_told_again_for_nothing(tmp_path: Path) -> None:
    """Text, calls, reasoning and tokens are those of the first time; the cost is what it had been, and none now."""
    reply = ScriptedReply(
        text="hi", reasoning="hm", usage=ScriptedUsage(prompt=100, completion=50),
        tool_calls=(ScriptedCall(name="run", arguments={"command": "ls"}),),
    )  # fmt: skip
    with OpenAIServer(script(reply)) as server:
        first = ResponseCache(tmp_path).conversation(client(server, "gpt-5"), HERE).complete(HELLO)
    again = ResponseCache(tmp_path).conversation(client(server, "gpt-5"), HERE).complete(HELLO)

    paid = first.usage.cost_usd
    assert paid
    assert again.usage == replace(first.usage, cost_usd=0.0, kept_calls=1, kept_usd=paid)
    assert replace(again, usage=first.usage) == replace(first, waited_s=0.0)


@pytest.mark.parametrize(
    "other",
    [
        ConversationPlace("other", 0, 1),
        ConversationPlace("task", 1, 1),
        ConversationPlace("task", 0, 2),
        ConversationPlace("task", 0, 1, 3),
    ],
    ids=["task", "seed", "attempt", "seat"],
)
def test_another_place_is_another_sample(tmp_path: Path, other: ConversationPlace) -> None:
    """A question is asked anew where another episode, or another seat, asks it."""
    with OpenAIServer(script("hi")) as server:
        replies = ResponseCache(tmp_path)
        for place in (HERE, other, HERE, other):
            replies.conversation(client(server), place).complete(HELLO)

    assert (len(server.requests), replies.kept, replies.made) == (2, 2, 2)


def test_the_second_of_two_equal_questions_is_the_second(tmp_path: Path) -> None:
    """A conversation that asks the same twice gets two replies, in the order in which they came."""
    count = iter(range(9))
    with OpenAIServer(Script(play=lambda messages: f"number {next(count)}")) as server:
        made = [ResponseCache(tmp_path).conversation(client(server), HERE) for _ in range(2)]
        texts = [[conversation.complete(HELLO).text for _ in range(2)] for conversation in made]

    assert texts == [["number 0", "number 1"]] * 2


@pytest.mark.parametrize(
    ("change", "questions"),
    [({"temperature": 0.5}, 2), ({"max_tokens": 7}, 2), ({"timeout_s": 9.0}, 1), ({"patience_s": 9.0}, 1)],
    ids=str,
)
def test_what_shapes_an_answer_is_part_of_the_question(tmp_path: Path, change: dict[str, float], questions: int) -> None:
    """Parameters are; how long a provider is waited for is not."""
    with OpenAIServer(script("hi")) as server:
        ResponseCache(tmp_path).conversation(client(server), HERE).complete(HELLO)
        ResponseCache(tmp_path).conversation(client(server, **change), HERE).complete(HELLO)

    assert len(server.requests) == questions


def test_what_a_provider_refused_is_known_from_the_file(tmp_path: Path) -> None:
    """The parameters that were really sent are those of the first time, though nobody is asked."""
    with OpenAIServer(Script(replies=(ScriptedReply(text="hi"),), refuses=("temperature",))) as server:
        ResponseCache(tmp_path).conversation(client(server), HERE).complete(HELLO)
        later = client(server)
        ResponseCache(tmp_path).conversation(later, HERE).complete(HELLO)

    assert (later.effective, later.requested, len(server.requests)) == ({}, {"temperature": 0.0}, 2)


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (
            ScriptedReply(faults=(Fault(status=400, message="This model's maximum context length is 8192 tokens", times=9),)),
            ContextOverflow,
        ),
    ],
    ids=["too long"],
)
def test_what_the_model_could_not_say_is_kept(tmp_path: Path, reply: ScriptedReply, failure: type[Exception]) -> None:
    """It is of the conversation, and would only be paid for again."""
    with OpenAIServer(script(reply)) as server:
        for _ in range(2):
            with pytest.raises(failure):
                ResponseCache(tmp_path).conversation(client(server), HERE).complete(HELLO)

    assert len(server.requests) == 1


def test_failures_of_a_provider_are_not_kept(tmp_path: Path) -> None:
    """Who asks again after one is answered."""
    with OpenAIServer(script(ScriptedReply(text="hi", faults=(Fault(status=400),)))) as server:
        with pytest.raises(Exception, match="refused the request"):
            ResponseCache(tmp_path).conversation(client(server), HERE).complete(HELLO)
        assert ResponseCache(tmp_path).conversation(client(server), HERE).complete(HELLO).text == "hi"


def test_a_broken_file_is_asked_again_and_no_key_or_address_is_in_any(tmp_path: Path) -> None:
    """Whatever stands in the folder."""
    with OpenAIServer(script("hi")) as server:
        ResponseCache(tmp_path).conversation(client(server), HERE).complete(HELLO)
        (file,) = tmp_path.glob("*/*.json")
        text = file.read_text(encoding="utf-8")
        file.write_text("{")
        ResponseCache(tmp_path).conversation(client(server), HERE).complete(HELLO)

    assert len(server.requests) == 2
    assert not any(secret in text for secret in ("sk-sentinel", server.url, "127.0.0.1"))


POISON: dict[str, Callable[[Path, str], object]] = {
    "deep": lambda file, text: file.write_text("[" * 100_000, encoding="utf-8"),
    "long": lambda file, text: os.truncate(file, 1 << 40),
    "many": lambda file, text: file.write_bytes(b"[" + b"{}," * 300_000 + b"{}]"),
    "fifo": lambda file, text: (file.unlink(), os.mkfifo(file)),
    "device": lambda file, text: (file.unlink(), file.symlink_to("/dev/zero")),
    "huge": lambda file, text: file.write_text(re.sub(r'tokens":\d+', f'tokens":{10**400}', text), encoding="utf-8"),
    "negative": lambda file, text: file.write_text(re.sub(r'tokens":\d+', 'tokens":-1000000', text), encoding="utf-8"),
    "free": lambda file, text: file.write_text(re.sub(r'"cost_usd":[^,}]+', '"cost_usd":-1e300', text), encoding="utf-8"),
}


@pytest.mark.parametrize("name", POISON)
def test_poisoned_cache_is_asked_again(tmp_path: Path, name: str) -> None:
    """A file that cannot be read, or whose numbers would turn a budget off, is no kept reply, and keeps nobody waiting."""
    with OpenAIServer(script("hi")) as server:
        first = ResponseCache(tmp_path).conversation(client(server), HERE).complete(HELLO)
        (file,) = tmp_path.glob("*/*.json")
        POISON[name](file, file.read_text(encoding="utf-8"))
        again = ResponseCache(tmp_path).conversation(client(server), HERE).complete(HELLO)

    assert len(server.requests) == 2
    assert (again.text, again.usage) == (first.text, first.usage)


def test_the_first_question_that_is_not_kept_is_preceded_by_a_probe(tmp_path: Path) -> None:
    """Once for a client; with everything kept there is none."""
    with OpenAIServer(script("hi", "and then?")) as server:
        for place in (HERE, HERE, ConversationPlace("task", 1, 1)):
            ResponseCache(tmp_path).conversation(client(server), place).complete(HELLO)
        assert len(server.probes) == 2
        ResponseCache(tmp_path, probes=False).conversation(client(server), ConversationPlace("task", 2, 1)).complete(HELLO)

    assert len(server.probes) == 2


def test_it_goes_to_another_process(tmp_path: Path) -> None:
    """As part of what makes agents."""
    again = pickle.loads(pickle.dumps(partial(make_agent, replies=ResponseCache(tmp_path))))

    assert again.keywords["replies"].folder == tmp_path


def played(folder: Path, cache: Path, server: OpenAIServer, **budget: float) -> tuple[list[Result], ResponseCache]:
    """Two attempts at one task and a game, by models whose replies are kept."""
    replies = ResponseCache(cache)
    spec = AgentSpec(kind="llm", model="gpt-5", interface="tool", api_base=server.url)
    plan = Plan("run", [TASK, GAME], [0], 2, spec, Budget(**budget))
    cast = AgentPool(partial(make_agent, replies=replies), lambda line: None)
    quiet = lambda event: None  # noqa: E731
    run = run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=2, images={}, progress=quiet, cast=cast)
    return run, replies


@pytest.mark.property
@pytest.mark.parametrize("budget", [{}, {"cost_usd": 0.004}], ids=["no budget", "a budget of cost"])
def test_a_plan_played_again_asks_nobody(tmp_path: Path, budget: dict[str, float]) -> None:
    """Equal verdicts, traces, tokens and stops, by attempts and seats; what it cost then is told, and now it cost nothing."""
    model = SolutionModel([TASK], lambda task, attempt: ["solve", "no_precheck"][attempt - 1], "tool")
    contract = Script(match="# Download a file in three parts", play=model)
    with OpenAIServer(contract, script(*["I say nothing new."] * 99)) as server:
        first, made = played(tmp_path / "first", tmp_path / "cache", server, **budget)
        asked = len(server.requests)
        again, kept = played(tmp_path / "again", tmp_path / "cache", server, **budget)

    assert (len(server.requests), kept.kept, kept.made, made.kept) == (asked, asked, 0, 0)
    for one, other in zip(first, again, strict=True):
        assert (one.trace_hash, one.failure_label, one.reward, one.stopped_by) == (
            other.trace_hash, other.failure_label, other.reward, other.stopped_by,
        )  # fmt: skip
        assert other.tokens == one.tokens.model_copy(update={"kept": one.tokens.calls})
        assert (other.cost_usd, other.kept_usd, one.kept_usd) == (0.0, pytest.approx(one.cost_usd), 0.0)
    assert {one.stopped_by for one in first} == ({None} if not budget else {"cost"})


@pytest.mark.property
def test_command_line(harness: Command, tmp_path: Path) -> None:
    """`--cache` says how much was kept, the look at the prompt's tokens too; the second time no server has to be there."""
    run = ("run", "presigned-url-download", "--runtime", "inprocess", "--model", "openai/x", "--interface", "tool")
    with OpenAIServer(script("I give up.")) as server:
        base = ("--api-base", server.url, "--cache", tmp_path / "cache")
        first = harness(*run, *base, "--out", tmp_path / "first")
    again = harness(*run, *base, "--out", tmp_path / "again")

    assert first.stderr.splitlines()[-1] == f"cache: 0 of 2 model calls (0 %) answered from {tmp_path}/cache, 2 made"
    assert again.stderr.splitlines()[-1] == f"cache: 2 of 2 model calls (100 %) answered from {tmp_path}/cache, 0 made"
    assert (again.returncode, len(server.probes)) == (0, 1)


def replayed(folder: Path, run: Path, *tasks: Task, attempts: int = 2) -> list[Result]:
    """A run played again by its own record."""
    plan = Plan("again", list(tasks), [0], attempts, AgentSpec(kind="replay", name=str(run)))
    quiet = lambda event: None  # noqa: E731
    return run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=2, images={}, progress=quiet)


@pytest.mark.property
@pytest.mark.parametrize("budget", [{}, {"turns": 3}], ids=["no budget", "a budget of turns"])
def test_a_whole_run_is_replayed_from_its_record(tmp_path: Path, budget: dict[str, float]) -> None:
    """Tool calls are sent again, seats say again what they said: equal traces and verdicts, and no model anywhere."""
    model = SolutionModel([TASK], lambda task, attempt: ["solve", "no_precheck"][attempt - 1], "tool")
    contract = Script(match="# Download a file in three parts", play=model)
    with OpenAIServer(contract, script(*["I say nothing new."] * 99)) as server:
        first, _ = played(tmp_path / "first", tmp_path / "cache", server, **budget)
    again = replayed(tmp_path / "again", tmp_path / "first", TASK, GAME)

    what = ("task_id", "attempt", "trace_hash", "failure_label", "reward", "stopped_by", "status", "cause")
    assert [[getattr(one, name) for name in what] for one in again] == [[getattr(one, name) for name in what] for one in first]
    assert {one.tokens.calls for one in again} == {0}


@pytest.mark.property
def test_what_no_model_played_cannot_be_replayed(harness: Command, tmp_path: Path) -> None:
    """Said before anything starts, with the command that does it."""
    harness("run", "presigned-url-download", "--runtime", "inprocess", "--out", tmp_path / "first")
    again = ("run", "--runtime", "inprocess", "--agent", f"replay:{tmp_path}/first", "--out", tmp_path / "again")
    script_played, other = harness(*again, "presigned-url-download"), harness(*again, "evacuation-noon")

    assert (script_played.returncode, other.returncode) == (2, 2)
    assert "oracle played presigned-url-download, so no model calls are recorded" in script_played.stderr
    assert f"{tmp_path}/first has no episode of evacuation-noon" in other.stderr
