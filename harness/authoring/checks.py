"""The claims about every task, each over the episodes that were played: what holds, what does not, and where to go.

Every function here yields the checks of one claim; what a family asks besides is in its `authoring.checks`.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.agents.solutions import players
from harness.authoring.evidence import TaskEvidence
from harness.authoring.findings import Place, definition, raised_in
from harness.authoring.leaks import derived, early, fragments, leaks, secrets
from harness.authoring.plays import NOP, SOLVE, Play
from harness.authoring.report import ProofCheck, failed, passed
from harness.authoring.routes import handler_place
from harness.registry import Task
from worlds.core.levels import LEVEL


def oracle_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """`solve` succeeds on every seed."""
    for played in evidence.of(SOLVE):
        yield _success("oracle", played, evidence, evidence.place(SOLVE))


def nop_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Who does nothing earns nothing."""
    for played in evidence.of(NOP):
        reward = played.outcome.reward
        at = Place(evidence.task.path / "tests" / "test_outcome.py", 1)
        yield (
            passed("nop", played.seed)
            if reward == 0
            else failed("nop", played.seed, at, f"nothing was done, and the reward is {reward:g}")
        )


def violation_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Each wrong client earns exactly its label."""
    for name, (label, _) in players(evidence.task).items():
        for played in evidence.of(name) if name != SOLVE else ():
            earned = played.outcome.failure_label
            check = f"violation:{name}"
            if earned == label:
                yield passed(check, played.seed, label)
            else:
                at = _fault(evidence.task, played) or evidence.place(name)
                yield failed(check, played.seed, at, f"must earn {label}, earned {earned}{_told(played)}")


def leak_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """No refusal tells what a correct client would have sent, and no answer what it has to derive."""
    if evidence.task.is_seated:
        # what a seat may be told is the view's to decide, and a test of the family's own
        return
    for oracle in evidence.of(SOLVE):
        known, computed = secrets(oracle), derived(oracle)
        parts = fragments(known, oracle.instruction)
        wrong = [played for name in evidence.violations for played in evidence.of(name) if played.seed == oracle.seed]
        told = [(played.player, leak) for played in wrong for leak in leaks(played, known, parts)]
        told += [(played.player, leak) for played in (oracle, *wrong) for leak in early(played, computed)]
        if not told:
            yield passed("leak", oracle.seed, f"{len(known)} values, {len(wrong)} wrong clients")
        for place, detail in dict.fromkeys(
            (
                handler_place(evidence.task, leak.method, leak.path),
                f"the answer to {leak.method} tells {leak.what} (to {player})",
            )
            for player, leak in told
        ):
            yield failed("leak", oracle.seed, place, detail)


def budget_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """The oracle stays within what an agent gets."""
    assert evidence.task.parley is not None
    budgets = evidence.task.parley.budgets
    verdicts = [played.outcome for played in evidence.of(SOLVE)]
    steps = max(verdict.steps for verdict in verdicts)
    seconds = max(verdict.virtual_time_elapsed for verdict in verdicts)
    detail = f"{steps} of {budgets.steps} steps, {seconds:g} of {budgets.virtual_seconds:g} virtual seconds"
    if steps > budgets.steps or seconds > budgets.virtual_seconds:
        yield failed("budget", None, evidence.setting("budgets"), f"the oracle needs {detail}")
    else:
        yield passed("budget", None, detail)


def knob_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """The oracle succeeds at both ends of every knob, and under every value of an option."""
    ours = evidence.task.parley
    for played in evidence.plays:
        for name, value in played.overrides.items():
            if name == LEVEL:
                continue
            kind = "knob" if ours and name in ours.knobs else "option"
            shown = f"{value:g}" if isinstance(value, float) else value
            yield _success(f"{kind}:{name}={shown}", played, evidence, evidence.setting(f"{kind}s", name))


def _success(name: str, played: Play, evidence: TaskEvidence, at: Place) -> ProofCheck:
    """Whether an episode succeeded; where it did not, at the line that failed, or else at `at`."""
    verdict = played.outcome
    if verdict.success and verdict.reward == 1.0:
        return passed(name, played.seed, f"{verdict.steps} steps, {verdict.virtual_time_elapsed:g} s")
    broken = next((check for check in verdict.checks if not check.ok), None)
    if broken is not None and verdict.failure_detail == {"reason": broken.message}:
        # every rule was kept and the goal reached, so it is the test that fails
        there = definition(evidence.tests.path, broken.name)
        return failed(name, played.seed, there, f"the goal was reached, but {broken.name} fails: {broken.message}")
    at = _fault(evidence.task, played) or at
    why = (broken.message if broken else "") or str(verdict.failure_detail)
    return failed(
        name, played.seed, at, f"must succeed, ended as {verdict.failure_label} ({why.splitlines()[0]}){_told(played)}"
    )


def _told(played: Play) -> str:
    if played.failure is not None:
        return f"; the world raised {type(played.failure).__name__}: {played.failure}"
    return f"; the client raised {played.raised.splitlines()[0]}" if played.raised else ""


def _fault(task: Task, played: Play) -> Place | None:
    """The line that failed, where one did; the handler of the request where it is not in server.py."""
    if played.failure is not None and (line := raised_in(played.failure, task.world_folder / "server.py")).line > 1:
        return line
    for event, exchange in played.judged():
        if event.kind == "fault":
            return handler_place(task, event.method, exchange.request.path.decode("ascii", "replace"))
    return None
