"""Guessing pays nothing: no text that an agent can see before the last answer is the result.

The oracle plays up to its submission; at that point the world's own judge is asked about every candidate, and must refuse all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from harness.agents.solutions import players
from harness.registry import Task
from worlds.core.calls import Call, Violation
from worlds.core.testing import InProcess, client, world_in_process
from worlds.core.wire import WireRequest, WireResponse, request

CONSTANTS = ("", " ", "{}", "null", "ok", "done", "true", "0", "success", '{"status":"ok"}', '{"status":"verified"}', "SUCCESS")


class AtTheEnd(Exception):
    """The oracle is about to hand in."""


class UpToSubmission:
    """A transport that keeps what was said and stops before the submission."""

    def __init__(self, world: InProcess) -> None:
        self.world = world
        self.answers: list[WireResponse] = []
        self.result = b""

    def __call__(self, made: WireRequest) -> WireResponse:
        """Pass a request on, unless it is the last one."""
        if made.path == b"/submission":
            self.result = made.body
            raise AtTheEnd
        self.answers.append(self.world(made))
        return self.answers[-1]


def accepts(world: InProcess, body: bytes) -> bool:
    """Whether the world would take this as the result now."""
    try:
        return world.world.judge_submission(Call(request("POST", "/submission", body=body))).kind == "goal"
    except Violation:
        return False


def texts_in(text: str) -> Iterator[str]:
    """The text, its lines, its words, the leaves of its JSON, each also without quotes and unescaped."""
    yield text
    yield text.strip()
    for line in text.splitlines():
        yield line
        yield line.strip()
    for word in re.findall(r"[^\s`\"'<>,;()\[\]{}]+", text):
        yield word
        yield unescape(word)
    try:
        yield from leaves(json.loads(text))
    except ValueError:
        return


def leaves(document: Any) -> Iterator[str]:
    """Every scalar in a document, as text and as JSON."""
    if isinstance(document, dict | list):
        yield json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        for value in document.values() if isinstance(document, dict) else document:
            yield from leaves(value)
    else:
        yield str(document)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.property)])
def test_nothing_seen_before_the_last_answer_is_the_result(task: Task, seed: int) -> None:
    """Constants, the empty string, and every string of the instruction and of any answer but the last are refused."""
    world = world_in_process(task.world_folder, seed=seed)
    path = UpToSubmission(world)
    with client(path) as api:

        def wait(seconds: float) -> None:
            api.post("/clock/wait", json={"seconds": seconds})

        with pytest.raises(AtTheEnd):
            players(task)["solve"][1](api, world.world.instruction, wait)
    seen = [world.world.instruction, *(answer.body.decode("utf-8", "replace") for answer in path.answers[:-1])]
    seen += [value for answer in path.answers[:-1] for _, value in answer.headers]
    candidates = {*CONSTANTS, *(text for told in seen for text in texts_in(told))}

    assert accepts(world, path.result)
    assert [text for text in candidates if accepts(world, text.encode())] == []


def test_handing_in_at_once_pays_nothing(task: Task) -> None:
    """Without a single request before it, no constant and no word of the instruction is taken."""
    world = world_in_process(task.world_folder)

    assert not any(accepts(world, text.encode()) for text in {*CONSTANTS, *texts_in(world.world.instruction)})
