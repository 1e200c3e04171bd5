"""Lets a model make tasks: generate, certify, execute, select, one candidate after the other (paper, 5.1; rulings, 3.1-3.3).

1. Each candidate has its own stream of chance, so what it is asked does not depend on those before it or on where a run began.
2. A candidate ends at the first stage that it fails; its record says where and why. A `text` candidate cannot be certified.
3. One that passes becomes a task folder once its record is on disk; a run that goes on writes the folders that are missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.agent import Usage
from harness.agents.llm.completion import Completion
from harness.agents.llm.model import ModelClient
from harness.authoring.new import LONGEST_NAME
from harness.families.hidden_profile.authoring.drafts import TRACKS, Draft, Malformed
from harness.families.hidden_profile.authoring.folders import write_task
from harness.families.hidden_profile.authoring.gate import SESSIONS, Execution, against, execute
from harness.families.hidden_profile.authoring.ledger import CandidateRecord, Cost, ledger
from harness.families.hidden_profile.authoring.prompting import digest
from harness.registry import read_task
from harness.taskfile import Difficulty
from harness.trust import admitted
from oracles.hidden_profile.prover import prove
from oracles.hidden_profile.wording import recited
from worlds.core.chance import PUBLISHED_KEY, Chance
from worlds.hidden_profile.rules.scenario import Scenario

SOURCE = "harness generate hidden-profile"
DIFFICULTY: Difficulty = "medium"
"""What every generated or imported task says; nobody has measured its difficulty."""


@dataclass(frozen=True)
class GenerationRequest:
    """What is to be generated."""

    track: str = "formal"
    """One of `drafts.TRACKS`."""

    candidates: int = 200
    sessions: int = SESSIONS
    """In each condition."""

    seed: int = 0
    workers: int = 4
    """Sessions at once; changes no result."""


@dataclass(frozen=True)
class Team:
    """Who writes, who judges, and the certified scenarios that are shown as examples."""

    writer: ModelClient
    judge: ModelClient
    pool: Sequence[Scenario]


def generate(
    request: GenerationRequest, team: Team, out: Path, progress: Callable[[CandidateRecord], object]
) -> dict[str, Any]:
    """Make what is missing of the candidates, and return the summary of all; raises what models and disks raise."""
    plan = {
        "format": request.track, "seed": request.seed, "sessions": request.sessions, "prompts": digest(),
        "writer": team.writer.identity(), "judge": team.judge.identity(),
    }  # fmt: skip
    with ledger(out, plan) as book:
        for number in range(1, request.candidates + 1):
            if number not in book.records:
                book.add(candidate(request, team, number))
                progress(book.records[number])
            _place(out, book.records[number])
        return summary(book.records.values())


def candidate(request: GenerationRequest, team: Team, number: int) -> CandidateRecord:
    """Make one candidate, as far as it comes."""
    draft = TRACKS[request.track](Chance(PUBLISHED_KEY, SOURCE, request.seed)(f"candidate-{number}"), team.pool)
    said = team.writer.complete([{"role": "user", "content": draft.prompt}])
    try:
        scenario = _named(draft.read(said.text), number, request, team, draft)
    except Malformed as problem:
        return _record(number, draft, said, [], {"malformed": str(problem)})
    if request.track == "formal" and (failed := _unproved(scenario)):
        return _record(number, draft, said, [], failed, scenario)
    with TemporaryDirectory(prefix="parley-candidate-") as folder:
        task = admitted(read_task(write_task(Path(folder), folder_name(scenario), scenario, DIFFICULTY)))
        tried, usages = execute(task, scenario.key, team.judge, request.sessions, request.workers)
    return _record(number, draft, said, usages, against(tried), scenario, tried)


def folder_name(scenario: Scenario) -> str:
    """The folder of a generated task: its id with hyphens."""
    return scenario.id.replace("_", "-")


def summary(records: Iterable[CandidateRecord]) -> dict[str, Any]:
    """What a generation came to: how many were made, malformed, rejected by which check or bound, kept; and the dollars."""
    all_of_them = list(records)
    stages = Counter(record.stage for record in all_of_them)
    costs = [record.cost.cost_usd for record in all_of_them]
    known = [cost for cost in costs if cost is not None]
    return {
        "generated": len(all_of_them),
        "malformed": stages["malformed"],
        "rejected": dict(
            sorted(Counter(name for one in all_of_them if one.stage != "malformed" for name in one.reasons).items())
        ),
        "not_certified": stages["certify"],
        "not_selected": stages["execute"],
        "passed": stages["passed"],
        "rate": stages["passed"] / len(all_of_them) if all_of_them else 0.0,
        "calls": sum(record.cost.calls for record in all_of_them),
        "dollars": sum(known) if len(known) == len(costs) else None,
        "tasks": [record.name for record in all_of_them if record.stage == "passed"],
    }


def _unproved(scenario: Scenario) -> dict[str, str]:
    """The checks that a candidate fails, by name: those of its certificate, and what else verify would refuse it for."""
    failed = {check.name: check.detail for check in prove(scenario).checks if not check.ok}
    told = "; ".join(recited(scenario))
    return {**failed, "recited": told} if told else failed


def _named(scenario: Scenario, number: int, request: GenerationRequest, team: Team, draft: Draft) -> Scenario:
    """The scenario with an id of its own, and where it comes from."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"gen-{number:03d}-{scenario.title.lower()}")[:LONGEST_NAME].strip("-")
    origin = {
        **scenario.origin, "kind": "generated", "source": SOURCE, "model": team.writer.settings.name,
        "judge": team.judge.settings.name, "format": request.track, "seed": request.seed, "candidate": number,
        "drawn": draft.drawn, "certified": request.track == "formal",
    }  # fmt: skip
    return scenario.model_copy(update={"id": slug.replace("-", "_"), "origin": origin})


def _record(
    number: int,
    draft: Draft,
    said: Completion,
    judged: Sequence[Usage],
    reasons: dict[str, str],
    scenario: Scenario | None = None,
    tried: Execution | None = None,
) -> CandidateRecord:
    """What became of a candidate; its stage follows from how far it came."""
    return CandidateRecord(
        number=number,
        stage="malformed" if scenario is None else "certify" if tried is None else "execute" if reasons else "passed",
        reasons=reasons,
        name="" if scenario is None else folder_name(scenario),
        drawn=draft.drawn,
        scenario=None if scenario is None else scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        execution=None if tried is None else tried.to_dict(),
        cost=Cost.of(said.usage, *judged),
        reply=said.text,
    )


def _place(out: Path, record: CandidateRecord) -> None:
    """Write the folder of a candidate that passed, unless it is there; the instruction is the last that a folder gets."""
    there = (out / record.name / "instruction.md").exists()
    if record.stage == "passed" and record.scenario is not None and not there:
        write_task(out, record.name, Scenario.model_validate(record.scenario), DIFFICULTY)
