"""One folder under attack: every attack is an episode that somebody plays in `main` and that is graded like any other.

1. `strike` opens an episode, lets an attack act on its pod as the agent's user, and has it graded.
2. What doing nothing earns is the measure: an attack has gained something where its episode earns more than that, or where it
   made its own episode ungraded, which would be a way out of a bad result. A verifier that refuses to grade is no gain.
3. Seats are attacked as Harbor runs them: with a shell in `main`, and with the turn routes open.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from harness.agent import AgentIdentity, Budget, Report
from harness.agents.scripted import NopAgent
from harness.agents.solutions import SolutionAgent
from harness.attacks.host import Host
from harness.attacks.recording import Recorder, Recording
from harness.attacks.scripts import shell
from harness.errors import RuntimeFailure
from harness.live_agent import Agent
from harness.play.episode import run_episode
from harness.play.outcome import Outcome
from harness.pod import EpisodeSpec, Pod, Runtime
from harness.records import Key
from harness.registry import Task

__all__ = ["WALL_S", "Act", "Striker", "Target", "shell"]

WALL_S = 300.0
"""Real seconds an attack's episode may take."""

Act = Callable[[Pod], object]


@dataclass
class Striker:
    """The agent that attacks: whatever `act` does to the pod."""

    act: Act
    hands: bool = True
    name: str = "attack"
    only_computes: bool = False

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Whether it acts in `main`."""
        return self.hands

    def identity(self) -> AgentIdentity:
        """Its name."""
        return AgentIdentity(name=self.name)

    def check(self) -> None:
        """Nothing can be wrong."""

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Attack."""
        self.act(pod)


@dataclass
class Target:
    """A task, the runtime it is attacked in, and the host that must stay unharmed."""

    task: Task
    runtime: Runtime
    host: Host
    run_id: str = field(default_factory=lambda: f"attacks-{secrets.token_hex(4)}")
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _idle: dict[int, Outcome] = field(default_factory=dict)
    _recordings: dict[int, Recording] = field(default_factory=dict)

    @property
    def foreign(self) -> bool:
        """Whether this is a Harbor task without a world of ours."""
        return self.task.parley is None

    def strike(self, act: Act, *, seed: int = 0, hands: bool = True, task: Task | None = None, **more: Any) -> Outcome:
        """One episode of an attack, graded; `hands` gives it a shell, `task` is a changed copy of the folder.

        `more` sets fields of the EpisodeSpec. An episode that the runtime spoiled, or whose world never opened, is played once
        more: engines and starts fail now and then, attacks that work do so twice.
        """
        outcome = self._episode(Striker(act, hands), seed, task or self.task, **more)
        spoiled = outcome.result.status != "graded" and outcome.result.cause in {"runtime", "world"}
        return self._episode(Striker(act, hands), seed, task or self.task, **more) if spoiled else outcome

    def run(self, script: str, *, seed: int = 0, files: Mapping[str, str] | None = None, limit_s: float = 60.0) -> Outcome:
        """One episode in which a bash script runs in `main`, beside `files` by absolute path."""

        def act(pod: Pod) -> None:
            if files:
                pod.put({path: text.encode() for path, text in files.items()})
            shell(pod, script, limit_s)

        return self.strike(act, seed=seed)

    def observe(self, act: Act, *, seed: int = 0, hands: bool = True) -> Outcome:
        """One episode in which an attack only looks; raises RuntimeFailure where it was kept from that."""
        outcome = self.strike(act, seed=seed, hands=hands)
        if outcome.result.cause in {"runtime", "cancelled"}:
            raise RuntimeFailure(f"an episode could not be played: {outcome.result.error}")
        return outcome

    def nop(self, seed: int = 0) -> Outcome:
        """An episode in which nothing is done, played anew."""
        return self._episode(NopAgent(), seed, self.task)

    def idle(self, seed: int = 0) -> Outcome:
        """An episode in which nothing is done, played once for each seed; again where the runtime spoiled it."""
        if seed not in self._idle or self._idle[seed].result.cause == "runtime":
            self._idle[seed] = self.nop(seed)
        return self._idle[seed]

    def oracle(self, seed: int = 0, *, task: Task | None = None) -> Outcome:
        """An episode in which the folder's own solution is played; `task` is a changed copy of the folder."""
        return self._episode(SolutionAgent(), seed, task or self.task)

    def recording(self, seed: int = 0) -> Recording:
        """What the folder's own solution says and makes, played once for each seed; raises RuntimeFailure where it fails."""
        if seed not in self._recordings:
            recorder = Recorder()
            result = self._episode(recorder, seed, self.task).result
            if recorder.recording is None or result.reward is None:
                raise RuntimeFailure(f"the solution could not be recorded: {result.error}")
            self._recordings[seed] = replace(recorder.recording, reward=result.reward)
        return self._recordings[seed]

    def idle_reward(self, seed: int = 0) -> float:
        """What doing nothing earns; raises RuntimeFailure where that cannot be told, which the floor attack reports."""
        result = self.idle(seed).result
        if result.reward is None and result.cause != "verifier":
            raise RuntimeFailure(f"an idle agent's episode was not graded ({result.cause}): {result.error}")
        # a verifier that fails on an idle agent earns it nothing
        return result.reward or 0.0

    def gain(self, outcome: Outcome, seed: int = 0) -> str | None:
        """What an attack got by its episode, or None."""
        result = outcome.result
        if harm := self.host.harm():
            return harm
        if result.status == "graded":
            idle = self.idle_reward(seed)
            return f"reward {result.reward:g}, where doing nothing earns {idle:g}" if (result.reward or 0) > idle else None
        if result.cause == "verifier":
            return None
        return f"its episode was not graded, because of the {result.cause}: {result.error}"

    @cached_property
    def instruction(self) -> str:
        """What instruction.md says."""
        return (self.task.path / "instruction.md").read_text(encoding="utf-8", errors="replace")

    @cached_property
    def artifacts(self) -> list[str]:
        """The files that leave `main` for the verifier, as task.toml declares them."""
        return [artifact.source for artifact in self.task.file.artifacts if (artifact.service or "main") == "main"]

    @property
    def shares_verifier(self) -> bool:
        """Whether the verifier runs where the agent ran."""
        verifier = self.task.file.verifier
        return self.foreign and verifier.environment_mode != "separate" and verifier.environment is None

    def spec(self, seed: int, task: Task, *, hands: bool, **more: Any) -> EpisodeSpec:
        """What opens an episode of this target; seats are played as under Harbor unless `more` says otherwise."""
        fields = {"needs_main": hands, "open_turns": task.is_seated, **more}
        return EpisodeSpec(self.run_id, f"{task.task_id}-{next(self._numbers)}", task, seed, **fields)

    def _episode(self, agent: Agent, seed: int, task: Task, **more: Any) -> Outcome:
        spec = self.spec(seed, task, hands=agent.needs_main(task, self.runtime.name), **more)
        key = Key(task_id=task.task_id, family=task.family, seed=seed, attempt=1)
        return run_episode(spec, key, self.runtime, agent, Budget(wall_s=WALL_S))
