"""Where a key is sent is typed or confirmed by a person; a run.json that came from elsewhere decides nothing of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.agent import AgentSpec, SeatSpec
from harness.errors import UsageError
from harness.runs.addresses import settled
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import script

pytestmark = pytest.mark.property

Command = Callable[..., subprocess.CompletedProcess[str]]
MODEL = ("--model", "openai/any", "--interface", "tool")
RUN = ("run", "presigned-url-download", "--runtime", "inprocess")
KEY = "sk-mine"


@pytest.fixture(scope="module")
def own() -> Iterator[OpenAIServer]:
    """The server of whoever holds the key."""
    with OpenAIServer(script("I give up.")) as server:
        yield server


@pytest.fixture(scope="module")
def played(harness: Command, own: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that failed at our own server; not to be changed."""
    folder = tmp_path_factory.mktemp("played") / "first"
    done = harness(*RUN, *MODEL, "--api-base", own.url, "--out", folder, env={"OPENAI_API_KEY": KEY})
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def mine(own: OpenAIServer) -> OpenAIServer:
    """Our own server, which nobody has asked anything yet."""
    own.requests.clear()
    return own


@pytest.fixture
def theirs() -> Iterator[OpenAIServer]:
    """Somebody else's."""
    with OpenAIServer(script("Thank you.")) as server:
        yield server


@pytest.fixture
def changed(played: Path, mine: OpenAIServer, theirs: OpenAIServer, tmp_path: Path) -> Path:
    """A copy of that run, in whose run.json somebody wrote their address."""
    first = Path(shutil.copytree(played, tmp_path / "first"))
    plan = first / "run.json"
    text = plan.read_text(encoding="utf-8")
    assert text.count(mine.url) == 3  # who played, what was asked for, and what was typed
    plan.write_text(text.replace(mine.url, theirs.url), encoding="utf-8")
    return first


CALLS = 2
"""Calls of an episode without an action: its own, and the check without tools."""


def again(harness: Command, first: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """A retry of that run."""
    return harness(*RUN, "--retry-of", first, "--out", first.parent / "again", *more, env={"OPENAI_API_KEY": KEY})


def test_an_address_of_a_file_gets_nothing(harness: Command, changed: Path, theirs: OpenAIServer) -> None:
    """Refused, naming the address and the flag that would allow it; nobody was spoken to."""
    done = again(harness, changed)

    assert done.returncode == 2
    assert f"first/run.json names {theirs.url}, and a file does not decide where an API key is sent" in done.stderr
    assert done.stderr.endswith(f" --out {changed.parent / 'again'} --api-base {theirs.url}\n")
    assert theirs.requests == []
    assert not (changed.parent / "again").exists()


def test_a_typed_address_wins(harness: Command, changed: Path, mine: OpenAIServer, theirs: OpenAIServer) -> None:
    """What was typed is where the retry goes, whatever the file says."""
    done = again(harness, changed, "--api-base", mine.url)

    assert done.returncode == 0, done.stderr
    assert [request.headers["authorization"] for request in mine.requests] == [f"Bearer {KEY}"] * CALLS
    assert theirs.requests == []


def test_typing_the_address_of_the_file_is_enough(harness: Command, changed: Path, theirs: OpenAIServer) -> None:
    """Whoever types it has seen it."""
    assert again(harness, changed, "--api-base", theirs.url).returncode == 0
    assert len(theirs.requests) == CALLS


def test_resume_speaks_to_the_typed_address_only(harness: Command, changed: Path, theirs: OpenAIServer) -> None:
    """A run.json that names another host is another run, and is not gone on with."""
    typed = ("--api-base", "http://localhost:1/v1")
    done = harness(*RUN, *MODEL, *typed, "--resume", changed, env={"OPENAI_API_KEY": KEY})

    assert (done.returncode, "was planned with other agent" in done.stderr) == (2, True)
    assert theirs.requests == []


def resumed(harness: Command, first: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """That run, gone on with, with an episode still to play."""
    shutil.rmtree(first / "episodes")
    return harness("run", "--resume", first, *more, env={"OPENAI_API_KEY": KEY})


def test_resume_asks_about_the_address_of_its_file(harness: Command, changed: Path, theirs: OpenAIServer) -> None:
    """What the file alone names gets no key here either."""
    done = resumed(harness, changed)

    assert done.returncode == 2
    assert f"{changed}/run.json names {theirs.url}, and a file does not decide where an API key is sent" in done.stderr
    assert theirs.requests == []


def test_resume_at_an_address_that_is_typed(harness: Command, changed: Path, theirs: OpenAIServer) -> None:
    """Whoever types it has seen it."""
    done = resumed(harness, changed, "--api-base", theirs.url)

    assert done.returncode == 0, done.stderr
    assert len(theirs.requests) == CALLS


def test_a_file_that_contradicts_itself_is_not_gone_on_with(
    harness: Command, changed: Path, mine: OpenAIServer, theirs: OpenAIServer
) -> None:
    """The request alone was changed: the plan that it makes is not the one that was frozen."""
    record = json.loads((changed / "run.json").read_bytes())
    elsewhere = mine.url.replace("127.0.0.1", "localhost")
    record["request"]["agents"][0]["api_base"] = elsewhere
    (changed / "run.json").write_text(json.dumps(record), encoding="utf-8")
    done = resumed(harness, changed, "--api-base", elsewhere)

    assert (done.returncode, "was planned with other agent" in done.stderr) == (2, True)
    assert mine.requests == theirs.requests == []


SPEC = AgentSpec(kind="llm", model="openai/any", interface="tool", api_base="http://there/v1")
NAMES = "first/run.json", "first was played"


def test_a_person_may_confirm() -> None:
    """Who is asked sees the address; a yes lets it through, a no does not."""
    asked: list[str] = []
    made = settled(SPEC, *NAMES, typed=None, confirmed=lambda what: not asked.append(what))

    assert made == SPEC
    assert asked == ["first was played at http://there/v1"]
    with pytest.raises(UsageError, match="names http://there/v1"):
        settled(SPEC, *NAMES, typed=None, confirmed=lambda what: False)


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "huggingface/https://there/v1"},
        {"seats": (SeatSpec(seat=1, kind="model", name="huggingface/https://there/v1"),)},
    ],
)
def test_an_address_as_a_models_name_is_one_too(changed: dict[str, object]) -> None:
    """Some providers take the address of their server in the name; whoever types the name has seen it."""
    spec, there = SPEC.model_copy(update=changed), "huggingface/https://there/v1"
    with pytest.raises(UsageError, match=f"names an address as its model: {there}"):
        settled(spec, *NAMES, typed="http://there/v1", confirmed=lambda what: False)

    made = settled(spec, *NAMES, typed="http://there/v1", confirmed=lambda what: False, typed_models=frozenset({there}))
    assert made == spec


def test_without_an_address_nobody_is_asked() -> None:
    """A run at the provider's own address is played again there."""
    spec = SPEC.model_copy(update={"api_base": None})

    assert settled(spec, *NAMES, typed=None, confirmed=lambda what: False) == spec
