"""A folder under attack. Every attack is an episode that is played in `main` and graded like any other.

The baseline is the reward for doing nothing. An attack gains something if its episode earns more, or is ungraded, which would
avoid a bad result. It gains nothing if the episode is ungraded because the verifier refuses it. Games are attacked as Harbor
runs them: with a shell in `main`, and with open turn routes. `Host` watches a file, a folder and a process of this host that no
attack may change; scripts get their names and try to reach them.
"""

from __future__ import annotations

import itertools
import re
import secrets
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from harness.agent import Budget, Report
from harness.agents.scripted import NopAgent
from harness.agents.solutions import SolutionAgent
from harness.episode import run_episode
from harness.errors import RuntimeFailure
from harness.live_agent import Agent
from harness.outcome import Outcome
from harness.pod import EpisodeSpec, Pod, Runtime
from harness.records import Key
from harness.registry import Task, files_of
from parley.proof.attacks.recording import Recording, record_solution
from parley.proof.attacks.scripts import shell

UNTOUCHED = "nobody has written here\n"


@dataclass(frozen=True)
class Host:
    """The watched file, folder and process."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def file(self) -> Path:
        """A file that any user of this host may write to."""
        return self.folder / "file"

    def harm(self) -> str | None:
        """Return the damage to this host, or None."""
        if self.process.poll() is not None:
            return f"process {self.process.pid} of the host is dead"
        try:
            text = self.file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return f"{self.file} of the host is gone: {error.strerror}"
        if text != UNTOUCHED:
            return f"{self.file} of the host was written to"
        others = [path.name for path in self.folder.iterdir() if path != self.file]
        return f"{others[0]} was created in {self.folder} of the host" if others else None


@contextmanager
def watched() -> Iterator[Host]:
    """Yield a watched host, and remove its file, folder and process afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="parley-host-") as name,
        subprocess.Popen(["sleep", "86400"], stdin=subprocess.DEVNULL) as process,
    ):
        host = Host(Path(name), process)
        host.folder.chmod(0o777)
        host.file.write_text(UNTOUCHED, encoding="utf-8")
        host.file.chmod(0o666)
        try:
            yield host
        finally:
            process.kill()


__all__ = ["WALL_S", "Act", "AttackAgent", "Target", "shell"]

WALL_S = 300.0
"""Timeout of an attack's episode in real seconds."""

Act = Callable[[Pod], object]


class AttackAgent(Agent):
    """An agent that attacks by calling `act` on the pod; `hands` is True if it acts in `main`."""

    def __init__(self, act: Act, *, hands: bool = True, name: str = "attack") -> None:
        self.act, self.hands, self.name = act, hands, name

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Return True if the attack acts in `main`."""
        return self.hands

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Run the attack."""
        self.act(pod)


