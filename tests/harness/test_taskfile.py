"""task.toml: the line of a key as a reader would find it, what a value may be, and what older schemas mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import TaskInvalid
from harness.taskfile import SCHEMA_VERSIONS, TaskFile, line_of, read_taskfile

TEXT = """\
top = 1
[a.b]
y = 1
inline = { deep = { z = 1 } }
[a]
x = 1
"quoted" = 2
dotted.k = 3
[[list]]
name = "n"
[c . d]
w = 1
[e.2]
v = 1
[e.3]
v = 1
"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("top",), 1),
        (("a",), 2),
        (("a", "x"), 6),
        (("a", "quoted"), 7),
        (("a", "b"), 2),
        (("a", "b", "y"), 3),
        (("a", "b", "inline", "deep", "z"), 4),
        (("a", "b", "inline", "missing"), 4),
        (("a", "b", "missing"), 2),
        (("a", "dotted", "k"), 8),
        (("list", "0", "name"), 10),
        (("list", "0", "missing"), 9),
        (("c",), 11),
        (("c", "d", "w"), 12),
        (("e", "3"), 15),
        (("e", "3", "v"), 16),
        (("e", "2", "v"), 14),
        (("nowhere",), 1),
        ((), 1),
    ],
)
def test_line_of(keys: tuple[str, ...], line: int) -> None:
    """A key has its own line, a missing one that of its section, anything else the first."""
    assert line == line_of(TEXT, keys)


PAUSE = '[environment.healthcheck]\ncommand = "true"\ninterval_sec = {seconds}'
OURS = '[metadata.parley]\nfamily = "{family}"\ndifficulty = "easy"\nbudgets = {{ steps = 1, virtual_seconds = {seconds} }}\n'


