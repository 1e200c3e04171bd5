"""All checks of one task, made in this process: it imports the task's code, plays its clients and runs its hidden tests.

`prove` and `replay` are the two halves, for two processes with different PYTHONHASHSEED. `settled` combines them. A task that
may not run here is checked by the same functions in a sandbox (`parley.proof.prover`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from harness.agents.solutions import SUCCESS, players
from harness.errors import TaskInvalid, UsageError, VerifierFailure
from harness.options import options_of
from harness.plugins import family_part_or_none
from harness.registry import Task
from harness.taskfile import line_of
from parley.proof import instances, refusals, templates
from parley.proof.findings import (
    Place,
    ProofCheck,
    Proved,
    ProvedClient,
    client_line,
    definition,
    failed,
    handler_place,
    listed,
    passed,
    placed,
    raised_in,
)
from parley.proof.leaks import derived, early, fragments, leaks, secrets
from parley.proof.lint import lint_task
from parley.proof.plays import NOP, SOLVE, EndlessLoop, Play, Scope, TaskEvidence, ending, judge, play
from parley.proof.sync import blamed, drift, instructed
from parley.rules import TABLE, StatedRule, stated_rules
from validators.verdict import Verdict
from worlds.core.errors import ManifestError, ParleyError
from worlds.core.levels import LEVEL
from worlds.core.manifest import STANDARD, OptionValue

DERIVED = frozenset({"submission", "twice", "left-out", "recased", "padded", "spaced", "truncated", "older", "spent"})
"""Kinds of clients that are derived from the oracle for every task; a quotation may name them as the clients that test it."""

_BINDING = re.compile(
    r"\b(must|only|not|no|never|none|nothing|once|exactly|unchanged|until|before|within|every byte|at most|at least)\b",
    re.IGNORECASE,
)
"""Words that mark a rule a client can break. A quotation with one of them needs a client that breaks it."""

_BLANK = re.compile(r"\{%.*?%\}|\{#.*?#\}|\{\{.*?\}\}|^ *(?:\d+\.|-|```)", re.DOTALL | re.MULTILINE)
"""Parts of a template that are not statements: Jinja expressions, and the marks of lists and fences."""


def rule_checks(task: Task) -> Iterator[ProofCheck]:
    """Yield checks that clients test every word of the instruction's template, and that every wrong client breaks a rule.

    solution/rules.toml quotes the template verbatim. Each quotation lists the clients that test it: wrong ones that break it,
    or `solve` if it describes what the oracle does. Values that the server sets come from its `facts()`.
    """
    path = task.world_folder / TEMPLATE
    if task.is_seated or not path.is_file():
        return
    if not (task.path / TABLE).is_file():
        told = f"{TABLE} is missing; it lists the clients that test each rule of the instruction"
        yield failed("rules", None, Place(path, 1), told)
        return
    try:
        rules = stated_rules(task.path)
    except TaskInvalid as error:
        yield failed("rules", None, Place(task.path / TABLE, 1), str(error))
        return
    try:
        labels = {name: label for name, (label, _) in players(task).items()}
    except (TaskInvalid, TypeError, ValueError, AttributeError):
        # lint reports errors in the clients
        return
    template = path.read_text(encoding="utf-8")
    wrong = [*_unstated(task, rules, template, labels), *_unproved(task, rules, labels), *_unquoted(rules, template, path)]
    yield from (failed("rules", None, at, told) for at, told in wrong)
    if not wrong:
        yield passed("rules", None, f"{len(rules)} rules, {len({one for rule in rules for one in rule.proofs})} clients")


def _unstated(task: Task, rules: list[StatedRule], template: str, labels: Mapping[str, str]) -> Iterator[tuple[Place, str]]:
    """Yield quotations that the template does not contain, and wrong clients that no quotation names."""
    for rule in rules:
        if not rule.spans(template):
            clients = ", ".join(rule.proofs)
            told = f"the instruction lacks {rule.words!r}, which {TABLE} quotes for {clients}; correct one of the two"
            yield Place(task.path / TABLE, rule.line), told
    named = {name for rule in rules for name in rule.proofs}
    for name, label in labels.items():
        if name not in named and label != SUCCESS and name != SOLVE:
            yield client_line(task, name, Place(task.path / TABLE, 1)), f"{name} breaks no rule that {TABLE} quotes"


def _unproved(task: Task, rules: list[StatedRule], labels: Mapping[str, str]) -> Iterator[tuple[Place, str]]:
    """Yield quotations that name an unknown client, and binding quotations without a client that breaks them."""
    known = {SOLVE, *labels, *DERIVED}
    for rule in rules:
        if unknown := [name for name in rule.proofs if name not in known]:
            yield Place(task.path / TABLE, rule.line), f"unknown client {', '.join(unknown)}"
        binding = _BINDING.search(re.sub(r"`[^`]*`", "", rule.words))
        if binding and set(rule.proofs) <= {SOLVE}:
            yield Place(task.path / TABLE, rule.line), f"{rule.words!r} says {binding[0]!r}, but no wrong client breaks it"


def _unquoted(rules: list[StatedRule], template: str, path: Path) -> Iterator[tuple[Place, str]]:
    """Yield words of the template that no quotation covers."""
    left = list(_BLANK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), template))
    for start, end in (span for rule in rules for span in rule.spans(template)):
        left[start:end] = [mark if mark == "\n" else "\0" for mark in left[start:end]]
    for match in re.finditer(r"[^\0]+", "".join(left).replace("\n\0", "\0\0")):
        if words := re.search(r"\w.*\w|\w", match[0], re.DOTALL):
            line = template[: match.start() + words.start()].count("\n") + 1
            said = " ".join(words[0].split())
            yield Place(path, line), f"no quotation of {TABLE} covers {said[:100]!r}"


def oracle_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that `solve` succeeds on every seed."""
    for played in evidence.of(SOLVE):
        yield _success("oracle", played, evidence, evidence.place(SOLVE))


