"""What attacks leave behind, without a runtime: where it goes, what runs it, and how a variant nobody can solve is made."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.registry import read_task
from harness.runtimes.inprocess import InProcessRuntime
from parley.proof.attacks.content import aims, linkable
from parley.proof.attacks.grading import RAN, bereft, contradicted
from parley.proof.attacks.plant_files import HOOKS, named_folders, named_paths, named_programs, reward_plans
from parley.proof.attacks.scripts import PAYLOAD, script
from parley.proof.attacks.suite import ATTACKS, machine_digest
from parley.proof.attacks.target import Host, Target, watched
from tests.parley.proof.attacks.flawed import Flaw
from tests.parley.proof.attacks.flaws_files import CONFTEST, SYMLINK

SOUND = Flaw("sound", 0, {})


@pytest.fixture
def host() -> Iterator[Host]:
    """A host that is watched."""
    with watched() as host:
        yield host


def test_attacks_stand_in_order_and_once() -> None:
    """The list is that of docs/attacks.md, in its order; the last has two halves; each says of what flaw it is."""
    assert [attack.number for attack in ATTACKS] == [*range(1, 18), 17]
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert all(attack.benchjack or attack.abc for attack in ATTACKS)


def test_payload_is_a_program_for_bash_and_for_python(tmp_path: Path) -> None:
    """Both run it; where it was started before it does nothing, so that it cannot start itself for ever."""
    program = tmp_path / "payload"
    program.write_text(PAYLOAD, encoding="utf-8")
    program.chmod(0o755)

    for command in (["bash", str(program)], [sys.executable, str(program)], [str(program)]):
        done = subprocess.run(command, env={**os.environ, "LATE": "1"}, capture_output=True, timeout=30, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    assert subprocess.run(["bash", "-n"], input=script("late").encode(), check=False).returncode == 0


def test_hooks_are_code_that_compiles() -> None:
    """A hook that does not parse would break the runner, and be taken for an attack that held."""
    hooks = [(name, text) for name, text in HOOKS.items() if name.endswith((".py", ".pth"))]
    parsed = [compile(text, name, "exec") for name, text in hooks]

    assert len(parsed) >= 2


def scattered(tmp_path: Path, *places: str, **environ: str) -> list[str]:
    """What scatter says of places, given a source with two files."""
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True, exist_ok=True)
    (source / "bash").write_text("mine", encoding="utf-8")
    (source / "deep/file").write_text("mine", encoding="utf-8")
    (source / "bash").chmod(0o755)
    program = tmp_path / "scatter"
    program.write_text(script("scatter"), encoding="utf-8")
    command = ["bash", str(program), str(source), *places]
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, timeout=30, check=True)
    return done.stdout.decode().splitlines()


def test_scatter_makes_folders_or_files(tmp_path: Path) -> None:
    """A place that is not there becomes a folder of all files, or a copy of the first; a refused one is told as well."""
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    new, lone, taken = tmp_path / "a/new", tmp_path / "a/lone", tmp_path / "taken/below"

    assert scattered(tmp_path, str(new), str(taken)) == [f"+ {new}", f"- {taken}"]
    assert scattered(tmp_path, str(lone), AS="file") == [f"+ {lone}"]
    assert (new / "deep/file").read_text(encoding="utf-8") == "mine"
    assert lone.read_text(encoding="utf-8") == "mine"
    assert os.access(lone, os.X_OK)


def test_scatter_spares_the_tools_it_needs(tmp_path: Path) -> None:
    """A shell that is there stays what it is; in a folder without one it is left."""
    full, empty = tmp_path / "full", tmp_path / "empty"
    full.mkdir()
    (full / "bash").write_text("theirs", encoding="utf-8")

    scattered(tmp_path, str(full), str(empty))

    assert (full / "bash").read_text(encoding="utf-8") == "theirs"
    assert (empty / "bash").read_text(encoding="utf-8") == "mine"
    assert (full / "deep/file").exists()


def test_named_paths_are_those_of_the_folders_files(tmp_path: Path) -> None:
    """Paths of artifacts, tests and instruction; no URL's path, and nothing of the system's own folders."""
    sound = SOUND.folder(tmp_path)

    assert {"/workspace/answer.txt", "/logs/verifier/reward.txt", "/var/lib/tokens"} <= set(named_paths(sound))
    assert not {"/api", "/bin/bash", "/dev/null"} & set(named_paths(sound))
    assert {"/workspace", "/logs/verifier"} <= set(named_folders(sound))
    assert "/workspace/answer.txt" not in named_folders(sound)
    assert "server.py" in named_programs(sound)


def test_artifact_is_what_the_agent_hands_in(tmp_path: Path, host: Host) -> None:
    """Declared files of `main`; where the verifier comes to the agent's machine, the files the task names there."""
    sound, shared = SOUND.folder(tmp_path), SYMLINK.folder(tmp_path)

    assert linkable(Target(sound, InProcessRuntime(), host)) == ["/workspace/answer.txt"]
    assert linkable(Target(shared, InProcessRuntime(), host)) == ["/workspace/answer.txt"]
    assert aims(sound) == ["/var/lib/tokens/given"]
    assert aims(shared) == ["/tests/expected.txt"]


