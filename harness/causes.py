"""Causes: the closed table of what can end or disturb an episode, who is responsible, and whether the episode is graded.

Records, summaries, pages and tables use the wording of this table, so that each cause has the same name everywhere.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Responsible = Literal["agent", "provider", "world", "runtime", "verifier", "setup", "cancelled", "limit"]
"""Party responsible for a failed episode. `setup`: the run was set up wrongly; `limit`: the spending limit of the run."""

CauseName = Literal[
    # budgets of an episode: graded
    "turns", "wall", "tokens", "cost", "context", "steps", "virtual_time", "request_cap",
    # the agent
    "no_action", "refusal", "empty_replies", "agent_error",
    # the model provider
    "provider_error", "provider_timeout", "provider_refusal", "content_filter", "provider_lost",
    # how the run was set up
    "tools_not_seen", "tools_not_parsed", "context_too_small", "always_cut_off", "reasoning_dropped",
    # everything else
    "world_fault", "runtime_failure", "client_failure", "verifier_failure", "cancelled", "spending_limit",
]  # fmt: skip


class Cause(NamedTuple):
    """Row of the table of causes."""

    responsible: Responsible
    is_graded: bool
    message: str
    """Message for people in one clause, suitable for the headline of a stopped episode."""


CAUSES: dict[CauseName, Cause] = {
    "turns": Cause("agent", True, "the budget of turns is used up"),
    "wall": Cause("agent", True, "the budget of wall time is used up"),
    "tokens": Cause("agent", True, "the budget of tokens is used up"),
    "cost": Cause("agent", True, "the budget of cost is used up"),
    "context": Cause("agent", True, "the conversation is longer than the model's context"),
    "steps": Cause("agent", True, "the task's budget of requests is used up"),
    "virtual_time": Cause("agent", True, "the task's budget of virtual time is used up"),
    "request_cap": Cause("agent", True, "the world accepts no more requests"),
    "no_action": Cause("agent", True, "the model answered without an action"),
    "refusal": Cause("agent", True, "the model refused"),
    "empty_replies": Cause("agent", True, "the model's replies were empty"),
    "agent_error": Cause("agent", True, "the agent's program failed"),
    "provider_error": Cause("provider", False, "the provider returned an error"),
    "provider_timeout": Cause("provider", False, "the provider did not answer in time"),
    "provider_refusal": Cause("provider", False, "the provider refused the request"),
    "content_filter": Cause("provider", False, "the provider's content filter withheld the reply"),
    "provider_lost": Cause("provider", False, "the provider cannot be used"),
    "tools_not_seen": Cause("setup", False, "the model was never shown the tools"),
    "tools_not_parsed": Cause("setup", False, "the server returned tool calls as text"),
    "context_too_small": Cause("setup", False, "the model's context is smaller than the task needs"),
    "always_cut_off": Cause("setup", False, "every reply was cut off at the limit of output tokens"),
    "reasoning_dropped": Cause("setup", True, "the model's reasoning was not sent back to it"),
    "world_fault": Cause("world", True, "the world failed"),
    "runtime_failure": Cause("runtime", False, "the runtime failed"),
    "client_failure": Cause("runtime", False, "the model client failed"),
    "verifier_failure": Cause("verifier", False, "the verifier failed"),
    "cancelled": Cause("cancelled", False, "the run was interrupted"),
    "spending_limit": Cause("limit", False, "the spending limit of the run is reached"),
}

assert set(CAUSES) == set(get_args(CauseName))

FORFEITS: dict[str, str] = {
    "context": CAUSES["context"].message,
    "budget": "its budget is used up",
    "timeout": "no answer came in time",
    "provider": "the provider failed",
    "malformed": "the reply could not be read",
    "declined": "its player does not answer",
}
"""Reasons for which a seat of a game forfeited a turn (`no_reply` of the log), with the clause used in messages."""

_OF_RESPONSIBLE: dict[str, CauseName] = {
    "agent": "agent_error", "provider": "provider_error", "world": "world_fault", "runtime": "runtime_failure",
    "verifier": "verifier_failure", "cancelled": "cancelled", "limit": "spending_limit",
}  # fmt: skip


def cause_of_old_record(responsible: Responsible | None, stopped_by: str | None, *, may_pass: bool = False) -> CauseName | None:
    """Return the cause of an episode recorded before records named causes."""
    if responsible == "provider" and may_pass:
        return "provider_timeout"
    if responsible is not None:
        return _OF_RESPONSIBLE.get(responsible)
    return next((name for name in CAUSES if name == stopped_by), None)
