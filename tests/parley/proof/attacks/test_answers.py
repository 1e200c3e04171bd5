"""Attacks 5, 6, 7 and 12: the planted flaw of each is found, its mended twin is not; and what they decide by."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from harness.paths import ROOT
from harness.registry import Task, read_task
from parley.proof.attacks.answers import carried_over
from parley.proof.attacks.hidden import hidden_of, literals, tells
from parley.proof.attacks.recording import RecordedExchange, Recording, exchanges_of, lines_of
from parley.proof.attacks.routes import probes
from parley.proof.attacks.target import affordable
from tests.parley.proof.attacks.flaws_answers import ANSWER, IN_THE_IMAGE
from worlds.core.wire import WireRequest, WireResponse


@pytest.fixture
def cipher(tmp_path: Path) -> Task:
    """A folder whose tests hold the answer."""
    return IN_THE_IMAGE.twin(tmp_path)


@pytest.fixture
def contract() -> Task:
    """One of our own."""
    return read_task(ROOT / "tasks" / "contract" / "basic-oauth-token")


def exchange(target: str, body: bytes = b"", answer: bytes = b"", method: str = "GET") -> RecordedExchange:
    """One request to a service, and its answer."""
    return RecordedExchange(
        "api", 9000, WireRequest(method, target.encode(), (("accept", "*/*"),), body), WireResponse(200, (), answer)
    )


def test_the_answer_is_found_wherever_it_stands(cipher: Task) -> None:
    """A shingle is found at every distance from an aligned block, and at both ends."""
    hidden = hidden_of(cipher)

    for before in range(20):
        assert hidden.within(b"x" * before + ANSWER.encode())
        assert hidden.within(b"x" * before + ANSWER.encode() + b"y" * 5)
    assert hidden.whole(ANSWER.encode()) == "tests/expected.txt"


def test_less_than_a_shingle_is_no_answer(cipher: Task) -> None:
    """Fifteen bytes of it, and data without any of it, are nothing."""
    hidden = hidden_of(cipher)

    assert hidden.within(ANSWER.encode()[:15] + b" " * 40) is None
    assert hidden.within(bytes(range(256)) * 100) is None
    assert hidden.within(b"") is None


def test_what_the_instruction_says_is_not_hidden(tmp_path: Path) -> None:
    """An answer that the instruction names may be anywhere."""
    task = IN_THE_IMAGE.twin(tmp_path)
    told = hidden_of(task, instruction=f"Write {ANSWER} to a file.")

    assert told.within(ANSWER.encode()) is None


@pytest.mark.parametrize("value", [b"0123456789abcdef", b"Lantern-Harbour-Vole"])
def test_digits_or_both_cases_tell_something(value: bytes) -> None:
    """Tokens and names do."""
    assert tells(value)


@pytest.mark.parametrize("value", [b"aaaaaaaa1aaaaaaaaaaa", b"application/json", b"================"])
def test_rules_and_plain_words_tell_nothing(value: bytes) -> None:
    """They stand in every second file."""
    assert not tells(value)


def test_docstrings_are_no_literals() -> None:
    """Of a Python file only what it computes with counts."""
    assert set(literals(".py", '"""Thesis."""\nx = "a literal"\ny = f"of {x}"\n')) == {"a literal", "of "}


def test_material_leaves_out_what_every_folder_has(contract: Task) -> None:
    """Neither the rendered instruction nor what `harness sync` writes is hidden material."""
    names = set(hidden_of(contract).digests.values())

    assert "solution/solve.py" in names
    assert not names & {"solution/reading.py", "solution/solve.sh", "tests/test.sh", "tests/Dockerfile"}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_recorded_exchanges_are_read_as_they_were_written(pack: type[bytes]) -> None:
    """Packed or not; a line that is none is passed over."""
    said = (exchange("/token?a=%2F", answer=b"\x00\xff"), exchange("/in", body=b"\x01", method="PUT"))

    assert exchanges_of(pack(lines_of(said) + b"cut off")) == said


def test_what_a_service_said_is_recognised_in_what_is_handed_in() -> None:
    """In a later request or in a file; not in an earlier request, and not what the instruction says anyway."""
    token = exchange("/token", answer=b'{"token": "c0ffee5eed"}')
    use = exchange("/submit", body=b"token=c0ffee5eed", method="POST")

    assert carried_over("", Recording((token, use)))
    assert carried_over("", Recording((token,), {"/workspace/out": b"c0ffee5eed\n"}))
    assert carried_over("", Recording((use, token))) is None
    assert carried_over("The token is c0ffee5eed.", Recording((token, use))) is None


def test_no_episode_asks_more_than_its_world_takes(contract: Task) -> None:
    """Every request is asked in an episode that is still open by then."""
    assert contract.parley is not None
    budgets, cost = contract.parley.budgets, contract.parley.costs["request"]

    batches = list(affordable(contract, list(range(100))))

    assert [one for batch in batches for one in batch] == list(range(100))
    assert all(len(batch) <= budgets.steps and len(batch) * cost <= budgets.virtual_seconds for batch in batches)


def test_a_small_budget_has_probes_of_each_kind() -> None:
    """Paths, methods, traversal and guessed tokens are among the first four."""
    first = [probe.request for probe in probes()[:4]]

    assert {request.method for request in first} > {"GET"}
    assert any(b".." in request.target for request in first)
    assert any(request.headers for request in first)
