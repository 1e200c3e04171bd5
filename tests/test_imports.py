"""The import table of the design, read off the source and not off good intentions.

Imports inside functions count. A module is named by its dotted path; a room is a prefix of it.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

import pytest

from harness.paths import ROOT
from tests.source import MODULES, ROOMS, TASK_FILES, entries, imported, nodes, ours, within

FAMILIES = sorted(
    {path.name for room in ("worlds", "oracles") for path in (ROOT / room).iterdir() if (path / "__init__.py").exists()}
    - {"core"}
)
HEAVY = {"litellm", "ortools", "docker", "ray", "fastapi", "starlette", "uvicorn"}
_WARM = {"harness.runtimes.bubblewrap.inside.forks", "harness.runtimes.bubblewrap.inside.template", "validators.forking"}
DYNAMIC = {"harness.cli", "harness.plugins", "parley", "parley.libraries", "worlds.core.parts", *_WARM}
"""Where modules are imported by a name made at run time.

Commands, the entries of a table, former and public names, the parts of a family, and what is to be forked warm."""

TABLES = {
    "harness.agent_factory", "harness.cli", "harness.plugins", "harness.runtime_choice", "parley",
    "parley.proof.prover", *(f"parley.families.{name}.headline" for name in ("calendar", "contract", "hidden_profile")),
}  # fmt: skip
"""Modules with a table of what is imported when it is asked for, or with the name of a program."""

_FAMILY_ROOMS = sorted(path.parent.name for path in (ROOT / "parley" / "families").glob("*/__init__.py"))
BACK_ROOMS = ["parley.commands", "parley.proof", *(f"parley.families.{name}" for name in _FAMILY_ROOMS)]


FORMER = {"harness.env": "parley.training", "harness.interop": "parley.interop", "harness.testing": "parley.testing"}
"""Names of packages that moved, which work for one release."""


def family_of(module: str, place: int = 1) -> str:
    """The family that a module's name says it is of, or nothing."""
    return next((name for name in module.split(".")[place : place + 1] if name in FAMILIES), "")


def allowed(module: str) -> tuple[str, ...]:
    """The rooms that a module may import: the table of DESIGN section 1."""
    family = family_of(module)
    if within(module, "worlds"):
        return ("worlds.core", f"worlds.{family}") if family else ("worlds.core",)
    if within(module, "oracles"):
        return (f"oracles.{family}", f"worlds.{family}.rules", "worlds.core.models")
    if within(module, "validators"):
        seen = [family] if family else FAMILIES
        rules = (f"worlds.{name}.{part}" for name in seen for part in ("rules", "labels"))
        core = (f"worlds.core.{name}" for name in ("events", "faults", "models", "parts", "replies"))
        return ("validators", *core, *rules)
    core = ("harness", "worlds.core", "validators.verdict")
    if within(module, "parley.families"):
        own = family_of(module, 2)
        return (*core, "parley", f"oracles.{own}", "validators", f"worlds.{own}")
    return (*core, "parley") if within(module, "parley") else (*core, FORMER.get(module, "harness"))


@pytest.mark.parametrize("room", ROOMS)
def test_import_table(room: str) -> None:
    """A module imports only what its room may."""
    wrong = [
        f"{path}:{i.line}: {i.module}"
        for module, path in MODULES.items()
        for i in imported(path)
        if within(module, room) and ours(i.module) and not within(i.module, *allowed(module))
    ]

    assert wrong == []


@pytest.mark.parametrize("room", BACK_ROOMS)
def test_back_rooms_are_found_by_name(room: str) -> None:
    """Others ask for a part by name: a family is imported by itself alone, authoring by families and the command line."""
    importers = {module for module, path in MODULES.items() for i in imported(path) if within(i.module, room)}
    also = {"parley.commands": ("parley.families",), "parley.proof": ("parley.commands", "parley.families")}
    may = (room, *also.get(room, ()))

    assert {module for module in importers if not within(module, *may)} == set()


def test_no_lazy_imports_of_our_own() -> None:
    """Only the command line imports our own modules inside functions."""
    lazy = [
        f"{path}:{i.line}: {i.module}"
        for module, path in MODULES.items()
        for i in imported(path)
        if i.lazy and ours(i.module) and not within(module, "harness.cli", "parley.commands")
    ]

    assert lazy == []


def test_tables_name_what_exists() -> None:
    """Only a few tables name modules of ours in strings, and each entry is a module, with the name that it is to hold."""
    named = {module: entries(path) for module, path in MODULES.items()}
    wrong = [
        (module, name)
        for of in TABLES
        for module, name in named[of]
        if module not in MODULES or (name and not hasattr(importlib.import_module(module), name))
    ]

    assert {module for module, each in named.items() if any(one in MODULES for one, _ in each)} == TABLES
    assert wrong == []


def test_no_import_by_made_up_name() -> None:
    """Only a few modules import what a string made at run time names; elsewhere it is a literal, and foreign."""
    calls = [
        (module, node)
        for module, path in MODULES.items()
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"importlib.import_module", "import_module", "__import__"}
    ]
    literals = [(module, node.args[0].value) for module, node in calls if isinstance(node.args[0], ast.Constant)]

    assert {module for module, node in calls if not isinstance(node.args[0], ast.Constant)} == DYNAMIC
    assert [(module, name) for module, name in literals if ours(str(name))] == []


def test_no_type_checking_blocks() -> None:
    """The import table is the same at run time."""
    assert [module for module, path in MODULES.items() if "TYPE_CHECKING" in path.read_text(encoding="utf-8")] == []


