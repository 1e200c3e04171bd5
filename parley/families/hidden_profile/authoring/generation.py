"""Generation of tasks by a model: the loop, the trial sessions, and the file that records them (docs/hidden-profile.md).

Candidates are created, certified, executed and selected one after the other (paper, 5.1; rulings, 3.1-3.3). Each has its own
random stream, so its prompt does not depend on earlier candidates or on where a run began. Execution plays the real world in
the runtime `inprocess`, the judge model at every seat, and ends after the first votes, because only these are measured.

The ledger has one line per candidate, which is on disk before the next candidate begins, so a killed run loses at most one. The
first line is the plan; a run can only be resumed with the same plan. A truncated last line is dropped. The ledger contains
everything that a model wrote, including rationales; no container reads it.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal, NamedTuple

from pydantic import ValidationError

from harness.agent import Budget, Report, Usage
from harness.agents.llm.completion import Completion, add_usage
from harness.agents.llm.model import ModelClient
from harness.agents.llm.parallel import side_by_side
from harness.agents.seats.game import SeatedGame
from harness.agents.seats.model import ModelSeat
from harness.errors import UsageError
from harness.pod import EpisodeSpec
from harness.registry import Task, read_task
from harness.runtimes.inprocess import InProcessPod
from harness.taskfile import Difficulty
from harness.trust import admitted
from oracles.hidden_profile.decks import prove_deck
from parley.families.hidden_profile.authoring.drafts import TRACKS, Draft, Malformed, digest
from parley.families.hidden_profile.authoring.folders import write_task
from parley.proof.sync import LONGEST_NAME
from worlds.core.chance import PUBLISHED_KEY, Chance
from worlds.core.events import Noted, read_log
from worlds.core.models import Strict
from worlds.hidden_profile.rules.deck import DECK, KINDS, Deck, Kind
from worlds.hidden_profile.rules.scenario import Scenario

FILE = "candidates.jsonl"
_ELSEWHERE = "the same command with another --out"
Stage = Literal["malformed", "certify", "execute", "passed"]
"""The stage at which a candidate ended."""


class Cost(Strict):
    """Calls, tokens and dollars; dollars are None if a call had no known price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None

    @classmethod
    def of(cls, *usages: Usage) -> Cost:
        """Return the sum of some calls."""
        total = Usage()
        for usage in usages:
            add_usage(total, usage)
        return cls(**{name: getattr(total, name) for name in cls.model_fields})


class CandidateRecord(Strict):
    """A candidate and its result."""

    number: int
    stage: Stage
    reasons: dict[str, str] = {}
    """Reason for each failed check or bound; a malformed reply has the key `malformed`."""

    name: str = ""
    """Name of the task's folder, if the reply could be parsed."""

    drawn: dict[str, Any] = {}
    """Values drawn for it: setting, example, outline or number of people."""

    scenario: dict[str, Any] | None = None
    execution: dict[str, Any] | None = None
    cost: Cost
    reply: str


@dataclass
class Ledger:
    """An open file of records; `records` includes those of earlier runs."""

    _file: IO[bytes]
    records: dict[int, CandidateRecord]

    def add(self, record: CandidateRecord) -> None:
        """Write a record; it is on disk when this returns."""
        _append(self._file, record.model_dump_json())
        self.records[record.number] = record


def made(out: Path) -> frozenset[int]:
    """Return the recorded candidates in a folder, to estimate the cost of the others; `ledger` reports errors of the file."""
    try:
        lines = (out / FILE).read_bytes().splitlines()[1:]
        return frozenset(CandidateRecord.model_validate_json(line).number for line in lines)
    except (OSError, ValueError):
        return frozenset()


@contextmanager
def ledger(out: Path, plan: Mapping[str, Any]) -> Iterator[Ledger]:
    """Open the ledger in a folder, locked while the context lasts.

    Raises UsageError if the file has another plan, cannot be read or written, or is being written by another process.
    """
    path = out / FILE
    try:
        out.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint=_ELSEWHERE) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{path} is being written by another run", hint=_ELSEWHERE) from None
        yield Ledger(file, _read(path, file, plan))


