"""Questions, beliefs, rows and tables of the judge's privacy audit, by the paper's names (Appendix I.1; docs/calendar.md).

Judge and reflections are compared by cell and by target (Appendices I.4 and I.5). A cell is a slot of a target as one observer
sees it in one game, summed over rounds. A round counts if the observer's reflection on the target could be parsed, and also the
judge's reply, if there was anything to judge. Then both have a score, which is 0 for the judge if nothing was delivered. Kappa
is Cohen's kappa over three signs: taken, free, nothing.

A case has all messages that one seat received in one round of one game (Appendix I.2), without its own. A round that was never
resolved gives no case. If the judge's second reply cannot be parsed either, the case has no beliefs, which is not the same as
beliefs of 0, and missing beliefs are left out of every comparison.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from harness.agents.llm.parallel import side_by_side
from harness.agents.llm.response_cache import CachedModel
from harness.atomic_write import write_file, writing
from harness.frames import grouped
from parley.families.calendar.audits.games import AuditedGame
from parley.families.calendar.audits.tables import mean, share, write_tables
from parley.reports.table import Column, Row, Table, table_of, titled
from parley.statistics import scipy_stats
from validators.calendar.evidence import is_typed, measure_privacy
from validators.calendar.history import Delivered
from validators.calendar.reflections import (
    Belief,
    Occupancy,
    RoundTarget,
    compute_losses,
    is_truthful,
    loss_above_floor,
    read_reflections,
    sum_by_target,
    true_calendars,
)
from worlds.calendar.rules.replies import STRONGEST, scores_shape
from worlds.core.mending import read_reply
from worlds.core.replies import AnswerShape
from worlds.core.texts import SUFFIX, Texts

Place = tuple[int, int, int]
"""Round, observer and target."""

REFLECTION, PROTOCOL = "reflection-calibrated VPS", "protocol-semantic VPS"


class BeliefMove(NamedTuple):
    """A nonzero score: a belief of one observer about one slot of one target in one round."""

    round: int
    observer: int
    target: int
    slot: int
    score: float
    taken: bool
    """Occupancy in the target's calendar at the end of the round."""

    @property
    def is_truthful(self) -> bool:
        """True if the sign of the score is right."""
        return is_truthful(self.score, taken=self.taken)


@dataclass(frozen=True)
class MeasuredGame:
    """A game with the beliefs of one measure."""

    game: AuditedGame
    beliefs: tuple[Belief, ...]
    missing: frozenset[Place]
    """Places without a belief that could be parsed."""

    @cached_property
    def truth(self) -> dict[RoundTarget, Occupancy]:
        """The occupancies that beliefs are compared with."""
        return true_calendars(self.game.replay)

    @cached_property
    def moves(self) -> tuple[BeliefMove, ...]:
        """Every nonzero score, in order."""
        return tuple(
            BeliefMove(one.round, one.observer, one.target, slot, score, self.truth[one.round, one.target][slot])
            for one in self.beliefs
            for slot, score in enumerate(one.scores)
            if score
        )


def reflected(game: AuditedGame) -> MeasuredGame | None:
    """Return the beliefs that seats reported, integers as answered; None if none was asked for or could be parsed."""
    places = {(one.round, one.observer, one.target): one.scores for one in game.replay.reflected}
    said = tuple(
        Belief(round=number, observer=observer, target=target, scores=scores)
        for (number, observer, target), scores in places.items()
        if scores is not None
    )
    missing = frozenset(place for place, scores in places.items() if scores is None)
    return MeasuredGame(game, said, missing) if said else None


def primary(games: list[AuditedGame]) -> dict[str, Any]:
    """Return the games' primary measure with VPS and excess: reflections, if any, else messages if all are typed, else None."""
    answers = [answered for game in games if (answered := read_reflections(game.replay)) and answered.lost]
    told: tuple[Any, ...] = (None, None, None)
    if answers:
        calibrated = [loss.calibrated for one in answers for loss in sum_by_target(one.lost).values()]
        told = REFLECTION, sum(calibrated), sum(map(loss_above_floor, calibrated))
    elif all(is_typed(message.content) for game in games for message in game.replay.messages):
        losses = [measure_privacy(game.replay) for game in games]
        told = PROTOCOL, sum(sum(one.by_target) for one in losses), sum(sum(one.excess) for one in losses)
    return dict(zip(("primary_metric", "primary_vps", "primary_excess_vps"), told, strict=True))


