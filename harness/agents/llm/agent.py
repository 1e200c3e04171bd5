"""Model agent: a conversation about one task, with a model client or with cached replies.

1. `ToolConversation` is a state machine that calls no model, so that a training loop can drive it too: the prompt is in
`messages`, and the reply goes to `hear`. Actions are tool calls, or, for models without tools, one fenced block of JSON:
{"tool": ..., "arguments": {...}}, parsed by the rule of `worlds.core.replies`, without repair.
2. The model is told about its mistakes, and about a reply that was truncated, empty, or wrote a tool call as text.
3. Budgets are checked before each call, so every reply that was paid for is executed. The trajectory is saved in `finally`, so
a crashed episode keeps everything before the crash.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from harness.agent import LOCAL, AgentSpec, Budget, Report, Usage
from harness.agents.llm.completion import Action, Completion, add_usage, as_text, is_written_call, read_action, told_tokens
from harness.agents.llm.failures import CallFailure, ContextOverflow, MalformedToolCall
from harness.agents.llm.interface import INTERFACES, PROMPTS, ActionResult, Interface, Mistake
from harness.agents.llm.local import FREE
from harness.agents.llm.meter import Meter
from harness.agents.llm.model import ModelClient, ModelSettings, hides_tools
from harness.agents.llm.response_cache import ConversationPlace, Interlocutor, ResponseCache
from harness.agents.llm.wire_log import keep_wire
from harness.agents.trajectory import ToolCall, Trajectory
from harness.causes import CauseName
from harness.errors import BoundaryError, HarnessError, SetupFault, UsageError
from harness.live_agent import Agent
from harness.log_context import to_stderr
from harness.pod import Pod
from harness.prices import Price
from harness.registry import Task
from harness.secrets import public_address
from worlds.core.replies import AnswerShape, parse_string, read_answer, replace_surrogates

Tools = Sequence[dict[str, Any]]

PROTOCOLS = ("tools", "text")
UNREADABLE = "Your reply could not be read: the arguments of its tool call are no JSON that can be parsed. Nothing was run."
CUT_OFF = "Your reply was cut off at its limit of tokens, before any action. Go on, more briefly."
EMPTY = "Your reply was empty: it held neither text nor a tool call. Go on."
NOT_CALLED = "Your reply wrote a tool call as text, so nothing was run. Call the tool with a tool call."

MOST_UNUSABLE, MOST_CUT_OFF = 3, 8
"""Number of consecutive unusable replies that ends an episode. As many truncated replies indicate a wrong set-up."""


class ToolFormat:
    """Protocol for requesting and parsing actions; one object serves all episodes of a client."""

    def __init__(self, name: str) -> None:
        """Create the protocol of this name; raises UsageError if there is none."""
        if name not in PROTOCOLS:
            raise UsageError(f"protocol must be one of {', '.join(PROTOCOLS)}, not {name!r}")
        self.name, self._is_text = name, name == "text"
        self.has_called = self._is_text
        """False until a tool call has arrived in the expected form."""

    def offered(self, tools: Tools) -> Tools:
        """Return the tools to send in the request; empty for plain text, because then the system prompt shows the tools."""
        return () if self._is_text else tools

    def heard(self, said: Completion) -> Completion:
        """Return a reply as it is added to the conversation; in plain text, a call that a server parsed becomes text again."""
        return as_text(said, named=True) if self._is_text else said

    def actions(self, said: Completion, turn: int) -> tuple[Action, ...]:
        """Return the actions that the model requests, or one action with a problem to report; empty if there are none."""
        if self._is_text:
            action = _spoken(said.text)
            return (replace(action, call_id=f"text_{turn}"),) if action else ()
        self.has_called = self.has_called or bool(said.actions)
        return said.actions

    def told(self, action: Action, text: str) -> dict[str, Any]:
        """Return the message that tells the model the result of an action."""
        if self._is_text:
            return {"role": "user", "content": f"Answer of {action.tool}:\n{text}" if action.tool else text}
        return {"role": "tool", "tool_call_id": action.call_id, "content": text}


def system_prompt(interface: Interface, speech: ToolFormat, task: Task, budget: Budget) -> str:
    """Return the system prompt of a task; foreign tasks have no budgets of ours."""
    # Prompts are plain text: escaping would change the schemas they show.
    environment = Environment(loader=FileSystemLoader(PROMPTS), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    environment.filters["json"] = json.dumps
    # The prompt shows the tools if the request does not contain them.
    shown = () if speech.offered(interface.tools) else interface.tools
    budgets = task.parley.budgets if task.parley else None
    template = environment.get_template(interface.template)
    return template.render(
        budgets=budgets, turns=budget.turns, shown_tools=shown, tools=[tool["function"]["name"] for tool in interface.tools]
    ).strip()


class ToolConversation:
    """State of one episode while it is played."""

    def __init__(
        self,
        interface: Interface,
        speech: ToolFormat,
        task: Task,
        pod: Pod,
        budget: Budget,
        report: Report,
        trajectory: Trajectory,
    ) -> None:
        self.messages: list[dict[str, Any]] = []
        self.offered = speech.offered(interface.tools)
        self.turns, self.waited_s = 0, 0.0
        self._unusable = self._cut_off = 0
        self._speech, self._pod, self._budget, self._report = speech, pod, budget, report
        self._hands, self._started = interface.hands(task, pod), time.monotonic()
        self._trajectory = trajectory
        self._tell({"role": "system", "content": system_prompt(interface, speech, task, budget)})
        self._tell({"role": "user", "content": pod.instruction})

    def hear(self, said: Completion) -> bool:
        """Record a reply and execute its actions; return True if the episode is over."""
        said = self._speech.heard(said)
        self.turns += 1
        self.waited_s += said.waited_s
        add_usage(self._report.usage, said.usage)
        if said.lost_reasoning:
            self._report.disturbed["reasoning_dropped"] += 1
        self.messages.append(said.message)
        actions = self._speech.actions(said, self.turns)
        self._report.tool_calls += len(actions)
        self._trajectory.agent(
            said.text,
            tool_calls=[ToolCall(a.call_id, a.tool, a.arguments) for a in actions],
            metrics=said.usage,
            reasoning=said.reasoning,
            extra={"finish_reason": said.finish_reason},
        )
        self._log(said, actions)
        self._cut_off += said.cut_off and all(action.problem for action in actions)
        if self._cut_off >= MOST_CUT_OFF:
            self.check_cut_off()
        return self._execute(said, actions) if actions else self._is_last_word(said)

    def check_cut_off(self) -> None:
        """Raise SetupFault if every reply so far was truncated before it did anything."""
        if self._cut_off == self.turns > 0:
            told = f"all {self.turns} replies were cut off at the limit of output tokens; give more with --reply-tokens"
            raise SetupFault(told, "always_cut_off", hint="--reply-tokens N, larger than before")

    def unread(self, waited_s: float) -> None:
        """Tell the model that its reply could not be parsed. The cost of the reply is unknown."""
        keep_wire()
        self.waited_s += waited_s
        self.turns += 1
        add_usage(self._report.usage, Usage(calls=1, estimated=True))
        self._report.log.append(f"turn {self.turns}: the reply could not be read")
        self._tell({"role": "user", "content": UNREADABLE})

    def used_up(self, models: str, say_once: Callable[[str], None]) -> str | None:
        """Return the exhausted budget that forbids another call, or None; calls `say_once` if `models` have no known price."""
        return self._budget.used_up(
            self._report.usage, turns=self.turns, seconds=self._seconds(), game=False, models=models, say_once=say_once
        )

    def stop(self, cause: str) -> None:
        """End the episode because a budget is used up."""
        self._report.stopped_by = cause
        self.note(f"stopped: the budget of {cause} is used up")
        self._pod.stop(cause)

    def note(self, line: str) -> None:
        """Record a message of the harness that is not shown to the model."""
        self._report.log.append(line)
        self._trajectory.system(line)

    def save(self) -> None:
        """Write the conversation to the report."""
        if self.waited_s:
            self._report.log.append(f"waited {self.waited_s:.1f} s for the provider, not counted as wall time")
        self._report.trajectory = self._trajectory.to_dict(extra={"provider_wait_s": round(self.waited_s, 3)})

    def _is_last_word(self, said: Completion) -> bool:
        """Return True if a reply without an action ends the episode; raises SetupFault for a tool call that arrived as text."""
        cause: CauseName = "no_action"
        if said.cut_off:
            told = CUT_OFF
        elif said.is_empty:
            cause, told = "empty_replies", EMPTY
        elif said.finish_reason in {"tool_calls", "function_call"} or is_written_call(said.text, self.offered):
            if not self._speech.has_called:
                what = "the server returned a tool call as text, and has returned none as a tool call"
                raise SetupFault(f"{what}; run with --protocol text", "tools_not_parsed", hint="--protocol text")
            told = NOT_CALLED
        else:
            self._report.ended_by = "refusal" if said.is_refusal else None if self._report.tool_calls else "no_action"
            return True
        self._unusable += not said.cut_off
        if self._unusable >= MOST_UNUSABLE:
            self._report.ended_by = cause
            self.note(f"ended: {MOST_UNUSABLE} replies in a row held no action that can be carried out")
            return True
        self._tell({"role": "user", "content": told})
        return False

    def _execute(self, said: Completion, actions: Sequence[Action]) -> bool:
        """Execute the actions in order and add the results to the conversation. Return True if that ended the episode."""
        done, self._unusable = False, 0
        for action in actions:
            result = (
                ActionResult("not run: the episode is over", done=True) if done else self._act(action, cut_off=said.cut_off)
            )
            done = result.done
            self._trajectory.observe(result.text, action.call_id)
            self.messages.append(self._speech.told(action, result.text))
        return done

    def _act(self, action: Action, *, cut_off: bool) -> ActionResult:
        left = self._budget.seconds(game=False) - self._seconds()
        if left <= 0:
            return ActionResult("not run: the time of this episode is used up")
        if action.problem:
            why = "; the reply was cut off at its limit of tokens" if cut_off else ""
            return ActionResult(f"not run: {action.problem}{why}")
        try:
            return self._hands.act(action.tool, action.arguments, left)
        except Mistake as mistake:
            return ActionResult(str(mistake))

    def _seconds(self) -> float:
        return time.monotonic() - self._started - self.waited_s

    def _tell(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        (self._trajectory.system if message["role"] == "system" else self._trajectory.user)(message["content"])

    def _log(self, said: Completion, actions: Sequence[Action]) -> None:
        is_odd = "cut off" if said.cut_off else "empty" if said.is_empty else ""
        nothing = f"{is_odd} (finish reason {said.finish_reason})" if is_odd else "plain answer"
        did = ", ".join(a.tool or "?" for a in actions) or nothing
        waited = f", waited {said.waited_s:.1f} s" if said.waited_s > 1 else ""
        cut = f", {said.left_out} characters of its text are left out of the record" if said.left_out else ""
        self._report.log.append(f"turn {self.turns}: {did}; tokens {told_tokens(said.usage)}{waited}{cut}")


def _spoken(text: str) -> Action | None:
    reading = read_answer(text, _CALL)
    if reading.value is not None:
        tool, arguments = reading.value
        if isinstance(tool, str) and isinstance(arguments, dict):
            return read_action("", tool, arguments)
        return Action("", replace_surrogates(str(tool)), {"_raw": text}, "tool must be a name and arguments an object")
    if reading.is_refused or reading.is_broken:
        return Action("", "", {"_raw": text}, f"this reply is not one action in JSON: {reading.problem}")
    return None


def _call(value: Any) -> Sequence[tuple[Any, Any]]:
    """Return the tool and arguments of a call; some models write arguments as a string of JSON."""
    named = isinstance(value, dict) and "tool" in value
    return [(value["tool"], parse_string(value.get("arguments", {})))] if named else []


_CALL = AnswerShape('one JSON object with "tool"', _call, key="tool")


@dataclass(frozen=True)
class LlmConfig(ModelSettings):
    """Model of an agent, with the settings of its client and its conversation; `prices` take precedence over LiteLLM's."""

    interface: str = "shell"
    handles: bool = False
    """True if the tool interface offers `store` and resolves @HANDLE:name; the world option `handles` sets it."""

    protocol: str = "tools"
    prices: Mapping[str, Price] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: AgentSpec, *, handles: bool = False, meter: Meter | None = None) -> LlmConfig:
        """Return the configuration for the models of a spec; the model is "" if the spec names a policy."""
        return cls(
            spec.model or "", spec.api_base, temperature=spec.temperature, max_tokens=spec.max_tokens, context=spec.context,
            timeout_s=spec.timeout_s, patience_s=spec.patience_s, meter=meter, interface=spec.interface, handles=handles,
            protocol=spec.protocol, prices=spec.prices,
        )  # fmt: skip

    def settings(self, model: str | None = None) -> ModelSettings:
        """Return the client settings, for another model if one is named. The model `local` has its own address and price."""
        name = model or self.name
        price = self.prices.get(name) or (FREE if name == LOCAL else None)
        return replace(self, name=name, api_base=None if name == LOCAL else self.api_base, price=price)


