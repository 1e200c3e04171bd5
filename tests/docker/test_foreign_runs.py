"""A foreign Harbor task through the whole of our machine: registry, plan, episode, record."""

from pathlib import Path

import pytest

from harness.agent import Budget
from harness.agents.scripted import NopAgent
from harness.agents.solutions import SolutionAgent
from harness.episode import run_episode
from harness.live_agent import Agent
from harness.pod import EpisodeSpec
from harness.records import Key, Result
from harness.registry import discover
from harness.runtimes.docker.runtime import DockerRuntime
from tests.docker.conftest import write
from tests.docker.test_foreign import DOCKERFILE, ENTRYPOINT, SOLVE, TEST_SH, TOML

pytestmark = pytest.mark.docker

FOLDER = {
    "task.toml": TOML,
    "instruction.md": "Add one to the number, in /app/answer.",
    "environment/Dockerfile": DOCKERFILE,
    "environment/entrypoint.sh": ENTRYPOINT,
    "solution/solve.sh": SOLVE,
    "tests/test.sh": TEST_SH,
}


@pytest.mark.parametrize(
    ("agent", "label", "reward"), [(SolutionAgent(), "SUCCESS", 1.0), (NopAgent(), "OTHER", 0.0)], ids=["oracle", "nop"]
)
def test_oracle_and_nop_are_graded(agent: Agent, label: str, reward: float, tmp_path: Path) -> None:
    """The shipped solution earns 1 and doing nothing earns 0, both graded and blamed on nobody."""
    result = play(agent, tmp_path)

    assert ("graded", None, label, reward) == (result.status, result.cause, result.failure_label, result.reward)
    assert result.success == (reward == 1.0)


def play(agent: Agent, root: Path) -> Result:
    """One episode of the folder, found as any other task is."""
    write(root / "elsewhere" / "counter", FOLDER)
    (task,) = discover(root)
    runtime = DockerRuntime()
    runtime.prepare([task])
    key = Key(task_id=task.task_id, family=task.family, seed=0, attempt=1)
    spec = EpisodeSpec("foreign", f"foreign-{agent.name}", task, 0, needs_main=True)
    return run_episode(spec, key, runtime, agent, Budget()).result
