"""Nothing of Harbor's format is passed over: each key of Harbor 0.25 is used here or refused, and docs/harbor.md says which."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.paths import ROOT
from harness.registry import read_task
from parley.interop.foreign.asked import unsupported
from parley.interop.foreign.compose import SERVICE_KEYS

READERS = sorted((ROOT / "parley" / "interop" / "foreign").rglob("*.py"))
ENVIRONMENT = """
allow_internet allowed_hosts build_timeout_sec cpus docker_image env gpu_types gpus healthcheck mcp_servers memory memory_mb
network_mode os skills_dir storage storage_mb tpu workdir
"""
FIELDS = {
    "": "artifacts metadata multi_step_reward_strategy schema_version source steps version",
    "agent": "allowed_hosts network_mode timeout_sec user",
    "artifacts": "destination exclude service source",
    "environment": ENVIRONMENT,
    "environment.healthcheck": "command interval_sec retries start_interval_sec start_period_sec timeout_sec",
    "solution": "env",
    "task": "authors description keywords name version",
    "verifier": "allowed_hosts collect env environment environment_mode network_mode timeout_sec user",
    "verifier.collect": "command service timeout_sec user",
    "verifier.environment": ENVIRONMENT,
}
"""Every field of the models that Harbor 0.25 reads task.toml into, by section, and the older names it still takes."""

REFUSED = {
    "multi_step_reward_strategy": 'multi_step_reward_strategy = "mean"',
    "steps": '[[steps]]\nname = "a"',
    "agent.allowed_hosts": '[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a.b"]',
    "artifacts.exclude": 'artifacts = [{ source = "/app", exclude = ["x"] }]',
    "environment.allowed_hosts": '[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a.b"]',
    "environment.gpu_types": '[environment]\ngpu_types = ["A100"]',
    "environment.gpus": "[environment]\ngpus = 1",
    "environment.mcp_servers": '[[environment.mcp_servers]]\nname = "x"\nurl = "http://x"',
    "environment.skills_dir": '[environment]\nskills_dir = "/skills"',
    "environment.tpu": '[environment]\ntpu = { type = "v6e", topology = "2x4" }',
    "verifier.allowed_hosts": '[verifier]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a.b"]',
    "verifier.environment.healthcheck": '[verifier.environment.healthcheck]\ncommand = "true"',
}
"""What stops a run, each with a task.toml that asks for it; what is said of environment holds for verifier.environment."""

DESCRIBE = {
    "schema_version",
    "version",
    "source",
    "task.authors",
    "task.description",
    "task.keywords",
    "task.name",
    "task.version",
}
"""What says something of a task and changes no run, here and under Harbor."""

CHECKED_ONLY = {"artifacts.destination", "build_timeout_sec", "storage_mb", "storage"}
"""What is read and changes nothing here; docs/harbor.md says why."""

READ_AS = {"allow_internet": "network_mode", "memory": "memory_mb", "environment_mode": "is_separate"}
"""Keys that our model turns into something else, which is what the code reads."""

KEYS = [(section, name) for section, names in FIELDS.items() for name in names.split()]


@pytest.mark.parametrize(("section", "name"), KEYS, ids=lambda part: part or "root")
def test_each_key_is_used_or_refused(section: str, name: str) -> None:
    """A kept key is read by name where containers are made; the others are listed above, and are shown to stop a run."""
    key = f"{section}.{name}" if section else name
    shared = key.removeprefix("verifier.") if section == "verifier.environment" else key
    known = {key, shared, name} & {*REFUSED, *DESCRIBE, *CHECKED_ONLY}

    assert known or _is_read(READ_AS.get(name, name))


@pytest.mark.parametrize("key", REFUSED)
@pytest.mark.parametrize("for_verifier", [False, True], ids=["", "verifier"])
def test_what_is_refused_stops_the_run(tmp_path: Path, key: str, for_verifier: bool) -> None:
    """Before anything starts, and by name."""
    toml = REFUSED[key]
    if for_verifier and key.startswith("environment."):
        toml = toml.replace("[environment", "[verifier.environment")

    assert _refusal(tmp_path, toml) is not None


@pytest.mark.parametrize(("section", "name"), KEYS, ids=lambda part: part or "root")
def test_each_key_has_a_row(section: str, name: str) -> None:
    """The table names the key, or the table it is in; and calls refused what is."""
    key = f"{section}.{name}" if section else name
    rows = _rows()
    row = rows.get(key) or rows.get(f"environment.{name}" if section == "verifier.environment" else section) or ""

    assert row, f"docs/harbor.md has no row for {key}"
    if key in REFUSED and key in rows:
        assert "| kept |" not in row
    if key not in REFUSED and section != "verifier.environment":
        assert "| kept |" in row


def test_compose_keys_have_rows() -> None:
    """Each key of a service that is understood is in the table."""
    rows = _rows()

    assert {key for key in SERVICE_KEYS if "| kept |" not in rows.get(key, "")} == set()


def test_a_key_of_nobody_is_refused(tmp_path: Path) -> None:
    """Harbor passes over a typo; here it is an error."""
    for toml in ("[environment]\ncpu = 1", "[verifier.environment]\nretries = 1", "[agent]\nnetwork = 1", "[agents]\n"):
        assert "unknown key" in str(_refusal(tmp_path, toml))


def _is_read(name: str) -> bool:
    return any(re.search(rf"\.{name}\b", path.read_text(encoding="utf-8")) for path in READERS)


def _refusal(folder: Path, toml: str) -> str | None:
    for name, text in {
        "task.toml": toml,
        "instruction.md": "x",
        "environment/Dockerfile": "FROM x\n",
        "tests/test.sh": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    try:
        return unsupported(read_task(folder))
    except HarnessError as error:
        return str(error)


def _rows() -> dict[str, str]:
    """Each row of docs/harbor.md by every key its first cell names."""
    lines = (ROOT / "docs" / "harbor.md").read_text(encoding="utf-8").splitlines()
    return {key: line for line in lines if line.startswith("|") for key in re.findall(r"`([^`]+)`", line.split("|")[1])}
