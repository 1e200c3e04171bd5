"""What the times in an episode's record say."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from harness.agent import Budget
from harness.agents.scripted import NopAgent
from harness.attribution import PHASES
from harness.episode import run_episode
from harness.pod import EpisodeSpec, Pod
from harness.records import Key
from harness.runtimes.inprocess import InProcessRuntime
from tests.shipped import SHIPPED

CLOSING_S = 0.3
TASK = next(task for task in SHIPPED if task.task_id == "presigned-url-download")


class SlowToClose(InProcessRuntime):
    """A runtime whose pods take a moment to go."""

    @contextmanager
    def open(self, spec: EpisodeSpec) -> Iterator[Pod]:
        """A pod that is slow to close."""
        with super().open(spec) as pod:
            yield pod
            time.sleep(CLOSING_S)


def test_phases_account_for_the_whole_episode() -> None:
    """What a pod takes to close has a phase of its own, and no more than a twentieth of the total has none."""
    key = Key(task_id=TASK.task_id, family=TASK.family, seed=0, attempt=1)
    spec = EpisodeSpec("run", "episode", TASK, 0)
    times = run_episode(spec, key, SlowToClose(), NopAgent(), Budget()).result.timings

    assert times.close >= CLOSING_S
    assert sum(getattr(times, phase) for phase in PHASES) >= 0.95 * times.total
