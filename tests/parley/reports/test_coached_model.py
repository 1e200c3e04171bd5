"""The paper's coaching experiment in small: a model that mends its ways when told the right label, and not otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmAgent, LlmConfig
from harness.records import RunFolder
from harness.registry import Task
from harness.runs.plan import Plan
from harness.runs.request import Retry
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.families.contract import coaching_effect, leaderboard
from parley.reports.evidence import Evidence
from parley.requests.coaching import read_retry
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Script

pytestmark = pytest.mark.property

Gathered = Callable[..., Evidence]
Columns = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def evidence(presigned: Task, gathered: Gathered, tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Two failed first tries, and their retries under the three conditions, through a real model client."""
    folder = tmp_path_factory.mktemp("coached")
    coached = Script(
        match="classified as MUTATED_TOKEN", play=SolutionModel([presigned], lambda task, attempt: "solve", "tool")
    )
    careless = Script(play=SolutionModel([presigned], lambda task, attempt: "decoded_link", "tool"))
    with OpenAIServer(coached, careless) as server:
        spec = AgentSpec(kind="llm", model="openai/gpt-5.1", interface="tool", api_base=server.url)
        agent = LlmAgent(replace(LlmConfig.of(spec), api_key="none"), say=lambda line: None)
        cast, quiet = AgentPool(lambda *_: agent), lambda event: None

        def played(name: str, retry: Retry | None = None) -> Path:
            plan = Plan(name, [presigned], [0, 1], 1, spec, retry=retry)
            run_plan(plan, InProcessRuntime(), RunFolder(folder / name), workers=1, images={}, progress=quiet, cast=cast)
            return folder / name

        first = played("first")
        again = [played(mode, read_retry(first, mode).retry) for mode in ("none", "wrong", "correct")]
    return gathered(first, *again, tasks=[presigned])


@pytest.mark.property
def test_first_tries_only(evidence: Evidence, columns: Columns) -> None:
    """The leaderboard knows two first tries and no retry, and the paper's row of the same model under ours."""
    (table,) = leaderboard.tables(evidence, published=True)

    assert [("GPT-5.1", "tool", "0", 2, 0, "1 of 33 tasks"), ("GPT-5.1", None, "0", 99, 48, "published")] == columns(
        table, "model", "setup", "temperature", "episodes", "passed", "status"
    )[:2]


@pytest.mark.property
def test_effect(evidence: Evidence, columns: Columns) -> None:
    """Both failures are mended by the right label alone: +100 points, two pairs gained, p = 1/2."""
    (table,) = coaching_effect.tables(evidence, published=False)

    assert [
        ("no hint", 0, 2, None, None, None),
        ("wrong label", 0, 2, 0.0, 0, 1.0),
        ("correct label", 2, 2, 1.0, 2, 0.5),
        ("correct - wrong", None, None, 1.0, 2, 0.5),
    ] == columns(table, "condition", "passed", "n", "difference", "gained", "p")


def test_by_label(evidence: Evidence, columns: Columns) -> None:
    """Both began as MUTATED_TOKEN, and stand with the paper's forty-two below."""
    (table,) = coaching_effect.label_tables(evidence, published=True)
    rows = columns(table, "model", "label", "n", "none", "correct", "wrong")

    assert ("GPT-5.1 (tool)", "MUTATED_TOKEN", 2, 0, 2, 0) == rows[0]
    assert ("GPT-5.1 (published)", "total", 42, 6, 8, 5) == rows[-1]
