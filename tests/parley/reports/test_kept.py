"""Results that are kept are those that were read, in a fraction of their memory; what exports hold does not grow with a run."""

from __future__ import annotations

import gc
import json
import os
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from harness.agent import AgentSpec
from harness.records import Result, RunFolder, SeatResult, Tokens
from harness.runs.plan import Plan
from harness.runs.run import recorded_of, run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.commands.export import episodes_command, inspect_command
from parley.reports.compact import PackedMeasures, kept
from parley.reports.evidence import Breadth, Run, planned_runs, read_runs
from parley.reports.whole import make_report
from tests.shipped import SHIPPED

NAMES = {"presigned-url-download", "uniform-01", "whistle-for-the-cup-final"}
TASKS = [task for task in SHIPPED if task.task_id in NAMES]


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A task of each family under two seeds."""
    return Plan("run", TASKS, [0, 1], 1, AgentSpec())


@pytest.fixture(scope="module")
def run(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It, played."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=lambda event: None)
    return folder


def grown(run: Path, out: Path, family: str, seeds: int) -> Path:
    """The run with one task of so many seeds, each a copy of the first."""
    (first,) = run.glob(f"episodes/{family}/*/s0-a1")
    plan = json.loads((run / "run.json").read_bytes())
    plan["identity"] |= {
        "seeds": list(range(seeds)),
        "tasks": {first.parent.name: plan["identity"]["tasks"][first.parent.name]},
    }
    result = json.loads((first / "result.json").read_bytes())
    for seed in range(seeds):
        place = out / first.relative_to(run).with_name(f"s{seed}-a1")
        place.mkdir(parents=True)
        for path in first.iterdir():
            if path.name != "result.json":
                os.link(path, place / path.name)
        (place / "result.json").write_text(json.dumps({**result, "seed": seed}), encoding="utf-8")
    (out / "run.json").write_text(json.dumps(plan), encoding="utf-8")
    return out


def held(make: Callable[[], object]) -> int:
    """Bytes that something takes once it is made."""
    # the interpreter's table of names grows in leaps; what is made first has put all its names there
    make()
    gc.collect()
    tracemalloc.start()
    try:
        made = make()
        assert made is not None
        # what only garbage collection frees is not held
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def peak(act: Callable[[], object]) -> int:
    """The most bytes that something holds on its way."""
    # what is made once and stays is no part of it
    act()
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.property
def test_a_kept_result_is_the_one_that_was_read(run: Path) -> None:
    """Equal, written byte for byte alike, and its measures as a mapping like any other; of every family."""
    read = list(RunFolder(run).results())
    packed = list(kept(read))

    assert {one.family for one in read} == {task.family for task in TASKS}
    assert packed == read
    assert [one.model_dump_json() for one in packed] == [one.model_dump_json() for one in read]
    assert [dict(one.metrics) for one in packed] == [one.metrics for one in read]
    assert [one.key for one in packed] == [one.key for one in read]


def test_seats_with_all_that_models_took_are_kept(run: Path) -> None:
    """Tokens, dollars, seconds and parameters of each."""
    seat = SeatResult(
        seat=1, kind="model", name="a/b", model="a/b", tokens=Tokens(calls=3, prompt=70), cost_usd=0.25, latency_s=1.5,
        latencies_s=(0.5, 1.0), effective={"temperature": 0.5},
    )  # fmt: skip
    one = next(RunFolder(run).results()).model_copy(update={"seats": (seat, seat), "failure_detail": {"a": [1]}})

    assert list(kept([one])) == [one]


def test_measures_are_read_as_a_mapping() -> None:
    """Long parts and short ones, names that are not there, and what is no list or table at all."""
    measures = {"long": [{"a": number, "b": None, "c": 0.5} for number in range(99)], "short": {"x": 1}, "none": None, "n": 2}
    packed = PackedMeasures({name: place for place, name in enumerate(measures)}, tuple(measures.values()))

    assert packed == measures
    assert (packed.get("long"), packed.get("other", 7), "n" in packed, len(packed)) == (measures["long"], 7, True, 4)
    with pytest.raises(KeyError):
        packed["other"]
    assert repr(packed) == f"PackedMeasures({measures!r})"


@pytest.mark.property
def test_tables_of_kept_results_are_those_of_results_as_read(run: Path) -> None:
    """Every table of every family says the same."""
    whole = [Run(path, planned, tuple(RunFolder(path).results())) for path, planned in planned_runs([run])]
    first, second = (
        make_report(runs, SHIPPED, [], published=True, breadth=Breadth(every_task=True)).document()
        for runs in (read_runs([run]), whole)
    )

    assert len(first["tables"]) > len(NAMES)
    assert first == second


@pytest.mark.property
@pytest.mark.parametrize(("family", "most"), [("calendar", 5500), ("hidden-profile", 5500), ("contract", 3000)])
def test_an_episode_that_is_kept_takes_little(run: Path, tmp_path: Path, family: str, most: int) -> None:
    """However many there are, and in the reports' reader as in that of --resume."""
    runs = [(n, grown(run, tmp_path / f"{n}", family, n)) for n in (100, 300)]
    few, many = (held(partial(read_runs, [path])) / n for n, path in runs)

    assert many <= most
    assert many <= few


def test_resuming_holds_no_more_than_a_report(run: Path, plan: Plan) -> None:
    """What was recorded is kept packed there as well."""
    results = recorded_of(plan.keys, RunFolder(run))

    assert list(results.values()) == [RunFolder(run).finished(key) for key in plan.keys]
    assert all(isinstance(one.metrics, PackedMeasures) for one in results.values() if one.metrics)


@pytest.mark.property
@pytest.mark.parametrize("family", ["contract", "calendar"])
def test_what_an_export_holds_does_not_grow(run: Path, tmp_path: Path, family: str) -> None:
    """Three times the episodes take no more than a tenth more at the peak, and a line in a zip's table of contents for each."""
    few, many = (grown(run, tmp_path / f"{n}", family, n) for n in (100, 300))
    logs = iter(range(99))

    def exported(path: Path) -> None:
        if family == "contract":
            episodes_command([path], out=tmp_path / "records.jsonl")
        inspect_command([path], tmp_path / f"logs-{next(logs)}")

    assert peak(lambda: exported(many)) <= 1.1 * peak(lambda: exported(few)) + (300 - 100) * 1_000


def test_a_result_from_elsewhere_is_kept_whatever_it_holds() -> None:
    """Measures of a family that nobody here knows, deep and with numbers of any size."""
    deep: object = 10**40
    for _ in range(50):
        deep = [deep, {"é": 1e300}]
    one = Result(
        run="r", task_id="t", family="other", seed=0, attempt=1, agent="a", runtime="docker", status="graded", key_digest="k",
        metrics={"deep": deep, "": {}, "list": []},
    )  # fmt: skip

    assert next(kept([one])) == one
