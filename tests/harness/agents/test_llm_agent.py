"""The model as an agent, end to end: local server, real LiteLLM, a small world in process."""

import base64
import json
import re
import threading

import pytest

from harness.agent import AgentSpec, Budget, Report
from harness.agent_factory import identity_of
from harness.agents.llm.interface import SHOWN
from harness.errors import ProviderFailure
from parley.testing.scripts import Fault, Script, ScriptedCall, ScriptedReply, ScriptedUsage, call, script
from tests.harness.agents.atif import SCHEMA
from tests.harness.agents.signed_link import SENTINEL, LocalPod, answers, careful, careless, play, playing, task_of


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    """No key but those a test sets."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def pod(tmp_path):
    """A fresh episode."""
    return LocalPod(tmp_path)


def test_tool_interface_reaches_the_goal(pod):
    """A model that copies bytes as they are reaches the goal, and the episode ends with its submission."""
    report, requests = play(pod, Script(play=careful))

    assert pod.kinds == ["opened", "ok", "ok", "goal"]
    assert (report.tool_calls, report.usage.calls, len(requests), report.stopped_by) == (3, 3, 3, None)
    assert answers(report)[-1].startswith("status 200\ncontent-type: application/json\n")
    assert "x-virtual-time: 3" in answers(report)[-1]


def test_tool_interface_sees_a_careless_model(pod):
    """One that decodes an escape is caught by the world, because nothing on the way repaired or broke the URL."""
    play(pod, Script(play=careless))

    assert pod.kinds == ["opened", "ok", "violation", "ok"]


def test_tools_wait_and_answer_exactly(pod):
    """A wait moves virtual time, bytes that are no text come in base64, a long body is cut with the exact count."""
    calls = (
        ScriptedCall(name="wait", arguments={"seconds": 12.5}),
        ScriptedCall(name="http_request", arguments={"method": "GET", "url": "http://api:8080/bytes"}),
        ScriptedCall(name="http_request", arguments={"method": "GET", "url": "/long", "headers": {"X-A": "1"}}),
        ScriptedCall(name="http_request", arguments={"method": "GET", "url": "http://api:8080"}),
    )
    report, _ = play(pod, ScriptedReply(tool_calls=calls), "done")
    waited, raw, long, root = answers(report)

    assert '"virtual_time":12.5' in waited
    assert raw.endswith(f"[body of 3 bytes, base64]\n{base64.b64encode(bytes([255, 0, 1])).decode()}")
    assert f"[{50_000 - SHOWN} bytes left out]" in long
    assert root.startswith("status 404")
    assert pod.kinds == ["opened", "wait", "ok", "ok", "stray"]


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("fetch", {}, r"there is no tool 'fetch'; there are http_request, wait, submit"),
        ("http_request", "{bad", r"not run: the arguments are not JSON: .*"),
        ("http_request", {"method": "GET"}, r"http_request: url: Field required"),
        ("http_request", {"method": "GET", "url": "/", "colour": 1}, r"http_request: colour: there is no such argument"),
        (
            "http_request",
            {"method": "GET", "url": "https://example.org/"},
            r"url must start with / or with http://api:8080, .*",
        ),
        (
            "http_request",
            {"method": "GET", "url": "/a b"},
            r"not sent: target must start with / and hold only visible ASCII .*",
        ),
        ("http_request", {"method": "GET", "url": "/é"}, r"not sent: target must be ASCII; percent-encode other characters"),
        ("http_request", {"method": "GET", "url": "/", "headers": {"Host": "x"}}, r"not sent: header Host belongs to .*"),
        (
            "http_request",
            {"method": "POST", "url": "/", "body": {"a": 1}},
            r"http_request: body: Input should be a valid string",
        ),
        ("submit", {"body": "$$$", "encoding": "base64"}, r"body: not base64: .*"),
        ("wait", {"seconds": "soon"}, r"wait: seconds: Input should be a valid number.*"),
    ],
)
def test_mistakes_are_told_and_cost_nothing(pod, name, arguments, answer):
    """The model is told the rule; the world never hears of it; the episode goes on."""
    report, _ = play(pod, ScriptedReply(tool_calls=(ScriptedCall(name=name, arguments=arguments),)), "done")

    assert re.fullmatch(answer, answers(report)[0])
    assert pod.kinds == ["opened"]
    assert report.tool_calls == 1


def test_submission_by_hand_ends_the_episode(pod):
    """POST /submission through http_request is the last act too; what was asked for after it is not run."""
    last = ScriptedCall(name="http_request", arguments={"method": "POST", "url": "/submission", "body": "x"})
    after = ScriptedCall(name="http_request", arguments={"method": "GET", "url": "/link"})
    report, _ = play(pod, ScriptedReply(tool_calls=(last, after)), "never asked")

    assert pod.kinds == ["opened", "ok"]
    assert answers(report)[1] == "not run: the episode is over"
    assert (report.usage.calls, report.tool_calls) == (1, 2)


def test_shell_interface(pod):
    """Commands run for real; the model sees exit code and output and answers in plain text when done."""
    report, requests = play(
        pod, call("run", command="echo hi > f; cat f; exit 3"), call("run", command="true"), "done", interface="shell"
    )

    assert answers(report) == ["[exit code 3]\nhi\n", "[exit code 0, no output]"]
    assert pod.virtual == [True, True]
    assert report.tool_calls == 2
    assert [t["function"]["name"] for t in requests[0].body["tools"]] == ["run"]


def test_shell_limits(pod):
    """A command is killed at its limit, and no limit outlives the wall budget."""
    slow, patient = call("run", command="sleep 5", timeout_s=0.2), call("run", command="true", timeout_s=500)
    report, _ = play(pod, slow, patient, "done", interface="shell", budget=Budget(wall_s=50))

    assert answers(report)[0] == "[killed at its limit of 0.2 s, no output]"
    assert pod.limits[0] == 0.2
    assert pod.limits[1] < 50


def test_shell_mistakes(pod):
    """Unknown tools and impossible commands are told back."""
    calls = (
        ScriptedCall(name="http_request"),
        ScriptedCall(name="run", arguments={"command": "a\0b"}),
        ScriptedCall(name="run", arguments={"timeout_s": 1}),
    )
    report, _ = play(pod, ScriptedReply(tool_calls=calls), "done", interface="shell")

    assert [a.partition(":")[0] for a in answers(report)] == ["there is no tool 'http_request'; there is run", "run", "run"]


def test_text_protocol_reaches_the_goal(pod):
    """A model without tool calls gets the tools in its prompt and acts by fenced blocks; a bad block is told back."""

    def spoken(messages):
        if sum(m["role"] == "assistant" for m in messages) == 0:
            return '```json\n{"tool": "http_request", \n```'
        heard = [m for m in messages if "not run" not in m["content"]]
        made = careful(heard).tool_calls[0]
        return f"I act.\n```json\n{json.dumps({'tool': made.name, 'arguments': made.arguments})}\n```"

    report, requests = play(pod, Script(play=spoken), protocol="text")

    assert pod.kinds == ["opened", "ok", "ok", "goal"]
    assert "tools" not in requests[0].body
    assert '"encoding"' in requests[0].messages[0]["content"]
    assert "is not JSON" in answers(report)[0]
    assert {m["role"] for m in requests[-1].messages} == {"system", "user", "assistant"}


def test_cut_off_replies_go_on(pod):
    """A reply cut off before any action is no plain answer; one cut off inside an action is told why."""
    cut = ScriptedReply(text="First I will", finish_reason="length")
    inside = ScriptedReply(tool_calls=(ScriptedCall(name="submit", arguments='{"body": "abc'),), finish_reason="length")
    report, requests = play(pod, cut, inside, "done")

    assert requests[1].messages[-1]["content"].startswith("Your reply was cut off")
    assert answers(report)[0].endswith("the reply was cut off at its limit of tokens")


@pytest.mark.parametrize(
    ("budget", "cause", "calls"),
    [
        (Budget(turns=3), "turns", 3),
        (Budget(tokens=250), "tokens", 3),
        (Budget(cost_usd=0.0011), "cost", 2),
        (Budget(wall_s=0.0), "wall", 0),
    ],
)
def test_budgets_stop_the_episode(pod, budget, cause, calls):
    """A budget that runs out stops the world with its cause and is no error."""
    usage = ScriptedUsage(prompt=60, completion=50)
    loop = ScriptedReply(
        tool_calls=(ScriptedCall(name="http_request", arguments={"method": "GET", "url": "/link"}),), usage=usage
    )
    report, _ = play(pod, *[loop] * 9, budget=budget, name="gpt-5")

    assert (report.stopped_by, pod.stopped, report.usage.calls) == (cause, [cause], calls)
    assert pod.kinds == ["opened", *["ok"] * calls, "stop"]
    assert report.trajectory["steps"][-1]["message"] == f"stopped: the budget of {cause} is used up"


def test_unpriced_model_says_that_its_cost_is_unbounded(pod):
    """A budget of cost that cannot hold is said once."""
    said = []
    with playing(script(call("wait", seconds=1), "done"), say=said) as (agent, _):
        agent.play(task_of(), 0, pod, Budget(cost_usd=1.0), Report("llm"))

    assert said == ["openai/anything has no known price, so the budget of cost cannot be enforced"]


def test_a_conversation_too_long_is_a_budget(pod):
    """The model's own limit of tokens ends the episode like any other budget."""
    full = ScriptedReply(text="", faults=(Fault(status=400, message="This model's maximum context length is 8192 tokens"),))
    report, _ = play(pod, call("wait", seconds=1), full)

    assert (report.stopped_by, pod.stopped) == ("context", ["context"])


