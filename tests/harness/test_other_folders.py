"""Folders of other people: what reads is listed, the rest told in a line each, and before a build what can be seen by then."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from harness.errors import TaskInvalid, UnknownTask, UsageError
from harness.records import Key, Result, RunFolder
from harness.registry import Task, folder_digest, inner_links, read_task, select, survey, tasks_root
from harness.runtime_choice import runnable
from harness.runtimes.archives import pack
from harness.runtimes.docker.engine.dockerfile import bases, beyond_classic, instructions
from harness.runtimes.docker.engine.images import linked_context
from harness.safe_read import NotPlain, links_in, names_in
from parley.interop.foreign.asked import unsupported
from parley.reports.reading import episode_lines, read_episode

Command = Callable[..., subprocess.CompletedProcess[str]]

FILES: Mapping[str, str | bytes] = {
    "task.toml": 'version = "1.0"\n[metadata]\ndifficulty = "easy"\n[environment]\ncpus = 1\n',
    "instruction.md": "Write the word hello to /app/out.txt.\n",
    "environment/Dockerfile": "FROM parley/agent:1\nWORKDIR /app\n",
    "solution/solve.sh": "#!/bin/bash\necho hello > /app/out.txt\n",
    "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
}
"""A task of Harbor's as somebody publishes it."""

TB1 = {
    "task.yaml": "instruction: |-\n  Write hello to /app/out.txt.\nparser_name: pytest\n",
    "Dockerfile": "FROM x\n",
    "run-tests.sh": "pytest /tests\n",
}
WANTS = '[environment]\ncpus = 1\nenv = { KEY = "${PARLEY_TEST_UNSET}" }\n'


def made(folder: Path, more: Mapping[str, str | bytes] = {}, files: Mapping[str, str | bytes] = FILES) -> Path:
    """Write a folder."""
    for name, data in {**files, **more}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of somebody's: a good task among what is none, what is broken, and what is of another tool."""
    root = tmp_path / "repo"
    made(root / "set" / "good")
    made(root / ".git" / "hooks", {"pre-commit": "x"}, {})
    made(root / "docs" / "images", {"a.txt": "x"}, {})
    made(root / "set" / "steps", {"task.toml": "[[steps]]\nname = 'x'\n"})
    made(root / "set" / "broken", {"task.toml": "[agent\n"})
    made(root / "set" / "old", files=TB1)
    made(root / "set" / "scripts", {"build.py": "x"}, {})
    made(root / "set" / "gone" / "__pycache__", {"solve.pyc": "x"}, {})
    return root


def test_what_reads_is_listed_and_the_rest_told(harness: Command, repository: Path) -> None:
    """The good task is a row, each broken folder one line, and neither hidden folders nor those beside no task are any."""
    done = harness("--tasks", repository, "list")

    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()[1:]] == [["good", "easy"]]
    lines = done.stderr.splitlines()
    assert [line.split(": ")[0:2] for line in lines] == [
        ["left out", f"{repository}/set/broken/task.toml:1"],
        ["left out", f"{repository}/set/old/task.yaml:1"],
        ["left out", f"{repository}/set/scripts/task.toml:1"],
        ["left out", f"{repository}/set/steps/task.toml:1"],
    ]
    assert "None" not in done.stdout


def test_only_what_is_named_can_fail(harness: Command, repository: Path) -> None:
    """The good task plays beside broken ones without a word of them; one of those ends the command by its own reason."""
    good = harness("--tasks", repository, "show", "good")
    named = [harness("--tasks", repository, "show", name) for name in ("steps", repository / "set" / "broken")]

    assert (good.returncode, good.stderr) == (0, "")
    assert [one.returncode for one in named] == [4, 4]
    assert "multi-step tasks are not supported" in named[0].stderr


def test_a_repository_without_one_good_task_says_so(harness: Command, tmp_path: Path) -> None:
    """Its folders are told, and there is nothing to list."""
    made(tmp_path / "old", files=TB1)
    made(tmp_path / "older", files=TB1)
    done = harness("--tasks", tmp_path, "list")

    assert done.returncode == 4
    assert done.stderr.count("left out: ") == 2
    assert f"{tmp_path} contains no readable task" in done.stderr


