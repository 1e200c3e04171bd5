"""What is read of a foreign task without Docker: rewards, artifacts, compose files, and what the folder asks."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import TaskInvalid, UsageError, VerifierFailure
from harness.registry import Task, read_task
from parley.interop.foreign.asked import may_gain_privileges, public_phases, unsupported, verifier_is_public
from parley.interop.foreign.compose import read_compose
from parley.interop.foreign.grading import cleaned, file_in, reward_of
from parley.interop.foreign.pod import listed

Folder = Callable[..., Task]


@pytest.mark.parametrize(
    ("name", "data", "reward"),
    [
        ("reward.txt", b"1\n", 1.0),
        ("reward.txt", b" 0.5 ", 0.5),
        ("reward.txt", b"1e-1", 0.1),
        ("reward.json", b'{"reward": 1}', 1.0),
        ("reward.json", b'{"reward": 0.5, "other": 40}', 0.5),
        ("reward.json", b'{"score": 0.25}', 0.25),
    ],
)
def test_a_reward_is_one_number(name: str, data: bytes, reward: float) -> None:
    """`reward`, or the only key there is."""
    assert reward == reward_of(data, name)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("reward.txt", b"", "must hold one number, not ''"),
        ("reward.txt", b"true", "must hold one number, not 'true'"),
        ("reward.txt", b"nan", "must hold one number"),
        ("reward.txt", b"1_0", "must hold one number"),
        ("reward.txt", b"1 1", "must hold one number"),
        ("reward.txt", b"9e999", "must be a finite number"),
        ("reward.txt", b"1.5", "must hold a reward in 0..1, not 1.5"),
        ("reward.txt", b"-1", "must hold a reward in 0..1, not -1.0"),
        ("reward.txt", b'"1"', "must hold one number"),
        ("reward.json", b"", "is not the JSON of one object"),
        ("reward.json", b"true", "must hold an object with a number, not true"),
        ("reward.json", b"1", "must hold an object with a number, not 1.0"),
        ("reward.json", b"{}", "must hold an object with a number"),
        ("reward.json", b'{"reward": true}', "'reward' must be a finite number, not true"),
        ("reward.json", b'{"reward": "1"}', "'reward' must be a finite number, not \"1\""),
        ("reward.json", b'{"reward": NaN}', "'reward' must be a finite number, not NaN"),
        ("reward.json", b'{"reward": 1e999}', "'reward' must be a finite number"),
        ("reward.json", b'{"reward": ' + b"9" * 5000 + b"}", "'reward' must be a finite number"),
        ("reward.json", b'{"reward": {"a": 1}}', "'reward' must be a finite number"),
        ("reward.json", b'{"reward": 1, "b": [1]}', "'b' must be a finite number"),
        ("reward.json", b'{"reward": 0, "reward": 1}', "a key occurs twice"),
        ("reward.json", b'{"a": 1, "b": 0}', "has 2 keys and none is 'reward'"),
        ("reward.json", b"[" * 100_000, "is not the JSON of one object"),
        ("reward.json", b"\xff", "is not the JSON of one object"),
    ],
)
def test_anything_else_is_the_verifiers_failure(name: str, data: bytes, words: str) -> None:
    """Never a guess: what is wrong is named."""
    with pytest.raises(VerifierFailure) as raised:
        reward_of(data, name)

    assert words in str(raised.value)


def test_a_link_is_no_reward_file() -> None:
    """Where the reward goes only a regular file counts."""
    with pytest.raises(VerifierFailure, match="is not a regular file"):
        file_in(_archive(("reward.json", tarfile.SYMTYPE, "/etc/passwd")), "reward.json")


def test_artifacts_cross_as_plain_files() -> None:
    """Links that stay inside are kept; links that leave, devices, FIFOs and setuid bits do not cross."""
    clean = cleaned(
        _archive(
            ("out", tarfile.DIRTYPE, ""),
            ("out/file", tarfile.REGTYPE, ""),
            ("out/inside", tarfile.SYMTYPE, "file"),
            ("out/up", tarfile.SYMTYPE, "../../etc/shadow"),
            ("out/absolute", tarfile.SYMTYPE, "/tests/test.sh"),
            ("out/hard", tarfile.LNKTYPE, "out/file"),
            ("out/far", tarfile.LNKTYPE, "etc/shadow"),
            ("out/pipe", tarfile.FIFOTYPE, ""),
            ("out/null", tarfile.CHRTYPE, ""),
            ("../escaped", tarfile.REGTYPE, ""),
        )
    )
    assert clean.archive is not None
    with tarfile.open(fileobj=io.BytesIO(clean.archive)) as kept:
        entries = {entry.name: oct(entry.mode) for entry in kept}

    assert set(entries) == {"out", "out/file", "out/inside", "out/hard"}
    assert entries["out/file"] == "0o755"
    assert set(clean.left_out) == {"out/up", "out/absolute", "out/far", "out/pipe", "out/null", "../escaped"}


def test_an_artifact_that_is_a_link_is_none() -> None:
    """Neither is something that is no archive at all."""
    assert cleaned(_archive(("answer", tarfile.SYMTYPE, "/etc/shadow"))).archive is None
    assert cleaned(b"x" * 600).archive is None


@pytest.mark.parametrize(
    ("compose", "words"),
    [
        ("services:\n  main:\n    build: ../..\n", "yaml:3: context '../..' of build leaves environment/, which is refused"),
        ("services:\n  main:\n    build:\n      context: ..\n", "yaml:4: context '..' of build leaves"),
        ("services:\n  main:\n    build: { context: /etc }\n", "context '/etc' of build leaves"),
        ("services:\n  main:\n    build: out\n", "context 'out' of build leaves"),
        ("services:\n  main:\n    build: { context: sub, dockerfile: ../../tests/x }\n", "dockerfile '../../tests/x' of build"),
        ("services:\n  main:\n    volumes: [ /:/host ]\n", "yaml:3: key volumes of service main is not supported here"),
        ("services:\n  main:\n    privileged: true\n", "yaml:3: key privileged of service main"),
        ("services:\n  main:\n    environment: &e { A: b }\n  x:\n    environment: *e\n", "yaml:5: alias *e is not supported"),
        ("services:\n  main: {}\n  main: {}\n", "yaml:3: each key must be a word that occurs once"),
        ("services:\n  '../x': {}\n", "yaml:2: ../x: String should match pattern"),
        ("services:\n  main:\n    user: '-x'\n", "yaml:3: user: Value error, must be a name or number"),
        ("services:\n  main:\n    image: '--x'\n", "yaml:3: image: String should match pattern"),
        ("services:\n  main:\n    working_dir: ../x\n", "yaml:3: working_dir: Value error, must be an absolute path"),
        ('services:\n  main:\n    command: "a \'b"\n', 'yaml:3: "a \'b" has a quote that does not close'),
        ("services:\n  main:\n    init: 3\n", "yaml:3: must be true or false, not '3'"),
        ("services:\n  main:\n    healthcheck: { retries: 0 }\n", "retries must be in 1..10000"),
        ("services:\n  main:\n    healthcheck: { interval: 999999h }\n", "interval must be at most 86400 s"),
        ("services:\n  main:\n    environment: { A: '${B:?}' }\n", "yaml:3: '${B:?}' has a $ that is neither"),
        ("services:\n" + "".join(f"  s{i}: {{}}\n" for i in range(33)), "yaml:1: 33 services are more than 32"),
        ("[" * 400, "cannot be read as YAML"),
        ("[" * 600 + "]" * 600, "cannot be read as YAML"),
    ],
)
def test_a_compose_file_out_of_bounds_is_refused(folder: Folder, compose: str, words: str) -> None:
    """With its line, before anything is built."""
    task = folder(**{"environment/sub/Dockerfile": "FROM x\n"})
    (task.path / "environment" / "out").symlink_to("/etc")

    with pytest.raises(TaskInvalid) as raised:
        read_compose(_write(task.path / "environment" / "docker-compose.yaml", compose), {})

    assert words in str(raised.value)


@pytest.mark.parametrize(
    "asked", ["environment: [ HOME ]", "environment: { HOME: }", 'environment: { A: "$HOME" }', "image: x-${HOME}"]
)
def test_a_compose_file_takes_nothing_of_this_host(folder: Folder, asked: str) -> None:
    """Neither by a reference nor by naming a variable without a value."""
    path = _write(folder().path / "environment" / "docker-compose.yaml", f"services:\n  main:\n    {asked}\n")
    with pytest.raises(UsageError, match=r"yaml:3: \$\{HOME\} is a variable of this host, which needs --env HOME"):
        read_compose(path, {})


@pytest.mark.parametrize(
    ("toml", "more", "need"),
    [
        ('[agent]\nnetwork_mode = "allowlist"', {}, "a network allowlist"),
        ("[environment]\ngpus = 1", {}, "GPUs"),
        ('[environment]\ntpu = { type = "v6e", topology = "2x4" }', {}, "GPUs"),
        ('[environment]\nos = "windows"', {}, "an operating system other than linux"),
        ('[environment]\nskills_dir = "/skills"', {}, "MCP servers or skills"),
        ('[[environment.mcp_servers]]\nname = "x"\nurl = "http://x"', {}, "MCP servers or skills"),
        ('artifacts = [{ source = "/app", exclude = ["*.log"] }]', {}, "artifacts with exclude"),
        ('artifacts = ["/tests/test.sh"]', {}, "artifacts in /tests, where they would be tests"),
        ("", {"tests/docker-compose.yaml": "services: {}"}, "services beside the verifier"),
        ("", {"trajectory.json": "{}"}, "a trajectory to go on from"),
        ("", {"tests/.harborignore": "x"}, ".harborignore"),
        ('[verifier.environment.healthcheck]\ncommand = "true"', {}, "a healthcheck of the verifier"),
    ],
)
def test_what_is_not_done_is_named(folder: Folder, toml: str, more: dict[str, str], need: str) -> None:
    """A need beyond one container engine is refused before anything starts, never passed over."""
    assert unsupported(folder(toml, **more)) == f"counter needs {need}, which this harness does not support"


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('artifacts = [{ source = "/a", service = "db" }]', "an artifact names service db; there are main"),
        ('[[verifier.collect]]\ncommand = "x"\nservice = "db"', "verifier.collect names service db; there are main"),
    ],
)
def test_a_service_that_is_not_there_is_named(folder: Folder, toml: str, words: str) -> None:
    """What names a service names one of the compose file."""
    with pytest.raises(TaskInvalid, match=words):
        unsupported(folder(toml))


def test_phases_have_the_network_they_say(folder: Folder) -> None:
    """A phase says so itself, or has what the environment has; a separate verifier has its own environment's."""
    assert public_phases(folder()) == {"start": True, "agent": True, "verifier": True}
    quiet = '[environment]\nnetwork_mode = "no-network"\n[agent]\nnetwork_mode = "public"\n'
    assert public_phases(folder(quiet)) == {"start": False, "agent": True, "verifier": False}
    assert not verifier_is_public(folder(f'{quiet}[verifier]\nenvironment_mode = "separate"'))
    assert verifier_is_public(folder(f"{quiet}[verifier.environment]\ncpus = 1"))
    assert not verifier_is_public(folder('[verifier]\nnetwork_mode = "no-network"\n[verifier.environment]\ncpus = 1'))


