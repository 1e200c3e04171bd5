"""`harness compare`: exit codes on constructed pairs of runs, the pairing by hand, and what cannot be compared."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import HarnessError, UsageError
from parley.commands.compare import chosen, compare_command, points
from parley.reports.comparison import Comparison, compared, with_holm
from parley.reports.evidence import Evidence
from parley.sweeps.early_stopping import Decision, Until, write_decision

Record = Callable[..., Path]
Gathered = Callable[..., Evidence]
Command = Callable[..., subprocess.CompletedProcess[str]]
S, W = "SUCCESS", "WRONG_VALUE"
NOWHERE = SimpleNamespace(obj={"tasks": Path("/nowhere")})
"""A context of the command line without a registry."""

TASKS = [f"t{number:02}" for number in range(20)]


def run_of(passed: int, labels: str = "", seeds: int = 1) -> dict[tuple[str, int], str]:
    """Twenty tasks, of which the first `passed` succeed at all seeds."""
    return {(task, seed): labels or (S if place < passed else W) for place, task in enumerate(TASKS) for seed in range(seeds)}


def two(first: Path, second: Path, gathered: Gathered, max_drop: float = 0.0) -> Comparison:
    """The comparison of two runs of one group each."""
    ((a,), (b,)) = (gathered(folder).played for folder in (first, second))
    return with_holm([compared("contract", a, b, max_drop)])[0]


def test_pairs_by_hand(record: Record, gathered: Gathered) -> None:
    """Two tasks: a has rates 1 and 1/2 against 0 at two seeds, b ties: d = -.75 and 0, mean -.375."""
    first = record("first", {("a", 0): f"{S} {S}", ("a", 1): f"{S} {W}", ("b", 0): f"{W} {W}", ("b", 1): f"{W} {W}"})
    second = record("second", {("a", 0): f"{W} {W}", ("a", 1): f"{W} {W}", ("b", 0): f"{W} {W}", ("b", 1): f"{W} {W}"})
    one = two(first, second, gathered)

    assert (one.differences, one.mean, one.pairs, one.missing) == ([-0.75, 0.0], -0.375, 4, 0)
    assert (one.reliability(one.first), one.reliability(one.second)) == (0.25, 0.0)
    assert one.worst == (-0.375, -0.375)


def test_missing_pairs_and_the_worst_case(record: Record, gathered: Gathered) -> None:
    """B lost b at the provider: one pair of two; against B its b is 0 and A's stands at 1, for B it is 1."""
    one = two(record("first", {("a", 0): S, ("b", 0): S}), record("second", {("a", 0): S, ("b", 0): "ungraded"}), gathered)

    assert (one.pairs, one.missing, one.mean) == (1, 1, 0.0)
    assert one.worst == (-0.5, 0.0)


def test_mcnemar_where_tasks_are_pairs(record: Record, gathered: Gathered) -> None:
    """Six tasks lost and none won: 2 / 2^6; with two attempts the sign-flip test takes over, and says what it must."""
    one = two(record("first", run_of(18)), record("second", run_of(12)), gathered)
    double = two(record("third", run_of(0, f"{S} {W}")), record("fourth", run_of(0, f"{W} {W}")), gathered)

    assert (one.is_binary, one.p, one.is_worse) == (True, pytest.approx(2 / 2**6), True)
    assert (double.is_binary, double.p) == (False, pytest.approx(2.0**-19))


def test_an_allowed_drop(record: Record, gathered: Gathered) -> None:
    """A drop of 30 points is shown, but not that it is more than 25, which is not ruled out; more than 60 is."""
    runs = record("first", run_of(18)), record("second", run_of(12))

    assert [two(*runs, gathered, drop).is_worse for drop in (0.0, 0.25)] == [True, False]
    assert [two(*runs, gathered, drop).may_be_worse for drop in (0.25, 0.6)] == [True, False]


def test_holm_over_families(record: Record, gathered: Gathered) -> None:
    """The p of one of two equal comparisons is doubled."""
    one = two(record("first", run_of(18)), record("second", run_of(12)), gathered)

    assert [again.adjusted for again in with_holm([one, one])] == [pytest.approx(4 / 2**6)] * 2


def test_points() -> None:
    """Points and percent are hundredths; words and whole drops are refused."""
    assert [points(text) for text in ("2pp", "2 %", "0.02", "0", ".5pp")] == pytest.approx([0.02, 0.02, 0.02, 0.0, 0.005])
    for text in ("much", "-1", "200pp", "2"):
        with pytest.raises(UsageError, match="--max-drop must look like"):
            points(text)


def changed(folder: Path, **identity: Any) -> Path:
    """A run whose plan says something else."""
    plan = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    plan["identity"].update(identity)
    (folder / "run.json").write_text(json.dumps(plan), encoding="utf-8")
    return folder


def code(*words: str | Path, max_drop: str = "0", strict: bool = False, across: list[str] | None = None) -> int:
    """The exit code of `harness compare`, in this process."""
    try:
        compare_command(NOWHERE, [*map(str, words)], max_drop, strict, across)  # type: ignore[arg-type]
    except HarnessError as error:
        return error.exit_code
    return 0


