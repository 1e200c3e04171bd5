"""Foreign Harbor tasks, made up for the test: what such a folder may hold runs, what it may not is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import RuntimeFailure, TaskInvalid, VerifierFailure
from harness.pod import EpisodeSpec, Judgement
from harness.registry import Task, files_of, read_task
from harness.runtimes.docker.runtime import DockerRuntime
from tests.docker.conftest import write
from worlds.core.wire import request

pytestmark = pytest.mark.docker

Specs = Callable[..., EpisodeSpec]

TOML = """
schema_version = "1.4"
[task]
name = "somebody/counter"
[agent]
timeout_sec = 60.0
[verifier]
timeout_sec = 30.0
[environment]
network_mode = "no-network"
env = { GREETING = "${PARLEY_TEST_UNSET:-hello}" }
"""

ENTRYPOINT = """#!/bin/bash
cd /srv && python3 -m http.server 9000 --bind 127.0.0.1 > /dev/null 2>&1 &
exec "$@"
"""

DOCKERFILE = """FROM parley/agent:1
RUN mkdir /srv/app && echo 41 > /srv/number
COPY entrypoint.sh /entrypoint.sh
RUN chmod +x /entrypoint.sh
WORKDIR /app
ENTRYPOINT ["/entrypoint.sh"]
CMD ["false"]
"""

SOLVE = """#!/bin/bash
until n=$(curl -fs http://127.0.0.1:9000/number); do /usr/bin/sleep 0.05; done
echo $((n + 1)) > /app/answer
"""

TEST_SH = """#!/bin/bash
[ "$(cat /app/answer 2> /dev/null)" = 42 ] && reward=1 || reward=0
echo "user $(id -u) in $PWD greets $GREETING"
echo $reward > /logs/verifier/reward.txt
"""


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    """A single-step task whose ENTRYPOINT starts a server, with a shared verifier that writes reward.txt."""
    return write(
        tmp_path / "counter",
        {
            "task.toml": TOML,
            "instruction.md": "Write one more than the number at port 9000 to /app/answer.\n",
            "environment/Dockerfile": DOCKERFILE,
            "environment/entrypoint.sh": ENTRYPOINT,
            "solution/solve.sh": SOLVE,
            "tests/test.sh": TEST_SH,
        },
    )


def play(runtime: DockerRuntime, spec: EpisodeSpec, script: str) -> Judgement:
    """One episode: a script in `main`, then the verdict."""
    runtime.prepare([spec.task])
    solution = {f"/solution/{path.name}": path.read_bytes() for path in files_of(spec.task.path / "solution")}
    with runtime.open(spec) as pod:
        pod.put(solution)
        pod.run(["bash", "-c", script], timeout_s=30)
        return runtime.judge(spec, pod.finish())


@pytest.mark.parametrize(("script", "reward"), [("bash /solution/solve.sh", 1.0), ("true", 0.0)])
def test_oracle_earns_one_and_nop_nothing(
    runtime: DockerRuntime, spec: Specs, counter: Path, script: str, reward: float
) -> None:
    """The entrypoint's server runs, CMD does not, and the tests run as root in the image's own folder."""
    judged = play(runtime, spec(task=read_task(counter)), script)

    assert judged.reward == f'{{"reward": {reward}}}\n'.encode()
    assert judged.log == b"user 0 in /app greets hello\n"
    assert judged.verdict == b""


def test_a_forged_reward_is_deleted_before_the_tests_run(runtime: DockerRuntime, spec: Specs, counter: Path) -> None:
    """What the agent left where the reward goes does not count."""
    forged = "echo '{\"reward\": 1}' > /logs/verifier/reward.json; echo 1 > /logs/verifier/reward.txt"

    assert play(runtime, spec(task=read_task(counter)), forged).reward == b'{"reward": 0.0}\n'


def test_a_separate_verifier_sees_only_the_artifacts(runtime: DockerRuntime, spec: Specs, counter: Path) -> None:
    """Its image comes from tests/, what the task declares is put where it was, nothing else of `main` is there."""
    toml = TOML.replace('"1.4"', '"1.4"\nartifacts = ["/app/answer"]').replace(
        "[verifier]", '[verifier]\nenvironment_mode = "separate"'
    )
    check = 'ls /app; test "$(cat /app/answer)" = 42 && echo \'{"reward": 0.5}\' > /logs/verifier/reward.json\n'
    task = _changed(
        counter, {"task.toml": toml, "tests/test.sh": check, "tests/Dockerfile": "FROM parley/agent:1\nCOPY . /tests/\n"}
    )

    judged = play(runtime, spec(task=task), "echo x > /app/other; bash /solution/solve.sh")

    assert (judged.reward, judged.log) == (b'{"reward": 0.5}\n', b"answer\n")


def test_a_composed_service_answers_by_its_name(runtime: DockerRuntime, spec: Specs, counter: Path) -> None:
    """Services start after what they depend on is healthy, and find each other by name."""
    compose = """
services:
  main:
    depends_on: { numbers: { condition: service_healthy } }
    environment: [ "WHERE=http://numbers:${PORT:-9000}/number" ]
  numbers:
    image: parley/agent:1
    working_dir: /etc
    command: sh -c "echo 41 > /tmp/number && exec python3 -m http.server 9000 --directory /tmp"
    init: true
    stop_grace_period: 1s
    healthcheck: { test: ["CMD", "curl", "-fs", "http://localhost:9000/number"], interval: 0.2s, retries: 50 }
"""
    task = _changed(counter, {"environment/docker-compose.yaml": compose})

    judged = play(runtime, spec(task=task), "echo $(($(curl -fs $WHERE) + 1)) > /app/answer")

    assert judged.reward == b'{"reward": 1.0}\n'


@pytest.mark.parametrize(
    ("compose", "words"),
    [
        ("services:\n  main:\n    volumes: [ /:/host ]\n", "yaml:3: key volumes of service main is not supported here"),
        ("networks: {}\n", "yaml:1: key networks is not supported here"),
        ("services:\n  main:\n    build:\n      target: x\n", "yaml:4: key target of build"),
        ("services:\n  main:\n    healthcheck: { interval: soon }\n", "yaml:3: key interval must be a duration"),
        ("services:\n  main:\n    depends_on: [ nobody ]\n", "depends_on of main names nobody"),
        ("services: [\n", "yaml:2: cannot be read as YAML"),
    ],
)
def test_what_is_not_understood_is_refused(runtime: DockerRuntime, counter: Path, compose: str, words: str) -> None:
    """A key outside the subset is an error with its line, before anything starts."""
    task = _changed(counter, {"environment/docker-compose.yaml": compose})

    with pytest.raises(TaskInvalid) as raised:
        runtime.refuses(task)

    assert words in str(raised.value)


def test_what_this_harness_does_not_do_is_refused(runtime: DockerRuntime, counter: Path) -> None:
    """A need beyond one container engine is named."""
    task = _changed(counter, {"task.toml": TOML.replace('"no-network"', '"allowlist"')})

    assert runtime.refuses(task) == "counter needs a network allowlist, which this harness does not support"
    assert runtime.refuses(_changed(counter, {"task.toml": TOML})) is None


def test_tests_without_a_reward_are_the_verifiers_failure(runtime: DockerRuntime, spec: Specs, counter: Path) -> None:
    """No reward file, or one without a number, is not the agent's zero."""
    for script, words in (
        ("echo lost\n", "left neither reward.json nor reward.txt: lost"),
        ("echo x > /logs/verifier/reward.txt\n", "must hold one number, not 'x'"),
    ):
        with pytest.raises(VerifierFailure, match=words):
            play(runtime, spec(task=_changed(counter, {"tests/test.sh": script})), "true")


def test_a_foreign_pod_has_no_world(runtime: DockerRuntime, spec: Specs, counter: Path) -> None:
    """Its instruction is the file's, a request has nowhere to go, and a limit on time holds."""
    task = read_task(counter)
    runtime.prepare([task])
    with runtime.open(spec(task=task)) as pod:
        assert pod.instruction.startswith("Write one more")
        with pytest.raises(RuntimeFailure, match="no world"):
            pod.call(request("GET", "/"))
        assert pod.run(["sleep", "30"], timeout_s=1).code is None
        assert pod.run(["cat"], timeout_s=9, stdin=b"abc").output == b"abc"
        assert pod.run(["bash", "-c", "echo out; echo err >&2; exit 3"], timeout_s=9).output == b"out\nerr\n"


def _changed(folder: Path, files: dict[str, str]) -> Task:
    return read_task(write(folder, files))
