"""The files to mutate, and their mutants; docs/mutants.md says which files and why some numbers are left alone.

validators/plugin.py, verdict.py and a family's options.py are not mutated, because the harness itself depends on them: a change
would affect the judge or the format of task.toml. Numbers that are the author's choice are not mutated either (`is_range`),
because other values give another instance, or an equally good task. 0, 1 and -1 are mutated, because they are signs and
positions.
"""

from __future__ import annotations

import ast
import builtins
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from itertools import pairwise
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

from harness.plugins import families
from harness.registry import Task, read_task
from harness.trust import admitted, require
from parley.proof.mutants.operators import SEEDLESS, Change, SourceMutant, changes
from parley.proof.plays import is_data
from worlds import core
from worlds.core.chance import Chance

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def mutants_of(path: str, source: bytes, *, draws: bool = True) -> list[SourceMutant]:
    """Return the mutants of a file in source order. Raises SyntaxError.

    `draws` is True for a world's file; only there are numbers the author's choice.
    """
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    made: dict[str, SourceMutant] = {}
    for change, stack in _walk(ast.parse(source), ()):
        if draws and is_range(change.operator, stack):
            continue
        mutant = _placed(path, source, starts, change, stack)
        if mutant.was != mutant.becomes:
            made.setdefault(mutant.id, mutant)
    return sorted(made.values(), key=lambda mutant: (mutant.start, mutant.operator))