@pytest.mark.property
def test_waiting_for_the_provider_is_not_wall_time(pod):
    """A second of rate limit does not use up half a second of budget."""
    slow = ScriptedReply(
        tool_calls=(ScriptedCall(name="wait", arguments={"seconds": 1}),), faults=(Fault(status=429, retry_after="1"),)
    )
    report, _ = play(pod, slow, "done", budget=Budget(wall_s=0.9))

    assert report.stopped_by is None
    assert report.trajectory["final_metrics"]["extra"]["provider_wait_s"] >= 1
    assert any(line.startswith("waited 1.") for line in report.log)


def test_provider_down_keeps_the_trajectory(pod):
    """A provider that fails in the middle raises, and what happened before is in the report."""
    down = ScriptedReply(faults=(Fault(status=503, times=999),))
    with playing(script(call("wait", seconds=1), down), patience_s=0.2) as (agent, _):
        report = Report("llm")
        with pytest.raises(ProviderFailure):
            agent.play(task_of(), 0, pod, Budget(), report)

    SCHEMA.validate(report.trajectory)
    assert [s["source"] for s in report.trajectory["steps"]] == ["system", "user", "agent", "system"]
    assert report.usage.calls == 1
    assert report.log[-1].startswith("ended: openai/anything: no answer from")


