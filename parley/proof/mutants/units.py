"""Unit tests of a mutant in a shared module that survives the checks on the first seed.

`verify` cannot detect changes of values that a validator measures in addition to the verdict, or of branches that no task uses.
Only fast tests (`FAST`) that import a shared module are run, from the folders of the families and of the validators.
"""

from __future__ import annotations

import ast
import contextlib
import os
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from harness.plugins import families
from parley.proof.mutants.copies import allow
from parley.proof.mutants.operators import SourceMutant
from parley.proof.mutants.targets import ROOT, MutatedFile, plant


@contextmanager
def traced(files: Collection[str]) -> Iterator[set[tuple[str, int]]]:
    """Yield the set of lines of `files`, as (file, number), that run in this thread within the context.

    Tracing all files would be slow.
    """
    ran: set[tuple[str, int]] = set()

    def line(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        if event == "line":
            ran.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: FrameType, _: str, __: Any) -> Callable[..., Any] | None:
        if frame.f_code.co_filename not in files:
            return None
        ran.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield ran
    finally:
        sys.settrace(before)


FAST = "not docker and not bubblewrap and not proof and not property and not reference"
"""The marker expression of `make test`."""

_FAMILY_ROOMS = ("worlds", "oracles", "validators", "parley/families")

# importing installed plugins would take longer than most of these tests
_MODE = (
    "-q", "-m", FAST, "-p", "no:cacheprovider", "--disable-plugin-autoload", "--rootdir", str(ROOT),
    "-c", str(ROOT / "pyproject.toml"),
)  # fmt: skip


@dataclass
class UnitTests:
    """Lines of the mutated files that each unit test runs, and the duration of each test."""

    ran: dict[str, dict[str, set[int]]] = field(default_factory=dict)
    """Lines by file and test."""

    seconds: dict[str, float] = field(default_factory=dict)
    failing: list[str] = field(default_factory=list)

    def reaching(self, mutant: SourceMutant, target: MutatedFile) -> list[str]:
        """Return the tests that run one of a mutant's lines, quickest first."""
        lines = set(range(mutant.first, mutant.last + 1))
        by_test = self.ran.get(str(target.file), {})
        named = [name for name, ran in by_test.items() if mutant.at_import or lines & ran]
        return sorted(named, key=lambda name: self.seconds[name])


def surveyed_units(targets: Collection[MutatedFile]) -> UnitTests:
    """Run every fast test whose file imports these modules, in this process, and record the lines that each test runs."""
    mapping = _Mapping({str(target.file) for target in targets})
    if files := _files({target.module for target in targets}):
        _run(files, mapping)
    return mapping.units


def noticed_by_units(mutant: SourceMutant, target: MutatedFile, units: UnitTests, scratch: Path) -> str:
    """Plant a mutant in this process and return the first unit test that fails, or an empty string."""
    plant(mutant, target, scratch)
    names = units.reaching(mutant, target)
    allow(10 + 10 * sum(units.seconds[name] for name in names))
    failures = _Failures()
    _run(names, failures, "-x")
    return next(iter(failures.failing), "")


class _Failures:
    """A pytest plug-in that records failing tests, and test files that cannot be imported any more."""

    def __init__(self) -> None:
        self.failing: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Record a test that fails, or whose set-up or tear-down fails, or a file that cannot be imported."""
        if report.failed:
            self.failing.append(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


class _Mapping(_Failures):
    """A pytest plug-in that traces each test. Lines of a shared fixture count for every test that requests it."""

    def __init__(self, files: Collection[str]) -> None:
        super().__init__()
        self.units = UnitTests(failing=self.failing)
        self._files = files
        self._shared: dict[tuple[str, str], set[tuple[str, int]]] = {}
        """Lines of a fixture, by its name and the prefix of the ids of tests that can request it."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Trace a test with its own fixtures."""
        began = time.process_time()
        with traced(self._files) as lines:
            told = yield
        self.units.seconds[item.nodeid] = time.process_time() - began
        asked = set(item.fixturenames) if isinstance(item, pytest.Function) else set()
        for (name, base), of_fixture in self._shared.items():
            lines |= of_fixture if name in asked and item.nodeid.startswith(base) else set()
        for file, line in lines:
            self.units.ran.setdefault(file, {}).setdefault(item.nodeid, set()).add(line)
        return told

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Trace a fixture that several tests share."""
        if fixturedef.scope == "function":
            return (yield)
        with traced(self._files) as lines:
            told = yield
        self._shared.setdefault((fixturedef.argname, fixturedef.baseid), set()).update(lines)
        return told


def _run(names: Sequence[str], plugin: object, *options: str) -> None:
    # test files import each other by name, and random cases must be the same each time
    sys.path.insert(0, str(ROOT))
    os.environ["CI"] = "true"
    with contextlib.chdir(ROOT):
        pytest.main([*_MODE, *options, *names], plugins=[plugin])


def _files(modules: Collection[str]) -> list[str]:
    """Return the test files that import one of these modules, directly or through shared helpers."""
    names = [f"{room}/{name.replace('-', '_')}" for room in _FAMILY_ROOMS for name in families()]
    folders = [ROOT / "tests" / name for name in (*names, "validators")]
    files = [path for folder in folders for path in sorted(folder.glob("test_*.py"))]
    packages = {module.rpartition(".")[0] or module for module in modules} | set(modules)
    return [str(path) for path in files if _imports(path) & packages]


@cache
def _imports(path: Path) -> set[str]:
    """Return every module that a test file imports, including through its helpers and its folder's fixtures."""
    named: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
    helpers = [ROOT / f"{name.replace('.', '/')}.py" for name in named if name.startswith("tests.")]
    fixtures = [path.with_name("conftest.py")] if path.name.startswith("test_") else []
    return named.union(*(_imports(helper) for helper in (*helpers, *fixtures) if helper.is_file()))
