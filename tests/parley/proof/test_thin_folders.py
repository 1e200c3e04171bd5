"""What a family's tasks share stands once: a change of it is one file, and `harness sync` brings it to every folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import parley.families
from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent, players
from harness.errors import TaskInvalid
from harness.paths import ROOT
from harness.pod import EpisodeSpec
from harness.registry import Task, read_task
from harness.runtimes.inprocess import InProcessRuntime
from harness.trust import admitted
from parley.proof.lint import SOLUTION, lint_source
from parley.proof.sync import drift, new_task, sync, vouched
from parley.proof.templates import families, family
from worlds.core.errors import ManifestError
from worlds.core.loading import open_world
from worlds.core.manifest import STANDARD, Budgets, Manifest, shared_settings

pytestmark = pytest.mark.property

DATA = ["calendar", "hidden-profile"]
PACKAGES = ("worlds", "validators", "oracles", "harness", "parley")
KEPT = {
    "calendar": ["uniform-01", "varied-02"],
    "hidden-profile": ["airliner-by-night"],
    "contract": ["presigned-url-download"],
}
"""Tasks of the copied tree; airliner-by-night was written by hand."""


class Tree:
    """A copy of the packages and some tasks, in which a file may be changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name in (*PACKAGES, *(f"tasks/{name}/{task}" for name, tasks in KEPT.items() for task in tasks)):
            shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", path)

    def change(self, name: str, old: str, new: str) -> None:
        """Replace some text of one file."""
        text = (self.path / name).read_text()
        assert old in text
        (self.path / name).write_text(text.replace(old, new))

    def harness(self, *arguments: str) -> str:
        """What a command of the copy prints."""
        command = [sys.executable, "-B", "-m", "harness", *arguments]
        environ = {"PYTHONPATH": str(self.path), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(command, cwd=self.path, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def synced(self) -> set[str]:
        """The files that `harness sync` changes, relative to the tasks; a second time it changes none."""
        first, second = self.harness("sync"), self.harness("sync")
        assert "0 files changed" in second
        words = [line.split() for line in first.splitlines() if line.startswith(("wrote ", "removed "))]
        return {f"{verb} {Path(path).relative_to(self.path / 'tasks').as_posix()}" for verb, path in words}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A fresh copy."""
    return Tree(tmp_path / "tree")


@pytest.fixture(params=DATA)
def data_task(request: pytest.FixtureRequest, tmp_path: Path) -> Task:
    """A new task that is data."""
    return admitted(read_task(new_task(tmp_path, request.param, "a-task")))


def test_an_option_is_one_file(tree: Tree) -> None:
    """A reworded option and a new one change no folder, and are there at once, also in a task that was written by hand."""
    tree.change("worlds/hidden_profile/options.py", "rounds of talk between the two votes", "how long they talk")
    tree.change(
        "worlds/hidden_profile/options.py",
        '    "track":',
        '    "hats": Option(default="off", doc="who wears one"),\n    "track":',
    )
    shown = tree.harness("show", "airliner-by-night")

    assert tree.synced() == set()
    assert "rounds = 15 (int): how long they talk" in shown
    assert "hats = off (str): who wears one" in shown


def test_a_template_is_one_file(tree: Tree) -> None:
    """A change of a shared template reaches every folder, one of a family's player that family's, and nothing else changes."""
    every = {f"{name}/{task}" for name, tasks in KEPT.items() for task in tasks}
    tree.change("parley/proof/templates/shared/boilerplate/environment/docker-compose.yaml.j2", "0.3s", "0.4s")
    assert tree.synced() == {f"wrote {task}/environment/docker-compose.yaml" for task in every}

    tree.change("parley/families/calendar/player.py", "please make room", "could you make room")
    assert tree.synced() == {f"wrote calendar/{task}/solution/solve.sh" for task in KEPT["calendar"]}


def test_sync_takes_away_what_no_template_makes(tmp_path: Path) -> None:
    """A stamped file of an earlier template is drift and goes; a file of the author's stays, whatever its name."""
    folder = new_task(tmp_path, "calendar", "a-task")
    (folder / "solution/play.py").write_text(
        '"""Plays.\n\nBoilerplate calendar/1, written by `harness sync`: edits here are lost.\n"""\n'
    )
    (folder / "solution/notes.py").write_text('"""My own: I wrote it."""\n')

    assert [(Path(one.path).name, one.rule) for one in drift(folder, vouched)] == [("play.py", "drift")]
    assert sync(folder, vouched) == [folder / "solution/play.py"]
    assert (folder / "solution/notes.py").exists()
    assert drift(folder, vouched) == []


@pytest.mark.parametrize("name", [name for name in families() if (family(name).folder / "player.py").exists()])
def test_player_stands_alone(name: str) -> None:
    """A player imports what a solution may and nothing of ours, and its very text is what each folder's solve.sh runs."""
    player = Path(parley.families.__file__).parent / name.replace("-", "_") / "player.py"

    assert [str(finding) for finding in lint_source(player, SOLUTION)] == []
    assert player.read_bytes() in family(name).boilerplate()["solution/solve.sh"]


@pytest.mark.parametrize("name", families())
def test_every_shared_option_has_its_line(name: str) -> None:
    """People read of every option what it is for."""
    assert all(option.doc for option in shared_settings(name).options.values())


def test_world_json_is_the_task_own(data_task: Task) -> None:
    """What the family says is not said again, and the world has it all the same."""
    stated = json.loads((data_task.world_folder / "world.json").read_bytes())
    world = open_world(data_task.world_folder)

    assert stated == {"category": "none", "family": data_task.family, "task_id": "a-task"}
    shared = {name: spec.default for name, spec in shared_settings(data_task.family).options.items() if not spec.quiet}
    assert world.options == {**STANDARD, **shared}
    assert world.manifest.budgets == shared_settings(data_task.family).budgets
    assert world.manifest.costs == shared_settings(data_task.family).costs


@pytest.mark.parametrize("name", sorted(STANDARD))
def test_path_options_are_contract_own(data_task: Task, name: str) -> None:
    """Only contract declares them; the first event of a game says what they are all the same."""
    manifest = data_task.file.manifest()
    assert manifest is not None
    with pytest.raises(ManifestError, match=f"a-task has no option '{name}'; it has "):
        manifest.resolve({name: "x"})

    assert name in manifest.resolve({})
    assert name in shared_settings("contract").options


def test_a_task_may_have_another_default(tmp_path: Path) -> None:
    """It is said in one line of task.toml, reaches the world by sync, and can be set as before."""
    folder = new_task(tmp_path, "hidden-profile", "a-task")
    toml = folder / "task.toml"
    toml.write_text(toml.read_text().replace("\n[agent]", "\n[metadata.parley.defaults]\nrounds = 3\n\n[agent]"))
    changed = [path.relative_to(folder).as_posix() for path in sync(folder, vouched)]

    assert changed == ["environment/api/world.json", "instruction.md"]
    assert open_world(folder / "environment/api").options["rounds"] == 3
    assert open_world(folder / "environment/api", overrides={"rounds": "4"}).options["rounds"] == 4


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("hats = 3", ".defaults: the family hidden-profile has no option 'hats'"),
        ("rounds = 51", ": rounds must be in 0..50, not 51"),
        ('rounds = "3"', ".defaults: rounds must be a whole number, not '3'"),
        ('track = "prose"', ": track must be one of free, structured, not prose"),
    ],
)
def test_another_default_is_checked(tmp_path: Path, line: str, why: str) -> None:
    """A default of an option that the family lacks, or that it does not allow, is refused by rule."""
    folder = new_task(tmp_path, "hidden-profile", "a-task")
    toml = folder / "task.toml"
    toml.write_text(toml.read_text().replace("\n[agent]", f"\n[metadata.parley.defaults]\n{line}\n\n[agent]"))
    with pytest.raises(TaskInvalid) as refused:
        read_task(folder)

    assert str(refused.value).endswith(f": metadata.parley{why}")