def nop_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that a client that does nothing earns nothing."""
    for played in evidence.of(NOP):
        reward = played.outcome.reward
        if reward == 0:
            yield passed("nop", played.seed)
        else:
            yield failed("nop", played.seed, evidence.tests, f"doing nothing earns a reward of {reward:g}")


def violation_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that each wrong client earns exactly its label."""
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
    """Yield checks that no error reveals what a correct client would send, and no answer what it has to derive."""
    if evidence.task.is_seated:
        # the family's view decides what a seat may see, and the family's own tests check it
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
                f"the answer to {leak.method} reveals {leak.what} (to {player})",
            )
            for player, leak in told
        ):
            yield failed("leak", oracle.seed, place, detail)


def budget_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield the check that the oracle stays within an agent's budget."""
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
    """Yield checks that the oracle succeeds at both ends of every knob, and under every value of an option."""
    ours = evidence.task.parley
    for played in evidence.plays:
        for name, value in played.overrides.items():
            if name == LEVEL:
                continue
            kind = "knob" if ours and name in ours.knobs else "option"
            shown = f"{value:g}" if isinstance(value, float) else value
            yield _success(f"{kind}:{name}={shown}", played, evidence, evidence.setting(f"{kind}s", name))


def _success(name: str, played: Play, evidence: TaskEvidence, at: Place) -> ProofCheck:
    """Return the check that an episode succeeded. A failure is placed at the failing line, or else at `at`."""
    verdict = played.outcome
    if verdict.success and verdict.reward == 1.0:
        return passed(name, played.seed, f"{verdict.steps} steps, {verdict.virtual_time_elapsed:g} s")
    broken = next((check for check in verdict.checks if not check.ok), None)
    if broken is not None and verdict.failure_detail == {"reason": broken.message}:
        # the client kept every rule and reached the goal, so a hidden test failed
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
    """Return the line that failed, or the handler of the request if it is not in server.py. None without a failure."""
    if played.failure is not None and (line := raised_in(played.failure, task.world_folder / "server.py")).line > 1:
        return line
    for event, exchange in played.judged():
        if event.kind == "fault":
            return handler_place(task, event.method, exchange.request.path.decode("ascii", "replace"))
    return None


def family_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield the family's own checks of the played episodes."""
    module = family_part_or_none(evidence.task.family, "authoring.checks")
    yield from module.checks(evidence) if module else ()


