"""What providers really answer when they do not answer: bodies as OpenAI, Anthropic, Google and others send them."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from harness.agents.llm import model as module
from harness.agents.llm.completion import KEPT, LONGEST_ARGUMENTS, LONGEST_TEXT
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.errors import ClientFailure, ProviderFailure, ProviderLost, Unreachable
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, ScriptedCall, ScriptedReply, script

HELLO = [{"role": "user", "content": "hello"}]
PAGE = "<!doctype html><html><head><title>Sign in</title></head><body>...</body></html>"


def openai(message: str, code: str, kind: str = "invalid_request_error") -> str:
    """An error as OpenAI sends it."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}})


def anthropic(message: str, kind: str) -> str:
    """An error as Anthropic sends it."""
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}})


def client(server: OpenAIServer, name: str = "openai/x", **settings: Any) -> tuple[ModelClient, list[str]]:
    """A client that is quick to give up, and what it says."""
    said: list[str] = []
    quick: dict[str, Any] = {"patience_s": 0.3, "first_pause_s": 0.01, "timeout_s": 5.0, **settings}
    base = server.url.removesuffix("/v1") if name.startswith(("anthropic/", "gemini/")) else server.url
    return ModelClient(ModelSettings(name, base, "sk-sentinel-0123456789", **quick), say=said.append), said


def always(status: int, body: str, media_type: str = "application/json") -> OpenAIServer:
    """A server that answers everything with this."""
    fault = Fault(status=status, body=body, media_type=media_type)
    return OpenAIServer(script("hi"), weather=lambda number, seconds: fault)


QUOTA = "insufficient_quota"
SPENT = openai("You exceeded your current quota, please check your plan and billing details.", QUOTA, QUOTA)
LIMITED = openai("Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000.", "rate_limit_exceeded", "tokens")

DENIED = [
    ("openai/x", 429, SPENT, r"says that the account's quota is used up: You exceeded your current quota.* \(429\)$"),
    ("openai/x", 402, openai("Insufficient Balance", "invalid_request_error"), r"quota is used up: .*Balance \(402\)$"),
    ("openai/x", 401, openai("Incorrect API key provided.", "invalid_api_key"), r"does not accept the key: .* \(401\)$"),
    ("openai/x", 403, openai("Country, region, or territory not supported", "x"), r"denies access to this account.* \(403\)$"),
    ("openai/x", 404, openai("The model `x` does not exist", "model_not_found"), r"this model or.*does not exist \(404\)$"),
    ("openai/x", 404, '{"detail": "Not Found"}', r"does not know this model or this address: .* \(404\)$"),
    ("hosted_vllm/x", 404, '{"object":"error","message":"No model `x`.","code":404}', r"this model or this address.* \(404\)$"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "status", "body", "told"), DENIED)
def test_what_no_other_call_would_fare_better_with_ends_the_run(name: str, status: int, body: str, told: str) -> None:
    """Asked once, by the probe and by an episode alike; the address is told, and a next step."""
    with always(status, body) as server:
        made, _ = client(server, name)
        for act in (made.probe, lambda: made.complete(HELLO)):
            with pytest.raises(ProviderLost, match=told) as caught:
                act()
            assert str(caught.value).startswith(f"{name}: {server.url} ")
            assert caught.value.hint

    assert (len(server.probes), len(server.requests)) == (1, 1)


ANTHROPIC = [
    (401, anthropic("invalid x-api-key", "authentication_error"), "does not accept the key"),
    (
        400,
        anthropic("Your credit balance is too low to access the Anthropic API.", "invalid_request_error"),
        "quota is used up",
    ),
    (404, anthropic("model: claude-x", "not_found_error"), "does not know this model"),
]


@pytest.mark.parametrize(("status", "body", "told"), ANTHROPIC)
def test_anthropic_says_it_in_its_own_way(status: int, body: str, told: str) -> None:
    """A credit that is used up is a 400 there."""
    with always(status, body) as server, pytest.raises(ProviderLost, match=told):
        client(server, "anthropic/claude-x")[0].complete(HELLO)

    assert len(server.requests) == 1


@pytest.mark.property
def test_googles_limit_is_no_spent_quota() -> None:
    """Its free tier says `quota` of what comes back within a minute."""
    body = json.dumps({"error": {"code": 429, "message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED"}})
    with always(429, body) as server, pytest.raises(ProviderFailure, match=r"no answer from .* \(429\)$") as caught:
        client(server, "gemini/gemini-x", patience_s=2.0)[0].complete(HELLO)

    assert not isinstance(caught.value, ProviderLost)
    assert len(server.requests) > 1


