"""The model as an agent: a conversation (`conversation`) with a model client, or with replies that are known already.

A conversation that outgrows the model is a budget used up, `context`. The trajectory is saved in `finally`, so a crashed or
cancelled episode keeps all that happened before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.agent import AgentIdentity, AgentSpec, Budget, Report
from harness.agents.llm.completion import Completion, add_usage
from harness.agents.llm.conversation import Speech, ToolConversation, prompt_digest
from harness.agents.llm.failures import CallFailure, ContextFull, UnreadableCall
from harness.agents.llm.interface import INTERFACES, Interface
from harness.agents.llm.local import FREE, LOCAL
from harness.agents.llm.meter import Meter
from harness.agents.llm.model import ModelClient, ModelSettings, hides_tools, to_stderr
from harness.agents.llm.provider import public_address
from harness.agents.llm.replies import ConversationPlace, Interlocutor, Replies
from harness.agents.trajectory import Trajectory
from harness.errors import BoundaryError, HarnessError, SetupFault, UsageError
from harness.pod import Pod
from harness.prices import Price
from harness.registry import Task


@dataclass(frozen=True)
class LlmConfig(ModelSettings):
    """Which model plays, and how: settings of its client, and of the conversation; `prices` count before LiteLLM's own."""

    interface: str = "shell"
    handles: bool = False
    """Whether the tool interface offers `store` and resolves @HANDLE:name; the world option of the same name."""

    protocol: str = "tools"
    prices: Mapping[str, Price] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: AgentSpec, *, handles: bool = False, meter: Meter | None = None) -> LlmConfig:
        """How the models of a spec are asked; the model is "" where the spec names a policy."""
        return cls(
            spec.model or "", spec.api_base, temperature=spec.temperature, max_tokens=spec.max_tokens, context=spec.context,
            timeout_s=spec.timeout_s, patience_s=spec.patience_s, meter=meter, interface=spec.interface, handles=handles,
            protocol=spec.protocol, prices=spec.prices,
        )  # fmt: skip

    def settings(self, model: str | None = None) -> ModelSettings:
        """The client's part, for another model where one is named; the model `local` has an address and a price of its own."""
        name = model or self.name
        price = self.prices.get(name) or (FREE if name == LOCAL else None)
        return replace(self, name=name, api_base=None if name == LOCAL else self.api_base, price=price)


class LlmAgent:
    """Plays tasks through one interface; games are played by `harness.agents.seating`."""

    name = "llm"
    only_computes = False

    def __init__(self, config: LlmConfig, *, say: Callable[[str], None] = to_stderr, replies: Replies | None = None) -> None:
        """`replies`: what models said before, which is not asked again."""
        self.config = config
        self.client, self.replies = ModelClient(config.settings(), say=say), replies
        self.interface = Interface(config.interface, handles=config.handles)
        self.speech = Speech(config.protocol)
        self._sees_tools: bool | None = None
        """Whether the prompt that the model reads holds the tools, once that was looked at."""

        self.prompt_digest = prompt_digest(self.interface, self.speech)

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Only the shell needs hands; raises UsageError for an interface that the task or the runtime does not have."""
        has = task.parley.interfaces if task.parley else ("shell",)
        if self.interface.name not in has:
            hint = f"--interface {has[0]}" if set(has) & set(INTERFACES) else f"harness show {task.task_id}"
            raise UsageError(f"{task.task_id} has the interfaces {', '.join(has)}, not {self.interface.name}", hint=hint)
        return self.interface.needs_main(runtime)

    @property
    def offers_tools(self) -> bool:
        """True where its requests hold tools."""
        return bool(self.speech.offered(self.interface.tools))

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
        report.agent, report.model, report.interface = self.name, self.config.name, self.interface.name
        report.prompt_digest, report.requested = self.prompt_digest, dict(self.client.requested)
        report.effective = self.client.effective
        session, extra = f"{task.task_id}-s{seed}", self.identity().conditions()
        trajectory = Trajectory(
            session, f"{session}-{self.name}", self.name, self.config.name, tools=self.interface.tools, extra=extra
        )
        conversation = ToolConversation(self.interface, self.speech, task, pod, budget, report, trajectory)
        try:
            self._converse(conversation, ConversationPlace(task.task_id, seed, attempt), report)
        except HarnessError as failure:
            if isinstance(failure, SetupFault):
                base = f" --api-base {public_address(self.config.api_base)}" if self.config.api_base else ""
                command = f"harness run {task.task_id} --model {self.config.name}{base} --interface {self.interface.name}"
                failure.hint = f"{command} {failure.hint}"
            conversation.note(f"ended: {failure}")
            raise
        finally:
            report.effective = self.client.effective
            conversation.save()

    def _converse(self, conversation: ToolConversation, place: ConversationPlace, report: Report) -> None:
        """Ask until the model is done or a budget is used up."""
        asked: Interlocutor = self.replies.conversation(self.client, place) if self.replies else self.client
        while (cause := conversation.used_up(self.client.settings.name, self.client.say_once)) is None:
            try:
                said = asked.complete(conversation.messages, conversation.offered)
                if conversation.hear(said):
                    if report.ended_by == "no_action" and not self.speech.has_called:
                        self._check_tools(asked, conversation.messages[:-1], said, report)
                    return
            except UnreadableCall as unread:
                conversation.unread(unread.waited_s)
            except ContextFull as full:
                if conversation.turns == 0:
                    told = f"the first request of the episode is longer than the model's context: {full}"
                    raise SetupFault(told, "context_too_small", hint="a model or a server with a larger context") from None
                conversation.waited_s += full.waited_s
                conversation.note(f"the conversation is longer than the model's context: {full}")
                cause = "context"
                break
        conversation.stop(cause)
        conversation.check_cut_off()

    def _check_tools(self, asked: Interlocutor, messages: Sequence[dict[str, Any]], said: Completion, report: Report) -> None:
        """Raise SetupFault where the server counts as many tokens for a prompt without the tools as for the same with them."""
        if self._sees_tools is None:
            try:
                bare = asked.complete(messages)
            except (BoundaryError, CallFailure):
                return
            add_usage(report.usage, bare.usage)
            self._sees_tools = not hides_tools(said, bare, messages)
        if not self._sees_tools:
            what = "the model was never shown the tools: its prompt has as many tokens without them"
            raise SetupFault(f"{what}; run with --protocol text", "tools_not_seen", hint="--protocol text")
