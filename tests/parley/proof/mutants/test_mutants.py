"""Mutants of a fresh task: the proof notices mistakes, does not notice what it cannot, and ends one that never ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from harness.errors import TaskInvalid, UsageError
from harness.registry import read_task
from harness.trust import admitted
from parley.proof.mutants.copies import allow, each_in_a_copy
from parley.proof.mutants.operators import UNSEEDED
from parley.proof.mutants.run import Equivalent, MutantReport, TriedMutant, try_mutants
from parley.proof.mutants.targets import seedless
from parley.proof.mutants.trial import surveyed
from worlds.core.chance import Chance

SERVER = "my-task/environment/api/server.py"


def apart(folder: Path, seeds: Sequence[int], listed: Sequence[Equivalent] = (), **how: int) -> MutantReport:
    """The mutants of a task, tried in a process that no other test has left a thread in."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh_process:
        return fresh_process.submit(_tried, folder, seeds, listed, how).result()


def _tried(folder: Path, seeds: Sequence[int], listed: Sequence[Equivalent], how: dict[str, Any]) -> MutantReport:
    return try_mutants([admitted(read_task(folder))], (), seeds, listed=listed, **how)


@pytest.fixture(scope="session")
def tried(fresh: Path) -> MutantReport:
    """Every mutant of a fresh task, tried on two seeds."""
    return apart(fresh, [0, 1])


@pytest.mark.property
def test_a_fresh_task(tried: MutantReport) -> None:
    """What `new` writes notices every mutant, each by a check of its own proof; hidden tests that are left out are counted."""
    dropped = {mutant.was: mutant for mutant in tried.mutants if mutant.operator == "call-dropped" and mutant.path == SERVER}
    redeemed = next(mutant for was, mutant in dropped.items() if was.startswith("self.redeem("))

    assert {"server", "tests"} == {mutant.kind for mutant in tried.mutants}
    assert redeemed.fate == "died"
    assert redeemed.by.startswith("my-task violation:")
    assert [mutant.id for mutant in tried.of("survived", "unreached")] == []
    assert len(tried.mutants) == sum(row[1] for row in list(tried.rows())[:-1])


@pytest.mark.property
def test_the_same_mutants_meet_the_same_fate(fresh: Path, tried: MutantReport) -> None:
    """A draw of some, by one worker, tells of each of them what the whole run told."""
    whole = {mutant.id: mutant.fate for mutant in tried.mutants}
    drawn = apart(fresh, [0, 1], draw=6, workers=1)

    assert len(drawn.mutants) == 6
    assert {mutant.id: mutant.fate for mutant in drawn.mutants}.items() <= whole.items()


@pytest.mark.property
def test_a_survivor_in_a_server_is_tried_on_other_seeds(fresh: Path) -> None:
    """One seed cannot tell a draw that ignores the seed from one that does not; the task's other seeds do."""
    tried = apart(fresh, [0])

    unseeded = [mutant for mutant in tried.mutants if mutant.operator == UNSEEDED]
    assert {mutant.fate for mutant in unseeded} == {"died"}
    assert tried.rules_alive == []


@pytest.mark.property
def test_a_listed_equivalent_is_not_tried(fresh: Path, tried: MutantReport) -> None:
    """It is told with its reason, and counts for nothing."""
    one = tried.mutants[0]
    entry = Equivalent(
        path=one.path, within=one.within, line=one.text, operator=one.operator, was=one.was, reason="for this test"
    )
    report = apart(fresh, [0], listed=[entry])
    (equivalent,) = report.of("equivalent")

    assert (one.id, "for this test") == (equivalent.id, equivalent.by)
    assert len(report.mutants) == len(tried.mutants)


@pytest.mark.property
def test_a_task_that_does_not_hold_is_refused(folder: Path) -> None:
    """A proof that fails already cannot tell of a change."""
    server = folder / "environment" / "api" / "server.py"
    server.write_text(server.read_text(encoding="utf-8").replace("self.redeem(self.ticket,", "print("), encoding="utf-8")

    with pytest.raises(TaskInvalid, match="fails its checks without any mutant"):
        apart(folder, [0])


def test_a_folder_from_elsewhere_is_refused(fresh: Path) -> None:
    """Its code does not run in this process unless a person vouches for it."""
    with pytest.raises(UsageError, match="is not a built-in task"):
        try_mutants([read_task(fresh)], (), [0], listed=[])


