"""Clients of a task: the right one, or a wrong one by name, run in process or in `main` by solution/solve.sh.

1. A folder with its own rules contains its clients as solve.py and violations.py. If the tasks of a family are data, the
clients belong to the family (`parley.families.<family>.clients`), and a folder contains only their plan, and a solve.sh for
Harbor.
2. A client that raises or exits is noted in the report; the validator grades its episode.
3. A game with seats is played in process in every runtime. If the folder's code may not run in this process (`harness.trust`),
its solve.sh plays in `main` instead. A wrong client of the family is not code of the folder, so it is still played in process.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import sys
import threading
import time
import tokenize
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx

from harness.agent import Budget, Report
from harness.agents.trajectory import scripted_trajectory
from harness.errors import TaskInvalid, UsageError
from harness.limits import SETTINGS_BYTES
from harness.live_agent import Agent
from harness.plugins import family_part_or_none, optional
from harness.pod import Pod
from harness.registry import Task, contents_of
from harness.safe_read import read_file
from harness.trust import require, runs_here
from worlds.core.clients import client
from worlds.core.wire import Transport, WireRequest, WireResponse

Player = Callable[[httpx.Client, str, Callable[[float], None]], None]
SUCCESS = "SUCCESS"
"""Expected label of a client that breaks no rule, for example one that succeeds at the last moment."""

OWN, PLAN = "solution/solve.py", "solution/plan.json"
"""File of the right client in folders that contain their clients, and of the plan for the family's clients in the others."""

IN_MAIN, UNDER_HARBOR = "/tmp/solution", "/solution"
"""Folder of a solution in `main`: ours have a read-only root, and foreign tasks expect Harbor's path."""

_ERROR_CAP = 300
_importing = threading.Lock()
_modules: dict[Path, tuple[ModuleType, ModuleType | None]] = {}


def players(task: Task) -> dict[str, tuple[str, Player]]:
    """Return `solve` and every violation as name -> (expected label, function); raises TaskInvalid for a broken folder."""
    if (family := family_clients(task)) is not None:
        listed = {"solve": (SUCCESS, family.SOLVE), **family.VIOLATIONS}
        is_proved = task.parley is None or task.parley.certificate is None
        other: Mapping[str, str] = {} if is_proved else family.UNCERTIFIED
        return {name: (other.get(name, label), partial(_planned, task, client)) for name, (label, client) in listed.items()}
    solve, violations = _load(task)
    own: dict[str, tuple[str, Player]] = dict(getattr(violations, "VIOLATIONS", {}))
    return {"solve": (SUCCESS, solve.solve), **own}


def family_clients(task: Task) -> ModuleType | None:
    """Return the clients of the family; None if the folder ships its own, or the family has none."""
    return None if (task.path / OWN).exists() else family_part_or_none(task.family, "clients")


def _planned(
    task: Task, client: Callable[[httpx.Client, Any], None], api: httpx.Client, _: str, __: Callable[[float], None]
) -> None:
    """Run a client of the family with the folder's plan, if it has one. The plan is data, even in a foreign folder."""
    try:
        plan = json.loads(read_file(task.path, PLAN, SETTINGS_BYTES).data) if (task.path / PLAN).exists() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise TaskInvalid(f"{task.path / PLAN}:1: is not a valid plan: {error}", hint=f"harness sync {task.task_id}") from None
    client(api, plan)


def declared(task: Task, table: str) -> Mapping[str, str]:
    """Return a table that a family requires besides VIOLATIONS, such as CELLS or MUTATED; empty if the task declares none."""
    rows: Mapping[str, str] = {} if family_clients(task) else getattr(_load(task)[1], table, {})
    return rows


