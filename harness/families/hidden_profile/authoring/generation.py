"""Lets a model make tasks: generate, certify, execute, select, one candidate after the other (paper, 5.1; rulings, 3.1-3.3).

1. Each candidate has its own stream of chance, so what it is asked does not depend on those before it or on where a run began.
2. A candidate ends at the first stage that it fails; its record says where and why. A `text` candidate cannot be certified.
   A deck is tried on hidden and on manifest deals, prose on the one that it has (`gate`).
3. One that passes becomes a task folder once its record is on disk; a run that goes on writes the folders that are missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
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
from harness.families.hidden_profile.authoring.gate import CONDITIONS, SESSIONS, Execution, against, against_prose, execute
from harness.families.hidden_profile.authoring.ledger import CandidateRecord, Cost, ledger
from harness.families.hidden_profile.authoring.prompting import digest
from harness.registry import read_task
from harness.taskfile import Difficulty
from harness.trust import admitted
from oracles.hidden_profile.decks import prove_deck
from worlds.core.chance import PUBLISHED_KEY, Chance
from worlds.hidden_profile.rules.deck import DECK, KINDS, Deck, Kind
from worlds.hidden_profile.rules.scenario import Scenario

SOURCE = "harness generate hidden-profile"
DIFFICULTY: Difficulty = "medium"
"""What every generated or imported task says; nobody has measured its difficulty."""

PUBLISHED_RATE = 57 / 200
"""Of candidates in the format `text` that were kept, by GPT-4.1 as writer and as judge (paper, section 5.1)."""


@dataclass(frozen=True)
class GenerationRequest:
    """What is to be generated."""

    track: str = "formal"
    """One of `drafts.TRACKS`."""

    candidates: int = 200
    sessions: int = SESSIONS
    """In each condition of each kind of deal."""

    seed: int = 0
    workers: int = 4
    """Sessions at once; changes no result."""

    @property
    def certified(self) -> bool:
        """Whether what is kept has a certificate."""
        return self.track == "formal"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of deals on which a candidate is tried."""
        return KINDS if self.certified else ("hidden",)


@dataclass(frozen=True)
class Team:
    """Who writes, who judges, and the certified decks that are shown as examples."""

    writer: ModelClient
    judge: ModelClient
    pool: Sequence[Deck]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a generation would take."""

    calls: int
    """At most: each candidate comes as far as the last session, and each vote is asked for twice."""

    tokens: int
    """Roughly, in and out, where each vote is asked for once."""


def estimate(request: GenerationRequest, pool: Sequence[Deck], made: Collection[int]) -> Estimate:
    """What the candidates would take that are not made yet."""
    drafts = [drafted(request, pool, number) for number in range(1, request.candidates + 1) if number not in made]
    sessions = request.sessions * len(CONDITIONS) * len(request.kinds)
    written = sum(len(draft.prompt) + len(draft.example) for draft in drafts)
    read = sum(sessions * draft.agents * (draft.handout + _RULES) for draft in drafts)
    return Estimate(sum(1 + 2 * sessions * draft.agents for draft in drafts), (written + read) // _CHARACTERS)


_CHARACTERS, _RULES = 4, 2000
"""Characters of a token; and of a vote, beside the task itself."""


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
        return summary(request, book.records.values())


def candidate(request: GenerationRequest, team: Team, number: int) -> CandidateRecord:
    """Make one candidate, as far as it comes."""
    draft = drafted(request, team.pool, number)
    said = team.writer.complete([{"role": "user", "content": draft.prompt}])
    try:
        made = _named(draft.read(said.text), number, request, team, draft)
    except Malformed as problem:
        return _record(number, draft, said, [], {"malformed": str(problem)})
    if isinstance(made, Deck) and (failed := _unproved(made)):
        return _record(number, draft, said, [], failed, made)
    with TemporaryDirectory(prefix="parley-candidate-") as folder:
        task = admitted(read_task(write_task(Path(folder), folder_name(made), made, DIFFICULTY)))
        tried, usages = execute(task, request.kinds, team.judge, request.sessions, request.workers)
    bounds = against if request.certified else against_prose
    return _record(number, draft, said, usages, bounds(tried), made, tried)


def folder_name(made: Deck | Scenario) -> str:
    """The folder of a generated task: its id with hyphens."""
    return made.id.replace("_", "-")


def summary(request: GenerationRequest, records: Iterable[CandidateRecord]) -> dict[str, Any]:
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
        "certified": request.certified,
        "rate": stages["passed"] / len(all_of_them) if all_of_them else 0.0,
        "published_rate": None if request.certified else PUBLISHED_RATE,
        "calls": sum(record.cost.calls for record in all_of_them),
        "dollars": sum(known) if len(known) == len(costs) else None,
        "tasks": [record.name for record in all_of_them if record.stage == "passed"],
    }


def drafted(request: GenerationRequest, pool: Sequence[Deck], number: int) -> Draft:
    """What one candidate is asked for."""
    return TRACKS[request.track](Chance(PUBLISHED_KEY, SOURCE, request.seed)(f"candidate-{number}"), pool)


def _unproved(deck: Deck) -> dict[str, str]:
    """The checks that a candidate fails, by name."""
    return {check.name: check.detail for check in prove_deck(deck).checks if not check.ok}


def _named(made: Deck | Scenario, number: int, request: GenerationRequest, team: Team, draft: Draft) -> Deck | Scenario:
    """The task with an id of its own, and where it comes from."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"gen-{number:03d}-{made.title.lower()}")[:LONGEST_NAME].strip("-")
    origin = {
        **made.origin, "kind": "generated", "source": SOURCE, "model": team.writer.settings.name,
        "judge": team.judge.settings.name, "format": request.track, "seed": request.seed, "candidate": number,
        "drawn": draft.drawn, "certified": request.certified,
    }  # fmt: skip
    return made.model_copy(update={"id": slug.replace("-", "_"), "origin": origin})


def _record(
    number: int,
    draft: Draft,
    said: Completion,
    judged: Sequence[Usage],
    reasons: dict[str, str],
    made: Deck | Scenario | None = None,
    tried: Execution | None = None,
) -> CandidateRecord:
    """What became of a candidate; its stage follows from how far it came."""
    return CandidateRecord(
        number=number,
        stage="malformed" if made is None else "certify" if tried is None else "execute" if reasons else "passed",
        reasons=reasons,
        name="" if made is None else folder_name(made),
        drawn=draft.drawn,
        scenario=None if made is None else made.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        execution=None if tried is None else {kind: played.to_dict() for kind, played in tried.items()},
        cost=Cost.of(said.usage, *judged),
        reply=said.text,
    )


def _place(out: Path, record: CandidateRecord) -> None:
    """Write the folder of a candidate that passed, unless it is there; the instruction is the last that a folder gets."""
    there = (out / record.name / "instruction.md").exists()
    if record.stage == "passed" and record.scenario is not None and not there:
        form = Deck if record.scenario["schema"] == DECK else Scenario
        write_task(out, record.name, form.model_validate(record.scenario), DIFFICULTY)
