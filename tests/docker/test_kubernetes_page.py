"""The Pod of docs/scale.md has the shape of the pod that the Docker runtime makes, as the engine itself describes that."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from harness.paths import ROOT
from harness.pod import EpisodeSpec
from harness.runtimes.docker.pod import AGENT, NOBODY
from harness.runtimes.docker.pod import VERIFIER as TESTS
from harness.runtimes.docker.runtime import DockerRuntime
from parley.training import tasks_named

pytestmark = pytest.mark.docker

PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
(BLOCK,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
POD, VERIFIER, POLICY = yaml.safe_load_all(BLOCK)
TASK = tasks_named("presigned-url-download")[0]
UNITS = {"Mi": 1 << 20, "m": 1 << 20}

Described = Mapping[str, Any]
Containers = Mapping[str, Described]


def inspected(runtime: DockerRuntime, container: str) -> Described:
    """A container as its engine describes it, its image by the labels of whoever built that."""
    with runtime.engine.doing("inspecting a container") as api:
        described: Described = api.inspect_container(container)
        return {**described, "Base": api.inspect_image(described["Image"])}


@contextmanager
def started(runtime: DockerRuntime, spec: EpisodeSpec) -> Iterator[Containers]:
    """The containers of an open pod and of its verifier, by room."""
    with runtime.open(spec):
        verifier = runtime._start_verifier(spec)  # a task that has a verifier of its own gets it from here
        try:
            labelled = runtime.engine.labelled(f"parley.episode={spec.episode_id}")["containers"]
            yield {one["Names"][0].split("-")[1]: inspected(runtime, one["Id"]) for one in labelled}
        finally:
            runtime.engine.remove(verifier)


@pytest.fixture(scope="module")
def containers() -> Iterator[Containers]:
    """Those of one episode of the task that the page shows."""
    runtime, run = DockerRuntime(), f"page-{secrets.token_hex(4)}"
    spec = EpisodeSpec(task=TASK, seed=0, run_id=run, episode_id=f"{run}-1", needs_main=True)
    runtime.prepare([TASK])
    with started(runtime, spec) as rooms:
        yield rooms


def written(room: str) -> Described:
    """A container as the page has it."""
    return next(one for pod in (POD, VERIFIER) for one in pod["spec"]["containers"] if one["name"] == room)


def size(text: str) -> int:
    """Bytes of `16Mi` and of Docker's `16m`."""
    number, unit = re.fullmatch(r"(\d+)(\D+)", text).groups()  # type: ignore[union-attr]
    return int(number) * UNITS[unit]


@pytest.mark.parametrize("room", ["world", "main", "verifier"])
def test_limits_and_users(containers: Containers, room: str) -> None:
    """Memory, processors, root, capabilities, privileges, command: as they are; `main` runs as the user of its commands."""
    one, made = written(room), containers[room]
    host, limits, secured = made["HostConfig"], one["resources"]["limits"], one["securityContext"]

    assert size(limits["memory"]) == host["Memory"] == host["MemorySwap"]
    assert float(limits["cpu"]) * 1e9 == host["NanoCpus"] or host["NanoCpus"] < 2e9
    assert secured.get("readOnlyRootFilesystem", False) == host["ReadonlyRootfs"]
    assert secured["capabilities"]["drop"] == host["CapDrop"]
    privileges, calls = host["SecurityOpt"]
    assert (secured["allowPrivilegeEscalation"], privileges) == (False, "no-new-privileges")
    assert (secured["seccompProfile"]["type"], calls.partition("=")[0]) == ("RuntimeDefault", "seccomp")
    assert one["command"] == made["Config"]["Cmd"]
    user = f"{secured['runAsUser']}:{secured['runAsGroup']}"
    users = {"main": (AGENT, NOBODY), "world": ("1001:1001", "world"), "verifier": (TESTS, NOBODY)}
    assert users[room] == (user, made["Config"]["User"])


@pytest.mark.parametrize("room", ["world", "main"])
def test_places_to_write(containers: Containers, room: str) -> None:
    """Sized places in memory, and the world's clock, which `main` sees and cannot set."""
    host = containers[room]["HostConfig"]
    volumes = {one["name"]: one["emptyDir"] for one in POD["spec"]["volumes"]}
    mounts = {one["mountPath"]: one for one in written(room)["volumeMounts"]}
    clock = mounts.pop("/run/parley")

    assert host["Binds"][0].partition(":")[2] == "/run/parley" + (":ro" if clock.get("readOnly") else "")
    assert {place: volumes[one["name"]]["medium"] for place, one in mounts.items()} == dict.fromkeys(host["Tmpfs"], "Memory")
    for place, options in host["Tmpfs"].items():
        assert f"size={size(volumes[mounts[place]['name']]['sizeLimit']) >> 20}m" in options.split(",")


def test_network(containers: Containers) -> None:
    """`main` is in the world's network, where `api` is 127.0.0.1, and the verifier in none; the policy lets nothing through."""
    world, main, verifier = (containers[room]["HostConfig"] for room in ("world", "main", "verifier"))
    spec, policy = POD["spec"], POLICY["spec"]

    assert (world["NetworkMode"], verifier["NetworkMode"]) == ("none", "none")
    assert main["NetworkMode"] == f"container:{containers['world']['Id']}"
    assert world["ExtraHosts"] == [f"{name}:{one['ip']}" for one in spec["hostAliases"] for name in one["hostnames"]]
    assert containers["world"]["Config"]["Hostname"] == spec["hostname"]
    assert (policy["policyTypes"], set(policy) - {"podSelector", "policyTypes"}) == (["Ingress", "Egress"], set())
    assert all(policy["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items() for pod in (POD, VERIFIER))


def test_images(containers: Containers) -> None:
    """`main` is our base image as it is; world and verifier are those of the task."""
    images = {room: containers[room]["Base"] for room in containers}
    named = {room: written(room)["image"].split("/")[1:] for room in containers}

    assert named["main"] == ["parley", "agent"]
    assert any(tag.startswith("parley/agent:") for tag in images["main"]["RepoTags"])
    for room in ("world", "verifier"):
        assert named[room] == ["parley", TASK.task_id, room]
        assert any(tag.startswith(f"parley-task/{TASK.task_id}/{room}:") for tag in images[room]["RepoTags"])


def test_variables_and_streams(containers: Containers) -> None:
    """What tells a world its episode, its secret kept apart, and the stream over which it is spoken to."""
    config, one = containers["world"]["Config"], written("world")
    said = dict(line.split("=", 1) for line in config["Env"] if line.startswith("PARLEY_"))
    values = {entry["name"]: entry.get("value") for entry in one["env"]}

    assert values == {**said, "PARLEY_HOST_TOKEN": None}
    assert (one["stdin"], one["stdinOnce"]) == (config["OpenStdin"], config["StdinOnce"])
    assert POD["spec"]["activeDeadlineSeconds"] == int(one["command"][3])