FOLDER = Path(__file__).with_name("prompts")
_CHANNELS = {"dm": "to you alone", "participants": "to all participants", "all": "to everybody"}


@dataclass(frozen=True)
class JudgeCase:
    """A recipient in one round."""

    game: AuditedGame
    round: int
    recipient: int
    messages: tuple[Delivered, ...]
    """In the order in which they were sent."""

    @property
    def targets(self) -> list[int]:
        """All other seats, about which beliefs are asked."""
        return [seat for seat in self.game.replay.scenario.agents if seat != self.recipient]

    @cached_property
    def prompt(self) -> str:
        """The case as shown to a judge; cases with equal prompts are asked once."""
        scenario = self.game.replay.scenario
        meeting = scenario.meetings[self.round - 1]
        return _texts().render(
            "judge", agents=list(scenario.agents), slots=scenario.slots, recipient=self.recipient, round=self.round,
            meeting=meeting.id, participants=meeting.participants, duration=meeting.duration, targets=self.targets,
            messages=[
                # indent each line, so that quoted text cannot imitate the prompt
                {"sender": one.sender, "channel": _CHANNELS[one.channel], "lines": one.content.splitlines() or [""]}
                for one in self.messages
            ],
        )  # fmt: skip

    @property
    def question(self) -> list[dict[str, Any]]:
        """The conversation that asks the judge."""
        return [{"role": "user", "content": self.prompt}]

    def asked_again(self, reply: str) -> list[dict[str, Any]]:
        """Return the conversation that asks the judge again, after a reply that could not be parsed."""
        again = _texts().render("again", targets=self.targets, slots=self.game.replay.scenario.slots)
        return [*self.question, {"role": "assistant", "content": reply}, {"role": "user", "content": again}]

    def beliefs(self, reply: str) -> tuple[Belief, ...] | None:
        """Return the beliefs in a reply about each target; None if it is not complete and in the requested format."""
        targets, of_one = self.targets, scores_shape(self.game.replay.scenario.slots)

        def reads(value: Any) -> Sequence[list[tuple[int, ...]]]:
            listed = [value.get(str(target)) for target in targets] if isinstance(value, dict) else []
            scores = [one for given in listed if isinstance(given, list) for one in of_one.reads(given)]
            return [scores] if len(scores) == len(targets) else []

        said = read_reply(reply, AnswerShape("one JSON object with a list for each other seat", reads, key=r"\d+")).value
        if said is None:
            return None
        return tuple(
            Belief(round=self.round, observer=self.recipient, target=target, scores=scores)
            for target, scores in zip(targets, said, strict=True)
        )


def cases_of(games: Iterable[AuditedGame]) -> Iterator[JudgeCase]:
    """Yield every case, by game, round and recipient."""
    for game in games:
        delivered = [(message.round, recipient, message) for message in game.replay.messages for recipient in message.to]
        resolved = {one.number for one in game.replay.resolved}
        for (number, recipient), mine in sorted(grouped(delivered, lambda one: one[:2]).items()):
            if number in resolved:
                yield JudgeCase(game, number, recipient, tuple(message for *_, message in mine))


def different(cases: Sequence[JudgeCase]) -> dict[str, JudgeCase]:
    """Return one case for each prompt."""
    return {case.prompt: case for case in cases}


@cache
def _texts() -> Texts:
    return Texts({path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob(f"*{SUFFIX}"))})


class JudgedCase(NamedTuple):
    """Replies of a judge to one case."""

    case: JudgeCase
    replies: tuple[str, ...]
    """As received; two if the first could not be parsed."""

    beliefs: tuple[Belief, ...] | None
    """Beliefs about each target; None if no reply could be parsed."""


def judge(model: CachedModel, cases: Sequence[JudgeCase], workers: int) -> list[JudgedCase]:
    """Return every case with the judge's replies. Raises ProviderFailure if it does not answer."""

    def replies(case: JudgeCase) -> tuple[str, ...]:
        first = model.answer(case.question).text
        if case.beliefs(first) is not None:
            return (first,)
        return first, model.answer(case.asked_again(first)).text

    asked = different(cases)
    answers = dict(zip(asked, side_by_side(replies, asked.values(), workers), strict=True))
    return [JudgedCase(case, answers[case.prompt], case.beliefs(answers[case.prompt][-1])) for case in cases]


