"""Executes a candidate: a judge model holds real sessions of it, up to the first vote, in both conditions (paper, section 5.1).

1. A session is the real world in process, with the judge at every seat and the prompts of any run. It ends when the first
   votes are in: nothing else is measured here, so nothing else is paid for.
2. Accuracy counts votes. It is also kept by hand, because one hand that finds the key alone is hidden by the others' average.
3. Sessions run side by side; their order, and so the result, is that of condition and seed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from harness.agent import Budget, Report, Usage
from harness.agents.llm.model import ModelClient
from harness.agents.llm.parallel import side_by_side
from harness.agents.seating.game import SeatedGame
from harness.agents.seating.model import ModelSeat
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.inprocess import InProcessPod
from worlds.core.events import Noted, read_log
from worlds.core.turns import OpenTurn

CONDITIONS = ("full", "hidden")
SESSIONS = 10
"""Sessions in each condition, as published."""

FULL, HIDDEN, HAND = 0.8, 0.2, 0.5
"""What is kept: at least, at most, and less than these shares of first votes are the key (specification 1.6).

The first two are the published ones, both ends included. The third is ours: an average hides one hand that knows.
"""

_BUDGET = Budget(wall_s=math.inf, turns=100)
"""More than the first votes can use up, each of which is asked for twice at most."""


@dataclass(frozen=True, slots=True)
class FirstVote:
    """One seat's first vote, with the hand of the scenario (from 1) that the seat was dealt."""

    hand: int
    option: str | None
    """None for a vote that named no option."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What the sessions of one candidate came to."""

    full: float
    """Share of first votes that are the key where everybody holds everything."""

    hidden: float
    by_hand: Mapping[int, float]
    """Share of first votes that are the key in the hidden condition, for each hand."""

    invalid: int
    """Votes that named no option, in both conditions."""

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a record."""
        return {**asdict(self), "by_hand": {str(hand): share for hand, share in self.by_hand.items()}}


def execute(
    task: Task, key: str, judge: ModelClient, sessions: int = SESSIONS, workers: int = 1
) -> tuple[Execution, list[Usage]]:
    """Hold the sessions; raises ProviderFailure and Cancelled, as the judge does."""
    wanted = [(condition, seed) for condition in CONDITIONS for seed in range(sessions)]
    try:
        held = list(side_by_side(partial(_session, task, judge), wanted, workers))
    except BaseException:
        # Sessions that are left behind end at their next question.
        judge.halt.set()
        raise
    votes: dict[str, list[FirstVote]] = defaultdict(list)
    for (condition, _), (first_votes, _) in zip(wanted, held, strict=True):
        votes[condition] += first_votes
    return tally(votes["full"], votes["hidden"], key), [usage for _, usage in held]


def tally(full: Sequence[FirstVote], hidden: Sequence[FirstVote], key: str) -> Execution:
    """Accuracies of the first votes of all sessions of each condition."""
    hands: dict[int, list[FirstVote]] = defaultdict(list)
    for vote in hidden:
        hands[vote.hand].append(vote)
    return Execution(
        _share(full, key),
        _share(hidden, key),
        {hand: _share(hands[hand], key) for hand in sorted(hands)},
        sum(vote.option is None for vote in (*full, *hidden)),
    )


def against(tried: Execution) -> dict[str, str]:
    """What speaks against a candidate, by the name of the bound; empty for one that is kept."""
    reasons = {}
    if tried.full < FULL:
        reasons["full"] = f"with everything {tried.full:.0%} of first votes are right, and {FULL:.0%} are wanted"
    if tried.hidden > HIDDEN:
        reasons["hidden"] = f"with hands {tried.hidden:.0%} of first votes are right, and {HIDDEN:.0%} are allowed"
    if knowing := {hand: share for hand, share in tried.by_hand.items() if share >= HAND}:
        reasons["hand"] = ", ".join(f"hand {hand} alone is right in {share:.0%}" for hand, share in knowing.items())
    return reasons


def _session(task: Task, judge: ModelClient, which: tuple[str, int]) -> tuple[list[FirstVote], Usage]:
    condition, seed = which
    name = f"{task.task_id}-{condition}-{seed}"
    pod = InProcessPod(EpisodeSpec("generate", name, task, seed, overrides={"condition": condition}))
    report = Report("judge", judge.settings.name)
    game = SeatedGame(pod, _BUDGET, report)
    for row in game.session()["seats"]:
        game.seats[row["seat"]] = ModelSeat(row["seat"], judge, row["system"])
    game.play(until=_voted)
    notes = [event for event in read_log(pod.finish()) if isinstance(event, Noted)]
    people = next(note.data["people"] for note in notes if note.what == "session_start")
    votes = [FirstVote(people[note.seat], note.data["option"]) for note in notes if note.what == "vote"]
    return votes, report.usage


def _voted(turns: Sequence[OpenTurn]) -> bool:
    """Whether the first votes are in: what is asked next is something else."""
    return all(turn.phase != "PRE_VOTE" for turn in turns)


def _share(votes: Sequence[FirstVote], key: str) -> float:
    return sum(vote.option == key for vote in votes) / len(votes)