class SolutionAgent(Agent):
    """Agent that plays the oracle (`solve`) or one violation."""

    def __init__(
        self, player: str = "solve", transport: Callable[[Transport], Transport] | None = None, *, by_call: bool = False
    ) -> None:
        self.player, self.by_call = player, by_call
        self.name = "oracle" if player == "solve" else f"violation:{player}"
        self._transport = transport
        self.only_computes = transport is None
        """True if another process could play this agent; False with a given transport, which might not be picklable."""

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Return True if the script runs in `main`: in every sandboxed runtime, unless `by_call` is set.

        Raises UsageError for an unknown name, and if untrusted code would have to run in this process.
        """
        if self.player != "solve" and self.player not in (known := violation_names(task)):
            raise UsageError(f"{task.task_id} has no violation {self.player!r}; it has {', '.join(known) or 'none'}")
        if self._is_ours(task) or runs_here(task) or task.parley is None:
            return runtime != "inprocess" and not self.by_call and not task.is_seated
        if self.by_call:
            raise UsageError(
                f"{task.path} is not a built-in task, and --mutate, --handles and --mitigate would play its "
                f"{self.name} in this process",
                hint="harness run ... --trust, or --model NAME --interface tool, which runs no code of the folder",
            )
        return runtime != "inprocess"

    def _is_ours(self, task: Task) -> bool:
        """Return True if this client is not code of the task's folder."""
        return self.player != "solve" and family_clients(task) is not None

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Play the client once."""
        failed = self._in_main(task, pod, budget, report) if pod.has_main else self._by_call(task, pod, budget, report)
        report.failed = failed
        report.trajectory = scripted_trajectory(self.name, pod.instruction, failed or f"played {self.player}")

    def _by_call(self, task: Task, pod: Pod, budget: Budget, report: Report) -> str | None:
        # only the host plays turns: the player of one seat must not be able to answer for another
        call = pod.call_as_host if task.is_seated else pod.call
        if self._is_ours(task):
            call = _within(call, budget.seconds(game=False))
        else:
            require(task)
        with client(self._transport(call) if self._transport else call) as api:

            def wait(seconds: float) -> None:
                api.post("/clock/wait", json={"seconds": seconds}).raise_for_status()

            try:
                players(task)[self.player][1](api, pod.instruction, wait)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a solution may raise anything, and is evidence if it does
                # the checks of `harness verify`, which pass a transport, run thousands of clients that raise, and read no log
                if self._transport is None:
                    report.log.append(traceback.format_exc())
                # the error of a folder that cannot be imported already names the place
                kind = "" if isinstance(error, TaskInvalid) else f"{type(error).__name__}: "
                return f"{kind}{error}".splitlines()[0][:_ERROR_CAP]
        return None

    def _in_main(self, task: Task, pod: Pod, budget: Budget, report: Report) -> str | None:
        where = IN_MAIN if task.parley else UNDER_HARBOR
        files = {f"{where}/{name}": file.data for name, file in contents_of(task.path, "solution").items()}
        pod.put({**files, f"{where}/instruction.md": pod.instruction.encode()})
        command = ["bash", f"{where}/solve.sh", self.player] if task.parley else _solve(task, where)
        done = pod.run(command, timeout_s=budget.seconds(game=False), virtual_time=False)
        report.log.append(done.output.decode("utf-8", "replace"))
        if done.code is None:
            pod.stop("wall")
            report.stopped_by = "wall"
        if done.code == 0:
            return None
        return (done.output.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.code}"])[-1]


def _within(call: Transport, wall_s: float) -> Transport:
    """Wrap `call` with a time limit of `wall_s` real seconds for all calls, because a foreign world may never end a game."""
    ends = time.monotonic() + wall_s

    def send(request: WireRequest) -> WireResponse:
        if time.monotonic() > ends:
            raise TimeoutError(f"the game was not over within {wall_s:g} seconds")
        return call(request)

    return send


def holds_seats(agent: Agent, task: Task, runtime: str) -> bool:
    """Return True if an agent answers every seat's turns from `main`, so that the world must accept them from `main`."""
    return task.is_seated and isinstance(agent, SolutionAgent) and agent.needs_main(task, runtime)


def _solve(task: Task, where: str) -> list[str]:
    """Return the command that runs solve.sh of a foreign task as Harbor's oracle does."""
    given = (f"{name}={value}" for name, value in optional("solution environment")(task).items())
    return ["env", *given, "bash", "-c", f"({where}/solve.sh)"]


def _load(task: Task) -> tuple[ModuleType, ModuleType | None]:
    require(task)
    folder = task.path / "solution"
    with _importing:
        if folder not in _modules:
            _modules[folder] = _import_pair(folder)
        return _modules[folder]


def _import_pair(folder: Path) -> tuple[ModuleType, ModuleType | None]:
    """Import solve.py, then violations.py; they may import from `reading`, `timing` and `solve`, as they do in `main`."""
    kept = {name: sys.modules.get(name) for name in ("reading", "timing", "solve")}
    try:
        for name in kept:
            if name == "solve" or (folder / f"{name}.py").exists():
                sys.modules[name] = _import(folder / f"{name}.py")
        violations = folder / "violations.py"
        return sys.modules["solve"], _import(violations) if violations.exists() else None
    finally:
        for name, module in kept.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"parley_solution_{abs(hash(path))}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise TaskInvalid(f"{path}:1: the solution is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        here = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = getattr(error, "lineno", None) or (here[-1] if here else 1)
        raise TaskInvalid(f"{path}:{line}: {type(error).__name__}: {error}") from error
    return module


_SPACE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_OPEN, _CLOSE = set("([{"), set(")]}")


def violation_names(task: Task) -> list[str]:
    """Return the names of the family's wrong clients, or of those in the text of solution/violations.py.

    No code of a task runs here, because no runtime is chosen yet. The text is only tokenized, because parsing deeply nested
    code into a tree can overflow the stack.
    """
    if (family := family_clients(task)) is not None:
        return list(family.VIOLATIONS)
    try:
        text = (task.path / "solution" / "violations.py").read_text(encoding="utf-8")
        return list(_keys(tokenize.generate_tokens(io.StringIO(text).readline)))
    except (OSError, ValueError, SyntaxError, tokenize.TokenError):
        return []


def _keys(tokens: Iterable[tokenize.TokenInfo]) -> Iterator[str]:
    """Yield the strings that are keys of a table `VIOLATIONS = {...}` at the top level of a module."""
    before, depth, within = ["", ""], 0, False
    key = ""
    for token in tokens:
        if token.type in _SPACE:
            continue
        if token.string in _OPEN:
            depth += 1
            within = within or (depth == 1 and before == ["VIOLATIONS", "="] and token.string == "{")
        elif token.string in _CLOSE:
            depth -= 1
            within = within and depth > 0
        elif within and depth == 1 and token.string == ":" and key:
            yield key
        stands_first = within and depth == 1 and before[1] in {"{", ","}
        key = _text_of(token.string) if stands_first and token.type == tokenize.STRING else ""
        before = [before[1], token.string]


def _text_of(literal: str) -> str:
    """Return the text of a string token; "" if it is bytes or formatted."""
    with suppress(ValueError, SyntaxError):
        value = ast.literal_eval(literal)
        return value if isinstance(value, str) else ""
    return ""
