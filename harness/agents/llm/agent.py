"""The model as an agent: step, query, execute, and everything that happens becomes a message.

1. `step` is one answer of the model and the actions it asked for. The episode ends when the model submits, answers in plain
   text, or a budget is used up. Budgets are looked at before each query, so an answer once paid for is carried out.
2. Mistakes of the model (unknown tool, malformed arguments, a reply cut off at its limit) are told back to it. Failures of
   the provider leave as ProviderFailure. A conversation that outgrows the model is a budget used up, `context`.
3. What the provider kept the agent waiting for (failed attempts, pauses) does not count as wall time.
4. The trajectory is saved in `finally`, so a crashed or cancelled episode keeps all that happened before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.agent import AgentIdentity, AgentSpec, Budget, Report, Usage
from harness.agents.llm.completion import Action, Completion, add_usage
from harness.agents.llm.interface import ActionResult, Interface, Mistake
from harness.agents.llm.meter import Meter
from harness.agents.llm.model import ModelClient, ModelSettings, to_stderr
from harness.agents.llm.prompting import prompt_digest, system_prompt
from harness.agents.llm.provider import ContextFull, UnreadableCall
from harness.agents.llm.shell import ShellInterface
from harness.agents.llm.speech import SPEECHES, Speech
from harness.agents.llm.tool import ToolInterface
from harness.agents.trajectory import ToolCall, Trajectory
from harness.errors import HarnessError, UsageError
from harness.pod import Pod
from harness.prices import Price
from harness.registry import Task

INTERFACES = ("shell", "tool")

UNREADABLE = "Your reply could not be read: the arguments of its tool call are no JSON that can be parsed. Nothing was run."

CUT_OFF = "Your reply was cut off at its limit of tokens, before any action. Go on, more briefly."


@dataclass(frozen=True)
class LlmConfig:
    """Which model plays, and how."""

    model: str
    """As LiteLLM names it."""

    interface: str = "shell"
    """`shell` (a sandbox) or `tool` (every byte passes through the model)."""

    api_base: str | None = None
    """Base URL of an OpenAI-compatible server."""

    temperature: float | None = 0.0
    """Left out, and said so, where the model refuses it."""

    max_tokens: int | None = None
    """Most output tokens of one answer."""

    handles: bool = False
    """Whether the tool interface offers `store` and resolves @HANDLE:name; the world option of the same name."""

    protocol: str = "tools"
    """`tools`, or `text` for models without tool calls."""

    timeout_s: float = 300.0
    """Real seconds one call may be silent."""

    patience_s: float = 600.0
    """Real seconds in which a failing call is repeated."""

    first_pause_s: float = 1.0
    """Where exponential pauses between attempts start."""

    api_key: str | None = field(default=None, repr=False)
    """None: from the environment."""

    prices: Mapping[str, Price] = field(default_factory=dict)
    """Of models, where LiteLLM's own do not count."""

    meter: Meter | None = field(default=None, repr=False)
    """Counts the calls of the whole run."""

    @classmethod
    def of(cls, spec: AgentSpec, *, handles: bool = False, meter: Meter | None = None) -> LlmConfig:
        """How the models of a spec are asked; the model is "" where the spec names a policy."""
        how = (spec.interface, spec.api_base, spec.temperature, spec.max_tokens)
        return cls(spec.model or "", *how, handles=handles, protocol=spec.protocol, prices=spec.prices, meter=meter)

    def settings(self, model: str | None = None) -> ModelSettings:
        """The client's part, for another model where one is named."""
        return ModelSettings(
            name=model or self.model,
            api_base=self.api_base,
            api_key=self.api_key,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            timeout_s=self.timeout_s,
            patience_s=self.patience_s,
            first_pause_s=self.first_pause_s,
            price=self.prices.get(model or self.model),
            meter=self.meter,
        )


class LlmAgent:
    """Plays tasks through one interface; games are played by `harness.agents.seating`."""

    name = "llm"
    only_computes = False

    def __init__(self, config: LlmConfig, *, say: Callable[[str], None] = to_stderr) -> None:
        if config.protocol not in SPEECHES:
            raise UsageError(f"protocol must be one of {', '.join(SPEECHES)}, not {config.protocol!r}")
        self.config = config
        self.client = ModelClient(config.settings(), say=say)
        self.interface = _interface(config.interface, handles=config.handles)
        self.speech: Speech = SPEECHES[config.protocol]()
        self.prompt_digest = prompt_digest(self.interface, self.speech)

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Only the shell needs hands; raises UsageError for an interface that the task or the runtime does not have."""
        has = task.parley.interfaces if task.parley else ("shell",)
        if self.interface.name not in has:
            hint = f"--interface {has[0]}" if set(has) & set(INTERFACES) else f"harness show {task.task_id}"
            raise UsageError(f"{task.task_id} has the interfaces {', '.join(has)}, not {self.interface.name}", hint=hint)
        return self.interface.needs_main(runtime)

    def identity(self) -> AgentIdentity:
        """What the frozen plan holds; no key is part of it."""
        return AgentIdentity(
            name=self.name, **self.client.identity(), interface=self.interface.name, protocol=self.speech.name,
            prompt_digest=self.prompt_digest,
        )  # fmt: skip

    def check(self) -> None:
        """Raise UsageError for an unknown provider or a missing key; settle the parameters."""
        self.client.check()

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Play one episode; raises ProviderFailure, and whatever the pod raises."""
        episode = _Episode(self, task, seed, pod, budget, report)
        try:
            episode.run()
        except HarnessError as failure:
            episode.note(f"ended: {failure}")
            raise
        finally:
            episode.save()


