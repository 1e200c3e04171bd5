"""Executes a candidate: a judge model holds real sessions of it, up to the first vote, in both conditions (paper, section 5.1).

1. A session is the real world in process, with the judge at every seat and the prompts of any run. It ends when the first
   votes are in: nothing else is measured here, so nothing else is paid for.
2. A deck is played on hidden and on manifest deals, each with everything and with hands. Prose has one deal, which is hidden.
3. Accuracy counts votes. It is also kept by hand, because one hand that finds the key alone is hidden by the others' average.
4. Sessions run side by side; their order, and so the result, is that of kind, condition and seed.
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
from worlds.hidden_profile.rules.deck import Kind

CONDITIONS = ("full", "hidden")
SESSIONS = 10
"""Sessions in each condition of each kind of deal, as published."""

FULL, ALONE, HAND = 0.8, 0.2, 0.5
"""What is kept: at least, at most, and less than these shares of first votes are the key (specification 1.6).

The first two are the published ones, both ends included. The third is ours: an average hides one hand that knows.
"""

_BUDGET = Budget(wall_s=math.inf, turns=100)
"""More than the first votes can use up, each of which is asked for twice at most."""


@dataclass(frozen=True, slots=True)
class FirstVote:
    """One seat's first vote, with the hand of the task (from 1) that the seat was dealt."""

    hand: int
    right: bool
    valid: bool = True
    """Whether it named an option."""


@dataclass(frozen=True, slots=True)
class Played:
    """What the sessions on deals of one kind came to: shares of first votes that are the key."""

    full: float
    """Where everybody holds everything."""

    alone: float
    """Where each has a hand."""

    by_hand: Mapping[int, float]
    """Of these, for each hand."""

    invalid: int
    """Votes that named no option, in both conditions."""

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a record."""
        return {**asdict(self), "by_hand": {str(hand): share for hand, share in self.by_hand.items()}}


Execution = Mapping[Kind, Played]
"""What the sessions of one candidate came to, by the kind of deal."""


def execute(
    task: Task, kinds: Sequence[Kind], judge: ModelClient, sessions: int = SESSIONS, workers: int = 1
) -> tuple[Execution, list[Usage]]:
    """Hold the sessions on these kinds of deals; raises ProviderFailure and Cancelled, as the judge does."""
    wanted = [(kind, condition, seed) for kind in kinds for condition in CONDITIONS for seed in range(sessions)]
    try:
        held = list(side_by_side(partial(_session, task, judge), wanted, workers))
    except BaseException:
        # Sessions that are left behind end at their next question.
        judge.halt.set()
        raise
    votes: dict[tuple[Kind, str], list[FirstVote]] = defaultdict(list)
    for (kind, condition, _), (first_votes, _) in zip(wanted, held, strict=True):
        votes[kind, condition] += first_votes
    return {kind: tally(votes[kind, "full"], votes[kind, "hidden"]) for kind in kinds}, [usage for _, usage in held]


def tally(full: Sequence[FirstVote], alone: Sequence[FirstVote]) -> Played:
    """Accuracies of the first votes of all sessions of each condition."""
    hands: dict[int, list[FirstVote]] = defaultdict(list)
    for vote in alone:
        hands[vote.hand].append(vote)
    by_hand = {hand: _share(hands[hand]) for hand in sorted(hands)}
    return Played(_share(full), _share(alone), by_hand, sum(not vote.valid for vote in (*full, *alone)))


def against(tried: Execution) -> dict[str, str]:
    """What speaks against a deck, by the name of the bound; empty for one that is kept.

    Accuracy with everything has its bound on deals of both kinds. What hands find is bounded on hidden deals alone: on manifest
    ones the leader is right, so most who follow it vote right, and that says nothing against the task. Nor is anything asked
    of them there: what a deck must keep from a hand is the key of hidden deals, and C9 has that for both kinds together.
    """
    reasons = {}
    for kind, played in tried.items():
        if played.full < FULL:
            reasons[f"full-{kind}"] = f"with everything {_told(played.full, kind)}, and {FULL:.0%} are wanted"
    hidden = tried["hidden"]
    if hidden.alone > ALONE:
        reasons["alone"] = f"with hands {_told(hidden.alone, 'hidden')}, and {ALONE:.0%} are allowed"
    if knowing := {hand: share for hand, share in hidden.by_hand.items() if share >= HAND}:
        reasons["hand"] = ", ".join(f"hand {hand} alone is right in {share:.0%}" for hand, share in knowing.items())
    return reasons


def against_prose(tried: Execution) -> dict[str, str]:
    """What speaks against prose with one deal: the two published bounds, so that the yield is one with the published yield."""
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
    game.play(until=_voted)
    notes = [event for event in read_log(pod.finish()) if isinstance(event, Noted)]
    opening = next(note.data for note in notes if note.what == "session_start")
    people, key = opening["people"], opening["scenario"]["key"]
    votes = [(people[note.seat], note.data["option"]) for note in notes if note.what == "vote"]
    return [FirstVote(hand, option == key, option is not None) for hand, option in votes], report.usage


def _voted(turns: Sequence[OpenTurn]) -> bool:
    """Whether the first votes are in: what is asked next is something else."""
    return all(turn.phase != "PRE_VOTE" for turn in turns)


def _share(votes: Sequence[FirstVote]) -> float:
    return sum(vote.right for vote in votes) / len(votes)