def test_nothing_is_handed_in_by_a_task_of_ours(root: Path, host: Host) -> None:
    """The world's log is the only artifact, so links have no place there and one planting is enough."""
    target = Target(read_task(root / "tasks/contract/presigned-url-download"), InProcessRuntime(), host)

    assert linkable(target) == []
    assert len(list(reward_plans(target))) == 1


def test_plantings_do_not_hide_each_other(tmp_path: Path, host: Host) -> None:
    """Three episodes where artifacts are handed in, one for each content and way where the machine is shared."""
    sound, shared = (Target(flaw.folder(tmp_path), InProcessRuntime(), host) for flaw in (SOUND, SYMLINK))

    assert [how for _, how, _ in reward_plans(sound)] == ["write", "link", "huge"]
    assert [how for _, how, _ in reward_plans(shared)] == ["write"] * 8 + ["link", "huge", "guard"]


def test_machine_of_a_foreign_folder_is_its_own(tmp_path: Path) -> None:
    """Its verifier may be any of its files: one with other hidden tests is not struck for it."""
    first, second = SYMLINK.folder(tmp_path / "a"), SYMLINK.folder(tmp_path / "b")
    assert machine_digest(first) == machine_digest(second)
    (second.path / "tests/expected.txt").write_text("43\n", encoding="utf-8")

    assert machine_digest(first) != machine_digest(read_task(second.path))


@pytest.mark.property
def test_contradiction_fails_and_says_that_it_ran(tmp_path: Path) -> None:
    """The variant's tests, run as they are, end with a failure that the verifier's log tells of."""
    task = CONFTEST.twin(tmp_path)
    script_sh = task.path / "tests/test.sh"
    script_sh.write_text(f"{sys.executable} -m pytest -q -p no:cacheprovider ${{0%/*}}/test_answer.py\n", encoding="utf-8")

    with contradicted(read_task(task.path)) as variant:
        assert variant is not None
        done = subprocess.run(["bash", str(variant.path / "tests/test.sh")], capture_output=True, timeout=60, check=False)

    assert done.returncode == 1
    assert RAN.encode() in done.stdout
    assert b"nobody can pass this" in done.stdout
    assert not Path("/tmp", RAN).exists()


def test_verifier_without_pytest_is_left_with_nothing(tmp_path: Path) -> None:
    """No test is added where pytest is not run; instead the artifacts are gone before the verifier looks."""
    sound = SOUND.folder(tmp_path)
    answer = tmp_path / "answer.txt"
    answer.write_text("x", encoding="utf-8")
    toml = sound.path / "task.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace("/workspace/answer.txt", str(answer)), encoding="utf-8")
    (sound.path / "tests/test.sh").write_text(f"test -e {answer} && echo there || echo gone\n", encoding="utf-8")

    with contradicted(read_task(sound.path)) as none, bereft(read_task(sound.path)) as variant:
        assert none is None
        assert variant is not None
        wrapper = variant.path / "tests/test.sh"
        # the services' names are for the verifier's own machine, not for this host's
        kept = [line for line in wrapper.read_text(encoding="utf-8").splitlines() if "/etc/hosts" not in line]
        wrapper.write_text("\n".join(kept), encoding="utf-8")
        done = subprocess.run(["bash", str(wrapper)], capture_output=True, timeout=60, check=False)

    assert done.stdout == b"gone\n"
