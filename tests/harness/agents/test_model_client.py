"""The model client against the local server, through the real LiteLLM."""

import subprocess
import sys
import threading
import time

import pytest

from harness.agents.llm.failures import ContextOverflow, Refused
from harness.agents.llm.model import PLACEHOLDER_KEY, ModelClient, ModelSettings
from harness.agents.llm.provider import library
from harness.errors import Cancelled, ProviderFailure, Unreachable, UsageError
from harness.paths import ROOT
from harness.secrets import public_address, scrub
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, ScriptedCall, ScriptedReply, ScriptedUsage, script

SENTINEL = "sk-sentinel-0123456789abcdef"
TOOLS = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object", "properties": {}}}}]
HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    """No key but those a test sets."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def client(server=None, name="openai/anything", **settings):
    """A client that pauses briefly, and the lines it said."""
    said = []
    base = server.url if server else None
    quick = {"first_pause_s": 0.01, "timeout_s": 5.0, "api_base": base} | settings
    made = ModelClient(ModelSettings(name, **quick), say=said.append)
    return made, said


def complete(*replies, tools=(), **settings):
    """One completion against a fresh server: client, its lines, the completion, the requests."""
    with OpenAIServer(script(*replies)) as server:
        made, said = client(server, **settings)
        return made, said, made.complete(HELLO, tools), server.requests


def test_any_name_works_against_a_base_url():
    """`openai/anything` with --api-base needs no key, and the server sees a placeholder, temperature 0 and the bare name."""
    made, said, completion, requests = complete("hi")

    made.check()
    assert completion.text == "hi"
    assert requests[0].headers["authorization"] == f"Bearer {PLACEHOLDER_KEY}"
    assert (requests[0].body["model"], requests[0].body["temperature"]) == ("anything", 0.0)
    assert (made.requested, made.effective, said) == ({"temperature": 0.0}, {"temperature": 0.0}, [])


def test_refused_temperature_is_left_out_and_said_once():
    """`gpt-5` takes no temperature 0: it is not sent, said once however often the model is asked, and both are recorded."""
    with OpenAIServer(script("one", "two")) as server:
        made, said = client(server, "gpt-5", max_tokens=77)
        made.check()
        for _ in range(3):
            made.complete(HELLO, TOOLS)

    assert all("temperature" not in r.body for r in server.requests)
    assert server.requests[0].body["max_completion_tokens"] == 77
    assert said == ["gpt-5 does not accept temperature 0, so the provider's default applies"]
    assert made.requested == {"temperature": 0.0, "max_tokens": 77}
    assert made.effective == {"max_tokens": 77}


def test_provider_may_refuse_the_temperature_itself():
    """Where LiteLLM does not know, the provider's own refusal counts."""
    refusal = Fault(status=400, message="Unsupported value: 'temperature' does not support 0 with this model.")
    made, said, completion, requests = complete(ScriptedReply(text="hi", faults=(refusal,)))

    assert completion.text == "hi"
    assert ["temperature" in r.body for r in requests] == [True, False]
    assert (made.effective, len(said)) == ({}, 1)


def test_missing_key_is_found_before_anything_starts():
    """A provider without --api-base needs its key."""
    made, _ = client(None, "gpt-5")

    with pytest.raises(UsageError, match=r"^gpt-5 needs OPENAI_API_KEY, which is not set$") as caught:
        made.check()
    assert caught.value.hint.startswith("export OPENAI_API_KEY=")


@pytest.mark.parametrize("empty", ["", "  "])
def test_a_key_of_nothing_is_missing(monkeypatch, empty):
    """A variable that is set to nothing holds no key; a server behind --api-base is shown the placeholder then."""
    monkeypatch.setenv("OPENAI_API_KEY", empty)
    with pytest.raises(UsageError, match=r"^gpt-5 needs OPENAI_API_KEY, which is not set$"):
        client(None, "gpt-5")[0].check()

    monkeypatch.setenv("OPENAI_API_KEY", empty)
    assert complete("hi")[3][0].headers["authorization"] == f"Bearer {PLACEHOLDER_KEY}"


