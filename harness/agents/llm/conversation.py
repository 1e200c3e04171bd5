"""A model's conversation about one task, as a state machine: what to ask is in `messages`, what it said goes to `hear`.

No model is called here, so a model client and a training loop drive the same conversation.
1. `hear` records a reply, carries out its actions, and says whether the episode is over: the model submitted, or answered in
   plain text.
2. The model is told of its mistakes (unknown tool, malformed arguments), and of a reply that was cut off, was empty, or wrote a
   tool call as text. MOST_UNUSABLE such replies in a row end the episode.
3. A fault of the set-up leaves as SetupFault: tool calls arrive as text only, or every reply is cut off.
4. `used_up` names the budget that forbids another query; budgets are looked at before each, so a reply once paid for is
   carried out. The seconds in which the provider failed do not count as wall time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from harness.agent import Budget, Report, Usage
from harness.agents.llm.completion import Action, Completion, add_usage, is_written_call, told_tokens
from harness.agents.llm.interface import ActionResult, Interface, Mistake
from harness.agents.llm.speech import Speech, system_prompt
from harness.agents.llm.wire import keep_wire
from harness.agents.trajectory import ToolCall, Trajectory
from harness.causes import CauseName
from harness.errors import SetupFault
from harness.pod import Pod
from harness.registry import Task

UNREADABLE = "Your reply could not be read: the arguments of its tool call are no JSON that can be parsed. Nothing was run."

CUT_OFF = "Your reply was cut off at its limit of tokens, before any action. Go on, more briefly."

EMPTY = "Your reply was empty: it held neither text nor a tool call. Go on."

NOT_CALLED = "Your reply wrote a tool call as text, so nothing was run. Call the tool with a tool call."

MOST_UNUSABLE = 3
"""Replies in a row without anything that can be carried out, after which an episode ends."""

MOST_CUT_OFF = 8
"""Replies from the first on that may be cut off before the set-up is at fault."""


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
        self._unusable, self._cut_off = 0, 0
        self._speech, self._pod, self._budget, self._report = speech, pod, budget, report
        self._hands, self._started = interface.hands(task, pod), time.monotonic()
        self._trajectory = trajectory
        self._tell({"role": "system", "content": system_prompt(interface, speech, task, budget)})
        self._tell({"role": "user", "content": pod.instruction})

    def hear(self, said: Completion) -> bool:
        """Write down what the model said and carry out what it asks for; whether the episode is over."""
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
        """Raise SetupFault where every reply so far was cut off before it did anything."""
        if self._cut_off == self.turns > 0:
            told = f"all {self.turns} replies were cut off at the limit of output tokens; give more with --reply-tokens"
            raise SetupFault(told, "always_cut_off", hint="--reply-tokens N, larger than before")

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

    def _is_last_word(self, said: Completion) -> bool:
        """Whether a reply without an action ends the episode; raises SetupFault for a tool call that came as text."""
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
        """Carry out the actions in order and tell the model; whether that ended the episode."""
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
        usage, did = said.usage, ", ".join(a.tool or "?" for a in actions) or _without_action(said)
        waited = f", waited {said.waited_s:.1f} s" if said.waited_s > 1 else ""
        cut = f", {said.left_out} characters of its text are left out of the record" if said.left_out else ""
        self._report.log.append(f"turn {self.turns}: {did}; tokens {told_tokens(usage)}{waited}{cut}")


def _without_action(said: Completion) -> str:
    """Return what a reply without an action was, for the log."""
    if said.cut_off or said.is_empty:
        return f"{'cut off' if said.cut_off else 'empty'} (finish reason {said.finish_reason})"
    return "plain answer"