_SETTINGS = (oracle_checks, nop_checks, budget_checks)
"""Checks that fail because of a level's settings; the finding is placed at the level."""

_CLIENTS = (violation_checks, family_checks)
"""Checks that fail if a client depends on a value of the first level."""


def level_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield the checks of each level."""
    for level in evidence.task.parley.levels if evidence.task.parley else ():
        there, table = evidence.at(level), evidence.setting("levels", str(level))
        if there.plays:
            yield from (_of(level, check, table) for claim in _SETTINGS for check in claim(there))
            yield from (_of(level, check, None) for claim in _CLIENTS for check in claim(there))


def _of(level: int, check: ProofCheck, at: Place | None) -> ProofCheck:
    """Return a check that names its level, with its findings placed at `at` if given."""
    name = f"level:{level}:{check.name}"
    where = f"at level {level}" + (f", seed {check.seed}" if check.seed is not None else "")
    findings = tuple(
        (at.finding(name, "") if at else one).model_copy(update={"rule": name, "message": f"{where}: {one.message}"})
        for one in check.findings
    )
    return check.model_copy(update={"name": name, "findings": findings})


Traces = dict[tuple[str, int], str]
"""Trace hash by (player, seed)."""

_CLAIMS = (
    oracle_checks, nop_checks, violation_checks, family_checks, leak_checks,
    instances.seed_checks, instances.result_checks, instances.secret_checks, instances.draw_checks, budget_checks,
    knob_checks, refusals.gives_up_checks, refusals.recovers_checks, refusals.submission_checks, refusals.twice_checks,
    refusals.artifact_checks,
    refusals.tampered_checks, refusals.left_out_checks, refusals.hidden_test_checks, level_checks,
)  # fmt: skip


def prove(scope: Scope) -> Proved:
    """Return all checks of a task except determinism, and the label and trace of each client."""
    started, task = time.perf_counter(), scope.task
    checks, plays = _played_and_checked(scope) if task.parley else ([], [])
    labels = {NOP: "OTHER", **{name: label for name, (label, _) in players(task).items()}} if plays else {}
    clients = tuple(
        ProvedClient(player=played.player, seed=played.seed, label=labels[played.player], trace_hash=played.trace_hash)
        for played in plays
        if not played.overrides
    )
    return Proved(task_id=task.task_id, checks=tuple(checks), clients=clients, seconds=time.perf_counter() - started)


def _played_and_checked(scope: Scope) -> tuple[list[ProofCheck], list[Play]]:
    task = scope.task
    if task.family not in templates.families():
        return [_unknown_family(task)], []
    claims, solvability = (
        family_part_or_none(task.family, "authoring.claims"), family_part_or_none(task.family, "authoring.solvable"),
    )  # fmt: skip
    told = [listed("lint", lint_task(task)), _drift(task), *rule_checks(task), *(claims.claims(task) if claims else ())]
    solvable = solvability is None or solvability.unsolvable(task) is None
    try:
        plays = [play(task, *client) for client in episodes(scope) if solvable or client[0] == NOP]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a task's own code may raise anything, and that is a finding
        return [*told, _unplayable(task, error)], []
    try:
        judge(task, plays)
        evidence = TaskEvidence(task, plays, made_of(task, plays) if solvable else ())
        told += all_claims(evidence) if solvable else nop_checks(evidence)
        told += refusals.disturbed_checks(task, plays) if solvable else ()
    except (VerifierFailure, EndlessLoop) as error:
        told.append(failed("judge", None, *placed(str(error), Place(task.path / "tests" / "test_outcome.py", 1))))
    return told, plays


def replay(scope: Scope) -> Traces:
    """Return the traces of the same clients on the same seeds, played again."""
    try:
        return {client: play(scope.task, *client).trace_hash for client in scope.replayed()} if scope.task.parley else {}
    except (Exception, SystemExit):  # noqa: BLE001 - the missing trace then differs from the proof
        return {}


def settled(scope: Scope, proved: Proved, replayed: Traces) -> Proved:
    """Add the checks of determinism, which compare both halves."""
    traces = {(one.player, one.seed): one.trace_hash for one in proved.clients}
    return proved.model_copy(update={"checks": (*proved.checks, *_determinism(scope, traces, replayed))})


def all_claims(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield all checks of episodes that were played and judged."""
    yield from (check for claim in _CLAIMS for check in claim(evidence))


