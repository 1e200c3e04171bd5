"""Five things that production paths do to bytes, each with the label it earns on a real task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.inprocess import InProcessRuntime
from validators.contract import assess
from validators.episode import Episode
from validators.verdict import Verdict
from worlds.contract.labels import Label
from worlds.contract.mutations import DEFAULTS, PREDICTED, mutate_transport, parse_mutation
from worlds.core.errors import ManifestError
from worlds.core.events import read_log
from worlds.core.wire import WireRequest, WireResponse, check_sendable

TARGET = b"/api/resource/file?expires=9&nonce=ab&payload=%2Fx%2By%3D%25%23&alpha=1&sig=" + b"s" * 200
PAGE = WireResponse(200, (), b'<a href="/short">a</a><a href="/' + b"l" * 100 + b'">b</a>')


def mutated(mutation: str, target: bytes = TARGET) -> bytes:
    """The target as it reaches the world."""
    sent: list[WireRequest] = []

    def world(request: WireRequest) -> WireResponse:
        sent.append(request)
        return PAGE

    mutate_transport(world, mutation)(WireRequest("GET", target))
    return sent[0].target


def played(task: Task, seed: int, mutation: str) -> Verdict:
    """The oracle's verdict with a mutation on its path."""
    agent = SolutionAgent(transport=lambda inner: mutate_transport(inner, mutation))
    with InProcessRuntime().open(EpisodeSpec("r", "e", task, seed)) as pod:
        agent.play(task, seed, pod, Budget(), Report(agent="oracle"))
        return assess(Episode(tuple(read_log(pod.finish()))))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mutation", ["clip", "linewrap", "decode", "resort", "visible", "clip=100", "visible=30"])
def test_label_on_a_real_task(presigned: Task, mutation: str, seed: int) -> None:
    """The oracle, mutated, earns the predicted label and no success."""
    verdict = played(presigned, seed, mutation)

    assert (False, PREDICTED[parse_mutation(mutation)[0]]) == (verdict.success, verdict.failure_label)


@pytest.mark.parametrize("mutation", ["clip=40000", "linewrap=40000", "visible=40000"])
def test_mutation_that_does_not_bite(presigned: Task, mutation: str) -> None:
    """Where nothing is long enough, the oracle still succeeds."""
    assert played(presigned, 0, mutation).failure_label == Label.SUCCESS


@pytest.mark.parametrize(
    ("mutation", "target"),
    [
        ("clip", TARGET[:200]),
        ("linewrap=100", TARGET[:100] + b"%0A" + TARGET[100:200] + b"%0A" + TARGET[200:]),
        ("decode", TARGET.replace(b"%2F", b"/").replace(b"%2B", b"+").replace(b"%3D", b"=")),
        ("resort", b"/api/resource/file?alpha=1&expires=9&nonce=ab&payload=%2Fx%2By%3D%25%23&sig=" + b"s" * 200),
        ("visible", TARGET),
    ],
)
def test_bytes(mutation: str, target: bytes) -> None:
    """Each mutation does one thing to the target; % and # stay encoded, since they would change how it is read."""
    assert target == mutated(mutation)


def test_visible_text_cuts_long_links_only() -> None:
    """The agent sees a short href whole, a long one cut with an ellipsis."""
    seen = mutate_transport(lambda request: PAGE, "visible=20")(WireRequest("GET", b"/task")).body

    assert b'<a href="/short">a</a><a href="/' + b"l" * 19 + b'...">b</a>' == seen


@given(st.sampled_from(sorted(PREDICTED)), st.binary(max_size=300))
def test_mutated_targets_can_be_sent(name: str, raw: bytes) -> None:
    """Whatever could be sent before a mutation can be sent after it."""
    target = b"/" + bytes(0x21 + byte % 94 for byte in raw).replace(b"#", b"%")

    check_sendable(WireRequest("GET", mutated(name, target)))


def test_every_mutation_has_a_default() -> None:
    """Names, labels and defaults are of the same five."""
    assert {"clip", "linewrap", "decode", "resort", "visible"} == set(PREDICTED) == set(DEFAULTS)


@pytest.mark.parametrize(
    ("text", "parsed"), [("clip", ("clip", 200)), ("clip=5", ("clip", 5)), ("decode", ("decode", 0)), ("clip=", ("clip", 200))]
)
def test_parse(text: str, parsed: tuple[str, int]) -> None:
    """A name alone has its default number."""
    assert parsed == parse_mutation(text)


@pytest.mark.parametrize("text", ["", "clop", "clip=x", "clip=-1", "clip=0", "linewrap=0", "decode=1", "resort=9", "clip=1=2"])
def test_parse_refused(text: str) -> None:
    """Anything else is refused with the names there are."""
    with pytest.raises(ManifestError) as refused:
        parse_mutation(text)

    names = "clip, linewrap, decode, resort, visible"
    assert f"mutation must be one of {names}, with =<number> where it takes one, not {text!r}" == str(refused.value)
