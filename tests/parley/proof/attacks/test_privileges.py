"""What attack 11 makes of facts, and that its programs report what there is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.errors import RuntimeFailure
from parley.proof.attacks.resources import ALLOWED, MUST_NOT_BE, Kind, judged
from parley.proof.attacks.scripts import script
from parley.proof.attacks.target import watched

CONFINED = {
    **dict.fromkeys(("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd"), "0000000000000000"),
    **dict.fromkeys(("sockets", "init", "init_files", "nested", "nested_mount", "metadata_route"), ""),
    **dict.fromkeys(("kernel_writable", "written", "calls", "vsock"), ""),
    "uid": "1000", "NoNewPrivs": "1", "Seccomp": "2", "nested_network": "0", "interfaces": "lo", "keys_added": "0",
    "end": "yes",
}  # fmt: skip
"""A program that may do nothing it need not."""

TOO_MUCH = {
    **dict.fromkeys(("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd"), "0000000000200000"),
    **dict.fromkeys(("sockets", "init_files"), "/run/docker.sock"),
    "Seccomp": "0", "nested": "0", "nested_network": "1", "nested_mount": "mounted", "calls": "bpf", "keys_added": "1",
    "kernel_writable": "/proc/sysrq-trigger",
}  # fmt: skip
"""For each fact what is too much on any machine: CAP_SYS_ADMIN is bit 21."""


def holes(facts: dict[str, str], kind: Kind) -> list[str]:
    """The facts that are holes."""
    return [name for name, hole in judged(facts, kind) if hole]


@pytest.mark.parametrize("kind", ["bubblewrap", "docker", "foreign", "foreign offline"])
def test_each_fact_that_is_too_much_is_a_hole(kind: Kind) -> None:
    """A confined program has none, and each fact beyond what may be is one by name."""
    assert holes(CONFINED, kind) == []
    for name, value in TOO_MUCH.items():
        assert holes({**CONFINED, name: value}, kind) == [name]
    for name in MUST_NOT_BE:
        assert holes({**CONFINED, name: "yes"}, kind) == [name]


def test_kinds_of_machine_differ_where_they_may() -> None:
    """Root with Docker's default capabilities is what a foreign task gets, and no other; task.toml says if it may get out."""
    default = "00000000a80425fb"
    docker = {**CONFINED, "uid": "0", "CapEff": default, "CapBnd": default, "NoNewPrivs": "0", "written": "/etc"}

    assert holes(docker, "foreign") == []
    assert set(holes(docker, "docker")) == {"uid", "CapEff", "CapBnd", "NoNewPrivs", "written"}
    assert holes({**CONFINED, "metadata_route": "yes"}, "foreign") == []
    assert holes({**CONFINED, "metadata_route": "yes"}, "foreign offline") == ["metadata_route"]
    for kind, found in (("foreign", set()), ("docker", {"vsock", "calls"}), ("bubblewrap", {"vsock", "calls"})):
        assert set(holes({**CONFINED, "vsock": "opened", "calls": "io_uring_setup"}, kind)) == found


def test_a_report_that_lacks_a_fact_is_no_pass() -> None:
    """Only what needs Python may be missing."""
    for name in ALLOWED:
        short = {key: value for key, value in CONFINED.items() if key != name}
        if name in {"calls", "keys_added", "vsock"}:
            assert holes(short, "docker") == []
        else:
            with pytest.raises(RuntimeFailure, match=name):
                holes(short, "docker")


def test_the_report_tells_what_is_there(tmp_path: Path) -> None:
    """Run on this host itself, as a user without rights, it reaches the host's process and file, and says so."""
    user = 54_321 if os.geteuid() == 0 else os.geteuid()
    with watched() as host, subprocess.Popen(["sleep", "60"], user=user, stdin=subprocess.DEVNULL) as process:
        (tmp_path / "privileges").write_text(script("privileges"), encoding="utf-8")
        done = subprocess.run(
            ["bash", "-s", str(process.pid), str(host.file)], input=script("privileges").encode(), user=user, cwd="/",
            capture_output=True, check=True,
        )  # fmt: skip
        facts = dict(line.split("\t") for line in done.stdout.decode().splitlines())
        harmed = host.harm()
        process.kill()

    assert set(ALLOWED) - set(facts) == {"calls", "keys_added", "vsock"}
    assert {name: facts.get(name) for name in MUST_NOT_BE[:3]} == {
        "host_process": "killed", "host_file": "written", "host_file_read": "yes"
    }  # fmt: skip
    assert harmed is not None
    assert process.returncode == -9
