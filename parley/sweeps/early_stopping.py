"""Early decision between two players of a sweep: the order of tasks and the progress.

1. `Until` is part of the request and frozen with it, including the order. The order depends only on the tasks' names, so it
cannot be chosen by the results.
2. `Decision` is until.json beside the parts of the sweep. It contains the difference and the e-value for each task in the order
of scoring. Earlier entries never change. A task lost to a provider failure is retried by `--resume`, and scored then.
3. A run of fewer than 60 tasks is refused: in simulations with 33 tasks, early stopping decides half as often as a full run,
and saves only 10 % of the episodes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, ValidationError

from harness.errors import UsageError
from harness.limits import RESULT_BYTES
from harness.records import RunFolder, TaskId, first_problem
from harness.runs.request import UNTIL_FILE, Until, player_of
from harness.safe_read import read_file
from worlds.core.models import Strict

_GAMBLERS = 20
"""Number of gamblers on each side."""

SHARES = tuple((place + 0.5) / _GAMBLERS for place in range(_GAMBLERS))
"""Fractions of the capital that the gamblers of a side bet. All are below 1, so that none can go bankrupt."""

_HALVINGS = 40
"""Bisection steps for each end of the confidence sequence."""


_LARGEST = 700.0
"""Upper bound of the logarithm of a capital; the exponential of a larger one does not fit a float."""


class Bet(NamedTuple):
    """State of the bet after some tasks."""

    first: float
    """Capital of the gamblers who bet on the first player; `second` is that of those who bet on the second."""

    second: float

    @property
    def e_value(self) -> float:
        """Evidence against "neither is better"; the decision is made at 1 / alpha."""
        return max(self.first, self.second) / 2

    def winner(self, alpha: float) -> int | None:
        """Return 0 if the first player is better, 1 if the second is, None if that is undecided."""
        if self.e_value < 1 / alpha:
            return None
        return 0 if self.first >= self.second else 1


def bet(differences: Sequence[float], mean: float = 0.0) -> Bet:
    """Return the state of the bets against this mean, after these differences of first minus second player, in -1..1."""
    moves = [(d - mean) / (1 + abs(mean)) for d in differences]
    return Bet(
        *(_capital([math.fsum(math.log1p(share * sign * move) for move in moves) for share in SHARES]) for sign in (1, -1))
    )


def confidence_sequence(differences: Sequence[float], alpha: float) -> tuple[float, float]:
    """Return the interval of means that these differences do not reject.

    With probability 1 - alpha, the intervals after every number of tasks contain the true mean.
    """
    if not differences:
        return -1.0, 1.0
    centre = math.fsum(differences) / len(differences)
    return _end(differences, centre, -1.0, alpha), _end(differences, centre, 1.0, alpha)


def _end(differences: Sequence[float], inside: float, outside: float, alpha: float) -> float:
    """Return the mean, between the undecided `inside` and `outside`, at which the bets start to reject a mean."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if bet(differences, middle).winner(alpha) is None:
            inside = middle
        else:
            outside = middle
    return outside


def _capital(logarithms: Sequence[float]) -> float:
    return math.fsum(math.exp(min(_LARGEST, logarithm)) for logarithm in logarithms) / len(logarithms)


FEWEST = 60
"""Minimum number of tasks for an early decision."""


BIASED = (
    "a run that stops when the difference looks large overestimates it: quote the anytime-valid interval, which "
    "holds whenever a run stops"
)


class Step(Strict):
    """Score of one task."""

    task: TaskId
    difference: Annotated[float, Field(ge=-1, le=1)]
    """Score of the first player minus that of the second."""

    e_value: float