@pytest.mark.parametrize("place", ["tasks/one", "one", "tasks/family/one"])
def test_a_flat_set_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Tasks lie in tasks/NAME, in NAME of this folder, or in a family."""
    made(tmp_path / place)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARLEY_TASKS", raising=False)

    assert [task.task_id for task in survey(tasks_root()).tasks] == ["one"]
    assert [task.task_id for task in survey(tmp_path).tasks] == ["one"] * (place != "tasks/family/one")


def test_a_task_is_named_by_its_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`./task.toml` means the folder it lies in; a folder of tasks is told with the flag that it is meant for."""
    monkeypatch.chdir(made(tmp_path / "set" / "one"))

    assert [task.task_id for task in select([], ["./task.toml"])] == ["one"]
    with pytest.raises(UnknownTask, match=r"^\.\./ holds no task\.toml$") as unknown:
        select([], ["../"])
    assert unknown.value.hint == "harness --tasks ../ list"


def test_a_compose_file_that_is_no_text(tmp_path: Path) -> None:
    """Like any other file, by its line and its byte."""
    folder = made(tmp_path / "one", {"environment/docker-compose.yaml": b"services:\n  main:\n    image: caf\xe9\n"})

    with pytest.raises(TaskInvalid, match=r"yaml:3: docker-compose\.yaml is not UTF-8 \(byte 32\)$"):
        unsupported(read_task(folder))


