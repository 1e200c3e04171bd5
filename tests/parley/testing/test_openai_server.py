"""The local OpenAI-compatible server: scripts by conversation, real faults, every request kept."""

import subprocess
import sys
import threading

import httpx
import pytest

from harness.paths import ROOT
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import (
    LAST_WORD,
    Fault,
    Script,
    ScriptedCall,
    ScriptedReply,
    ScriptedUsage,
    call,
    read_scripts,
    script,
)
from worlds.core.errors import ManifestError


def ask(server, *contents, role="user", timeout=5.0):
    """One raw request; contents alternate between user and assistant."""
    messages = [{"role": "assistant" if i % 2 else role, "content": text} for i, text in enumerate(contents)]
    body = {"model": "m", "messages": messages}
    return httpx.post(f"{server.url}/chat/completions", json=body, timeout=timeout, trust_env=False)


def said(answer):
    """The text of a completion."""
    return answer.json()["choices"][0]["message"]["content"]


def test_position_follows_the_conversation():
    """The n-th reply goes to the request with n-1 assistant messages; after the last one comes a plain answer."""
    with OpenAIServer(script("first", "second")) as server:
        answers = [said(ask(server, *"abcde"[:length])) for length in (1, 3, 5)]

    assert answers == ["first", "second", LAST_WORD]


def test_first_script_that_fits_wins():
    """A script belongs to the conversations that contain its match."""
    with OpenAIServer(script("for a", match="task a"), script("for all")) as server:
        assert [said(ask(server, "this is task a")), said(ask(server, "this is task b"))] == ["for a", "for all"]


def test_no_script_fits():
    """A conversation without a script is refused, so a test notices."""
    with OpenAIServer(script("for a", match="task a")) as server:
        assert ask(server, "task b").status_code == 400


@pytest.mark.property
def test_concurrent_conversations_do_not_meet():
    """Twenty conversations at once, each with its own script, each gets its own replies."""
    scripts = [script(f"reply {n}.", match=f"task {n}.") for n in range(20)]
    heard: dict[int, str] = {}
    with OpenAIServer(*scripts) as server:
        threads = [threading.Thread(target=lambda n=n: heard.update({n: said(ask(server, f"task {n}."))})) for n in range(20)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    assert heard == {n: f"reply {n}." for n in range(20)}


def test_player_reads_the_conversation():
    """A Python function is a model that can read what came before."""
    player = Script(play=lambda messages: call("run", command=messages[-1]["content"].upper()))
    with OpenAIServer(player) as server:
        made = ask(server, "ls").json()["choices"][0]["message"]["tool_calls"][0]["function"]

    assert made == {"name": "run", "arguments": '{"command": "LS"}'}


def test_tool_calls_usage_and_reasoning():
    """Parallel calls, raw arguments, usage with its parts, and a given finish reason go out as written."""
    reply = ScriptedReply(
        text="t",
        reasoning="because",
        tool_calls=(ScriptedCall(name="a", arguments={"x": "é"}), ScriptedCall(name="b", arguments="{oops", id="mine")),
        usage=ScriptedUsage(prompt=10, completion=7, cached=4, reasoning=3),
        finish_reason="length",
    )
    with OpenAIServer(script(reply)) as server:
        whole = ask(server, "x").json()

    choice = whole["choices"][0]
    assert [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in choice["message"]["tool_calls"]] == [
        ("call_1_0", "a", '{"x": "é"}'),
        ("mine", "b", "{oops"),
    ]
    assert (choice["finish_reason"], choice["message"]["reasoning_content"]) == ("length", "because")
    assert whole["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}
    assert whole["usage"]["completion_tokens_details"] == {"reasoning_tokens": 3}


def test_usage_may_be_missing():
    """Some servers report no usage at all."""
    with OpenAIServer(script(ScriptedReply(text="x", usage="none"))) as server:
        assert "usage" not in ask(server, "x").json()


def test_faults_come_first_and_end():
    """A 429 with Retry-After twice, a 500 once, then the reply."""
    faults = (Fault(status=429, retry_after="2", times=2), Fault(status=500))
    with OpenAIServer(script(ScriptedReply(text="ok", faults=faults))) as server:
        answers = [ask(server, "x") for _ in range(4)]

    assert [a.status_code for a in answers] == [429, 429, 500, 200]
    assert answers[0].headers["retry-after"] == "2"


def test_broken_bodies():
    """Garbage is no JSON under status 200; a truncated body ends before its announced length; a stall outlasts a timeout."""
    faults = (Fault(kind="garbage"), Fault(kind="truncated"), Fault(kind="stall", stall_s=0.5))
    with OpenAIServer(script(ScriptedReply(text="ok", faults=faults))) as server:
        with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
            ask(server, "x").json()
        with pytest.raises(httpx.RemoteProtocolError):
            ask(server, "x")
        with pytest.raises(httpx.ReadTimeout):
            ask(server, "x", timeout=0.1)


def test_requests_are_kept():
    """Headers and body of every request can be asserted on."""
    with OpenAIServer(script("ok")) as server:
        ask(server, "hello")

    assert [r.messages for r in server.requests] == [[{"role": "user", "content": "hello"}]]
    assert server.requests[0].headers["content-type"] == "application/json"


def test_streaming_and_junk_are_refused():
    """What the server cannot do it refuses with 400."""
    with OpenAIServer(script("ok")) as server, httpx.Client(trust_env=False, base_url=server.url) as client:
        stream = client.post("/chat/completions", json={"messages": [], "stream": True})
        junk = client.post("/chat/completions", content=b"{")

        assert (stream.status_code, junk.status_code, client.get("/models").status_code) == (400, 400, 200)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.toml", '[[script]]\nmatch = "m"\n[[script.replies]]\ntext = "hi"\n'),
        ("s.json", '{"script": [{"match": "m", "replies": [{"text": "hi"}]}]}'),
        ("s.py", "from parley.testing.scripts import script\nSCRIPTS = [script('hi', match='m')]\n"),
    ],
)
def test_scripts_from_files(tmp_path, name, text):
    """A script may be written as TOML, JSON or Python."""
    path = tmp_path / name
    path.write_text(text)

    assert read_scripts(path) == [script("hi", match="m")]


@pytest.mark.parametrize("text", ["[[script]]\nreplys = []\n", "script = 3\n", "nonsense", "[[script.replies]]\ntext = 3\n"])
def test_bad_script_files(tmp_path, text):
    """A file that is no list of scripts is an error naming the file."""
    path = tmp_path / "s.toml"
    path.write_text(text)

    with pytest.raises(ManifestError, match=r"s\.toml"):
        read_scripts(path)


def test_command_line(tmp_path):
    """`python -m parley.testing.openai_server --script FILE --port 0` prints its URL and serves."""
    path = tmp_path / "s.toml"
    path.write_text('[[script]]\n[[script.replies]]\ntext = "hi"\n')
    command = [sys.executable, "-m", "parley.testing.openai_server", "--script", str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as served:
        try:
            url = served.stdout.readline().strip()
            body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
            answer = httpx.post(f"{url}/chat/completions", json=body, trust_env=False)
        finally:
            served.kill()

    assert said(answer) == "hi"
