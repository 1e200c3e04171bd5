"""Mutants of a shared room that no task's proof notices: the unit tests that run their lines are asked, and told apart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from parley.proof.mutants.run import FEW, Trying, first_asked
from parley.proof.mutants.targets import ROOT, MutatedFile, mutants_of
from parley.proof.mutants.trial import Ground, broken_by_verdict
from parley.proof.mutants.units import UnitTests, _Mapping, _run
from parley.proof.plays import NOP, SOLVE, Play
from tests.shipped import SHIPPED
from validators.verdict import Verdict

HAZARDS = "worlds/contract/hazards.py"

SETTLED = f"""
import json
from parley.proof.mutants.run import Trying, settle
from parley.proof.mutants.targets import ROOT, MutatedFile, mutants_in

target = MutatedFile("worlds", ROOT / "{HAZARDS}", "{HAZARDS}")
mutants = [one for one in mutants_in(target) if one.operator == "compare-negated"]
told = settle([Trying(one, target, ()) for one in mutants], 1, lambda line: None)
print(json.dumps([(one.mutant.id, fate, by) for one, fate, by in told]))
"""


@pytest.mark.property
def test_what_no_proof_notices_a_unit_test_may() -> None:
    """With no task at hand, comparisons turned around in one module die by unit tests of that module, which are named."""
    done = subprocess.run([sys.executable, "-c", SETTLED], cwd=ROOT, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)

    assert told
    assert all(fate == "unit-tests" and by.startswith("tests/worlds/contract/test_") for _, fate, by in told)


def test_only_tests_that_run_a_line_are_asked() -> None:
    """Those that ran its line, quickest first; for a change outside functions, all that ran anything of the file."""
    inside, outside = (mutants_of("a.py", text)[0] for text in (b"def f():\n    return a < b\n", b"x = a is b\n"))
    target = MutatedFile("worlds", Path("/a.py"), "a.py")
    units = UnitTests(ran={"/a.py": {"slow": {2}, "quick": {1, 2}, "other": {7}}}, seconds={"slow": 2, "quick": 1, "other": 3})

    assert ["quick", "slow"] == units.reaching(inside, target)
    assert ["quick", "slow", "other"] == units.reaching(outside, target)


def test_few_tasks_prove_before_the_unit_tests() -> None:
    """What shows in one task mostly shows in all, and the proof of all of them costs more than the tests."""
    target = MutatedFile("worlds", Path("/a.py"), "a.py")
    mutant = mutants_of("a.py", b"x = a is b\n")[0]
    grounds = [Ground(task) for task in SHIPPED if task.family == "contract"][: FEW + 3]

    assert grounds[:FEW] == first_asked(Trying(mutant, target, grounds))


def test_a_verdict_that_breaks_a_claim_by_itself_ends_a_trial() -> None:
    """The right client that fails, nop that earns, a wrong client with another label; all else is for the claims to say."""
    won, lost, wrong = (_judged(*one) for one in ((SOLVE, "SUCCESS", 1.0), (SOLVE, "OTHER", 0.0), ("late", "LATE_USE", 0.0)))
    idle, other = _judged(NOP, "OTHER", 0.0), _judged("late", "OTHER", 0.0)

    assert ["", "oracle"] == [broken_by_verdict(now, won) for now in (won, lost)]
    assert ["", "nop"] == [broken_by_verdict(now, idle) for now in (idle, _judged(NOP, "SUCCESS", 1.0))]
    assert ["", "violation:late"] == [broken_by_verdict(now, wrong) for now in (wrong, other)]


def _judged(player: str, label: str, reward: float) -> Play:
    verdict = Verdict(
        task_id="t", family="contract", seed=0, success=label == "SUCCESS", reward=reward, failure_label=label, severity=0.0,
        steps=0, virtual_time_elapsed=0.0, trace_hash="0" * 64, failure_detail={}, checks=(),
    )  # fmt: skip
    return Play(player, 0, verdict=verdict)


@pytest.mark.property
def test_unit_tests_that_cannot_be_imported_are_no_empty_answer(tmp_path: Path) -> None:
    """Without this a broken import left no unit test at all, and every mutant that only they notice lived."""
    (tmp_path / "test_broken.py").write_text("import no_such_module_anywhere\n")
    mapping = _Mapping(set())
    _run([str(tmp_path / "test_broken.py")], mapping)

    assert len(mapping.units.failing) == 1
