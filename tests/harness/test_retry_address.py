"""Where a key is sent is typed or confirmed by a person; a run.json that came from elsewhere decides nothing of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.retry import Retry
from harness.testing.openai_server import OpenAIServer
from harness.testing.scripts import script

Command = Callable[..., subprocess.CompletedProcess[str]]
MODEL = ("--model", "openai/any", "--interface", "tool")
RUN = ("run", "presigned-url-download", "--runtime", "inprocess")
KEY = "sk-mine"


@pytest.fixture
def mine() -> Iterator[OpenAIServer]:
    """The server of whoever holds the key."""
    with OpenAIServer(script("I give up.")) as server:
        yield server


@pytest.fixture
def theirs() -> Iterator[OpenAIServer]:
    """Somebody else's."""
    with OpenAIServer(script("Thank you.")) as server:
        yield server


@pytest.fixture
def changed(harness: Command, mine: OpenAIServer, theirs: OpenAIServer, tmp_path: Path) -> Path:
    """A run that failed at our own server, in whose run.json somebody wrote theirs."""
    first = tmp_path / "first"
    done = harness(*RUN, *MODEL, "--api-base", mine.url, "--out", first, env={"OPENAI_API_KEY": KEY})
    assert done.returncode == 0, done.stderr
    plan = first / "run.json"
    text = plan.read_text(encoding="utf-8")
    assert text.count(mine.url) == 1
    plan.write_text(text.replace(mine.url, theirs.url), encoding="utf-8")
    mine.requests.clear()
    return first


def again(harness: Command, first: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """A retry of that run."""
    return harness(*RUN, "--retry-of", first, "--out", first.parent / "again", *more, env={"OPENAI_API_KEY": KEY})


def test_an_address_of_a_file_gets_nothing(harness: Command, changed: Path, theirs: OpenAIServer) -> None:
    """Refused, naming the address and the flag that would allow it; nobody was spoken to."""
    done = again(harness, changed)

    assert done.returncode == 2
    assert f"first/run.json names {theirs.url}, and a file does not decide where an API key is sent" in done.stderr
    assert f"try: the same command with --api-base {theirs.url}" in done.stderr
    assert theirs.requests == []
    assert not (changed.parent / "again").exists()


def test_a_typed_address_wins(harness: Command, changed: Path, mine: OpenAIServer, theirs: OpenAIServer) -> None:
    """What was typed is where the retry goes, whatever the file says."""
    done = again(harness, changed, "--api-base", mine.url)

    assert done.returncode == 0, done.stderr
    assert [request.headers["authorization"] for request in mine.requests] == [f"Bearer {KEY}"]
    assert theirs.requests == []


def test_typing_the_address_of_the_file_is_enough(harness: Command, changed: Path, theirs: OpenAIServer) -> None:
    """Whoever types it has seen it."""
    assert again(harness, changed, "--api-base", theirs.url).returncode == 0
    assert len(theirs.requests) == 1


def test_resume_speaks_to_the_typed_address_only(harness: Command, changed: Path, theirs: OpenAIServer) -> None:
    """A run.json that names another address is another run, and is not gone on with."""
    typed = ("--api-base", "http://127.0.0.1:1/v1")
    done = harness(*RUN, *MODEL, *typed, "--resume", changed, env={"OPENAI_API_KEY": KEY})

    assert (done.returncode, "was planned with other agent" in done.stderr) == (2, True)
    assert theirs.requests == []


AGENT = {"model": "openai/any", "interface": "tool", "api_base": "http://there/v1", "protocol": "tools"}


def retry(**changed: object) -> Retry:
    """A retry of a run that this agent played."""
    return Retry("first", "none", {}, {"agent": {**AGENT, **changed}, "options": {}})


def test_a_person_may_confirm() -> None:
    """Who is asked sees the address; a yes lets it through, a no does not."""
    asked: list[str] = []
    made = retry().model(None, lambda what: not asked.append(what))

    assert made is not None
    assert made.api_base == "http://there/v1"
    assert asked == ["first was played at http://there/v1"]
    with pytest.raises(UsageError, match="names http://there/v1"):
        retry().model(None, lambda what: False)


@pytest.mark.parametrize(
    "changed", [{"model": "huggingface/https://there/v1"}, {"seat_models": {"1": "huggingface/https://there/v1"}}]
)
def test_an_address_as_a_models_name_is_one_too(changed: dict[str, object]) -> None:
    """Some providers take the address of their server in the name."""
    with pytest.raises(UsageError, match="names an address as its model: huggingface/https://there/v1"):
        retry(**changed).model("http://there/v1", lambda what: False)


def test_without_an_address_nobody_is_asked() -> None:
    """A run at the provider's own address is retried there."""
    made = retry(api_base=None).model(None, lambda what: False)

    assert made is not None
    assert made.api_base is None