def _walk(node: ast.AST, stack: tuple[ast.AST, ...]) -> Iterator[tuple[Change, tuple[ast.AST, ...]]]:
    """Yield each change below a node, with the nodes around it, outermost first."""
    for child in _within(node):
        around = (*stack, child)
        yield from ((change, around) for change in changes(child))
        yield from _walk(child, around)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that may be mutated."""
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.Raise):
        # only the label of a refusal is mutated, not its wording
        given = node.exc.args if isinstance(node.exc, ast.Call) else []
        yield from (argument for argument in given if isinstance(argument, ast.Attribute))
        return
    left_out: set[ast.AST] = set(node.decorator_list) if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) else set()
    if isinstance(node, ast.Call):
        # strict= of zip makes no difference, because the arguments have equal lengths
        left_out |= {keyword for keyword in node.keywords if keyword.arg == "strict"}
    left_out |= {part for name, part in ast.iter_fields(node) if name in {"annotation", "returns"} and part is not None}
    yield from (child for child in ast.iter_child_nodes(node) if child not in left_out)


def _placed(path: str, source: bytes, starts: Sequence[int], change: Change, stack: Sequence[ast.AST]) -> SourceMutant:
    node = change.node
    line, column = node.lineno, node.col_offset
    end = starts[(node.end_lineno or line) - 1] + (node.end_col_offset or 0)
    start = end if change.added else starts[line - 1] + column
    # one of these lines has to run: the lines of the innermost statement, or of the header of a compound statement
    statement = next(one for one in reversed(stack) if isinstance(one, ast.stmt))
    inner = next((part[0].lineno - 1 for name, part in ast.iter_fields(statement) if name == "body"), statement.end_lineno)
    first, last = statement.lineno, max(statement.lineno, inner or statement.lineno)
    within = ".".join(one.name for one in stack if isinstance(one, (*_FUNCTIONS, ast.ClassDef)))
    return SourceMutant(
        path=path, line=line, column=column, operator=change.operator, within=within,
        text=source[starts[line - 1] : starts[line]].decode().strip(), start=start, end=end,
        was=source[start:end].decode(), becomes=change.becomes, first=first, last=last,
        at_import=change.added or not any(isinstance(one, (*_FUNCTIONS, ast.Lambda)) for one in stack[:-1]),
    )  # fmt: skip


ROOT = Path(core.__file__).resolve().parents[2]
"""The folder that contains the packages of worlds and validators."""

JUDGES = frozenset({"tests", "validators"})
"""Kinds of files that no world imports."""

_HARNESS_STANDS_ON = frozenset({"validators/plugin.py", "validators/verdict.py"})
_OPTIONS = "options.py"


class MutatedFile(NamedTuple):
    """A file to mutate."""

    kind: str
    """server, tests, worlds or validators."""

    file: Path
    path: str
    """Path in ids."""

    task: Task | None = None
    """The task that it belongs to, or None for a shared file."""

    @property
    def module(self) -> str:
        """Import name of a shared file."""
        return self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def targets(tasks: Sequence[Task], whole: Collection[str]) -> list[MutatedFile]:
    """Return the files to mutate for these tasks; `whole` lists the families of which every task was chosen."""
    listed = [target for task in tasks if task.parley is not None and not is_data(task) for target in _own(task)]
    of_code = {task.family for task in tasks if not is_data(task)}
    for family in sorted(whole):
        rooms = ("worlds", "validators") if family in of_code else ("validators",)
        listed += [target for room in rooms for target in _shared(room, ROOT / room / family.replace("-", "_"))]
    if {family.replace("-", "_") for family in whole} >= set(families()):
        listed += list(_shared("validators", ROOT / "validators", "*.py"))
    return listed


def mutants_in(target: MutatedFile) -> list[SourceMutant]:
    """Return every mutant of a file. Raises SyntaxError."""
    return mutants_of(target.path, target.file.read_bytes(), draws=target.kind not in JUDGES)


def _own(task: Task) -> Iterator[MutatedFile]:
    folder = task.path.resolve()
    for kind, part in (("server", "environment/api"), ("tests", "tests")):
        for file in sorted((folder / part).rglob("*.py")):
            shown = file.relative_to(ROOT) if file.is_relative_to(ROOT) else Path(folder.name) / file.relative_to(folder)
            yield MutatedFile(kind, file, shown.as_posix(), task)


def _shared(kind: str, folder: Path, pattern: str = "**/*.py") -> Iterator[MutatedFile]:
    for file in sorted(folder.glob(pattern)):
        path = file.relative_to(ROOT).as_posix()
        if path not in _HARNESS_STANDS_ON and file.name != _OPTIONS:
            yield MutatedFile(kind, file, path)


DRAWS = frozenset({"hex", "base64", "base64url", "bytes", "between", "below", "seconds", "sample", "choice"})
"""Draws that take numbers."""

NUMBERS = frozenset({"number-plus", "arithmetic-swapped", "argument-dropped", "call-swapped"})
"""Operators that replace a number or a range."""

_KNOBS = frozenset({"knob", "knob_ms", "cost_ms"})
_BOUNDS = frozenset({"range", "min", "max", "round"})
"""Calls that compute a bound of a draw from numbers."""

_TABLE = ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.UnaryOp


def is_range(operator: str, stack: Sequence[ast.AST]) -> bool:
    """Return True if a change to the last of these nested nodes affects only a number that is the author's choice."""
    kind = next((name for name in NUMBERS if operator.startswith(name)), "")
    if not kind:
        return False
    if _is_bound(stack):
        return True
    chain = _chain(stack)
    if kind == "number-plus":
        outer = stack[-2]
        is_term = isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add | ast.Sub)
        return (chain is not None and is_term and any(map(_is_draw, _operands(chain)))) or _is_named(stack)
    return kind == "arithmetic-swapped" and (_is_moved(stack[-1], chain) or _is_named(stack))


def _is_bound(stack: Sequence[ast.AST]) -> bool:
    """Return True if the last node is part of a draw's argument made only from numbers, constants and knobs."""
    # the called function is an attribute; everything else in the call is an argument
    pairs = enumerate(pairwise(stack), 1)
    places = [place for place, (outer, inner) in pairs if _is_draw(outer) and not isinstance(inner, ast.Attribute)]
    if not places:
        return False
    argument, around = stack[places[-1]], stack[places[-1] : -1]
    is_bounding = all(isinstance(one, ast.BinOp | ast.UnaryOp | ast.Call) for one in around)
    calls = (_called(one) for one in around if isinstance(one, ast.Call))
    return is_bounding and _BOUNDS.issuperset(calls) and all(map(_is_fixed, _operands(argument)))


