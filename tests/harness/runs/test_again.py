"""What is lost to something that may pass is played again within the run; what an agent did never is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.agent import Budget, Report
from harness.agent_factory import AgentPool
from harness.causes import Responsible
from harness.errors import ProviderFailure, RetriesExhausted, RuntimeFailure
from harness.live_agent import Agent
from harness.pod import Pod
from harness.records import Result, RunFolder
from harness.registry import Task
from harness.runs.executors.base import Again, News, Started
from harness.runs.plan import Plan
from harness.runs.run import POLICIES, EpisodeRetries, RetryPolicy, run_plan
from harness.runtimes.inprocess import InProcessRuntime

QUICK = {cause: RetryPolicy(3, 0.0, 60.0) for cause in POLICIES}


class Unlucky(Agent):
    """Fails so often with what it was given, and then does nothing."""

    name = "unlucky"
    only_computes = False

    def __init__(self, failure: BaseException, times: int) -> None:
        self.failure, self.left = failure, times

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Fail while there are failures left."""
        if self.left:
            self.left -= 1
            raise self.failure


@pytest.mark.parametrize(
    ("failure", "times", "tries", "status"),
    [
        (RetriesExhausted("no answer"), 1, 2, "graded"),
        (RetriesExhausted("no answer"), 9, 3, "ungraded"),
        (RuntimeFailure("no container"), 2, 3, "graded"),
        (ProviderFailure("it refused"), 1, 1, "ungraded"),
        (KeyError("what a model wrote"), 1, 1, "graded"),
    ],
)
def test_tries_by_cause(presigned: Task, tmp_path: Path, failure: BaseException, times: int, tries: int, status: str) -> None:
    """Patience used up, a runtime that failed: three tries, all kept; a refusal, an agent's own failure: one."""
    news: list[News] = []
    agent = Unlucky(failure, times)
    (result,) = run_plan(
        Plan("run", [presigned], [0], 1), InProcessRuntime(), RunFolder(tmp_path / "run"), workers=1, images={},
        progress=news.append, cast=AgentPool(lambda *_: agent), policies=QUICK,
    )  # fmt: skip
    kept = sorted(path.name for path in Path(result.path).parent.glob("attempts/*"))

    assert (sum(isinstance(one, Started) for one in news), result.status) == (tries, status)
    assert kept == [f"s0-a1.{number}" for number in range(tries - 1)]
    assert [one.keys for one in news if isinstance(one, Again)] == [(result.key,)] * (tries - 1)


def lost(cause: Responsible = "runtime", **fields: Any) -> Result:
    """An episode without a grade."""
    return Result(
        run="run", task_id="a", family="contract", seed=0, attempt=1, agent="x", runtime="docker", status="ungraded",
        cause=cause, may_pass=True, key_digest="", **fields,
    )  # fmt: skip


def test_pauses_double_and_end_with_the_total_time() -> None:
    """2 and 4 seconds, and none once the next try would begin after the total."""
    now = [0.0]
    retries, result = EpisodeRetries({"runtime": RetryPolicy(9, 2.0, 10.0)}, lambda: now[0]), lost()
    pauses = []
    for at in (0.0, 3.0, 8.0):
        now[0] = at
        retries.note(result)
        pauses.append(retries.due([result]))

    assert pauses == [{result.key: 2.0}, {result.key: 4.0}, {}]


@pytest.mark.parametrize("cause", ["agent", "world", "verifier", "cancelled", "limit"])
def test_causes_that_are_never_tried_again(cause: Responsible) -> None:
    """The table of a real run has none of them."""
    retries, result = EpisodeRetries(POLICIES), lost(cause)
    retries.note(result)

    assert retries.due([result]) == {}