CASES: dict[str, tuple[Mapping[str, str | bytes], str, str]] = {
    "Latin-1": (
        {"instruction.md": "Caf\xe9\n".encode("latin-1")},
        "instruction.md:1: instruction.md is not UTF-8 (byte 3)",
        "",
    ),
    "byte order mark": (
        {"task.toml": b"\xef\xbb\xbf" + str(FILES["task.toml"]).encode()},
        "task.toml:1: begins with a byte order mark (EF BB BF), which TOML does not allow",
        r"sed -i '1s/^\xEF\xBB\xBF//'",
    ),
    "UTF-16": ({"task.toml": str(FILES["task.toml"]).encode("utf-16")}, "task.toml:1: task.toml is not UTF-8 (byte 0)", ""),
    "CRLF": (
        {"tests/test.sh": str(FILES["tests/test.sh"]).replace("\n", "\r\n")},
        "tests/test.sh:1: tests/test.sh has CRLF line endings, which bash cannot run",
        r"sed -i 's/\r$//'",
    ),
    "CRLF below": (
        {"solution/solve.sh": "#!/bin/bash\nset -e\r\necho hello > /app/out.txt\r\n"},
        "solution/solve.sh:2: solution/solve.sh has CRLF line endings, which bash cannot run",
        r"sed -i 's/\r$//'",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_can_be_seen_is_said_at_once(tmp_path: Path, case: str) -> None:
    """Encodings and line ends that would fail after a build are a line with the path, and the command that mends them."""
    files, what, hint = CASES[case]

    with pytest.raises(TaskInvalid) as refused:
        read_task(made(tmp_path / "one", files))
    assert str(refused.value) == f"{tmp_path}/one/{what}"
    assert refused.value.hint == (f"{hint} {tmp_path}/one/{what.partition(':')[0]}" if hint else "")


def test_a_script_may_hold_a_line_with_a_carriage_return(tmp_path: Path) -> None:
    """Data in a heredoc is not how a script's lines end."""
    script = "#!/bin/bash\ncat > /app/dos.txt <<END\na\r\nEND\ntrue\ntrue\n"

    assert read_task(made(tmp_path / "one", {"tests/test.sh": script})).task_id == "one"


def test_a_task_of_terminal_bench_is_known(tmp_path: Path) -> None:
    """By path, with the command that makes Harbor's of it; a task.yaml of anything else is only no task."""
    old, other = made(tmp_path / "old", files=TB1), made(tmp_path / "other", {"task.yaml": "group: mmlu\n"}, {})

    with pytest.raises(TaskInvalid, match="this is a task of Terminal-Bench 1") as refused:
        select([], [str(old)])
    assert refused.value.hint == f"harbor tasks migrate -i {old} -o {old}-harbor"
    with pytest.raises(TaskInvalid, match=r"task\.toml:1: cannot be read"):
        select([], [str(other)])


@pytest.mark.parametrize("name", ["größe", "gro\u0308sse", "задача", "課題-1"])
def test_letters_of_any_alphabet_name_a_task(tmp_path: Path, name: str) -> None:
    """Composed or not; records take the name too."""
    task = read_task(made(tmp_path / name))

    assert Key(task_id=task.task_id, family="foreign", seed=0, attempt=1).name == f"foreign/{name}/s0-a1"


@pytest.mark.parametrize("name", ["ö" * 65, "a\u202eb", "ö b", "…", "-ö"])
def test_other_signs_name_none(tmp_path: Path, name: str) -> None:
    """Marks that turn a line around, blanks, punctuation, and names that are no folder of a run."""
    with pytest.raises(TaskInvalid, match="a task's folder name has letters, digits"):
        read_task(made(tmp_path / name))


LEAVING = {
    "absolute": "/etc/passwd",
    "above": "../../solution/solve.sh",
    "out and in again": "../environment/Dockerfile",
    "above by name": "sub/../../tests/test.sh",
    "by another link": "far/../../../x",
}


def test_a_link_that_stays_inside_is_kept(tmp_path: Path) -> None:
    """As a link, of a file, a folder or nothing, in the context and its archive; where it leads to counts in both digests."""
    folder = made(tmp_path / "one", {"environment/sub/data.txt": "data\n"})
    environment, plain = folder / "environment", read_task(folder).digest
    for name, target in (("alias.txt", "sub/data.txt"), ("sub/up.txt", "../Dockerfile"), ("there", "sub"), ("gone", "sub/no")):
        (environment / name).symlink_to(target)
    task, context = read_task(folder), linked_context(environment)
    first = task.digest, context.digest()

    assert plain != first[0]
    assert [path.name for path in task.files("environment")] == ["Dockerfile", "data.txt"]
    assert dict(inner_links(environment)) == context.links
    assert context.links == {"alias.txt": "sub/data.txt", "gone": "sub/no", "sub/up.txt": "../Dockerfile", "there": "sub"}
    assert sorted(context.files) == ["Dockerfile", "sub/data.txt"]
    assert b"sub/data.txt" in pack({}, links=context.links)
    (environment / "alias.txt").unlink()
    (environment / "alias.txt").symlink_to("sub/./data.txt")
    assert first[0] != read_task(folder).digest
    assert first[1] != linked_context(environment).digest()


@pytest.mark.parametrize("case", LEAVING)
def test_a_link_that_leaves_is_refused(tmp_path: Path, case: str) -> None:
    """By its spelling, and by where other links on its way lead; nor is any link kept outside environment/."""
    folder = made(tmp_path / "one", {"environment/sub/deep/x": "x", "environment/y/z/x": "x"})
    (folder / "environment" / "y" / "z" / "far").symlink_to("../../sub")
    inside = folder / "environment" / ("y/z/planted" if case == "by another link" else "planted")
    inside.symlink_to(LEAVING[case])

    with pytest.raises(TaskInvalid, match=r"planted:1: is a link to '.*', and links are not followed$"):
        read_task(folder)
    inside.unlink()
    assert links_in(folder, "environment") == {"y/z/far": "../../sub"}
    with pytest.raises(NotPlain):
        names_in(folder)
    (folder / "tests" / "planted").symlink_to("test.sh")
    with pytest.raises(TaskInvalid, match="tests/planted:1: is a link to"):
        read_task(folder)
    with pytest.raises(TaskInvalid, match="is a link to"):
        folder_digest(folder, "environment")


RECIPE = """# a comment
ARG VERSION=3.12
FROM --platform=linux/amd64 python:${VERSION}-slim AS one
RUN apt-get update && \\
    # between
    true
RUN bash -c "cat <<EOF > x"
RUN echo $((1<<n)) && cat <<<word
FROM one
FROM ${NOBODY:-debian:12}
FROM $NOBODY
FROM scratch
"""


def test_what_an_image_is_built_on(tmp_path: Path) -> None:
    """Every FROM with its line, arguments filled in, but for stages, scratch and what only the build knows."""
    assert list(bases(instructions(RECIPE), {})) == [(3, "python:3.12-slim"), (10, "debian:12")]
    assert next(bases(instructions(RECIPE), {"VERSION": "3.13"})) == (3, "python:3.13-slim")
    assert beyond_classic(instructions(RECIPE)) is None


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("RUN <<EOF\necho\nEOF", "a heredoc in RUN"),
        ("RUN cat <<-'END' > /x\nEND", "a heredoc in RUN"),
        ("COPY <<EOF /x\nEOF", "a heredoc in COPY"),
        ("RUN --mount=type=cache,target=/root pip list", "RUN --mount"),
        ("COPY --from=one --chmod=755 a b", "COPY --chmod"),
        ("ADD --checksum=sha256:0 a b", "ADD --checksum"),
    ],
)
def test_what_needs_another_builder_is_named(tmp_path: Path, line: str, what: str) -> None:
    """With the line of the Dockerfile, before anything is built."""
    task = read_task(made(tmp_path / "one", {"environment/Dockerfile": f"FROM x\n\n{line}\n"}))

    assert unsupported(task) == (
        f"{tmp_path}/one/environment/Dockerfile:3: {what} needs BuildKit, and images are built here by the classic builder"
    )