@pytest.mark.parametrize(
    ("toml", "what"),
    [
        ("[environment]\nmemory_mb = 999999999999", "2: environment.memory_mb: Input should be less than or equal to 262144"),
        ("[environment]\nmemory_mb = 1", "2: environment.memory_mb: Input should be greater than or equal to 64, not 1"),
        ("[environment]\ncpus = 1e-10", "2: environment.cpus: Input should be greater than or equal to 0.01, not 1e-10"),
        ("[environment]\ncpus = nan", "2: environment.cpus: Input should be a finite number"),
        ("[verifier]\ntimeout_sec = 1e300", "2: verifier.timeout_sec: Input should be less than or equal to 86400, not 1e+300"),
        ("[agent]\ntimeout_sec = inf", "2: agent.timeout_sec: Input should be a finite number"),
        ("[agent]\ntimeout_sec = 0", "2: agent.timeout_sec: Input should be greater than or equal to 0.001"),
        (PAUSE.format(seconds=1e300), "3: environment.healthcheck.interval_sec: Input should be less than or equal to 86400"),
        (PAUSE.format(seconds=-1), "3: environment.healthcheck.interval_sec: Input should be greater than or equal to 0"),
        ("[environment]\nstorage_mb = -1", "2: environment.storage_mb: Input should be greater than or equal to 1"),
        ('[environment]\nmemory = "256X"', "1: environment: must be a size such as 512M or 1G, not '256X'"),
        ('[environment]\nmemory = "1G"\nmemory_mb = 512', "1: environment: memory says 1024 MB and memory_mb says 512"),
        ('[environment]\nmemory = "1M"', "memory_mb: Input should be greater than or equal to 64"),
        ('[environment]\nworkdir = "app"', "2: environment.workdir: must be an absolute path without '..', not 'app'"),
        ('[environment]\nworkdir = "/a/../b"', "2: environment.workdir: must be an absolute path"),
        ('[environment]\ndocker_image = "-v"', "2: environment.docker_image: String should match pattern"),
        ('[environment.env]\n"A=B" = "c"', "environment.env.A=B"),
        ('[agent]\nuser = "--privileged"', "2: agent.user: must be a name or number, with or without :group, not '--p"),
        ("[agent]\nuser = -1", "2: agent.user: must be in 0..2147483647, not -1"),
        ('artifacts = ["out/x"]', "1: artifacts.0.source: must be an absolute path without '..', not 'out/x'"),
        ('artifacts = ["/app/../../etc"]', "1: artifacts.0.source: must be an absolute path without '..'"),
        ('artifacts = ["/"]', "1: artifacts.0: the source of an artifact must be below /"),
        ('artifacts = [{ source = "/a", destination = "../b" }]', "destination: must be a relative path"),
        ('artifacts = [{ source = "/a", destination = "manifest.json" }]', "destination: manifest.json is reserved"),
        ('artifacts = [{ source = "/a", service = "a b" }]', "service: String should match pattern"),
        (f"artifacts = {['/a'] * 65}".replace("'", '"'), "1: artifacts: Tuple should have at most 64 items"),
        ('schema_version = "9.9"', "1: schema_version: must be one of 1.0, 1.1, 1.2, 1.3, 1.4, the schemas of Harbor 0.25"),
        ('version = "0.1"', "1: schema_version: must be one of 1.0"),
        ('[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\ncpus = 1', "1: verifier: environment_mode"),
        ('[environment]\nallowed_hosts = ["a.b"]', "1: environment: allowed_hosts needs network_mode = 'allowlist'"),
        ('[agent]\nnetwork_mode = "some"', "2: agent.network_mode: Input should be 'public', 'no-network' or"),
        (OURS.format(family="../../x", seconds=1), "2: metadata.parley.family: String should match pattern"),
        (OURS.format(family="a" * 65, seconds=1), "2: metadata.parley.family: String should match pattern"),
        (OURS.format(family="a", seconds=1e10), "1: metadata.parley: virtual_seconds must be at most 1e+09, not 1e+10"),
        (OURS.format(family="a", seconds=1) + "costs = { request = 1e12 }", "5: metadata.parley.costs.request: Input"),
        (OURS.format(family="a", seconds=1) + f'seeds = "{"1," * 200}"', "5: metadata.parley.seeds: String should have"),
        ("[metadata.parley-run]\nsudo = true", "2: metadata.parley-run.sudo: unknown key"),
    ],
)  # fmt: skip
def test_a_value_out_of_bounds_is_refused(tmp_path: Path, toml: str, what: str) -> None:
    """With its line, the bound and the value."""
    with pytest.raises(TaskInvalid) as refused:
        _read(tmp_path, toml)

    assert f"{tmp_path}/task.toml:" in str(refused.value)
    assert what in str(refused.value)


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('[environment]\nmemory = "256M"\nstorage = "1G"', {"memory_mb": 256, "storage_mb": 1024}),
        ('[environment]\nmemory = "0.5g"\nmemory_mb = 512', {"memory_mb": 512}),
        ("[environment]\nallow_internet = false", {"network_mode": "no-network"}),
        ("[environment]\nallow_internet = true", {"network_mode": "public"}),
        ('[environment]\nallow_internet = false\nnetwork_mode = "public"', {"network_mode": "public"}),
        ('[environment]\nos = "Linux"', {"os": "linux"}),
    ],
)
def test_older_keys_are_applied(tmp_path: Path, toml: str, expected: dict[str, object]) -> None:
    """What Harbor's earlier schemas called memory, storage and allow_internet means what it means there."""
    read = _read(tmp_path, toml).environment

    assert expected == {name: getattr(read, name) for name in expected}


@pytest.mark.parametrize("toml", ["", 'version = "1.0"', 'schema_version = "1.3"'])
def test_known_schemas_are_read(tmp_path: Path, toml: str) -> None:
    """Any schema that Harbor 0.25 knows, under its old name too, and none, which Harbor takes for the newest."""
    assert _read(tmp_path, toml).schema_version in SCHEMA_VERSIONS


@pytest.mark.parametrize(
    ("toml", "separate"),
    [
        ("", False),
        ('[verifier]\nenvironment_mode = "separate"', True),
        ("[verifier.environment]\ncpus = 1", True),
        ('[verifier]\nenvironment_mode = "shared"', False),
    ],
)
def test_the_mode_of_the_verifier(tmp_path: Path, toml: str, separate: bool) -> None:
    """Describing an environment for the verifier means that it has one."""
    assert separate == _read(tmp_path, toml).verifier.is_separate


def _read(folder: Path, toml: str) -> TaskFile:
    (folder / "task.toml").write_text(toml, encoding="utf-8")
    return read_taskfile(folder / "task.toml")