def judged_games(games: Sequence[AuditedGame], judgements: Sequence[JudgedCase]) -> list[MeasuredGame]:
    """Return the judge's beliefs of each game. A round without messages to a seat does not change the seat's beliefs."""
    beliefs: defaultdict[str, list[Belief]] = defaultdict(list)
    missing: defaultdict[str, set[Place]] = defaultdict(set)
    for one in judgements:
        case = one.case
        beliefs[case.game.name] += one.beliefs or ()
        if one.beliefs is None:
            missing[case.game.name] |= {(case.round, case.recipient, target) for target in case.targets}
    return [MeasuredGame(game, tuple(beliefs[game.name]), frozenset(missing[game.name])) for game in games]


class PairedCell(NamedTuple):
    """A cell as both sides see it; sums over `rounds` rounds."""

    observer: int
    target: int
    slot: int
    judge: float
    reflection: float
    rounds: int


@dataclass(frozen=True)
class DatasetAudit:
    """A run with the judge's beliefs and its seats' own reflections."""

    name: str
    judgements: Sequence[JudgedCase]
    judged: Sequence[MeasuredGame]
    own: Sequence[MeasuredGame]
    """Games in which some seat's reflection could be parsed."""

    @property
    def pairs(self) -> list[tuple[MeasuredGame, MeasuredGame]]:
        """Each game with reflections: its beliefs by the judge, and by its own seats."""
        judged = {one.game.name: one for one in self.judged}
        return [(judged[own.game.name], own) for own in self.own]

    @property
    def cells(self) -> list[tuple[MeasuredGame, PairedCell]]:
        """Every cell that both sides have, in order."""
        return [(own, cell) for judged, own in self.pairs for cell in _paired_cells(judged, own)]


def audits(games: Sequence[AuditedGame], judgements: Sequence[JudgedCase]) -> list[DatasetAudit]:
    """Return one audit per run, which has one line-up."""
    made = []
    for run, mine in grouped(games, lambda game: game.run).items():
        names = {game.name for game in mine}
        told = [one for one in judgements if one.case.game.name in names]
        own = [measured for game in mine if (measured := reflected(game))]
        made.append(DatasetAudit(run, told, judged_games(mine, told), own))
    return made


def _paired_cells(judged: MeasuredGame, own: MeasuredGame) -> Iterator[PairedCell]:
    places = {_place(one) for one in own.beliefs} - judged.missing
    judge, reflection = _summed(judged.beliefs, places), _summed(own.beliefs, places)
    rounds = Counter((observer, target) for _, observer, target in places)
    for cell in sorted(reflection):
        yield PairedCell(*cell, judge.get(cell, 0.0), reflection[cell], rounds[cell[:2]])


def _place(belief: Belief) -> Place:
    return belief.round, belief.observer, belief.target


def _summed(beliefs: Iterable[Belief], places: set[Place]) -> dict[tuple[int, int, int], float]:
    """Return sums of scores by observer, target and slot."""
    sums: defaultdict[tuple[int, int, int], float] = defaultdict(float)
    for belief in beliefs:
        if _place(belief) in places:
            for slot, score in enumerate(belief.scores):
                sums[belief.observer, belief.target, slot] += score
    return sums


def kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Return Cohen's kappa of two labellings; None without pairs, or if agreement by chance would be complete."""
    if not pairs:
        return None
    n = len(pairs)
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum(first[label] * second[label] for label in first) / n**2
    observed = sum(one == other for one, other in pairs) / n
    return None if chance == 1 else (observed - chance) / (1 - chance)


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Return Pearson's correlation; None if a side does not vary."""
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    return float(scipy_stats().pearsonr(xs, ys).statistic)


def _sign(score: float) -> int:
    return (score > 0) - (score < 0)


def _marked(side: str, moves: Sequence[BeliefMove] | None) -> dict[str, Any]:
    """Return the number of nonzero scores, the number with the right sign, and its share; None if a side has no beliefs."""
    truthful = None if moves is None else sum(move.is_truthful for move in moves)
    return {
        f"{side}_nonzero": None if moves is None else len(moves),
        f"{side}_truth_directed": truthful,
        f"{side}_precision": share(truthful or 0, len(moves or ())),
    }


