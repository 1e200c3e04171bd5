"""Each foreign episode has networks of its own: no other pod is on them, and without egress not even the host is."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_network
from pathlib import Path

import pytest

from harness.errors import RuntimeFailure
from harness.pod import EpisodeSpec, Pod
from harness.registry import Task, read_task
from harness.runtimes.docker.engine.client import sweep
from harness.runtimes.docker.runtime import DockerRuntime
from parley.interop.foreign.containers import Networks
from tests.docker.conftest import write

pytestmark = pytest.mark.docker

Specs = Callable[..., EpisodeSpec]

TOML = """
[agent]
{agent}
[verifier]
env = {{ HOST = "{host}" }}
{verifier}
[environment]
{environment}
"""
SERVE = (
    "setsid python3 -m http.server 9000 &> /dev/null & until curl -fso /dev/null http://127.0.0.1:9000/; do sleep 0.05; done"
)
KNOCK = """
import errno, socket, sys
with socket.socket() as door:
    door.settimeout(2)
    print(int(door.connect_ex((sys.argv[1], int(sys.argv[2]))) in (0, errno.ECONNREFUSED)))
"""
"""Says whether anybody answers at an address: a refusal is an answer."""

KNOCKS = "#!/bin/bash\necho 0.$(python3 /tests/knock.py $HOST 9) > /logs/verifier/reward.txt\n"
"""A verifier whose reward is 0.1 where the host answers, and 0.0 where it does not."""


def test_two_public_pods_do_not_reach_each_other(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """Neither by address nor on Docker's default bridge, where none of them is."""
    task = _task(runtime, tmp_path)
    with ExitStack() as opened:
        one, two = (opened.enter_context(_opened(runtime, spec(name, task=task))) for name in ("e1", "e2"))
        address = _said(one, f"{SERVE}; hostname -i").split()[0]
        assert _knocked(one, address, 9000) == "1"

        assert _knocked(two, address, 9000) == "0"
        run = runtime.engine.labelled(f"parley.run={spec().run_id}")
        assert len(run["networks"]) == len(run["containers"]) == 2
        assert {container["HostConfig"]["NetworkMode"] for container in run["containers"]}.isdisjoint({"default", "bridge"})


def test_without_egress_the_host_is_out_of_reach_too(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """An internal network has no address of the host; its services find each other by name."""
    compose = "services:\n  main: {}\n  other: { image: 'parley/agent:1', command: sleep 60, init: true }\n"
    task = _task(runtime, tmp_path, {"environment/docker-compose.yaml": compose}, environment='network_mode = "no-network"')
    with _opened(runtime, spec(task=task)) as pod:
        (network,) = runtime.engine.labelled(f"parley.run={spec().run_id}")["networks"]
        gateway = network["IPAM"]["Config"][0]["Gateway"]

        assert _said(pod, "getent hosts other").split()[1] == "other"
        assert [_knocked(pod, address, 9) for address in (gateway, _host(runtime))] == ["0", "0"]


@pytest.mark.parametrize(
    ("agent", "verifier", "environment", "seen"),
    [
        ("public", "public", "public", ("1", "0.1")),
        ("no-network", "public", "public", ("0", "0.1")),
        ("public", "no-network", "public", ("1", "0.0")),
        ("no-network", "no-network", "no-network", ("0", "0.0")),
        ("public", "public", "no-network", ("1", "0.1")),
    ],
)
def test_each_phase_has_the_network_it_asks_for(
    runtime: DockerRuntime, spec: Specs, tmp_path: Path, agent: str, verifier: str, environment: str, seen: tuple[str, str]
) -> None:
    """[agent] and [verifier] take egress away and give it back, whatever [environment] starts with."""
    modes = {"agent": agent, "verifier": verifier, "environment": environment}
    task = _task(runtime, tmp_path, **{section: f'network_mode = "{mode}"' for section, mode in modes.items()})
    played = spec(task=task)
    with _opened(runtime, played) as pod:
        answered = _knocked(pod, _host(runtime), 9)
        reward = json.loads(runtime.judge(played, pod.finish()).reward)["reward"]

    assert (answered, str(reward)) == seen


def test_a_separate_verifier_has_its_own(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """[verifier.environment] decides what the tests may reach; the agent's network is not it."""
    tests = {"tests/Dockerfile": "FROM parley/agent:1\nCOPY . /tests/\n"}
    for mode, reward in (("no-network", b"0.0"), ("public", b"0.1")):
        section = f'[verifier.environment]\nnetwork_mode = "{mode}"'
        played = spec(mode, task=_task(runtime, tmp_path / mode, tests, verifier=section))
        with _opened(runtime, played) as pod:
            assert runtime.judge(played, pod.finish()).reward == b'{"reward": ' + reward + b"}\n"


def test_a_network_of_a_dead_owner_is_swept(runtime: DockerRuntime) -> None:
    """What a killed run leaves of its networks goes with the next sweep."""
    marks = {"parley.owner": f"{socket.gethostname()}:4194303:1", "parley.run": "dead"}
    networks = Networks(runtime.engine, marks, {"start": True, "agent": False}, many=False)
    networks.create()
    there = {network["Name"] for network in runtime.engine.labelled("parley.run=dead")["networks"]}

    assert len(there) == 2
    assert there <= set(sweep(runtime.engine))


def test_no_address_left_is_one_clear_line(runtime: DockerRuntime) -> None:
    """Docker's own words for an empty pool become ours, with what to do."""
    taken: list[Networks] = []
    try:
        with pytest.raises(RuntimeFailure) as raised:
            _take_all(runtime, taken)
    finally:
        for networks in taken:
            networks.close()

    assert str(raised.value) == "Docker has no address left for the network of one more episode"
    assert "docker network ls" in raised.value.hint


def _task(runtime: DockerRuntime, path: Path, more: dict[str, str] | None = None, **sections: str) -> Task:
    toml = TOML.format(host=_host(runtime), **{name: sections.get(name, "") for name in ("agent", "verifier", "environment")})
    files = {
        "task.toml": toml,
        "instruction.md": "Look around.\n",
        "environment/Dockerfile": "FROM parley/agent:1\n",
        "tests/test.sh": KNOCKS,
        "tests/knock.py": KNOCK,
        **(more or {}),
    }
    return read_task(write(path / "counter", files))


@contextmanager
def _opened(runtime: DockerRuntime, spec: EpisodeSpec) -> Iterator[Pod]:
    runtime.prepare([spec.task])
    with runtime.open(spec) as pod:
        yield pod


def _said(pod: Pod, script: str) -> str:
    done = pod.run(["bash", "-c", script], timeout_s=30)
    assert done.code == 0, done.output
    return done.output.decode().strip()


def _knocked(pod: Pod, address: str, port: int) -> str:
    return pod.run(["python3", "-c", KNOCK, address, str(port)], timeout_s=30).output.decode().strip()


def _host(runtime: DockerRuntime) -> str:
    """An address of the engine's host that every engine has: its end of the default bridge."""
    with runtime.engine.doing("inspecting the default bridge") as api:
        return str(next(ip_network(api.inspect_network("bridge")["IPAM"]["Config"][0]["Subnet"]).hosts()))


def _take_all(runtime: DockerRuntime, taken: list[Networks]) -> None:
    for _ in range(200):
        taken.append(Networks(runtime.engine, {"parley.run": "exhausted"}, {"start": True}, many=False))
        taken[-1].create()