def _read(path: Path, file: IO[bytes], plan: Mapping[str, Any]) -> dict[int, CandidateRecord]:
    file.seek(0)
    whole = file.read()
    kept = whole[: whole.rfind(b"\n") + 1]
    file.truncate(len(kept))
    lines = kept.splitlines()
    if not lines:
        _append(file, json.dumps({"plan": dict(plan)}, ensure_ascii=False))
        return {}
    try:
        earlier = json.loads(lines[0])["plan"]
        records = [CandidateRecord.model_validate_json(line) for line in lines[1:]]
    except (ValueError, KeyError, TypeError, ValidationError):
        raise UsageError(f"{path} is no ledger of candidates", hint=_ELSEWHERE) from None
    if differ := sorted(name for name in {*earlier, *plan} if earlier.get(name) != plan.get(name)):
        named = ", ".join(f"{name} {earlier.get(name)} (now {plan.get(name)})" for name in differ)
        raise UsageError(f"{path} was begun with other settings: {named}", hint=_ELSEWHERE)
    return {record.number: record for record in records}


def _append(file: IO[bytes], line: str) -> None:
    try:
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise UsageError(f"{file.name} cannot be written: {error.strerror}", hint="the same command, to go on") from None


CONDITIONS = ("full", "hidden")
SESSIONS = 10
"""Sessions in each condition of each kind of deal, as published."""

FULL, ALONE, HAND = 0.8, 0.2, 0.5
"""Bounds on shares of first votes for the right option: at least FULL, at most ALONE, less than HAND (specification 1.6).

The first two are the published ones, bounds included. The third is ours, because an average hides a single hand that reveals
the right option.
"""

_BUDGET = Budget(wall_s=math.inf, turns=100)
"""More turns than the first votes can use; each vote is asked for at most twice."""


@dataclass(frozen=True, slots=True)
class FirstVote:
    """A seat's first vote, with the number (from 1) of the hand in the scenario that the seat was dealt."""

    hand: int
    right: bool
    valid: bool = True
    """True if it named an option."""


@dataclass(frozen=True, slots=True)
class Played:
    """Result of the sessions on deals of one kind: shares of first votes for the right option."""

    full: float
    alone: float
    """Share with one hand per seat."""

    by_hand: Mapping[int, float]
    invalid: int
    """Votes that named no option, in both conditions."""


Execution = Mapping[Kind, Played]
"""Result of the sessions of one candidate, by the kind of deal."""


def execute(
    task: Task, kinds: Sequence[Kind], judge: ModelClient, sessions: int = SESSIONS, workers: int = 1
) -> tuple[Execution, list[Usage]]:
    """Play the sessions on these kinds of deals. Raises ProviderFailure and Cancelled, as the judge does."""
    wanted = [(kind, condition, seed) for kind in kinds for condition in CONDITIONS for seed in range(sessions)]
    try:
        held = list(side_by_side(partial(_session, task, judge), wanted, workers))
    except BaseException:
        # The remaining sessions end at their next request to the judge.
        judge.halt.set()
        raise
    votes: dict[tuple[Kind, str], list[FirstVote]] = defaultdict(list)
    for (kind, condition, _), (first_votes, _) in zip(wanted, held, strict=True):
        votes[kind, condition] += first_votes
    return {kind: tally(votes[kind, "full"], votes[kind, "hidden"]) for kind in kinds}, [usage for _, usage in held]


def tally(full: Sequence[FirstVote], alone: Sequence[FirstVote]) -> Played:
    """Return the accuracies of the first votes of all sessions of each condition."""
    hands: dict[int, list[FirstVote]] = defaultdict(list)
    for vote in alone:
        hands[vote.hand].append(vote)
    by_hand = {hand: _share(hands[hand]) for hand in sorted(hands)}
    return Played(_share(full), _share(alone), by_hand, sum(not vote.valid for vote in (*full, *alone)))


