"""How far a judge and the seats' own reflections agree, cell by cell and target by target (Appendices I.4 and I.5).

1. A cell is a slot of a target as one observer saw it in one game: its scores are summed over rounds before they are compared.
   A round counts for a cell where the observer's reflection on the target could be read and the judge's reply, if there was
   anything to judge, too; then both have a score there, 0 where nothing was delivered.
2. Precision is the share of scores other than 0 that go towards the truth, each round by itself.
3. Kappa is Cohen's over three signs: taken, free, nothing; chance is that of both sides' own shares.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.families.calendar.privacy.measured import MeasuredGame, Place
from harness.report.statistics import scipy_stats
from validators.calendar.reflections import Belief

Cell = tuple[int, int, int]
"""Observer, target and slot, of one game."""


class PairedCell(NamedTuple):
    """One cell as both sides see it; sums over `rounds` rounds."""

    observer: int
    target: int
    slot: int
    judge: float
    reflection: float
    rounds: int


class Precision(NamedTuple):
    """How many scores other than 0 there are, and how many of them go towards the truth."""

    nonzero: int
    truthful: int

    @property
    def share(self) -> float | None:
        """Precision; None of none."""
        return self.truthful / self.nonzero if self.nonzero else None


@dataclass(frozen=True, slots=True)
class CellAgreement:
    """Table 17, row by row; None where a ratio has nothing to divide by, or a side never varies."""

    union: int
    judge_nonzero: int
    reflection_nonzero: int
    both_nonzero: int
    jaccard: float | None
    judge_coverage: float | None
    """Of cells that reflections mark, the share that the judge marks."""

    reflection_coverage: float | None
    direction: float | None
    kappa: float | None
    pearson: float | None
    pearson_both: float | None


def paired_cells(judged: MeasuredGame, own: MeasuredGame) -> Iterator[PairedCell]:
    """Every cell of a game that both sides have, in order."""
    places = {_place(one) for one in own.beliefs} - judged.missing
    judge, reflection = _summed(judged.beliefs, places), _summed(own.beliefs, places)
    rounds = Counter((observer, target) for _, observer, target in places)
    for cell in sorted(reflection):
        yield PairedCell(*cell, judge.get(cell, 0.0), reflection[cell], rounds[cell[:2]])


def agreement(cells: Sequence[PairedCell]) -> CellAgreement:
    """Table 17 over cells."""
    judge, reflection = [one.judge for one in cells], [one.reflection for one in cells]
    both = [one for one in cells if one.judge and one.reflection]
    by_judge, by_reflection = sum(map(bool, judge)), sum(map(bool, reflection))
    same = sum((one.judge > 0) == (one.reflection > 0) for one in both)
    return CellAgreement(
        union=len(cells),
        judge_nonzero=by_judge,
        reflection_nonzero=by_reflection,
        both_nonzero=len(both),
        jaccard=_ratio(len(both), by_judge + by_reflection - len(both)),
        judge_coverage=_ratio(len(both), by_reflection),
        reflection_coverage=_ratio(len(both), by_judge),
        direction=_ratio(same, len(both)),
        kappa=kappa([(_sign(one.judge), _sign(one.reflection)) for one in cells]),
        pearson=pearson(judge, reflection),
        pearson_both=pearson([one.judge for one in both], [one.reflection for one in both]),
    )


def precision(games: Iterable[MeasuredGame]) -> Precision:
    """Over all scores other than 0."""
    moves = [move for game in games for move in game.moves]
    return Precision(len(moves), sum(move.is_truthful for move in moves))


def precision_by_target(game: MeasuredGame) -> Mapping[int, Precision]:
    """Of each target that anybody believes anything of."""
    by_seat: defaultdict[int, list[bool]] = defaultdict(list)
    for move in game.moves:
        by_seat[move.target].append(move.is_truthful)
    return {target: Precision(len(truthful), sum(truthful)) for target, truthful in sorted(by_seat.items())}


def kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa of two labellings; None of nothing, and where chance alone would agree everywhere."""
    if not pairs:
        return None
    n = len(pairs)
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum(first[label] * second[label] for label in first) / n**2
    observed = sum(one == other for one, other in pairs) / n
    return None if chance == 1 else (observed - chance) / (1 - chance)


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pearson's correlation; None where a side does not vary."""
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    return float(scipy_stats().pearsonr(xs, ys).statistic)


def _place(belief: Belief) -> Place:
    return belief.round, belief.observer, belief.target


def _summed(beliefs: Iterable[Belief], places: set[Place]) -> dict[Cell, float]:
    sums: defaultdict[Cell, float] = defaultdict(float)
    for belief in beliefs:
        if _place(belief) in places:
            for slot, score in enumerate(belief.scores):
                sums[belief.observer, belief.target, slot] += score
    return sums


def _sign(score: float) -> int:
    return (score > 0) - (score < 0)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
