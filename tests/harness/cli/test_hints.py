"""What a refusal says to type next: the whole command that was typed, with what it lacks."""

from __future__ import annotations

import shlex

import pytest

from harness.cli.hints import whole
from harness.errors import quoted

ODD = "it's a run, or two"
TYPED = ["run", "--model", "gpt-5", "--k", "3"]


@pytest.mark.parametrize(
    ("hint", "words", "expected"),
    [
        ("harness run ... --yes", TYPED, "harness run --model gpt-5 --k 3 --yes"),
        ("the same command with --yes, or with --cost", TYPED, "harness run --model gpt-5 --k 3 --yes, or with --cost"),
        ("harness run ... --k 1", TYPED, "harness run --model gpt-5 --k 1"),
        ("harness run ... --k 1", ["run", "--k=3", "a b"], "harness run 'a b' --k 1"),
        (f"harness run ... --out {quoted('a b/c')}, or more", ["run", "t"], "harness run t --out 'a b/c', or more"),
        (f"the same command with --resume {quoted(ODD)}", ["run", "t"], shlex.join(["harness", "run", "t", "--resume", ODD])),
        ("harness run ... --out NEW", ["run", "t", "--resume", "runs/a"], "harness run t --out NEW"),
        ("harness run ... --resume runs/a", ["run", "t", "--out", "runs/a"], "harness run t --resume runs/a"),
        ("doctor, or harness run ... --trust", TYPED, "doctor, or harness run --model gpt-5 --k 3 --trust"),
        ("harness run ... --yes", ["verify", "t"], "harness run ... --yes"),
        (
            "harness run ... --yes",
            ["run", "--api-base", "http://me:secret@h/v1?key=secret"],
            "harness run --api-base http://h/v1 --yes",
        ),
        ("harness doctor", TYPED, "harness doctor"),
    ],
)
def test_hint_repeats_the_command(hint: str, words: list[str], expected: str) -> None:
    """The dots of a hint stand for what was typed; a flag that was typed with another value is replaced."""
    assert whole(hint, words) == expected