def _is_moved(node: ast.AST, chain: ast.AST | None) -> bool:
    """Return True if the node is a sum of a draw and values that are the same on every seed."""
    if chain is None or not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return False
    parts = _operands(chain)
    return any(map(_is_draw, parts)) and all(_is_draw(one) or _is_fixed(one) for one in parts)


def _is_named(stack: Sequence[ast.AST]) -> bool:
    """Return True if the last node is in a named table of numbers at the top of a module."""
    if len(stack) < 2 or not isinstance(stack[0], ast.Assign | ast.AnnAssign):
        return False
    if not all(_is_table(one) for one in stack[1:]) or _among_words(stack[1:]):
        return False
    last = stack[-1]
    return not isinstance(last, ast.Constant) or (isinstance(last.value, int) and last.value > 1)


def _is_table(node: ast.AST) -> bool:
    """Return True if the node is a number, arithmetic of numbers, or a container of numbers."""
    return all(_is_number(one) for one in _operands(node)) if isinstance(node, ast.BinOp) else isinstance(node, _TABLE)


def _among_words(stack: Sequence[ast.AST]) -> bool:
    """Return True if the last node is in a tuple or list with texts, so that the number is a code and not a size."""
    rows = [one for one in stack[1:-1] if isinstance(one, ast.Tuple | ast.List)]
    return any(isinstance(one, ast.Constant | ast.Dict) and not _is_number(one) for row in rows for one in row.elts)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _chain(stack: Sequence[ast.AST]) -> ast.AST | None:
    """Return the outermost arithmetic expression that contains the last node, or None."""
    chain = None
    for node in reversed(stack):
        if isinstance(node, ast.BinOp):
            chain = node
        elif node is not stack[-1]:
            break
    return chain


def _operands(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.UnaryOp):
        return _operands(node.operand)
    if isinstance(node, ast.BinOp):
        return [*_operands(node.left), *_operands(node.right)]
    return [node]


def _is_draw(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWS


def _is_fixed(node: ast.AST) -> bool:
    """Return True for a number, a constant of the module, a knob or manifest value, or a bound made from these."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BOUNDS:
        return all(_is_fixed(one) for argument in node.args for one in _operands(argument))
    if isinstance(node, ast.Call):
        return _called(node) in _KNOBS
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def _called(node: ast.Call) -> str:
    """Return the last part of the name of a called function."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


_twins: dict[int, tuple[Chance, Chance]] = {}


def plant(mutant: SourceMutant, target: MutatedFile, scratch: Path) -> Task | None:
    """Make this process import the mutant. For a task's file, return the mutated task, copied to a folder below `scratch`."""
    setattr(builtins, SEEDLESS, seedless)
    text = mutant.applied(target.file.read_bytes())
    if target.task is None:
        if target.module in sys.modules:
            raise ImportError(f"{target.module} was imported before it could be changed")
        sys.meta_path.insert(0, _Planted(target, text))
        return None
    require(target.task)
    folder = target.task.path.resolve()
    copied = Path(shutil.copytree(folder, scratch / folder.name))
    (copied / target.file.relative_to(folder)).write_bytes(text)
    # the copy is trusted, because the original is and we made the change
    return admitted(read_task(copied))


def seedless(chance: Chance) -> Chance:
    """Return a source of random values that ignores the seed of a task and keeps its position between calls."""
    if id(chance) not in _twins:
        # also keep the original, because otherwise its id could be reused
        _twins[id(chance)] = (chance, Chance("seedless", "seedless", 0))
    return _twins[id(chance)][1]


class _Planted(SourceFileLoader):
    """An import hook that finds one module, and loads it with a changed source."""

    def __init__(self, target: MutatedFile, text: bytes) -> None:
        super().__init__(target.module, str(target.file))
        self._text = text

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of the changed module, or None for any other module."""
        if name != self.name:
            return None
        package = [str(Path(self.path).parent)] if self.is_package(name) else None
        return spec_from_file_location(name, self.path, loader=self, submodule_search_locations=package)

    def get_code(self, fullname: str) -> CodeType:
        """Return the changed module's code without reading or writing bytecode files."""
        return compile(self._text, self.path, "exec", dont_inherit=True)