def test_key_in_the_environment_is_enough(monkeypatch):
    """With the key set, a model by its bare name is ready."""
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)

    client(None, "gpt-5")[0].check()


@pytest.mark.parametrize(
    ("name", "hint"),
    [("openia/gpt-5", "--model openai/gpt-5"), ("no-such-model", "--model PROVIDER/NAME, for example openai/gpt-5")],
)
def test_unknown_provider(name, hint):
    """A provider that nobody knows is an error with the nearest one."""
    with pytest.raises(UsageError, match=r"no provider (named|is known)") as caught:
        client(None, name)[0].check()
    assert caught.value.hint == hint


def test_unknown_name_with_a_base_url():
    """A bare name that no provider has is probably a server's own: the hint says how to write it."""
    with pytest.raises(UsageError) as caught:
        client(None, "mine", api_base="http://127.0.0.1:9/v1")[0].check()
    assert caught.value.hint == "--model openai/mine"


@pytest.mark.property
def test_retry_after_is_honoured():
    """A 429 that asks for a second gets one, and the wait is reported."""
    _, _, completion, requests = complete(ScriptedReply(text="ok", faults=(Fault(status=429, retry_after="1"),)))

    assert completion.text == "ok"
    assert 1.0 <= requests[1].at - requests[0].at < 20
    assert completion.waited_s >= 1.0


def test_retry_after_longer_than_patience():
    """There is no point in waiting for what comes too late."""
    started = time.monotonic()
    with pytest.raises(ProviderFailure, match="asks to wait 600 s"):
        complete(ScriptedReply(text="ok", faults=(Fault(status=429, retry_after="600"),)), patience_s=60.0)

    assert time.monotonic() - started < 30


@pytest.mark.property
@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500),
        Fault(status=503),
        Fault(status=529),
        Fault(status=408),
        Fault(kind="garbage"),
        Fault(kind="truncated"),
        Fault(kind="stall", stall_s=4.0),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}",
)
def test_passing_faults_are_outlasted(fault):
    """Server errors, timeouts, malformed and truncated bodies are asked again."""
    _, _, completion, requests = complete(ScriptedReply(text="ok", faults=(fault,)), timeout_s=2.0)

    assert (completion.text, len(requests)) == ("ok", 2)
    assert completion.waited_s > 0


def test_patience_ends():
    """A provider that stays down is a ProviderFailure that says what it last said."""
    with pytest.raises(ProviderFailure, match=r"^openai/anything: no answer from http://127.*scripted fault \(503\)$"):
        complete(ScriptedReply(text="ok", faults=(Fault(status=503, times=999),)), patience_s=0.3)


DEAD = "http://127.0.0.1:9/v1"
ABSENT = "http://no-such-host.invalid/v1"


@pytest.mark.parametrize(
    ("name", "base", "why"),
    [
        ("openai/anything", DEAD, r"\[Errno 111\] Connection refused"),
        ("anthropic/anything", DEAD, r"\[Errno 111\] Connection refused"),
        ("hosted_vllm/anything", DEAD, r"\[Errno 111\] Connection refused"),
        ("openai/anything", ABSENT, r"\[Errno -\d\] .*"),
        ("anthropic/anything", ABSENT, r"\[Errno -\d\] .*"),
    ],
)
def test_nobody_was_ever_there(name, base, why):
    """A refused connection, or a host that has no address, is not waited for: patience is ten minutes here."""
    made, said = client(None, name, api_base=base, api_key=SENTINEL, patience_s=600.0, first_pause_s=60.0)
    started = time.monotonic()

    with pytest.raises(Unreachable, match=f"^{name}: no server answers at {base}: {why}$") as caught:
        made.complete(HELLO)
    assert caught.value.hint == "start that server, or use another --api-base URL"
    assert (time.monotonic() - started < 20, said) == (True, [])


def test_an_address_without_a_scheme_is_told_before_anything_starts():
    """The hint is the address as it was probably meant."""
    with pytest.raises(UsageError, match=r"^--api-base must begin with http:// or https://, not '127.0.0.1:9/v1'$") as caught:
        client(None, api_base="127.0.0.1:9/v1")[0].check()
    assert caught.value.hint == "--api-base http://127.0.0.1:9/v1"