def test_no_cycles() -> None:
    """Modules can be put into one order in which each imports earlier ones only."""
    graph = {module: {i.module for i in imported(path)} & set(MODULES) - {module} for module, path in MODULES.items()}
    while free := [module for module, needs in graph.items() if not needs & set(graph)]:
        for module in free:
            del graph[module]

    assert sorted(graph) == []


def folder_of(module: str) -> str:
    """The folder that a module lies in; `python -m harness` is the command line's door."""
    path = MODULES["harness.cli" if module == "harness.__main__" else module]
    # the harness's own modules stand on several floors: errors and records below all rooms, `episode` above most
    return (
        module.replace(".", "/")
        if module.count(".") == 1 and within(module, "harness") and path.name != "__init__.py"
        else (path.parent.relative_to(ROOT).as_posix())
    )


def room_of(module: str) -> str:
    """The room of a package that a module belongs to, with all its folders: parley.families, worlds.core."""
    return ".".join(folder_of(module).split("/")[:2])


@pytest.mark.parametrize("place", [folder_of, room_of])
def test_no_cycles_of_rooms(place: Callable[[str], str]) -> None:
    """Folders can be put into one order too, and so can rooms: none imports one that imports it, however far around."""
    graph: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        needs = {place(i.module) for i in imported(path) if i.module in MODULES}
        graph.setdefault(place(module), set()).update(needs - {place(module)})
    assert len(graph) > len(ROOMS)
    while free := [room for room, needs in graph.items() if not needs & set(graph)]:
        for room in free:
            del graph[room]

    assert graph == {}


def reached(*starts: str) -> set[str]:
    """Every module that importing these imports, ours and others, packages on the way included."""
    seen: set[str] = set()
    waiting = list(starts)
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        if module in MODULES:
            waiting += [i.module for i in imported(MODULES[module]) if not i.lazy]
            waiting += [module.rpartition(".")[0]] if "." in module else []
    return seen


@pytest.mark.parametrize(
    "start",
    [
        "harness.cli",
        "harness.__main__",
        "harness.cli.listing",
        "parley.commands.show",
        "harness.registry",
        "harness.runs.plan",
        "worlds.core.testing",
    ],
)
def test_light_modules_stay_light(start: str) -> None:
    """Help, listings, the registry and the test kit import no model client, no solver, no Docker SDK and no web framework."""
    assert {module.partition(".")[0] for module in reached(start)} & HEAVY == set()


FOREIGN_OBJECTS: dict[str, set[str]] = {
    "harness.agents.llm.failures": {"status_code"},
    "harness.agents.llm.provider": {"value"},
    "harness.agents.solutions": {"VIOLATIONS", "lineno"},
    "parley.proof.lint": {"lineno", "msg"},
    "harness.runtimes.bubblewrap.environments": {"_base_executable"},
    "harness.runtimes.docker.engine.client": {"_response", "_sock"},
    "parley.interop.foreign.compose": {"problem_mark"},
    "harness.runtimes.judging": {"__file__"},
    "parley.testing.openai_server": {"client"},
}
"""Where an attribute that may be missing is asked for: answers of libraries, errors of parsers, modules of task folders."""


def test_no_capability_is_guessed() -> None:
    """The harness asks its own objects by their protocols: no comparison of an exact type, no getattr with a name in quotes."""
    trees = {module: nodes(path) for module, path in MODULES.items() if within(module, "harness", "parley")}
    exact = [
        f"{module}:{node.lineno}"
        for module, tree in trees.items()
        for node in tree
        if isinstance(node, ast.Compare)
        and any(isinstance(side, ast.Call) and ast.unparse(side.func) == "type" for side in (node.left, *node.comparators))
    ]
    asked = [
        (module, ast.literal_eval(node.args[1]))
        for module, tree in trees.items()
        for node in tree
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in {"getattr", "hasattr"}
        and isinstance(node.args[1], ast.Constant)
    ]

    assert exact == []
    assert [(module, name) for module, name in asked if name not in FOREIGN_OBJECTS.get(module, set())] == []
    assert {module: {name for place, name in asked if place == module} for module in FOREIGN_OBJECTS} == FOREIGN_OBJECTS


@pytest.mark.property
def test_a_run_loads_no_web_framework() -> None:
    """`harness run`, played in process to its end, has loaded neither FastAPI nor a server."""
    script = """
import sys
sys.argv = ["harness", "run", "presigned-url-download", "--runtime", "inprocess", "--out", sys.argv[1]]
from harness.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
print(sorted({name.partition(".")[0] for name in sys.modules} & {"fastapi", "uvicorn", "litellm", "docker"}))
"""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", script, f"{folder}/run"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["[]"]), done.stdout + done.stderr


ROLES = {
    "environment": lambda family: ("fastapi", "pydantic", "worlds.core", f"worlds.{family}"),
    "tests": lambda family: ("validators", "pytest"),
    "solution": lambda family: ("httpx", "reading", "solve", "timing", "violations"),
}
"""Folder of a task -> what its code may import, besides the standard library."""


@pytest.mark.parametrize("role", ROLES)
def test_task_folders_import_their_role_only(role: str) -> None:
    """A server imports worlds and FastAPI, hidden tests validators, a solution httpx and its sibling."""
    placed = [(path, *path.relative_to(ROOT / "tasks").parts[:3:2]) for path in TASK_FILES]
    wrong = [
        f"{path}:{i.line}: {i.module}"
        for path, family, folder in placed
        for i in imported(path)
        if folder == role
        and i.module.partition(".")[0] not in sys.stdlib_module_names
        and not within(i.module, *ROLES[role](family.replace("-", "_")))
    ]

    assert wrong == []
    assert {folder for _, _, folder in placed} == set(ROLES)