IDS = ("dataset", "trace_path", "game_id")
_MOVE = (*IDS, "round", "observer_agent", "target_agent", "slot", "delta", "raw_vps")
_MARKED = (*_marked("judge", []), *_marked("reflection", []))
FIELDS = {
    "judge_beliefs": _MOVE,
    "judge_beliefs_calibrated": (*_MOVE, "occupied", "truth_directed", "calibrated_vps"),
    "metric_comparison": (
        "dataset", "games", "cases", "retried_cases", "malformed_cases", "beliefs", "judge_raw_vps", "judge_calibrated_vps",
        "judge_excess_calibrated_vps", "primary_metric", "primary_vps", "primary_excess_vps", "raw_vps_per_case",
        "mean_absolute_delta", *_MARKED,
    ),
    "judge_vs_reflection_precision": (*IDS, "target_agent", *_MARKED, "precision_gap", "more_precise"),
    "judge_reflection_cell_agreement": (
        *IDS, "observer_agent", "target_agent", "slot", "rounds", "judge_delta", "judge_mean_delta", "reflection_delta",
        "reflection_mean_delta", "both_nonzero", "same_direction",
    ),
}  # fmt: skip
"""For each table, its columns; `judge_more_precise_than_reflection` has those of `judge_vs_reflection_precision`."""


def belief_rows(audit: DatasetAudit) -> Iterator[Row]:
    """Yield one row per nonzero score of the judge, with its calibration."""
    for game in audit.judged:
        for move in game.moves:
            raw = abs(move.score) / STRONGEST
            yield {
                **_ids(audit, game), "round": move.round, "observer_agent": move.observer, "target_agent": move.target,
                "slot": move.slot, "delta": move.score, "raw_vps": raw, "occupied": int(move.taken),
                "truth_directed": int(move.is_truthful), "calibrated_vps": raw if move.is_truthful else 0.0,
            }  # fmt: skip


def comparison_row(audit: DatasetAudit) -> Row:
    """Return Table 16: the judge beside the primary measure of these games; sums over all targets and games."""
    lost = [sum_by_target(compute_losses(game.beliefs, game.truth)).values() for game in audit.judged]
    moves, own = ([move for game in side for move in game.moves] for side in (audit.judged, audit.own))
    raw = sum(loss.raw for mine in lost for loss in mine)
    malformed = sum(one.beliefs is None for one in audit.judgements)
    return {
        "dataset": audit.name,
        "games": len(audit.judged),
        "cases": len(audit.judgements),
        "retried_cases": sum(len(one.replies) > 1 for one in audit.judgements),
        "malformed_cases": malformed,
        "beliefs": len(moves),
        "judge_raw_vps": raw,
        "judge_calibrated_vps": sum(loss.calibrated for mine in lost for loss in mine),
        "judge_excess_calibrated_vps": sum(sum(loss_above_floor(loss.calibrated) for loss in mine) for mine in lost),
        **primary([one.game for one in audit.judged]),
        "raw_vps_per_case": share(raw, len(audit.judgements) - malformed),
        "mean_absolute_delta": share(raw * STRONGEST, len(moves)),
        **_marked("judge", moves),
        **_marked("reflection", own if audit.own else None),
    }


def precision_rows(audit: DatasetAudit) -> Iterator[dict[str, Any]]:
    """Yield one row per game and target with nonzero scores of both sides."""
    for judged, own in audit.pairs:
        by_judge, by_seats = (grouped(side.moves, lambda move: move.target) for side in (judged, own))
        for target in sorted(by_judge.keys() & by_seats.keys()):
            marked = _marked("judge", by_judge[target]) | _marked("reflection", by_seats[target])
            gap = marked["judge_precision"] - marked["reflection_precision"]
            more_precise = "judge" if gap > 0 else "reflection" if gap else "tie"
            yield {
                **_ids(audit, own), "target_agent": target, **marked, "precision_gap": gap, "more_precise": more_precise
            }  # fmt: skip