def against(tried: Execution) -> dict[str, str]:
    """Return the reasons to reject a deck, by the name of the bound; empty if it is accepted.

    Accuracy with full information is bounded on deals of both kinds. Accuracy with one hand is bounded on hidden deals only. On
    manifest deals the leading option is right, so most seats that follow it vote right, which is no fault of the task. C9
    already ensures for both kinds together that a hand does not reveal the right option of hidden deals.
    """
    reasons = {}
    for kind, played in tried.items():
        if played.full < FULL:
            reasons[f"full-{kind}"] = f"with full information {_told(played.full, kind)}, but at least {FULL:.0%} are required"
    hidden = tried["hidden"]
    if hidden.alone > ALONE:
        reasons["alone"] = f"with one hand per seat {_told(hidden.alone, 'hidden')}, but at most {ALONE:.0%} are allowed"
    if knowing := {hand: share for hand, share in hidden.by_hand.items() if share >= HAND}:
        reasons["hand"] = ", ".join(f"with hand {hand} alone {share:.0%} are right" for hand, share in knowing.items())
    return reasons


def against_prose(tried: Execution) -> dict[str, str]:
    """Return why prose with one deal is rejected. Only the paper's two bounds apply, so that yields can be compared with it."""
    return {name: why for name, why in against(tried).items() if name != "hand"}


def _told(share: float, kind: Kind) -> str:
    return f"{share:.0%} of first votes on {kind} deals are right"


def _session(task: Task, judge: ModelClient, which: tuple[Kind, str, int]) -> tuple[list[FirstVote], Usage]:
    kind, condition, seed = which
    name = f"{task.task_id}-{kind}-{condition}-{seed}"
    pod = InProcessPod(EpisodeSpec("generate", name, task, seed, overrides={"condition": condition, "deal": kind}))
    report = Report("judge", judge.settings.name)
    game = SeatedGame(pod, _BUDGET, report)
    for row in game.session()["seats"]:
        game.seats[row["seat"]] = ModelSeat(row["seat"], judge, row["system"])
    # the first votes are complete once another phase follows
    game.play(until=lambda turns: all(turn.phase != "PRE_VOTE" for turn in turns))
    notes = [event for event in read_log(pod.finish()) if isinstance(event, Noted)]
    opening = next(note.data for note in notes if note.what == "session_start")
    people, key = opening["people"], opening["scenario"]["key"]
    votes = [(people[note.seat], note.data["option"]) for note in notes if note.what == "vote"]
    return [FirstVote(hand, option == key, option is not None) for hand, option in votes], report.usage


def _share(votes: Sequence[FirstVote]) -> float:
    return sum(vote.right for vote in votes) / len(votes)


SOURCE = "harness generate hidden-profile"
DIFFICULTY: Difficulty = "medium"
"""Difficulty of every generated or imported task; it has not been measured."""

PUBLISHED_RATE = 57 / 200
"""Share of accepted candidates in the format `text`, with GPT-4.1 as writer and as judge (paper, section 5.1)."""


@dataclass(frozen=True)
class GenerationRequest:
    """Parameters of a generation."""

    track: str = "formal"
    """Name of one of `drafts.TRACKS`."""

    candidates: int = 200
    sessions: int = SESSIONS
    seed: int = 0
    workers: int = 4
    """Number of concurrent sessions; it does not change the result."""

    @property
    def certified(self) -> bool:
        """True if accepted tasks have a certificate."""
        return self.track == "formal"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of deals on which a candidate is tried."""
        return KINDS if self.certified else ("hidden",)


@dataclass(frozen=True)
class Team:
    """The writer, the judge, and the certified decks used as examples."""

    writer: ModelClient
    judge: ModelClient
    pool: Sequence[Deck]


class Estimate(NamedTuple):
    """Estimated cost of a generation."""

    calls: int
    """Upper bound of model calls: each candidate reaches the last session, and each vote is asked for twice."""

    tokens: int
    """Approximate, in and out, if each vote is asked for once."""


def estimate(request: GenerationRequest, pool: Sequence[Deck], made: Collection[int]) -> Estimate:
    """Return the estimated cost of the candidates that are not made yet."""
    drafts = [drafted(request, pool, number) for number in range(1, request.candidates + 1) if number not in made]
    sessions = request.sessions * len(CONDITIONS) * len(request.kinds)
    written = sum(len(draft.prompt) + len(draft.example) for draft in drafts)
    read = sum(sessions * draft.agents * (draft.handout + _RULES) for draft in drafts)
    return Estimate(sum(1 + 2 * sessions * draft.agents for draft in drafts), (written + read) // _CHARACTERS)


_CHARACTERS, _RULES = 4, 2000
"""Characters per token, and characters of a vote's prompt without the task itself."""