def test_report_says_what_was_asked_and_what_was_sent(pod):
    """gpt-5: requested and effective differ; usage adds up; the bare name goes out."""
    usage = ScriptedUsage(prompt=100, completion=50, cached=40, reasoning=20)
    replies = [
        ScriptedReply(tool_calls=(ScriptedCall(name="wait", arguments={"seconds": 1}),), usage=usage),
        ScriptedReply(text="done", usage=usage),
    ]
    report, requests = play(pod, *replies, name="gpt-5", max_tokens=500)

    assert (report.requested, report.effective) == ({"temperature": 0.0, "max_tokens": 500}, {"max_tokens": 500})
    assert (report.usage.prompt_tokens, report.usage.completion_tokens) == (200, 100)
    assert (report.usage.cached_tokens, report.usage.reasoning_tokens) == (80, 40)
    assert report.usage.cost_usd == pytest.approx(2 * 0.00058)
    assert (report.model, report.interface, report.agent) == ("gpt-5", "tool", "llm")
    assert requests[0].body["model"] == "gpt-5"


@pytest.mark.property
def test_concurrent_episodes_share_an_agent(tmp_path):
    """One agent, eight episodes at once: each report holds its own episode, and the temperature is spoken of once."""
    said, reports = [], [Report("llm") for _ in range(8)]
    pods = []
    for number in range(8):
        (tmp_path / str(number)).mkdir()
        pods.append(LocalPod(tmp_path / str(number)))
    with playing(Script(play=careful), say=said, name="gpt-5") as (agent, _):
        arguments = [(task_of(), 0, pod, Budget(), report) for pod, report in zip(pods, reports, strict=True)]
        threads = [threading.Thread(target=agent.play, args=each) for each in arguments]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    assert [pod.kinds for pod in pods] == [["opened", "ok", "ok", "goal"]] * 8
    assert {report.usage.calls for report in reports} == {3}
    assert len(said) == 1


@pytest.mark.parametrize("interface", ["tool", "shell"])
def test_no_output_holds_the_key(pod, interface, monkeypatch, capfd):
    """The key is in the Authorization header and nowhere else: not in bodies, report, plan, prompt or on the terminal."""
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)
    spilled = ScriptedReply(
        text="done", faults=(Fault(status=500, message=f"your key {SENTINEL}"), Fault(status=401, message=SENTINEL))
    )
    with playing(script(spilled), interface=interface) as (agent, server):
        report = Report("llm")
        with pytest.raises(ProviderFailure) as caught:
            agent.play(task_of(), 0, pod, Budget(), report)
        plan = identity_of(AgentSpec(kind="llm", model=agent.config.name, interface=interface), {}).model_dump_json()

    assert [r.headers["authorization"] for r in server.requests] == [f"Bearer {SENTINEL}"] * 2
    bodies = json.dumps([r.body for r in server.requests])
    everything = f"{bodies}{plan}{report}{caught.value}{caught.value.hint}{agent.config}{capfd.readouterr()}"
    assert SENTINEL not in everything