def made_of(task: Task, plays: Sequence[Play], known: Sequence[Play] = ()) -> list[Play]:
    """Return plays derived from the oracle's first episode, with altered requests or altered logs, each with its verdict.

    An altered log that is also in `known`, under the same name, keeps the verdict that it has there.
    """
    if task.is_seated:
        return []
    verdicts = {(played.player, played.log): played.verdict for played in known}
    made = refusals.made_of(task, plays)
    _judge_others(task, made, verdicts)
    controls = refusals.controls(task, plays, made)
    _judge_others(task, controls, verdicts)
    return [*made, *controls]


def _judge_others(task: Task, made: Sequence[Play], verdicts: Mapping[tuple[str, bytes], Verdict | None]) -> None:
    for played in made:
        played.verdict = verdicts.get((played.player, played.log))
    judge(task, [played for played in made if played.verdict is None])


def episodes(scope: Scope) -> list[tuple[str, int, Mapping[str, OptionValue]]]:
    """Return all episodes of `harness verify`: player, seed, and the settings that differ from the task's defaults.

    The last episodes are those of the oracle on seed 0 with one knob at one end or one option at another value, and those of
    all clients at each level.
    """
    ours = scope.task.parley
    assert ours is not None
    ends: list[tuple[str, OptionValue]]
    ends = [(name, value) for name, knob in ours.knobs.items() for value in (knob.min, knob.max)]
    for name, option in ours.declared_options.items():
        if name in STANDARD:
            # the harness implements these options, so a task cannot implement them wrongly
            continue
        values = (False, True) if option.type == "bool" else option.values
        others = (value for value in values if value != option.default and value not in option.floor)
        ends += [(name, value) for value in others if _is_playable(scope.task, name, value)]
    return [
        *((player, seed, {}) for player, seed in scope.clients()), *((SOLVE, 0, {name: value}) for name, value in ends),
        *((player, seed, {LEVEL: level}) for level, player, seed in scope.leveled()),
    ]  # fmt: skip


def _is_playable(task: Task, name: str, value: OptionValue) -> bool:
    """Return False for a value that the family refuses for this task, such as a brief that it does not have."""
    try:
        options_of(task, {name: value})
    except UsageError:
        return False
    return True


def _determinism(scope: Scope, traces: Traces, replayed: Traces) -> Iterator[ProofCheck]:
    """Yield one check per seed that repeated plays give equal traces."""
    if not traces:
        return
    at = TaskEvidence(scope.task, []).server
    for seed in scope.seeds:
        twice = [client for client in scope.replayed() if client[1] == seed and client in traces]
        differing = [client[0] for client in twice if replayed.get(client) != traces[client]]
        if differing:
            yield failed("determinism", seed, at, f"{', '.join(differing)}: the same client left two different traces")
        else:
            yield passed("determinism", seed, f"{len(twice)} clients twice")


def _unknown_family(task: Task) -> ProofCheck:
    path = task.path / "task.toml"
    line = line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", "family"))
    known = ", ".join(templates.families())
    return failed("family", None, Place(path, line), f"unknown family {task.family!r}; known: {known}")


def _drift(task: Task) -> ProofCheck:
    try:
        with ending(task.path):
            return listed("drift", drift(task.path, partial(instructed, admitted=task.admitted)))
    except ParleyError as error:
        at, what = placed(str(error), Place(task.path / "task.toml", 1))
        return failed("drift", None, at, what)


def _unplayable(task: Task, error: BaseException) -> ProofCheck:
    """Return the failed check for a world or a solution that cannot be loaded."""
    what = str(error) if isinstance(error, ParleyError) else f"{type(error).__name__}: {error}"
    otherwise = Place(task.path / "task.toml", 1) if isinstance(error, ManifestError) else blamed(error, task.world_folder)
    at, what = placed(what, otherwise)
    return failed("load", None, at, what.removeprefix(f"{at.path}: "))


TEMPLATE = "instruction.md.j2"
