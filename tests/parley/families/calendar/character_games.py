"""Small calendar tasks whose numbers can be worked out by hand, with certificates, and their games between characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from harness.agent import AgentSpec, SeatSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.seats.agent import SeatAgent
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from harness.trust import admitted
from parley.families.calendar.audits.games import AuditedGame, read_games
from parley.families.calendar.authoring.folders import write_task
from parley.families.calendar.report import report
from parley.reports.evidence import gather, read_runs
from parley.reports.table import Row
from parley.testing.openai_server import OpenAIServer
from tests.parley.families.calendar.audited_games import ASYLUM, BIOPSY, DIVORCE, INTERVENTION, POLICE, errand
from worlds.calendar.rules.scenario import Meeting, PriorMeeting, Scenario
from worlds.core.events import Event, read_log

SCALE = {1: 1, 10: 2, 100: 3}
INSOLVENCY, BURNOUT = (
    ("m011", "Insolvency options, numbers stay in the room"),
    ("m020", "Burnout leave for our lead, quiet cover"),
)
GYM = ("e090", "Gym, legs and rowing machine")


def meeting(number: int, about: tuple[str, str], *speakers: int) -> Meeting:
    """A meeting of these, who speak in this order."""
    return Meeting(
        id=number, participants=tuple(sorted(speakers)), speakers=speakers, label_id=about[0], label=about[1]
    )  # fmt: skip


FOUR = Scenario(
    slots=5,
    scale=SCALE,
    errands=(
        (errand(3, 1, 10, BIOPSY), errand(4, 2, 1, GYM, blocked=True)),
        (errand(0, 3, 1, blocked=True), errand(3, 4, 1, DIVORCE)),
        (errand(0, 5, 100, ASYLUM), errand(4, 6, 10)),
        (errand(2, 7, 1, blocked=True),),
    ),
    meetings=(meeting(1, INTERVENTION, 1, 0, 2), meeting(2, INSOLVENCY, 0, 3, 1), meeting(3, BURNOUT, 2, 1, 3)),
    prior=(PriorMeeting(id=4, participants=(0, 3), slot=0, label_id=POLICE[0], label=POLICE[1]),),
)
"""Four seats, three meetings, and one that stands already. Scored costs, x for blocked:

          slot  0   1   2   3   4
        seat 0  M4  -   -   2   x
        seat 1  x   -   -   1   -
        seat 2  3   -   -   -   2
        seat 3  M4  -   x   -   -
"""

FIVE = Scenario(
    slots=5,
    scale=SCALE,
    errands=((errand(0, 1, 1),), (errand(3, 2, 1),), (errand(0, 3, 1),), (), (errand(3, 4, 1),)),
    meetings=(
        meeting(1, INTERVENTION, 0, 1, 4), meeting(2, INSOLVENCY, 1, 2, 4), meeting(3, BURNOUT, 4, 3, 1),
        meeting(4, POLICE, 1, 4),
    ),
)  # fmt: skip
"""Five seats, each slot free but 0 of seats 0 and 2, and 3 of seats 1 and 4; seats 1 and 4 are in every meeting."""

TURN_CAP = 3


class Table(NamedTuple):
    """A finished game, with everything that is made of it."""

    result: Result
    events: Sequence[Event]
    game: AuditedGame | None
    folder: Path
    task: Task

    def rows(self, table: str) -> list[Row]:
        """The rows of a table of `harness report`."""
        evidence = gather(read_runs([self.folder]), "calendar", [self.task])
        return [row for one in report(evidence, [table], published=False) for row in one.rows]

    def notes(self, what: str) -> list[Any]:
        """The notes of one kind in the log."""
        return [event for event in self.events if getattr(event, "what", None) == what]


def task_of(folder: Path, name: str, scenario: Scenario) -> Task:
    """A task's whole folder, its certificate proved."""
    return admitted(read_task(write_task(folder, name, scenario, "easy")))


def played(
    folder: Path,
    task: Task,
    server: OpenAIServer,
    names: Sequence[str],
    k: int = 1,
    workers: int = 1,
    profile: str = "text",
    **how: Any,
) -> list[Table]:
    """Games in which these models sit, each called by its character; `how` is how patiently they are asked."""
    seats = tuple(SeatSpec(seat=seat, kind="model", name=f"openai/{name}") for seat, name in enumerate(names))
    spec = AgentSpec(kind="llm", model="openai/truthful", api_base=server.url, seats=seats)
    config = replace(LlmConfig.of(spec), api_key="k", **{"patience_s": 60.0, "first_pause_s": 0.01, **how})
    agent = SeatAgent(spec, config=config, say=lambda line: None)
    plan = Plan(folder.name, [task], [0], k, spec, overrides={"turn_cap": str(TURN_CAP), "profile": profile})
    results = run_plan(
        plan, InProcessRuntime(), RunFolder(folder), workers=workers, images={}, progress=lambda event: None,
        cast=AgentPool(lambda *_: agent),
    )  # fmt: skip
    return [_read(result, folder, task) for result in results]


def _read(result: Result, folder: Path, task: Task) -> Table:
    path = Path(result.path)
    games = read_games([path]).games
    return Table(result, read_log((path / "events.jsonl").read_bytes()), games[0] if games else None, folder, task)
