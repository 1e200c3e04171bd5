"""A model's conversation about one task, as a state machine: what to ask is in `messages`, what it said goes to `hear`.

Nobody is asked here, so a model client and a training loop drive the same conversation.
1. `hear` writes an answer down, carries out the actions it asks for, and says whether the episode is over: the model submitted,
   answered in plain text, or asked for nothing.
2. Mistakes of the model (unknown tool, malformed arguments, a reply cut off at its limit) are told back to it.
3. `used_up` names the budget that forbids another query; budgets are looked at before each, so an answer once paid for is
   carried out. What a provider kept everybody waiting for does not count as wall time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from harness.agent import Budget, Report, Usage
from harness.agents.llm.completion import Action, Completion, add_usage, told_tokens
from harness.agents.llm.interface import ActionResult, Interface, Mistake
from harness.agents.llm.prompting import system_prompt
from harness.agents.llm.speech import Speech
from harness.agents.llm.wire import keep_wire
from harness.agents.trajectory import ToolCall, Trajectory
from harness.pod import Pod
from harness.registry import Task

UNREADABLE = "Your reply could not be read: the arguments of its tool call are no JSON that can be parsed. Nothing was run."

CUT_OFF = "Your reply was cut off at its limit of tokens, before any action. Go on, more briefly."


class ToolConversation:
    """The state of one episode while it is played."""

    def __init__(
        self, interface: Interface, speech: Speech, task: Task, pod: Pod, budget: Budget, report: Report, trajectory: Trajectory
    ) -> None:
        self.messages: list[dict[str, Any]] = []
        """All that was said so far, as a provider reads it; the last of them is not the model's."""

        self.offered = speech.offered(interface.tools)
        """The tools that go into a request."""

        self.turns, self.waited_s = 0, 0.0
        self._speech, self._pod, self._budget, self._report = speech, pod, budget, report
        self._hands, self._started = interface.hands(task, pod), time.monotonic()
        self._trajectory = trajectory
        self._tell({"role": "system", "content": system_prompt(interface, speech, task, budget)})
        self._tell({"role": "user", "content": pod.instruction})

    def hear(self, said: Completion) -> bool:
        """Write down what the model said and carry out what it asks for; whether the episode is over."""
        self.turns += 1
        self.waited_s += said.waited_s
        add_usage(self._report.usage, said.usage)
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
        return self._execute(said, actions)

    def unread(self, waited_s: float) -> None:
        """Tell the model that what it said broke its reader; what that cost, nobody can say."""
        keep_wire()
        self.waited_s += waited_s
        self.turns += 1
        add_usage(self._report.usage, Usage(calls=1, estimated=True))
        self._report.log.append(f"turn {self.turns}: the reply could not be read")
        self._tell({"role": "user", "content": UNREADABLE})

    def used_up(self, models: str, say_once: Callable[[str], None]) -> str | None:
        """The budget that forbids another query; `say_once` is told where `models` have no price to count."""
        return self._budget.used_up(
            self._report.usage, turns=self.turns, seconds=self._seconds(), game=False, models=models, say_once=say_once
        )

    def stop(self, cause: str) -> None:
        """End the episode, because a budget is used up."""
        self._report.stopped_by = cause
        self.note(f"stopped: the budget of {cause} is used up")
        self._pod.stop(cause)

    def note(self, line: str) -> None:
        """Write down a word of the harness, which the model does not see."""
        self._report.log.append(line)
        self._trajectory.system(line)

    def save(self) -> None:
        """Put what happened in the report."""
        if self.waited_s:
            self._report.log.append(f"waited {self.waited_s:.1f} s for the provider, not counted as wall time")
        self._report.trajectory = self._trajectory.to_dict(extra={"provider_wait_s": round(self.waited_s, 3)})

    def _execute(self, said: Completion, actions: Sequence[Action]) -> bool:
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
        usage, did = said.usage, ", ".join(a.tool or "?" for a in actions) or "plain answer"
        waited = f", waited {said.waited_s:.1f} s" if said.waited_s > 1 else ""
        cut = f", {said.left_out} characters of its text are left out of the record" if said.left_out else ""
        self._report.log.append(f"turn {self.turns}: {did}; tokens {told_tokens(usage)}{waited}{cut}")