def test_a_server_that_went_away_is_waited_for():
    """One that answered before is being started anew, as far as anybody knows: it is asked until patience ends."""
    with OpenAIServer(script("first")) as server:
        made, _ = client(server, patience_s=0.3)
        made.complete(HELLO)

    with pytest.raises(
        ProviderFailure, match=r"^openai/anything: no answer from .* s: \[Errno 111\] Connection refused$"
    ) as caught:
        made.complete(HELLO)
    assert not isinstance(caught.value, Unreachable)


def test_a_server_that_comes_back_is_found():
    """Down for a moment between two answers, at the address it had."""
    with OpenAIServer(script("first")) as server:
        made, _ = client(server, patience_s=30.0, first_pause_s=0.05)
        made.complete(HELLO)
        port = int(server.url.rpartition(":")[2].partition("/")[0])
    answers = []
    asking = threading.Thread(target=lambda: answers.append(made.complete(HELLO)))
    asking.start()
    time.sleep(0.3)
    with OpenAIServer(script("second"), port=port):
        asking.join(20)

    assert [answer.text for answer in answers] == ["second"]
    assert answers[0].waited_s > 0


def test_a_refusal_shows_that_somebody_is_there():
    """After a 503 a refused connection is a server being started anew."""
    with OpenAIServer(script(ScriptedReply(text="ok", faults=(Fault(status=503, times=99),)))) as server:
        made, _ = client(server, patience_s=0.2)
        with pytest.raises(ProviderFailure, match="503"):
            made.complete(HELLO)

    with pytest.raises(ProviderFailure, match="no answer from"):
        made.complete(HELLO)


@pytest.mark.parametrize("status", [401, 403, 404, 400])
def test_refusals_are_not_repeated(status):
    """Asking again cannot help, so it is asked once."""
    with OpenAIServer(script(ScriptedReply(text="ok", faults=(Fault(status=status, times=9),)))) as server:
        made, _ = client(server)
        with pytest.raises(ProviderFailure):
            made.complete(HELLO)

    assert len(server.requests) == 1


def test_spent_quota_is_not_repeated():
    """A 429 of a spent quota is a refusal."""
    with OpenAIServer(
        script(ScriptedReply(text="ok", faults=(Fault(status=429, message="insufficient_quota", times=9),)))
    ) as server:
        made, _ = client(server)
        with pytest.raises(ProviderFailure, match="insufficient_quota"):
            made.complete(HELLO)

    assert len(server.requests) == 1


def test_conversation_too_long():
    """A full context is the conversation's, not the provider's."""
    with pytest.raises(ContextOverflow):
        complete(
            ScriptedReply(text="ok", faults=(Fault(status=400, message="This model's maximum context length is 8192 tokens"),))
        )


def test_halt_ends_a_pause():
    """Cancelling from another thread ends a pause at once."""
    with OpenAIServer(script(ScriptedReply(text="ok", faults=(Fault(status=429, retry_after="30", times=9),)))) as server:
        made, said = client(server)
        threading.Timer(0.2, made.halt.set).start()
        started = time.monotonic()
        with pytest.raises(Cancelled):
            made.complete(HELLO)

    assert time.monotonic() - started < 20
    assert said == ["openai/anything: scripted fault (429); the next in 30 s"]


def test_usage_and_price():
    """Tokens with their parts, reasoning inside the output, cached ones at their own price."""
    reply = ScriptedReply(text="a", usage=ScriptedUsage(prompt=100, completion=50, cached=40, reasoning=20))
    usage = complete(reply, name="gpt-5")[2].usage

    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 100, 50)
    assert (usage.cached_tokens, usage.reasoning_tokens, usage.estimated) == (40, 20, False)
    assert usage.cost_usd == pytest.approx(60 * 1.25e-6 + 40 * 0.125e-6 + 50 * 10e-6)


def test_no_price():
    """A model without a price has none, not zero."""
    assert complete(ScriptedReply(text="a", usage=ScriptedUsage(prompt=1, completion=1)))[2].usage.cost_usd is None