def test_exit_codes(record: Record) -> None:
    """Worse is 1, alike and better are 0, within an allowed drop is 0, and --strict wants a larger drop ruled out."""
    high, low, alike = record("high", run_of(18)), record("low", run_of(10)), record("alike", run_of(17))

    assert code(high, low) == 1
    assert [code(low, high), code(high, high), code(high, alike)] == [0, 0, 0]
    assert code(high, low, max_drop="50pp") == 0
    assert code(high, alike, max_drop="5pp", strict=True) == 1
    assert code(high, alike, max_drop="30pp", strict=True) == 0


def test_several_runs_a_side(record: Record) -> None:
    """Two runs of the same set-up are one side: a comma joins them."""
    halves = [record(name, run_of(18)) for name in ("one", "two")]

    assert code(f"{halves[0]},{halves[1]}", record("low", run_of(10))) == 1


def test_what_is_not_comparable(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    """Digests, seeds, keys, options and budgets that differ are exit 2, each by its name; options may be allowed to."""
    base = record("base", run_of(18))
    others = {
        "different digests (of t00, t01, t02 and 17 more)": changed(
            record("digests", run_of(9)), tasks=dict.fromkeys(TASKS, "1" * 64)
        ),
        "different seeds (0 and 0,1)": record("seeds", run_of(9, seeds=2)),
        "different keys (": record("keys", run_of(9), key_digest="5" * 64),
        "different options (the default and clip=200)": record("options", run_of(9), options={"clip": 200}),
        "different budget (the default and turns=7)": record("budget", run_of(9), budget={"turns": 7}),
    }
    for said, folder in others.items():
        with pytest.raises(UsageError, match="not comparable in contract") as refused:
            compare_command(NOWHERE, [str(base), str(folder)])  # type: ignore[arg-type]
        assert said in str(refused.value)

    assert code(base, others["different options (the default and clip=200)"], across=["options"]) == 1
    assert "compared although they differ in options" in capsys.readouterr().err


@pytest.mark.property
def test_what_is_printed(record: Record, harness: Command) -> None:
    """Both sides, the figures, the tasks that differ and the labels; --json has every task and the verdict."""
    first, second = record("first", run_of(18), model="gpt-5"), record("second", run_of(12), model="gpt-5")
    plain = harness("compare", str(first), str(second))
    told = json.loads(harness("compare", str(first), str(second), "--json").stdout)

    assert (plain.returncode, "B is worse than A: contract -30.0 points (p 0.031)" in plain.stderr) == (1, True)
    words = ("B against A", "success rate", "Tasks that differ most", "t12", "WRONG_VALUE", "6 tasks differ, 14 do not")
    assert [word for word in (f"A = {first}", *words) if word not in plain.stdout] == []
    assert told["worse"] == ["contract"]
    (row,) = told["tables"][0]["rows"]
    assert (row["first"], row["second"], row["tasks"], row["test"]) == (0.9, 0.6, 20, "McNemar, exact")
    assert len(told["tables"][1]["rows"]) == 20


@pytest.mark.parametrize(("tasks", "is_said", "code"), [(5, True, 0), (6, False, 1)])
def test_too_few_tasks_to_show_anything(record: Record, harness: Command, tasks: int, is_said: bool, code: int) -> None:
    """With five tasks all lost the exit code is 0, and stderr says that it proves nothing; six are enough."""
    names = [f"t{number}" for number in range(tasks)]
    first = record("first", {(name, 0): "SUCCESS" for name in names}, model="gpt-5")
    second = record("second", {(name, 0): "WRONG_VALUE" for name in names}, model="gpt-5")
    plain = harness("compare", str(first), str(second))

    assert (plain.returncode, "cannot show a drop" in plain.stderr) == (code, is_said)
    assert harness("compare", str(first), str(second), "--strict").returncode == 1


def test_a_sweep_names_its_two(record: Record, tmp_path: Path) -> None:
    """A folder of two runs is compared in itself, or by the names of its parts; three runs are refused."""
    record("sweep/agent=good", run_of(18), agent="good")
    record("sweep/agent=bad", run_of(10), agent="bad")
    sweep = tmp_path / "sweep"

    assert code(sweep) == 0
    assert code(sweep, "good", "bad") == 1
    with pytest.raises(UsageError, match="there are agent=bad, agent=good"):
        chosen([str(sweep), "good", "worse"])
    record("sweep/agent=third", run_of(10), agent="third")
    with pytest.raises(UsageError, match="contains 3 runs, and compare takes two"):
        chosen([str(sweep)])


def until_of(folder: Path, sign: float, tasks: int) -> None:
    """Beside two parts, the path of a run that was stopped as they were played."""
    until = Until(first="agent=a", second="agent=b", order=tuple(TASKS))
    decision = Decision(until=until)
    for task in TASKS[:tasks]:
        decision = decision.after(task, sign)
    write_decision(folder, decision)


def test_a_run_that_stopped_itself_is_judged_by_its_own_path(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twelve tasks for A are a drop of B by the anytime-valid interval; three are none, whatever McNemar would say of them."""
    for name, passed in (("a", 12), ("b", 0)):
        record(f"early/agent={name}", run_of(passed), agent=name)
    until_of(tmp_path / "early", 1.0, 12)

    assert (code(tmp_path / "early"), code(tmp_path / "early", "b", "a")) == (1, 0)
    assert "a is better than b: e-value" in capsys.readouterr().err
    until_of(tmp_path / "early", 1.0, 3)
    assert code(tmp_path / "early") == 0
    assert code(tmp_path / "early", strict=True) == 1
