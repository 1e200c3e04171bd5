"""The claims about a task, each over the episodes that were played: what holds, what does not, and where to go.

`Evidence` is one task with all its plays, judged. Every function here yields the checks of one claim.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.agents.solutions import cells, players
from harness.authoring.cells import CELLS, wrong_in_cell
from harness.authoring.findings import Place, definition, violation_lines
from harness.authoring.leaks import derived, early, leaks, secrets
from harness.authoring.plays import NOP, SOLVE, Play
from harness.authoring.report import Check, failed, passed
from harness.authoring.routes import handler_place
from harness.registry import Task
from harness.taskfile import line_of
from validators.verdict import Verdict
from worlds.core.events import Requested, read_log
from worlds.core.wire import WireResponse

_STAMPS = frozenset({"date", "x-virtual-time"})


@dataclass(frozen=True)
class Evidence:
    """One task and everything that was played of it."""

    task: Task
    plays: Sequence[Play]

    def of(self, player: str) -> list[Play]:
        """A player's episodes at default options, by seed."""
        return [played for played in self.plays if played.player == player and not played.overrides]

    @property
    def violations(self) -> list[str]:
        """The names of the wrong clients."""
        return [name for name in players(self.task) if name != SOLVE]

    @cached_property
    def lines(self) -> Mapping[str, Place]:
        """Where each wrong client is named."""
        return violation_lines(self.task)

    def place(self, player: str) -> Place:
        """Where a client is written."""
        if player == SOLVE:
            return definition(self.task.path / "solution" / "solve.py", SOLVE)
        table = definition(self.task.path / "solution" / "violations.py", "VIOLATIONS")
        return self.lines.get(player, table)

    @property
    def server(self) -> Place:
        """Where the world draws its instance."""
        return definition(self.task.world_folder / "server.py", "prepare")

    def setting(self, *keys: str) -> Place:
        """Where task.toml sets something of [metadata.parley]."""
        path = self.task.path / "task.toml"
        return Place(path, line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", *keys)))


def oracle_checks(evidence: Evidence) -> Iterator[Check]:
    """`solve` succeeds on every seed."""
    for played in evidence.of(SOLVE):
        yield _success("oracle", played, _fault(evidence.task, played) or evidence.place(SOLVE))


def nop_checks(evidence: Evidence) -> Iterator[Check]:
    """Who does nothing earns nothing."""
    for played in evidence.of(NOP):
        reward = _verdict(played).reward
        at = Place(evidence.task.path / "tests" / "test_outcome.py", 1)
        yield (
            passed("nop", played.seed)
            if reward == 0
            else failed("nop", played.seed, at, f"nothing was done, and the reward is {reward:g}")
        )


def violation_checks(evidence: Evidence) -> Iterator[Check]:
    """Each wrong client earns exactly its label."""
    for name, (label, _) in players(evidence.task).items():
        for played in evidence.of(name) if name != SOLVE else ():
            earned = _verdict(played).failure_label
            check = f"violation:{name}"
            if earned == label:
                yield passed(check, played.seed, label)
            else:
                at = _fault(evidence.task, played) or evidence.place(name)
                yield failed(check, played.seed, at, f"must earn {label}, earned {earned}{_told(played)}")


def cell_checks(evidence: Evidence) -> Iterator[Check]:
    """The three cells of Proposition 1, for a task that declares them or hands out artifacts."""
    declared = cells(evidence.task)
    path = evidence.task.path / "solution" / "violations.py"
    if not declared and not any(_issues(played) for played in evidence.of(SOLVE)):
        return
    for cell in CELLS:
        name, check = declared.get(cell), f"cell:{cell}"
        if name is None:
            yield failed(
                check, None, definition(path, "CELLS"), f"CELLS must name a violation for {cell}: this world issues artifacts"
            )
        elif name not in evidence.violations:
            yield failed(check, None, definition(path, "CELLS"), f"CELLS names {name!r}, which is no violation of this task")
        for played in evidence.of(name or ""):
            wrong = wrong_in_cell(cell, _verdict(played))
            yield (
                failed(check, played.seed, evidence.place(played.player), wrong)
                if wrong
                else passed(check, played.seed, played.player)
            )


def leak_checks(evidence: Evidence) -> Iterator[Check]:
    """No refusal tells what a correct client would have sent, and no answer what it has to derive."""
    if evidence.task.is_seated:
        # what a seat may be told is the view's to decide, and a test of the family's own
        return
    for oracle in evidence.of(SOLVE):
        known, computed = secrets(oracle), derived(oracle)
        wrong = [played for name in evidence.violations for played in evidence.of(name) if played.seed == oracle.seed]
        found = [(played.player, leak) for played in wrong for leak in leaks(played, known)]
        found += [(played.player, leak) for played in (oracle, *wrong) for leak in early(played, computed)]
        if not found:
            yield passed("leak", oracle.seed, f"{len(known)} values, {len(wrong)} wrong clients")
        for place, detail in dict.fromkeys(
            (
                handler_place(evidence.task, leak.method, leak.path),
                f"the answer to {leak.method} tells {leak.what} (to {player})",
            )
            for player, leak in found
        ):
            yield failed("leak", oracle.seed, place, detail)


def seed_checks(evidence: Evidence) -> Iterator[Check]:
    """No two seeds are the same instance: what the oracle reads differs, apart from the clock."""
    seen: dict[str, int] = {}
    for played in evidence.of(SOLVE):
        first = seen.setdefault(_instance(played), played.seed)
        if first != played.seed:
            yield failed("seeds", played.seed, evidence.server, f"seed {played.seed} reads like seed {first}")
            return
    if len(seen) > 1:
        yield passed("seeds", None, f"{len(seen)} different instances")


def budget_checks(evidence: Evidence) -> Iterator[Check]:
    """The oracle stays within what an agent gets."""
    assert evidence.task.parley is not None
    budgets = evidence.task.parley.budgets
    verdicts = [_verdict(played) for played in evidence.of(SOLVE)]
    steps = max(verdict.steps for verdict in verdicts)
    seconds = max(verdict.virtual_time_elapsed for verdict in verdicts)
    detail = f"{steps} of {budgets.steps} steps, {seconds:g} of {budgets.virtual_seconds:g} virtual seconds"
    if steps > budgets.steps or seconds > budgets.virtual_seconds:
        yield failed("budget", None, evidence.setting("budgets"), f"the oracle needs {detail}")
    else:
        yield passed("budget", None, detail)


def knob_checks(evidence: Evidence) -> Iterator[Check]:
    """The oracle succeeds at both ends of every knob, and under every value of an option."""
    ours = evidence.task.parley
    for played in evidence.plays:
        for name, value in played.overrides.items():
            kind = "knob" if ours and name in ours.knobs else "option"
            at = _fault(evidence.task, played) or evidence.setting(f"{kind}s", name)
            yield _success(f"{kind}:{name}={f'{value:g}' if isinstance(value, float) else value}", played, at)


def _success(name: str, played: Play, at: Place) -> Check:
    verdict = _verdict(played)
    if verdict.success and verdict.reward == 1.0:
        return passed(name, played.seed, f"{verdict.steps} steps, {verdict.virtual_time_elapsed:g} s")
    why = next((check.message for check in verdict.checks if not check.ok), "") or str(verdict.failure_detail)
    return failed(
        name, played.seed, at, f"must succeed, ended as {verdict.failure_label} ({why.splitlines()[0]}){_told(played)}"
    )


def _told(played: Play) -> str:
    return f"; the client raised {played.raised.splitlines()[0]}" if played.raised else ""


def _fault(task: Task, played: Play) -> Place | None:
    """The handler that failed, where one did."""
    for event, exchange in played.judged():
        if event.kind == "fault":
            return handler_place(task, event.method, exchange.request.path.decode("ascii", "replace"))
    return None


def _verdict(played: Play) -> Verdict:
    assert played.verdict is not None
    return played.verdict


def _issues(played: Play) -> bool:
    return any(isinstance(event, Requested) and event.issued for event in read_log(played.log))


def _instance(played: Play) -> str:
    """A digest of all that a client reads, without what only tells the time."""
    total = hashlib.sha256(played.instruction.encode())
    for request, response in played.exchanges:
        if request.path not in (b"/clock", b"/clock/wait"):
            total.update(repr((response.status, _untimed(response), response.body)).encode())
    return total.hexdigest()


def _untimed(response: WireResponse) -> list[tuple[str, str]]:
    return [pair for pair in response.headers if pair[0].lower() not in _STAMPS]