def cell_rows(audit: DatasetAudit) -> Iterator[Row]:
    """Yield one row per cell that both sides have."""
    for game, cell in audit.cells:
        both = bool(cell.judge and cell.reflection)
        yield {
            **_ids(audit, game), "observer_agent": cell.observer, "target_agent": cell.target, "slot": cell.slot,
            "rounds": cell.rounds, "judge_delta": cell.judge, "judge_mean_delta": cell.judge / cell.rounds,
            "reflection_delta": cell.reflection, "reflection_mean_delta": cell.reflection / cell.rounds,
            "both_nonzero": int(both), "same_direction": int((cell.judge > 0) == (cell.reflection > 0)) if both else None,
        }  # fmt: skip


def agreement_row(audit: DatasetAudit) -> Row | None:
    """Return Table 17 of a run; None if no cell has both sides. A ratio is None if its denominator is 0 or nothing varies."""
    cells = [cell for _, cell in audit.cells]
    if not cells:
        return None
    judge, reflection = [one.judge for one in cells], [one.reflection for one in cells]
    both = [one for one in cells if one.judge and one.reflection]
    by_judge, by_reflection = sum(map(bool, judge)), sum(map(bool, reflection))
    return {
        "dataset": audit.name,
        "union": len(cells),
        "judge_nonzero": by_judge,
        "reflection_nonzero": by_reflection,
        "both_nonzero": len(both),
        "jaccard": share(len(both), by_judge + by_reflection - len(both)),
        "judge_coverage": share(len(both), by_reflection),
        "reflection_coverage": share(len(both), by_judge),
        "direction": share(sum((one.judge > 0) == (one.reflection > 0) for one in both), len(both)),
        "kappa": kappa([(_sign(one.judge), _sign(one.reflection)) for one in cells]),
        "pearson": pearson(judge, reflection),
        "pearson_both": pearson([one.judge for one in both], [one.reflection for one in both]),
    }


def _ids(audit: DatasetAudit, measured: MeasuredGame) -> dict[str, str]:
    return {"dataset": audit.name, "trace_path": measured.game.name, "game_id": measured.game.key}


_JUDGED = (
    *titled(dataset="Run", games="Games", cases="Cases", malformed_cases="Malformed", retried_cases="Asked twice"),
    Column("beliefs", "Beliefs"),
    *titled("rate", judge_raw_vps="Judge, raw", judge_calibrated_vps="Judge, calibrated"),
    *titled("rate", judge_excess_calibrated_vps="Judge, excess", raw_vps_per_case="Raw per case"),
    *titled("rate", mean_absolute_delta="Mean |delta|"),
    Column("primary_metric", "Primary measure", shown=False),
)
_PRIMARY = {REFLECTION: ("reflection", "Reflection VPS"), PROTOCOL: ("protocol", "Protocol VPS"), None: ("alone", "")}
"""For each primary measure, the name of its block and the title of its column. Measures never share a block."""

_PRECISION = (
    *titled(dataset="Run", judge_truth_directed="Judge, to the truth", judge_nonzero="of"),
    Column("judge_precision", "Precision", "number"),
    *titled(reflection_truth_directed="Reflection, to the truth", reflection_nonzero="of"),
    Column("reflection_precision", "Precision", "number"),
    *titled(joined="Game-targets", judge_better="Judge better", reflection_better="Reflection better", ties="Tie"),
    *titled("signed", gap="Mean gap", gap_where_better="Gap where judge better"),
)
_ROWS = {
    "union": "Union cells compared",
    "judge_nonzero": "Judge nonzero cells",
    "reflection_nonzero": "Reflection nonzero cells",
    "both_nonzero": "Both nonzero",
    "jaccard": "Jaccard of nonzero cells",
    "judge_coverage": "Judge coverage of reflection",
    "reflection_coverage": "Reflection coverage of judge",
    "direction": "Same direction, both nonzero",
    "kappa": "Kappa of signs, union",
    "pearson": "Pearson, union",
    "pearson_both": "Pearson, both nonzero",
}
"""The rows of Table 17, in its order."""

_AGREEMENT = (*titled(dataset="Run", statistic="Statistic"), Column("value", "Value", "number", kept=True))

_BELIEFS = (
    "beliefs: scores other than 0; VPS in slots, over all targets and games; excess: above five of each target in each game"
)
_MALFORMED = "malformed: cases of which no reply could be parsed; they have no beliefs, which is not a score of 0"
_NO_OTHER = "some seats wrote prose, and no reflection could be parsed, so the judge is compared with nothing"