class LlmAgent(Agent):
    """Agent that plays tasks through one interface; games are played by `harness.agents.seats`."""

    name = "llm"

    def __init__(
        self, config: LlmConfig, *, say: Callable[[str], None] = to_stderr, replies: ResponseCache | None = None
    ) -> None:
        """Create the agent; `replies` is the cache of model replies."""
        self.config = config
        self.client, self.replies = ModelClient(config.settings(), say=say), replies
        self.interface = Interface(config.interface, handles=config.handles)
        self.speech = ToolFormat(config.protocol)
        self._sees_tools: bool | None = None
        self.prompt_digest = self.interface.prompt_digest(self.speech.name)

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Return True if the interface needs `main`.

        Raises UsageError if the task or the runtime does not support the interface.
        """
        has = task.parley.interfaces if task.parley else ("shell",)
        if self.interface.name not in has:
            hint = f"--interface {has[0]}" if set(has) & set(INTERFACES) else f"harness show {task.task_id}"
            raise UsageError(f"{task.task_id} has the interfaces {', '.join(has)}, not {self.interface.name}", hint=hint)
        return self.interface.needs_main(runtime)

    def check(self) -> None:
        """Raise UsageError for an unknown provider or a missing key; determine the parameters."""
        self.client.check()

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Play one episode; raises ProviderFailure, and any exception of the pod."""
        report.agent, report.model, report.interface = self.name, self.config.name, self.interface.name
        report.prompt_digest, report.requested = self.prompt_digest, dict(self.client.requested)
        report.effective = self.client.effective
        how = {"interface": self.interface.name, "protocol": self.speech.name, "prompt_digest": self.prompt_digest}
        asked = {**self.client.identity(), **how}
        extra = {name: value for name, value in asked.items() if name != "model" and value is not None}
        session, tools = f"{task.task_id}-s{seed}", self.interface.tools
        trajectory = Trajectory(session, f"{session}-{self.name}", self.name, self.config.name, tools=tools, extra=extra)
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
        """Call the model until the episode is over or a budget is used up."""
        asked: Interlocutor = self.replies.conversation(self.client, place) if self.replies else self.client
        while (cause := conversation.used_up(self.client.settings.name, self.client.say_once)) is None:
            try:
                said = asked.complete(conversation.messages, conversation.offered)
                if conversation.hear(said):
                    if report.ended_by == "no_action" and not self.speech.has_called:
                        self._check_tools(asked, conversation.messages[:-1], said, report)
                    return
            except MalformedToolCall as unread:
                conversation.unread(unread.waited_s)
            except ContextOverflow as full:
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
        """Raise SetupFault if the server counts the same number of tokens for a prompt with tools and without them."""
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