def generate(
    request: GenerationRequest, team: Team, out: Path, progress: Callable[[CandidateRecord], object]
) -> dict[str, Any]:
    """Make the missing candidates, and return the summary of all. Raises the errors of models and disks."""
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
    """Make one candidate, up to the stage that it reaches."""
    draft = drafted(request, team.pool, number)
    said = team.writer.complete([{"role": "user", "content": draft.prompt}])
    try:
        made = _named(draft.read(said.text), number, request, team, draft)
    except Malformed as problem:
        return _record(number, draft, said, [], {"malformed": str(problem)})
    checks = prove_deck(made).checks if isinstance(made, Deck) else ()
    if failed := {check.name: check.detail for check in checks if not check.ok}:
        return _record(number, draft, said, [], failed, made)
    with TemporaryDirectory(prefix="parley-candidate-") as folder:
        task = admitted(read_task(write_task(Path(folder), made.id.replace("_", "-"), made, DIFFICULTY)))
        tried, usages = execute(task, request.kinds, team.judge, request.sessions, request.workers)
    bounds = against if request.certified else against_prose
    return _record(number, draft, said, usages, bounds(tried), made, tried)


def summary(request: GenerationRequest, records: Iterable[CandidateRecord]) -> dict[str, Any]:
    """Return the summary of a generation: generated, malformed, rejected by check or bound, accepted, and dollars."""
    all_of_them = list(records)
    stages = Counter(record.stage for record in all_of_them)
    reasons = Counter(name for one in all_of_them if one.stage != "malformed" for name in one.reasons)
    costs = [record.cost.cost_usd for record in all_of_them]
    known = [cost for cost in costs if cost is not None]
    return {
        "generated": len(all_of_them),
        "malformed": stages["malformed"],
        "rejected": dict(sorted(reasons.items())),
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
    """Return the draft of one candidate."""
    return TRACKS[request.track](Chance(PUBLISHED_KEY, SOURCE, request.seed)(f"candidate-{number}"), pool)


def _named(made: Deck | Scenario, number: int, request: GenerationRequest, team: Team, draft: Draft) -> Deck | Scenario:
    """Return the task with its own id and its origin."""
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
    """Return the record of a candidate; its stage follows from the arguments."""
    return CandidateRecord(
        number=number,
        stage="malformed" if made is None else "certify" if tried is None else "execute" if reasons else "passed",
        reasons=reasons,
        name="" if made is None else made.id.replace("_", "-"),
        drawn=draft.drawn,
        scenario=None if made is None else made.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        execution=None if tried is None else {kind: asdict(played) for kind, played in tried.items()},
        cost=Cost.of(said.usage, *judged),
        reply=said.text,
    )


def _place(out: Path, record: CandidateRecord) -> None:
    """Write the folder of a candidate that passed, unless it is complete; the instruction is written last."""
    there = (out / record.name / "instruction.md").exists()
    if record.stage == "passed" and record.scenario is not None and not there:
        form = Deck if record.scenario["schema"] == DECK else Scenario
        write_task(out, record.name, form.model_validate(record.scenario), DIFFICULTY)