class Decision(Strict):
    """Progress of a run towards a decision."""

    until: Until
    path: tuple[Step, ...] = ()

    @property
    def differences(self) -> list[float]:
        """Differences, first player minus second, in the order in which tasks were scored."""
        return [step.difference for step in self.path]

    @property
    def winner(self) -> str | None:
        """Name of the better part; None while undecided."""
        won = bet(self.differences).winner(self.until.alpha)
        return None if won is None else (self.until.first, self.until.second)[won]

    @property
    def ahead(self) -> str | None:
        """Name of the part whose bets have won more so far; None if they are equal."""
        bets = bet(self.differences)
        return None if bets.first == bets.second else self.until.first if bets.first > bets.second else self.until.second

    @property
    def e_value(self) -> float:
        """Evidence so far that one player is better."""
        return bet(self.differences).e_value

    @property
    def needed(self) -> float:
        """E-value required for a decision."""
        return 1 / self.until.alpha

    @property
    def share(self) -> float:
        """Share of the planned tasks that are scored."""
        return len(self.path) / len(self.until.order)

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence sequence of the mean difference, which is valid whenever the run stops."""
        return confidence_sequence(self.differences, self.until.alpha)

    @property
    def left(self) -> list[str]:
        """Tasks that are not scored yet, in order."""
        scored = {step.task for step in self.path}
        return [task for task in self.until.order if task not in scored]

    def told(self) -> str:
        """Return a summary for the end of a run."""
        until, played = self.until, f"{len(self.path)} of {len(self.until.order)} tasks ({100 * self.share:.0f} %)"
        if not self.path:
            return f"nothing is decided: no task of {len(until.order)} is scored yet"
        low, high = self.interval
        interval = f"{player_of(until.first)} - {player_of(until.second)} lies in {low:+.2f}..{high:+.2f} (anytime-valid)"
        e_value = self.path[-1].e_value
        if self.winner is None:
            return f"not decided after {played}: e-value {e_value:.2f}, and {self.needed:g} is needed; {interval}"
        loser = until.second if self.winner == until.first else until.first
        return f"{player_of(self.winner)} is better than {player_of(loser)}: e-value {e_value:.1f} after {played}; {interval}"

    def after(self, task: str, difference: float) -> Decision:
        """Return this decision with one more task."""
        e_value = bet([*self.differences, difference]).e_value
        return self.model_copy(update={"path": (*self.path, Step(task=task, difference=difference, e_value=e_value))})


def shuffled(tasks: Collection[str]) -> tuple[str, ...]:
    """Return the tasks in a pseudorandom order that depends on their names alone."""
    return tuple(sorted(tasks, key=lambda task: hashlib.sha256(f"until/{task}".encode()).digest()))


def planned(text: str, parts: Mapping[str, Collection[str]], alpha: float, tasks: Collection[str]) -> Until:
    """Return the decision that `--until A-B` describes for these parts, given with all their names.

    Names may contain hyphens: every split that gives two names counts. Raises UsageError for a plan that cannot be decided
    early.
    """
    hint = 'harness run --yes --model A,B --until "A-B" --seeds 0-2'
    if len(tasks) < FEWEST:
        why = f"--until needs {FEWEST} tasks, and there are {len(tasks)}: with fewer, stopping early saves too little"
        raise UsageError(why, hint="harness run without --until, then harness compare")
    if len(parts) != 2:
        raise UsageError(f"--until decides between two players, and this run has {len(parts)}", hint=hint)
    if not 0 < alpha < 1:
        raise UsageError(f"--alpha must lie between 0 and 1, not {alpha:g}")
    one, other = parts
    splits = [(text[:at].strip(), text[at + 1 :].strip()) for at, letter in enumerate(text) if letter == "-"]
    pairs = {
        (first, second)
        for left, right in splits
        for first, second in ((one, other), (other, one))
        if left in parts[first] and right in parts[second]
    }
    if len(pairs) != 1:
        known = " and ".join(min(parts[part], key=len) for part in parts)
        raise UsageError(f"--until must name the two players as A-B, not {text!r}; they are {known}", hint=hint)
    ((first, second),) = pairs
    return Until(first=first, second=second, alpha=alpha, order=shuffled(tasks))


def read_decision(folder: Path) -> Decision | None:
    """Read the until.json of a sweep's folder, None if there is none; raises UsageError if it is invalid."""
    try:
        return Decision.model_validate_json(read_file(folder.resolve(), UNTIL_FILE, RESULT_BYTES).data)
    except (FileNotFoundError, NotADirectoryError):
        # a packed run is a file
        return None
    except (OSError, ValidationError) as error:
        why = first_problem(error) if isinstance(error, ValidationError) else error.strerror
        why = f"{folder}/{UNTIL_FILE} is not valid: {why}"
        raise UsageError(why, hint="harness run ... --out NEW_FOLDER") from None


def write_decision(folder: Path, decision: Decision) -> None:
    """Replace until.json atomically."""
    RunFolder(folder).replace(UNTIL_FILE, json.dumps(decision.model_dump(mode="json"), indent=1).encode() + b"\n")