@pytest.mark.parametrize(
    ("toml", "recipe", "gains"),
    [
        ("", "RUN apt-get install -y curl && chmod +x /a && chmod 0755 /b", False),
        ("[metadata.parley-run]\nnew_privileges = true", "", True),
        ("", "RUN apt-get install -y sudo", True),
        ("", "RUN chmod u+s /bin/x", True),
        ("", "RUN chmod -v 4755 /bin/x", True),
        ("", "RUN setcap cap_net_raw+ep /bin/ping", True),
    ],
)
def test_privileges_are_gained_only_where_the_task_shows_it(folder: Folder, toml: str, recipe: str, gains: bool) -> None:
    """A key says so, or the Dockerfile names what needs it."""
    assert gains == may_gain_privileges(folder(toml, **{"environment/Dockerfile": f"FROM parley/agent:1\n{recipe}\n"}))


def test_processes_are_read_whatever_they_are_called() -> None:
    """A process's name stands in parentheses and may hold anything; what is no process is passed over."""
    fields = " ".join(["S", "1", *["0"] * 17, "4711"])
    printed = f"12 (a b) (c) {fields}\nx (y) {fields}\n13 (short) S 1\n"

    assert listed(printed.encode()) == [(12, 4711)]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Makes a foreign task of a task.toml and more files."""

    def made(toml: str = "", **more: str) -> Task:
        files = {
            "task.toml": toml,
            "instruction.md": "x",
            "environment/Dockerfile": "FROM parley/agent:1\n",
            "tests/test.sh": "true",
        }
        for name, text in {**files, **more}.items():
            _write(tmp_path / "counter" / name, text)
        return read_task(tmp_path / "counter")

    return made


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _archive(*entries: tuple[str, bytes, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind, link in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.mode = kind, link, 0o4755
            archive.addfile(entry)
    return buffer.getvalue()