def test_a_flagged_prompt_is_no_closed_account() -> None:
    """A 403 that is about what was said is that one call's."""
    body = json.dumps({"error": {"message": "x requires moderation. Your input was flagged", "code": 403}})
    with always(403, body) as server, pytest.raises(ProviderFailure, match=r"refused the request: .*\(403\)$") as caught:
        client(server)[0].complete(HELLO)

    assert not isinstance(caught.value, ProviderLost)


def test_overloaded_is_the_status_that_was_sent() -> None:
    """LiteLLM calls Anthropic's 529 an error 500."""
    server = always(529, anthropic("Overloaded", "overloaded_error"))
    with server, pytest.raises(ProviderFailure, match=r"Overloaded.* \(529\)$"):
        client(server, "anthropic/claude-x")[0].complete(HELLO)


UNSPOKEN = [
    (Fault(kind="reset"), "the connection broke: [Errno 104] Connection reset by peer"),
    (Fault(kind="truncated"), "the connection broke: peer closed connection"),
    (Fault(kind="stall", stall_s=4.0), "one call received no data for longer than the 0.5 s that --timeout allows"),
    (Fault(kind="garbage"), "data that is not JSON instead of a model's answer"),
    (Fault(status=200, body=PAGE, media_type="text/html"), "a web page instead of a model's answer"),
]

STREAMED = 'data: {"object": "x", "choices": [{"index": 0, "delta": {"content": "hi"}}]}\n\ndata: [DONE]\n\n'


def test_a_stream_that_was_not_requested_is_told_before_the_run() -> None:
    """A server that only streams is named by the first call, with what to change."""
    with always(200, STREAMED, "text/event-stream") as server, pytest.raises(ProviderLost) as caught:
        client(server)[0].probe()

    assert f"{server.url} answers with a stream of events, which was not requested" in str(caught.value)
    assert "without streaming" in caught.value.hint


@pytest.mark.parametrize(
    "told",
    [
        "This model only supports streaming",
        "This model only support stream mode, please enable the stream parameter to access the model.",
        "Stream must be set to true",
        "parameter.enable_thinking must be set to false for non-streaming calls",
    ],
)
def test_a_server_that_refuses_all_but_streams_is_told_before_the_run(told: str) -> None:
    """Every episode would meet the refusal, so the first call ends the run, and so does an episode without it."""
    with always(400, openai(told, "x")) as server:
        made, _ = client(server)
        for act in (made.probe, lambda: made.complete(HELLO)):
            with pytest.raises(ProviderLost, match="answers only in streams, which a run does not request: ") as caught:
                act()
            assert f": {server.url} answers" in str(caught.value)
            assert "without streaming" in caught.value.hint

    assert (len(server.probes), len(server.requests)) == (1, 1)


@pytest.mark.property
@pytest.mark.parametrize(("longest", "told"), [(30.0, "the 0.2 s that --timeout allows"), (0.1, "0.1 s")])
def test_a_silent_server_is_told_with_the_seconds(monkeypatch: pytest.MonkeyPatch, longest: float, told: str) -> None:
    """Those of --timeout, or of the first call where they are fewer."""
    monkeypatch.setattr(module, "_PROBE_PAUSES_S", ())
    monkeypatch.setattr(module, "_LONGEST_PROBE_S", longest)
    with OpenAIServer(script("hi"), weather=lambda number, seconds: Fault(kind="stall", stall_s=4.0)) as server:
        made, _ = client(server, timeout_s=0.2)
        with pytest.raises(ProviderLost) as probed:
            made.probe()
        with pytest.raises(ProviderFailure) as caught:
            made.complete(HELLO)

    assert str(probed.value).endswith(f": one call received no data for longer than {told}")
    assert str(caught.value).endswith(": one call received no data for longer than the 0.2 s that --timeout allows")


def test_a_pause_that_is_too_long_is_told_after_the_time() -> None:
    """The seconds that were waited stand with the address, not with the server's pause."""
    server = OpenAIServer(script("hi"), weather=lambda number, seconds: Fault(status=429, body=LIMITED, retry_after="60"))
    with server, pytest.raises(ProviderFailure, match=r" in 0 s, which asks to wait 60 s: "):
        client(server)[0].complete(HELLO)


