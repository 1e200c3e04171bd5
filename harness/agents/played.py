"""The trajectory of a player without a model: the instruction it was given, and one step that says what it did."""

from __future__ import annotations

from typing import Any

from harness.agents.trajectory import Trajectory


def scripted_trajectory(agent: str, instruction: str, did: str | None) -> dict[str, Any]:
    """ATIF-v1.8 for a scripted player; `did` is None for one that did nothing."""
    trajectory = Trajectory(session_id=agent, trajectory_id=agent, agent_name=agent)
    trajectory.user(instruction)
    if did is not None:
        trajectory.agent(did)
    return trajectory.to_dict()