def judge_tables(audits: Sequence[DatasetAudit]) -> list[Table]:
    """Return every table that is not empty."""
    compared = tuple(comparison_row(one) for one in audits)
    blocks = (_block(metric, [row for row in compared if row["primary_metric"] == metric]) for metric in _PRIMARY)
    return [
        *chain.from_iterable(blocks),
        *table_of(
            "precision", "Scores that go towards the truth (Appendix I.4)", _PRECISION, map(_precise, audits, compared)
        ),
        *table_of("agreement", "Judge against reflections, by cell (Table 17)", _AGREEMENT, _stated(audits)),
    ]  # fmt: skip


def _block(metric: str | None, rows: Sequence[Row]) -> list[Table]:
    """Return Table 16 of the runs with this primary measure."""
    name, title = _PRIMARY[metric]
    primary = titled("rate", primary_vps=title, primary_excess_vps=f"{title}, excess") if title else ()
    notes = (_BELIEFS, _MALFORMED) if metric else (_BELIEFS, _MALFORMED, _NO_OTHER)
    beside = f"beside {metric}" if metric else "alone"
    return table_of(f"judge-{name}", f"Judge {beside} (Table 16)", (*_JUDGED, *primary), rows, notes)


def _precise(audit: DatasetAudit, compared: Row) -> Row:
    rows = list(precision_rows(audit))
    times = Counter(row["more_precise"] for row in rows)
    gaps = [row["precision_gap"] for row in rows]
    joined = {
        "joined": len(rows), "judge_better": times["judge"], "reflection_better": times["reflection"], "ties": times["tie"]
    }  # fmt: skip
    gap = {"gap": mean(gaps), "gap_where_better": mean([gap for gap in gaps if gap > 0])}
    return {**compared, **(joined if audit.own else {}), **gap}


def _stated(audits: Sequence[DatasetAudit]) -> Iterator[Row]:
    for row in filter(None, map(agreement_row, audits)):
        for key, name in _ROWS.items():
            # counts unchanged, ratios with three digits
            value = str(row[key]) if isinstance(row[key], int) else row[key]
            yield {"dataset": row["dataset"], "statistic": name, "value": value}


CASES = "judge_cases.json"


def write_audit(audits: Sequence[DatasetAudit], model: str, folder: Path) -> list[Path]:
    """Write all seven files. Raises UsageError if the folder cannot be written."""
    precise = [row for audit in audits for row in precision_rows(audit)]
    beliefs = [row for audit in audits for row in belief_rows(audit)]
    rows: dict[str, Sequence[Row]] = {
        "judge_beliefs": [{name: row[name] for name in _MOVE} for row in beliefs],
        "judge_beliefs_calibrated": beliefs,
        "metric_comparison": [comparison_row(audit) for audit in audits],
        "judge_vs_reflection_precision": precise,
        "judge_more_precise_than_reflection": [row for row in precise if row["more_precise"] == "judge"],
        "judge_reflection_cell_agreement": [row for audit in audits for row in cell_rows(audit)],
    }
    fields = {**FIELDS, "judge_more_precise_than_reflection": FIELDS["judge_vs_reflection_precision"]}
    paths = write_tables({name: (fields[name], mine) for name, mine in rows.items()}, folder)
    cases = [_case(audit, one, model) for audit in audits for one in audit.judgements]
    with writing(folder):
        write_file(folder / CASES, json.dumps(cases, ensure_ascii=False, indent=1).encode() + b"\n")
    return [folder / CASES, *paths]


def _case(audit: DatasetAudit, judgement: JudgedCase, model: str) -> dict[str, Any]:
    case = judgement.case
    state = "malformed" if judgement.beliefs is None else "read" if len(judgement.replies) == 1 else "read at the second try"
    return {
        "dataset": audit.name, "trace_path": case.game.name, "game_id": case.game.key, "round": case.round,
        "recipient_agent": case.recipient, "target_agents": case.targets, "model": model, "state": state,
        "messages": [
            {"event_index": one.seq, "from_agent": one.sender, "channel": one.channel, "content": one.content}
            for one in case.messages
        ],
        "prompt": case.prompt, "replies": list(judgement.replies),
    }  # fmt: skip