@dataclass
class Target:
    """A task, the runtime in which it is attacked, and the host that must stay unharmed."""

    task: Task
    runtime: Runtime
    host: Host
    run_id: str = field(default_factory=lambda: f"attacks-{secrets.token_hex(4)}")
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _idle: dict[int, Outcome] = field(default_factory=dict)
    _recordings: dict[int, Recording] = field(default_factory=dict)

    @property
    def foreign(self) -> bool:
        """True if this is a Harbor task without one of our worlds."""
        return self.task.parley is None

    def strike(self, act: Act, *, seed: int = 0, hands: bool = True, task: Task | None = None, **more: Any) -> Outcome:
        """Play and grade one attack episode. `hands` gives it a shell, `task` is a modified copy of the folder.

        `more` sets fields of the EpisodeSpec. An episode that was spoiled by the runtime, or whose world did not open, is
        retried once, because engines and starts fail occasionally. If the attack is the cause, the retry is spoiled too.
        """
        outcome = self._episode(AttackAgent(act, hands=hands), seed, task or self.task, **more)
        spoiled = outcome.result.status != "graded" and outcome.result.cause in {"runtime", "world"}
        return self._episode(AttackAgent(act, hands=hands), seed, task or self.task, **more) if spoiled else outcome

    def observe(self, act: Act, *, hands: bool = True) -> Outcome:
        """Play an episode in which an attack only observes. Raises RuntimeFailure if it could not."""
        outcome = self.strike(act, hands=hands)
        if outcome.result.cause in {"runtime", "cancelled"}:
            raise RuntimeFailure(f"an episode could not be played: {outcome.result.error}")
        return outcome

    def nop(self, seed: int = 0) -> Outcome:
        """Play a new episode in which nothing is done."""
        return self._episode(NopAgent(), seed, self.task)

    def idle(self, seed: int = 0) -> Outcome:
        """Return the episode in which nothing is done, cached per seed; it is retried if the runtime spoiled it."""
        if seed not in self._idle or self._idle[seed].result.cause == "runtime":
            self._idle[seed] = self.nop(seed)
        return self._idle[seed]

    def oracle(self, seed: int = 0, *, task: Task | None = None) -> Outcome:
        """Play an episode of the folder's own solution; `task` is a modified copy of the folder."""
        return self._episode(SolutionAgent(), seed, task or self.task)

    def recording(self, seed: int = 0) -> Recording:
        """Return the recording of the folder's own solution, cached per seed. Raises RuntimeFailure if it fails."""
        if seed not in self._recordings:
            made: list[Recording] = []
            play = AttackAgent(lambda pod: made.append(record_solution(self.task, pod, Budget(wall_s=WALL_S))), name="recorder")
            result = self._episode(play, seed, self.task).result
            if not made or result.reward is None:
                raise RuntimeFailure(f"the solution could not be recorded: {result.error}")
            self._recordings[seed] = replace(made[-1], reward=result.reward)
        return self._recordings[seed]

    def idle_reward(self, seed: int = 0) -> float:
        """Return the reward for doing nothing. Raises RuntimeFailure if it is unknown, which the floor attack reports."""
        result = self.idle(seed).result
        if result.reward is None and result.cause != "verifier":
            raise RuntimeFailure(f"an idle agent's episode was not graded ({result.cause}): {result.error}")
        # if the verifier fails on an idle agent, the reward for doing nothing is 0
        return result.reward or 0.0

    def gain(self, outcome: Outcome, seed: int = 0) -> str | None:
        """Return what an attack gained by its episode, or None."""
        result = outcome.result
        if harm := self.host.harm():
            return harm
        if result.status == "graded":
            idle = self.idle_reward(seed)
            return f"reward {result.reward:g}; doing nothing earns {idle:g}" if (result.reward or 0) > idle else None
        if result.cause == "verifier":
            return None
        return f"its episode was not graded, because of the {result.cause}: {result.error}"

    @cached_property
    def instruction(self) -> str:
        """The text of instruction.md."""
        return (self.task.path / "instruction.md").read_text(encoding="utf-8", errors="replace")

    @cached_property
    def artifacts(self) -> list[str]:
        """The files that `main` passes to the verifier, as declared in task.toml."""
        return [artifact.source for artifact in self.task.file.artifacts if (artifact.service or "main") == "main"]

    @property
    def has_solution(self) -> bool:
        """True if the folder has a solution."""
        return (self.task.path / "solution").is_dir()

    @property
    def shares_verifier(self) -> bool:
        """True if the verifier runs in the agent's container."""
        verifier = self.task.file.verifier
        return self.foreign and verifier.environment_mode != "separate" and verifier.environment is None

    def spec(self, seed: int, task: Task, *, hands: bool, **more: Any) -> EpisodeSpec:
        """Return the spec of an episode of this target. Seats are played as under Harbor unless `more` overrides it."""
        fields = {"needs_main": hands, "open_turns": task.is_seated, **more}
        return EpisodeSpec(self.run_id, f"{task.task_id}-{next(self._numbers)}", task, seed, **fields)

    def _episode(self, agent: Agent, seed: int, task: Task, **more: Any) -> Outcome:
        spec = self.spec(seed, task, hands=agent.needs_main(task, self.runtime.name), **more)
        key = Key(task_id=task.task_id, family=task.family, seed=seed, attempt=1)
        return run_episode(spec, key, self.runtime, agent, Budget(wall_s=WALL_S))


def with_verifier(task: Task, **changed: object) -> Task:
    """Return the task with some fields of [verifier] changed."""
    return replace(task, file=task.file.model_copy(update={"verifier": task.file.verifier.model_copy(update=changed)}))


_AGENTS_PATH = re.compile(r"(?<![\w./-])/(?:workspace|app|home|root|work|data|output|results?|submission|tmp)/[\w./-]*\w")


def handed_in(target: Target) -> list[str]:
    """Return the declared artifacts and, if the verifier shares the agent's machine, paths named in tests and instruction."""
    named: set[str] = set()
    if target.shares_verifier:
        texts = [target.task.path / "instruction.md", *files_of(target.task.path / "tests")]
        for path in texts:
            named.update(_AGENTS_PATH.findall(path.read_text(encoding="utf-8", errors="replace")))
    return list(dict.fromkeys([*target.artifacts, *sorted(named)]))


T = TypeVar("T")


def affordable(task: Task, requests: Sequence[T]) -> Iterator[list[T]]:
    """Yield the requests in batches, one per episode, that fit the task's budget of steps and virtual seconds."""
    assert task.parley is not None, "a foreign task has no budgets"
    budgets, cost = task.parley.budgets, max(task.parley.costs["request"], 0.001)
    most = max(1, min(budgets.steps, int(budgets.virtual_seconds / cost)))
    for start in range(0, len(requests), most):
        yield list(requests[start : start + most])