def test_missing_usage_is_counted_and_marked():
    """A provider that reports nothing is counted locally, and priced if the model has a price."""
    usage = complete(ScriptedReply(text="some words to count", usage="none"), name="gpt-5")[2].usage

    assert usage.estimated
    assert (usage.prompt_tokens > 0, usage.completion_tokens > 0, (usage.cost_usd or 0) > 0) == (True, True, True)


def test_malformed_arguments_are_the_models_own():
    """Arguments that are no JSON object keep their text, and go back in a form every provider can read."""
    calls = (
        ScriptedCall(name="run", arguments='{"command": "ls'),
        ScriptedCall(name="run", arguments="[1]"),
        ScriptedCall(name="run", arguments=""),
    )
    completion = complete(ScriptedReply(tool_calls=calls), tools=TOOLS)[2]

    assert [a.arguments for a in completion.actions] == [{"_raw": '{"command": "ls'}, {"_raw": "[1]"}, {}]
    assert [bool(a.problem) for a in completion.actions] == [True, True, False]
    assert completion.message["tool_calls"][0]["function"]["arguments"] == '{"_raw": "{\\"command\\": \\"ls"}'


def test_ids_used_twice_are_replaced():
    """Some local servers give every call the same id; answers must be told apart."""
    calls = (ScriptedCall(name="a", id="same"), ScriptedCall(name="b", id="same"))
    completion = complete(ScriptedReply(tool_calls=calls), tools=TOOLS)[2]

    assert len({a.call_id for a in completion.actions}) == 2
    assert [c["id"] for c in completion.message["tool_calls"]] == [a.call_id for a in completion.actions]


def test_cut_off_and_reasoning():
    """finish_reason length is kept, and so is what the model thought."""
    completion = complete(ScriptedReply(text="half a", reasoning="hm", finish_reason="length"))[2]

    assert (completion.cut_off, completion.reasoning) == (True, "hm")


@pytest.mark.parametrize("status", [401, 400, 503])
def test_no_error_shows_the_key(status):
    """A provider that repeats the key in its error does not make us repeat it."""
    fault = Fault(status=status, message=f"bad key {SENTINEL}", times=999)
    with pytest.raises(ProviderFailure) as caught:
        complete(ScriptedReply(text="ok", faults=(fault,)), api_key=SENTINEL, patience_s=0.1)

    shown = f"{caught.value} {caught.value.hint} {caught.value!r} {caught.value.__cause__!r}"
    assert SENTINEL not in shown
    assert "[secret]" in shown


def test_identity_holds_no_secret():
    """Neither a key nor a password in the base URL is part of a plan."""
    made, _ = client(None, api_base="http://user:secret-password@host/v1?key=x", api_key=SENTINEL)

    assert made.identity() == {
        "model": "openai/anything",
        "api_base": "http://host/v1",
        "requested": {"temperature": 0.0},
    }
    assert SENTINEL not in repr(made.settings)


def test_scrub_blanks_what_the_environment_calls_secret(monkeypatch):
    """Values of variables named like secrets are blanked, short ones left alone."""
    monkeypatch.setenv("SOME_TOKEN", "tok-12345678")
    monkeypatch.setenv("OTHER_KEY", "abc")

    assert scrub("tok-12345678 and abc") == "[secret] and abc"
    assert public_address("https://h:1/v1") == "https://h:1/v1"


@pytest.mark.property
def test_importing_an_agent_does_not_import_litellm():
    """The command line stays fast: LiteLLM's seconds are paid by the first call."""
    program = "import sys, harness.agents.llm.agent; print('litellm' in sys.modules, 'openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)

    assert done.stdout == "False False\n"


def test_a_library_that_cannot_be_imported_is_no_models_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever plays gets no blame for an installation: the failure is the provider's, and the episode counts for nobody."""
    asked, _ = client(api_base="http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "litellm", None)

    with pytest.raises(Refused, match="LiteLLM cannot be imported"):
        library()
    with pytest.raises(ProviderFailure, match="LiteLLM cannot be imported"):
        asked.complete([{"role": "user", "content": "?"}])