@pytest.mark.property
@pytest.mark.parametrize(("fault", "told"), UNSPOKEN, ids=lambda value: value.kind if isinstance(value, Fault) else "")
def test_no_status_is_told_that_no_server_said(fault: Fault, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM makes a 500 of each; what happened is said instead, with the address, in the run and before it."""
    monkeypatch.setattr(module, "_PROBE_PAUSES_S", (0.01,))
    with OpenAIServer(script("hi"), weather=lambda number, seconds: fault) as server:
        made, _ = client(server, timeout_s=0.5)
        with pytest.raises(ProviderFailure) as caught:
            made.complete(HELLO)
        with pytest.raises(ProviderLost) as probed:
            made.probe()

    assert f"no answer from {server.url} in " in str(caught.value)
    assert told in str(caught.value)
    assert server.url in str(probed.value)
    assert told in str(probed.value)
    assert "500" not in f"{caught.value} {probed.value}".replace(server.url, "")


def test_a_page_with_a_status_is_told_as_a_page() -> None:
    """Nobody wants to read its source."""
    server = always(502, "<html><body><h1>502 Bad Gateway</h1></body></html>", "text/html")
    with server, pytest.raises(ProviderFailure, match=r": a web page \(502\)$"):
        client(server)[0].complete(HELLO)


@pytest.mark.parametrize(
    ("weather", "told"),
    [
        (None, "answered a first small call in"),
        (Fault(status=429, body=LIMITED, retry_after="60"), "is available but busy: Rate limit reached"),
        (
            Fault(status=400, body=openai("max_tokens is too small", "x")),
            "is available but rejected a first small call: max",
        ),
    ],
    ids=["answers", "is busy", "refuses this call"],
)
def test_a_probe_that_finds_somebody(weather: Fault | None, told: str) -> None:
    """It is made once, whoever asks for it, and says what came of it."""
    with OpenAIServer(script("hi"), weather=lambda number, seconds: weather) as server:
        made, said = client(server)
        threads = [threading.Thread(target=made.probe) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(said) == len(server.probes) == 1
    assert said[0].startswith(f"openai/x at {server.url} {told}")


def test_a_probe_of_nobody() -> None:
    """Said at once."""
    made = ModelClient(ModelSettings("openai/x", "http://127.0.0.1:9/v1", "k"), say=lambda line: None)
    with pytest.raises(Unreachable, match=r"no server answers at http://127\.0\.0\.1:9/v1"):
        made.probe()


def test_a_bug_of_ours_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody meant to raise on the way to an answer is told as a failure of the harness, with its place."""

    def buggy(*_: Any) -> Any:
        raise TypeError("unsupported operand sk-sentinel-0123456789")

    monkeypatch.setattr(module, "ask", buggy)
    monkeypatch.setenv("SOME_KEY", "sk-sentinel-0123456789")
    with OpenAIServer(script("hi")) as server, pytest.raises(ClientFailure) as caught:
        client(server)[0].complete(HELLO)

    assert caught.value.cause == "runtime"
    assert "our model client failed at test_failures.py:" in str(caught.value)
    assert "sk-sentinel" not in str(caught.value)


@pytest.mark.parametrize("which", ["text", "reasoning"])
def test_an_answer_without_end_is_not_kept_whole(which: str) -> None:
    """Head and tail are, with the count between them; the next request does not repeat it either."""
    long = "a" + "word " * (LONGEST_TEXT // 5 + 2) + "z"
    reply = ScriptedReply(text=long) if which == "text" else ScriptedReply(text="hi", reasoning=long)
    with OpenAIServer(script(reply)) as server:
        said = client(server)[0].complete(HELLO)
    kept = said.text if which == "text" else said.reasoning or ""

    assert (kept[0], kept[-1], len(kept) < KEPT + 100) == ("a", "z", True)
    assert f"[{len(long) - KEPT} characters left out]" in kept
    assert said.left_out == (len(long) - KEPT if which == "text" else 0)
    assert len(json.dumps(said.message)) < KEPT + 1000


@pytest.mark.property
def test_arguments_without_end_are_a_mistake_that_is_told() -> None:
    """They are not read, and what is kept of them is short."""
    long = json.dumps({"command": "x" * LONGEST_ARGUMENTS})
    with OpenAIServer(script(ScriptedReply(tool_calls=(ScriptedCall(name="run", arguments=long),)))) as server:
        said = client(server)[0].complete(HELLO)

    assert said.actions[0].problem == f"the arguments are {len(long)} characters long, and at most {LONGEST_ARGUMENTS} are read"
    assert len(json.dumps(said.message)) < KEPT + 1000


def test_tokens_of_what_has_no_words_are_estimated_in_time() -> None:
    """A tokenizer takes minutes for a million letters without a space; a part stands for the whole, marked as estimated."""
    with OpenAIServer(script(ScriptedReply(text="x" * 1_000_000, usage="none"))) as server:
        usage = client(server)[0].complete(HELLO).usage

    assert usage.estimated
    assert 50_000 < usage.completion_tokens < 1_000_000


ALTERNATE = (
    "\n------------\nWhile executing CallExpression at line 19, column 27 in source:\n...% 2 == 0) -%}\n"
    "Error: Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/..."
)
USED = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


def completed(usage: dict[str, Any] | None = None, **choice: Any) -> str:
    """A completion in OpenAI's shape, with other fields in its only choice."""
    made = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop", **choice}
    return json.dumps(
        {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [made], "usage": usage or USED}
    )


WORDS = [
    (200, json.dumps({"error": {"message": "No auth credentials found", "code": 401}}), "provider_lost", "No auth credentials"),
    (200, json.dumps({"error": {"message": "User not found.", "type": "authentication_error"}}), "provider_lost", "User not"),
    (200, json.dumps({"error": "upstream overloaded"}), "provider_error", r"upstream overloaded \(inside HTTP 200\)"),
    (200, completed(error={"code": 502, "message": "Idle timeout"}, finish_reason="error"), "provider_error", "Idle timeout"),
    (200, completed(error={"code": 400, "message": "Bad tool"}, finish_reason="error"), "provider_refusal", "Bad tool"),
    (200, json.dumps({"detail": "Not Found"}), "provider_refusal", "JSON that is not a completion: Not Found"),
    (200, "[1, 2]", "provider_refusal", r"JSON that is not a completion: \[1, 2\]"),
    (200, json.dumps({"choices": []}), "provider_error", "without a choice"),
    (500, json.dumps({"error": {"code": 500, "message": ALTERNATE}}), "provider_refusal", r"roles must alternate .*\(500\)$"),
    (500, json.dumps({"error": {"message": "Traceback (most recent call last):\n  File x\nValueError: no such adapter"}}),
     "provider_error", r": ValueError: no such adapter \(500\)$"),
    (503, json.dumps({"error": {"message": "Provider error", "metadata": {"raw": '{"error": {"message": "no GPU"}}'}}}),
     "provider_error", r": Provider error: no GPU \(503\)$"),
    (501, json.dumps({"error": {"message": "no such method"}}), "provider_refusal", r"no such method \(501\)$"),
    (501, json.dumps({"error": {"message": "streaming is required"}}), "provider_lost", r"streaming is required \(501\)$"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "name", "told"), WORDS, ids=[one[3][:30] for one in WORDS])
def test_no_word_of_a_server_is_lost(status: int, body: str, name: str, told: str) -> None:
    """The server's own explanation is told, a failure is named, and what no retry cures is asked once."""
    with always(status, body) as server, pytest.raises(ProviderFailure, match=told.replace(" .*", ".*")) as caught:
        client(server)[0].complete(HELLO)

    assert caught.value.name == name
    if name in {"provider_refusal", "provider_lost"} and "alternate" not in told:
        assert len(server.requests) == 1
    assert "Traceback" not in str(caught.value)


READABLE = [
    completed(message={"role": "assistant", "content": [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]}),
    completed({"prompt_tokens": 5.0, "completion_tokens": 2.0, "total_tokens": 7.0}),
    completed({"prompt_tokens": -6, "completion_tokens": 2, "total_tokens": -4}),
]


@pytest.mark.parametrize("body", READABLE, ids=["list content", "float usage", "negative usage"])
def test_odd_but_readable_answers_are_read(body: str) -> None:
    """Asked once; no number of tokens is below zero."""
    with always(200, body) as server:
        said = client(server)[0].complete(HELLO)

    assert (said.text, len(server.requests)) == ("hi", 1)
    assert said.usage.prompt_tokens > 0


def test_silence_and_errors_have_their_own_names() -> None:
    """A timeout and a server that only sends errors are two rows of the table of causes."""
    for fault, name in ((Fault(kind="stall", stall_s=4.0), "provider_timeout"), (Fault(status=503), "provider_error")):
        with (
            OpenAIServer(script("hi"), weather=lambda number, seconds, fault=fault: fault) as server,  # type: ignore[misc]
            pytest.raises(ProviderFailure) as caught,
        ):
            client(server, timeout_s=0.3)[0].complete(HELLO)
        assert caught.value.name == name