@pytest.mark.property
def test_the_command_refuses_it_too(fresh: Path) -> None:
    """`harness verify --mutants` says how to vouch for it."""
    command = [sys.executable, "-m", "harness", "--tasks", str(fresh.parents[1]), "verify", "--mutants", "my-task"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "harness verify --mutants --trust" in done.stderr


@pytest.mark.property
def test_who_is_ended_leaves_nothing(tmp_path: Path) -> None:
    """SIGTERM to all of a run while copies are at work: no folder of theirs stays."""
    command = [sys.executable, "-m", "harness", "verify", "--mutants", "presigned-url-download"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL) as running:
        while not list(tmp_path.glob("parley-mutants-*/*/parley-judge-*")):
            assert running.poll() is None
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGTERM)
        assert running.wait() == 143

    assert list(tmp_path.iterdir()) == []


@pytest.mark.property
def test_the_map_says_what_runs_a_line(fresh: Path) -> None:
    """Every episode draws, the right client gets the value and who does nothing does not, and judging runs the hidden tests."""
    server, hidden = (fresh.resolve() / name for name in ("environment/api/server.py", "tests/test_outcome.py"))
    lines = server.read_text(encoding="utf-8").splitlines()
    ground = surveyed(admitted(read_task(fresh.resolve())), [0], {str(server), str(hidden)})
    drawn, given = (
        next(number for number, line in enumerate(lines, start=1) if text in line) for text in ("self.chance(", "Reply(self.")
    )

    assert ground.wrong == ""
    assert ground.reached(str(server), [drawn]) == set(ground.plays)
    assert (
        {"solve"}
        <= {player for player, _, _ in ground.reached(str(server), [given])}
        <= {player for player, _, _ in ground.plays} - {"nop"}
    )
    assert ground.judged[str(hidden)]


def work(job: str) -> str:
    """A job that answers, never ends, sleeps, or dies."""
    allow(0.2)
    if job == "hangs":
        while True:
            pass
    if job == "sleeps":
        time.sleep(600)
    if job == "dies":
        os._exit(3)
    return job.upper()


def _copied(jobs: Sequence[str]) -> dict[str, str | None]:
    return dict(each_in_a_copy(jobs, work, 2, limit_s=5))


@pytest.mark.property
def test_a_copy_that_never_ends_is_killed() -> None:
    """Others answer; one that computes for ever or sleeps does not, and neither does one that dies."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh_process:
        answers = fresh_process.submit(_copied, ["a", "hangs", "dies", "sleeps", "b"]).result(timeout=60)

    assert answers == {"a": "A", "hangs": None, "dies": None, "sleeps": None, "b": "B"}


def test_seedless_chance() -> None:
    """It is the same for every seed, differs by purpose, and goes on where it stopped."""
    first, second = (Chance("key", "task", seed) for seed in (0, 1))
    drawn = [seedless(chance)("a").hex(8) for chance in (first, second)]

    assert drawn[0] == drawn[1] != seedless(first)("b").hex(8)
    assert seedless(first)("a").hex(8) != drawn[0]


@pytest.mark.parametrize(("dead", "alive", "ok"), [(19, 1, True), (18, 2, False), (0, 0, True)])
def test_the_gate(dead: int, alive: int, ok: bool) -> None:
    """Nineteen of twenty must die; equivalents count for neither side."""
    one = TriedMutant(
        id="", kind="tests", path="a", line=1, within="", text="", operator="", was="", becomes="", fate="equivalent"
    )
    fates = ["died"] * dead + ["survived"] * alive + ["equivalent"] * 50
    report = MutantReport(mutants=tuple(one.model_copy(update={"fate": fate}) for fate in fates), seconds=1)

    assert report.ok is ok
    assert ("all", dead + alive + 50, dead, 0, 0, alive, 0, 50) == list(report.rows())[-1]


@pytest.mark.parametrize(("drawn", "alive", "ok"), [(False, 7, True), (False, 8, False), (True, 17, True), (True, 18, False)])
def test_the_gate_of_a_draw(drawn: bool, alive: int, ok: bool) -> None:
    """Of 150 that were drawn, more may survive than of 150 that are all: as many as chance alone can bring."""
    one = TriedMutant(id="", kind="tests", path="a", line=1, within="", text="", operator="", was="", becomes="", fate="died")
    fates = ["survived"] * alive + ["died"] * (150 - alive)
    report = MutantReport(mutants=tuple(one.model_copy(update={"fate": fate}) for fate in fates), seconds=1, drawn=drawn)

    assert report.ok is ok


def test_a_mutant_of_a_rule_may_not_survive() -> None:
    """One survivor in a task's server fails the run, however many die; in a hidden test one of fifty does not."""
    one = TriedMutant(id="", kind="tests", path="a", line=1, within="", text="", operator="", was="", becomes="", fate="died")
    alive = one.model_copy(update={"fate": "survived"})
    rule = alive.model_copy(update={"kind": "server"})

    assert MutantReport(mutants=(*[one] * 50, alive), seconds=1).ok
    assert MutantReport(mutants=(*[one] * 50, rule), seconds=1).rules_alive == [rule]
    assert not MutantReport(mutants=(*[one] * 50, rule), seconds=1).ok