def test_one_that_cannot_be_played_stops_no_other(tmp_path: Path) -> None:
    """Where all are meant, those that no runtime plays are told and left out; one that is named fails, a dry run too."""
    made(tmp_path / "good")
    made(tmp_path / "wants", {"task.toml": WANTS})
    made(tmp_path / "gpu", {"task.toml": "[environment]\ngpus = 1\n"})
    tasks, said = survey(tmp_path).tasks, list[str]()

    assert [task.task_id for task in runnable(tasks, [], said.append)] == ["good"]
    assert [line.partition(", which")[0] for line in said] == [
        "left out: gpu needs GPUs",
        f"left out: {tmp_path}/wants/task.toml:3: environment.env.KEY: ${{PARLEY_TEST_UNSET}} is a variable of this host",
    ]
    assert [task.task_id for task in runnable(tasks, ["good", "g*o*d"], said.append)] == ["good"]
    for names, which in ((["good", "gpu"], "gpu needs GPUs"), ([f"{tmp_path}/wants"], "needs --env PARLEY_TEST_UNSET")):
        with pytest.raises(UsageError, match=which):
            runnable(tasks, names, said.append)
    with pytest.raises(UsageError, match="gpu needs GPUs"):
        runnable(tasks[1:2], [], said.append)


def test_a_level_that_one_task_lacks_stops_no_other(presigned: Task, tmp_path: Path) -> None:
    """A new folder may have one level; a preset of a harder one plays those that have it."""
    text = (presigned.path / "task.toml").read_text(encoding="utf-8").replace(presigned.task_id, "flat")
    shutil.copytree(presigned.path, tmp_path / "flat")
    (tmp_path / "flat" / "task.toml").write_text(text[: text.index("[metadata.parley.levels")], encoding="utf-8")
    flat, said = read_task(tmp_path / "flat"), list[str]()

    assert runnable([presigned, flat], ["contract"], said.append, ["4"]) == [presigned]
    assert said == ["left out: flat has no level 4; it has level 1"]
    assert runnable([presigned, flat], [], said.append, ["1"]) == [presigned, flat]
    with pytest.raises(UsageError, match="flat has no level 2"):
        runnable([presigned, flat], ["flat"], said.append, ["2", "4"])


def test_why_a_foreign_task_failed_is_told(tmp_path: Path) -> None:
    """By the end of its verifier's log: in one sentence, and line by line; no file of a world is missed."""
    key = Key(task_id="größe", family="foreign", seed=0, attempt=1)
    log = "".join(f"line {number}\n" for number in range(40)) + "\nFAILED test_x.py - assert 1 == 2\n1 failed in 0.05s\n"
    failed = Result(
        run="r", task_id=key.task_id, family=key.family, seed=0, attempt=1, agent="oracle", runtime="docker", status="graded",
        reward=0.0, success=False, failure_label="OTHER", key_digest="0" * 12,
    )  # fmt: skip
    files = {"result.json": failed.model_dump_json(), "verifier.log": log, "trajectory.json": "", "agent.log": ""}
    RunFolder(tmp_path / "r").write(key, {name: text.encode() for name, text in files.items()})

    episode = read_episode(RunFolder(tmp_path / "r").episode(key))
    lines = list(episode_lines(episode, 120))

    assert episode.breach is not None
    assert episode.breach.sentence == (
        "OTHER: the task's tests gave 0; their log ends: line 39 / FAILED test_x.py - assert 1 == 2 / 1 failed in 0.05s"
    )
    assert "The end of verifier.log" in lines
    assert [line for line in ("line 21", "line 22", "1 failed in 0.05s") if line in lines] == ["line 22", "1 failed in 0.05s"]
    assert episode.absent == ("trajectory.json",)
