"""A hosted game from the host's side: pages are up, everybody sits down, the game is played, everybody sees that it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from harness.agent import AgentSpec
from harness.agents.llm.agent import LlmConfig
from harness.agents.llm.meter import Meter
from harness.agents.seating.agent import SeatAgent
from harness.agents.seating.chat import PACE_S
from harness.agents.seating.lineup import line_up
from harness.errors import UsageError
from harness.hosting.group import PageGroup
from harness.hosting.server import PageHost
from harness.live_agent import Agent
from harness.modules import family_part_or_none
from harness.play.agents import Make, Options, Say
from harness.records import Result
from harness.registry import Task
from harness.runs.session import RunSession

LINGER_S = 5.0
"""Real seconds for which pages are served after the game, so that they can say that it is over."""


def people_at(spec: AgentSpec, task: Task, options: Mapping[str, str]) -> list[int]:
    """The seats of a task, under these options, that people hold; raises UsageError for a task without any."""
    if not task.is_seated or task.parley is None:
        raise UsageError(f"{task.task_id} has no seats for a group", hint=f"harness run {task.task_id} --agent human")
    known = family_part_or_none(task.family, "lineups")
    count = len(known.facts(task, options)) if known else task.parley.seats
    seats = [one.seat for one in line_up(spec, count) if one.kind == "human"]
    if not seats:
        raise UsageError("no seat is left for a person", hint="harness host TASK, with fewer --seat")
    return seats


def maker(group: PageGroup, pace_s: float = PACE_S) -> Make:
    """Makes agents whose people sit at the pages of a group."""

    def make(spec: AgentSpec, options: Options, say: Say, meter: Meter | None = None) -> Agent:
        config, talk = LlmConfig.of(spec, meter=meter), str(options.get("talk", ""))
        return SeatAgent(spec, config=config, say=say, desk=group, pace_s=pace_s, talk=talk)

    return make


def hold(host: PageHost, session: RunSession, say: Callable[[str], None], *, linger_s: float = LINGER_S) -> list[Result]:
    """Serve, gather, play; the results. Raises what playing raises, and Cancelled on an interrupt."""
    with host.serving():
        for place in host.group.places:
            say(f"seat {place.seat}: {host.link(place)}")
        host.group.gather()
        results = session.play()
        until = time.monotonic() + linger_s
        while time.monotonic() < until and not host.group.everybody_saw_the_end():
            time.sleep(0.1)
        return results