class _Episode:
    """The state of one episode while it is played."""

    def __init__(self, agent: LlmAgent, task: Task, seed: int, pod: Pod, budget: Budget, report: Report) -> None:
        self.client, self.speech, self.interface = agent.client, agent.speech, agent.interface
        self.pod, self.budget, self.report = pod, budget, report
        self.hands = agent.interface.hands(task, pod)
        self.started, self.waited_s, self.turns = time.monotonic(), 0.0, 0
        self.messages: list[dict[str, Any]] = []
        self.trajectory = _begin(agent, task, seed)
        self._fill(agent)
        prompt = system_prompt(agent.interface, agent.speech, task, budget)
        self._tell({"role": "system", "content": prompt})
        self._tell({"role": "user", "content": pod.instruction})

    def run(self) -> None:
        """Step until the model is done or a budget is used up."""
        while (cause := self._used_up()) is None:
            try:
                if self.step():
                    return
            except UnreadableCall:
                self._unread()
            except ContextFull as full:
                self.note(f"the conversation is longer than the model can read: {full}")
                cause = "context"
                break
        self.report.stopped_by = cause
        self.note(f"stopped: the budget of {cause} is used up")
        self.pod.stop(cause)

    def step(self) -> bool:
        """One query and what it asks for; whether the episode is over."""
        said, actions = self.query()
        return self.execute(said, actions)

    def query(self) -> tuple[Completion, tuple[Action, ...]]:
        """Ask the model, and write down what it said and what that took."""
        said = self.client.complete(self.messages, self.speech.offered(self.interface.tools))
        self.turns += 1
        self.waited_s += said.waited_s
        add_usage(self.report.usage, said.usage)
        self.messages.append(said.message)
        actions = self.speech.actions(said, self.turns)
        self.report.tool_calls += len(actions)
        self.trajectory.agent(
            said.text,
            tool_calls=[ToolCall(a.call_id, a.tool, a.arguments) for a in actions],
            metrics=said.usage,
            reasoning=said.reasoning,
            extra={"finish_reason": said.finish_reason},
        )
        self._log(said, actions)
        return said, actions

    def execute(self, said: Completion, actions: Sequence[Action]) -> bool:
        """Carry out the actions in order and tell the model; whether that ended the episode."""
        if not actions and said.cut_off:
            self._tell({"role": "user", "content": CUT_OFF})
            return False
        done = not actions
        for action in actions:
            result = (
                ActionResult("not run: the episode is over", done=True) if done else self._act(action, cut_off=said.cut_off)
            )
            done = result.done
            self.trajectory.observe(result.text, action.call_id)
            self.messages.append(self.speech.told(action, result.text))
        return done

    def note(self, line: str) -> None:
        """Write down a word of the harness, which the model does not see."""
        self.report.log.append(line)
        self.trajectory.system(line)

    def save(self) -> None:
        """Put what happened in the report."""
        if self.waited_s:
            self.report.log.append(f"waited {self.waited_s:.1f} s for the provider, not counted as wall time")
        self.report.effective = self.client.effective
        self.report.trajectory = self.trajectory.to_dict(extra={"provider_wait_s": round(self.waited_s, 3)})

    def _unread(self) -> None:
        """Tell the model that what it said broke its reader; what that cost, nobody can say."""
        self.turns += 1
        add_usage(self.report.usage, Usage(calls=1, estimated=True))
        self.report.log.append(f"turn {self.turns}: the reply could not be read")
        self._tell({"role": "user", "content": UNREADABLE})

    def _act(self, action: Action, *, cut_off: bool) -> ActionResult:
        left = self.budget.seconds(game=False) - self._seconds()
        if left <= 0:
            return ActionResult("not run: the time of this episode is used up")
        if action.problem:
            why = "; the reply was cut off at its limit of tokens" if cut_off else ""
            return ActionResult(f"not run: {action.problem}{why}")
        try:
            return self.hands.act(action.tool, action.arguments, left)
        except Mistake as mistake:
            return ActionResult(str(mistake))

    def _used_up(self) -> str | None:
        """The budget that forbids another query; `pod.stop` takes its name."""
        return self.budget.used_up(
            self.report.usage, turns=self.turns, seconds=self._seconds(), game=False,
            models=self.client.settings.name, say_once=self.client.say_once,
        )  # fmt: skip

    def _seconds(self) -> float:
        return time.monotonic() - self.started - self.waited_s

    def _tell(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        (self.trajectory.system if message["role"] == "system" else self.trajectory.user)(message["content"])

    def _fill(self, agent: LlmAgent) -> None:
        report = self.report
        report.agent, report.model, report.interface = agent.name, agent.config.model, agent.interface.name
        report.prompt_digest = agent.prompt_digest
        report.requested, report.effective = dict(agent.client.requested), agent.client.effective

    def _log(self, said: Completion, actions: Sequence[Action]) -> None:
        usage, did = said.usage, ", ".join(a.tool or "?" for a in actions) or "plain answer"
        tokens = f"{usage.prompt_tokens} in ({usage.cached_tokens} cached), {usage.completion_tokens} out"
        waited = f", waited {said.waited_s:.1f} s" if said.waited_s > 1 else ""
        self.report.log.append(f"turn {self.turns}: {did}; tokens {tokens}{waited}")


def _begin(agent: LlmAgent, task: Task, seed: int) -> Trajectory:
    session = f"{task.task_id}-s{seed}"
    tools, extra = agent.interface.tools, agent.identity().conditions()
    return Trajectory(session, f"{session}-{agent.name}", agent.name, agent.config.model, tools=tools, extra=extra)


def _interface(name: str, *, handles: bool) -> Interface:
    if name == ShellInterface.name:
        return ShellInterface()
    if name == ToolInterface.name:
        return ToolInterface(handles=handles)
    raise UsageError(f"interface must be one of {', '.join(INTERFACES)}, not {name!r}")
