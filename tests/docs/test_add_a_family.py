"""docs/add-a-family.md, done: a copy of the checkout gets the files of that page, and its commands see a fourth family."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from harness.paths import ROOT
from harness.plugins import families
from harness.runtimes.docker.runtime import DockerRuntime
from parley.commands.kinds import PARTS

PAGE = ROOT / "docs" / "add-a-family.md"
COPIED = ("worlds", "validators", "oracles", "harness", "parley", "docker", "pyproject.toml", "README.md", "LICENSE")
FILES = re.compile(r"^`([^`\n]+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SEEDS = 3
_CACHES = shutil.ignore_patterns("__pycache__")


def contents(checkout: Path) -> dict[str, str]:
    """A digest of every file that is no cache, by relative path."""
    files = (path for path in checkout.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(checkout)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Checkout:
    """A copy of this checkout, with two tasks of each family, and the page's files added."""

    def __init__(self, path: Path) -> None:
        self.path = path
        tasks = (task for family in (ROOT / "tasks").iterdir() for task in sorted(family.iterdir())[:2])
        for source in (*(ROOT / name for name in COPIED), *tasks):
            target = path / source.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=_CACHES)
            else:
                shutil.copy(source, target)
        self.before = contents(path)
        for name, text in FILES.findall(PAGE.read_text(encoding="utf-8")):
            file = path / name
            assert not file.exists(), f"{name} exists: the page edits a file"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def harness(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Types a command of the copy; raises AssertionError, with what it said, where it fails."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
        environ |= {"PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "harness", *arguments]
        done = subprocess.run(command, cwd=self.path, env=environ, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"{shlex.join(arguments)}: {done.stdout}{done.stderr}"
        return done

    def episodes(self, run: str) -> dict[str, tuple[float, str, str]]:
        """Reward, label and trace hash of each episode of a run, by agent and seed."""
        results = [json.loads(path.read_bytes()) for path in (self.path / run).rglob("result.json")]
        kept = ("reward", "failure_label", "trace_hash")
        return {f"{one['agent']} s{one['seed']}": tuple(one[name] for name in kept) for one in results}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The copy, the page's files added, nothing typed yet."""
    return Checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def typed(checkout: Checkout) -> Mapping[str, str]:
    """What each command of the page printed, typed in order."""
    (block,) = COMMANDS.findall(PAGE.read_text(encoding="utf-8"))
    lines = block.strip().splitlines()
    assert all(line.startswith("harness ") for line in lines)
    outcomes = {line: checkout.harness(*shlex.split(line)[1:]) for line in lines}
    return {line: done.stdout + done.stderr for line, done in outcomes.items()}


def said(typed: Mapping[str, str], command: str) -> str:
    """What the one command that starts so printed."""
    (printed,) = (printed for line, printed in typed.items() if line.startswith(f"harness {command}"))
    return printed


@pytest.mark.property
def test_family_is_in_every_command(typed: Mapping[str, str]) -> None:
    """list, new, verify, run and report know the family from its packages alone."""
    assert re.search("relay +0  0-9", said(typed, "list --families"))
    assert "tasks/relay/my-message" in said(typed, "new")
    assert "1 of 1 tasks passed" in said(typed, "verify")
    assert re.search("relay: 1 task +difficulty\nmy-message +easy", said(typed, "list relay"))
    assert re.search("oracle +3 +100.0", said(typed, "report"))
    assert re.search("nop +3 +0.0", said(typed, "report"))


@pytest.mark.property
def test_oracle_earns_all_and_nop_nothing(checkout: Checkout, typed: Mapping[str, str]) -> None:
    """The run of the page: reward 1 for who passes the message on, 0 for who does nothing."""
    assert said(typed, "run relay")
    episodes = checkout.episodes("runs/relay")

    assert {name: (reward, label) for name, (reward, label, _) in episodes.items()} == {
        **{f"oracle s{seed}": (1.0, "SUCCESS") for seed in range(SEEDS)},
        **{f"nop s{seed}": (0.0, "OTHER") for seed in range(SEEDS)},
    }
    assert len({trace for _, _, trace in episodes.values()}) == 2 * SEEDS


@pytest.mark.property
def test_no_file_is_edited(checkout: Checkout, typed: Mapping[str, str]) -> None:
    """Adding the family and using it changed no file that was there; what is new is the family's, its task's, or the run's."""
    assert typed
    after = contents(checkout.path)
    new = {name for name in after if name not in checkout.before and not name.startswith("runs/")}

    assert {name: digest for name, digest in after.items() if name in checkout.before} == checkout.before
    assert {name for name in new if "relay" not in name.split("/")} == set()


def test_the_page_names_every_part_there_is() -> None:
    """The table of parts has each module that some family's package offers under a name that is looked up."""
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "harness").rglob("*.py"))
    source += "".join(path.read_text(encoding="utf-8") for path in (ROOT / "parley").rglob("*.py"))
    looked_up = set(re.findall(r"family_part(?:_or_none)?\([^()\"]+, \"([\w.]+)\"\)", source))
    looked_up |= set(PARTS.values())

    assert looked_up == set(re.findall(r"^\| `([\w.]+)` \| `", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) - {"worlds"}
    assert len(looked_up) > len(families())


def sandboxed(checkout: Checkout, runtime: str) -> None:
    """The page's run once more in a sandbox, equal to the one in process."""
    flags = ["--agent", "oracle,nop", "--seeds", "0-2", "--runtime", runtime, "--out", f"runs/{runtime}"]
    checkout.harness("run", "relay", *flags)

    assert checkout.episodes(f"runs/{runtime}") == checkout.episodes("runs/relay")


@pytest.mark.bubblewrap
def test_family_in_bubblewrap(checkout: Checkout, typed: Mapping[str, str]) -> None:
    """The sandbox's rooms hold the new packages: the same traces and rewards as in process."""
    assert typed
    sandboxed(checkout, "bubblewrap")


@pytest.fixture
def images(checkout: Checkout) -> Iterator[None]:
    """After the test the images of the copy are gone, and `:1` means those of this checkout again."""
    yield
    runtime = DockerRuntime()
    ours = {runtime.images.image_id(tag) for tag in runtime.images.build_bases().values()}
    plans = [json.loads(plan.read_bytes()) for plan in (checkout.path / "runs" / "docker").rglob("run.json")]
    built = {name: image for plan in plans for name, image in plan["environment"]["images"].items() if image not in ours}
    # those of the task, whose names hold a colon, are built on the others
    for name in sorted(built, key=lambda name: ":" not in name):
        runtime.engine.api.remove_image(built[name])
    runtime.engine.api.close()


@pytest.mark.docker
@pytest.mark.usefixtures("images")
def test_family_in_docker(checkout: Checkout, typed: Mapping[str, str]) -> None:
    """The images hold the new packages: the same traces and rewards as in process."""
    assert typed
    sandboxed(checkout, "docker")