def test_a_task_may_have_costs_of_its_own() -> None:
    """What a task says of costs is in its world.json, also where it says what other families take for granted."""
    own = Manifest(task_id="t", family="calendar", budgets=Budgets(steps=1, virtual_seconds=1), costs={"request": 1.0})

    assert Manifest.model_validate_json(own.to_json()) == own


def test_wrong_clients_are_the_family_own(data_task: Task) -> None:
    """No folder ships them, every one of them plays, and each is named."""
    wrong = [name for name in players(data_task) if name != "solve"]

    assert len(wrong) >= family(data_task.family).violations
    assert not list((data_task.path / "solution").glob("*.py"))
    for name in wrong:
        assert _played(data_task, name, Budget()).failed is None


def test_a_game_from_elsewhere_ends(data_task: Task) -> None:
    """A wrong client plays a folder that is not ours by call, so it has a limit of real time."""
    failed = _played(data_task, next(name for name in players(data_task) if name != "solve"), Budget(wall_s=-1)).failed

    assert failed == "TimeoutError: the game was not over within -1 seconds"


def test_a_broken_plan_is_named(data_task: Task) -> None:
    """Whoever wrote the plan, it is data that may be wrong."""
    (data_task.path / "solution/plan.json").write_text("[[")

    assert f"{data_task.path}/solution/plan.json:1: is not a valid plan: " in str(_played(data_task, "solve", Budget()).failed)


def _played(task: Task, player: str, budget: Budget) -> Report:
    report = Report(agent=player)
    with InProcessRuntime().open(EpisodeSpec("run", "episode", task, 0)) as pod:
        SolutionAgent(player).play(task, 0, pod, budget, report)
    return report
