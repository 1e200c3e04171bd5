"""What task.toml says of a foreign task holds in its containers: environments, users, limits, hooks, artifacts, privileges."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.episode import run_episode
from harness.errors import UsageError, VerifierFailure
from harness.pod import EpisodeSpec, Judgement
from harness.records import Key
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runtimes.docker.runtime import DockerRuntime
from parley.interop.foreign.variables import grant
from tests.docker.conftest import write

pytestmark = pytest.mark.docker

Specs = Callable[..., EpisodeSpec]

WHOLE = """
version = "1.0"
artifacts = ["/app/answer", { source = "/state/dump", service = "store" }]
[agent]
timeout_sec = 60
user = "agent"
[verifier]
user = "nobody"
env = { EXPECTED = "${PARLEY_TEST_UNSET:-six}", LITERAL = "a-${HOME}" }
[verifier.environment]
workdir = "/srv"
env = { SIDE = "verifier" }
cpus = 0.5
memory_mb = 256
[[verifier.collect]]
command = "cp /data/number /state/dump"
service = "store"
[[verifier.collect]]
command = "echo hooked >> /app/answer"
[environment]
memory = "512M"
workdir = "/app"
env = { FROM_ENV = "five" }
[environment.healthcheck]
command = "test -e /tmp/entered"
start_period_sec = 0.5
start_interval_sec = 0.1
interval_sec = 0.1
retries = 50
[solution.env]
WORD = "${PARLEY_TEST_UNSET:-six}"
"""
COMPOSE = """
services:
  main:
    depends_on: { store: { condition: service_healthy } }
    environment: { FROM_COMPOSE: "${FROM_ENV}-and-more" }
  store:
    image: parley/agent:1
    command: ["sh", "-c", "mkdir -p /data /state; echo 41 > /data/number; exec python3 -m http.server 9000 --directory /data"]
    init: true
    healthcheck: { test: ["CMD", "curl", "-fs", "http://localhost:9000/number"], interval: 0.2s, retries: 60 }
"""
RECIPE = """FROM parley/agent:1
RUN mkdir -p /app && chown agent /app && printf '#!/bin/bash\\ntouch /tmp/entered\\nexec "$@"\\n' > /entry && chmod +x /entry
ENTRYPOINT ["/entry"]
"""
SOLVE = """#!/bin/bash
n=$(curl -fs http://store:9000/number)
echo "$WORD $FROM_ENV $FROM_COMPOSE $n $(id -un) $PWD $DEBIAN_FRONTEND" > /app/answer
echo by-convention > /logs/artifacts/note
"""
CHECK = """#!/bin/bash
cat /app/answer /state/dump /logs/artifacts/note
echo "$EXPECTED $LITERAL $SIDE $PWD $(id -un)"
echo '{"reward": 1}' > /logs/verifier/reward.json
"""
SAID = """six five five-and-more 41 agent /app noninteractive
hooked
41
by-convention
six a-${HOME} verifier /srv nobody
"""
SHOW = "#!/bin/bash\ncat /proc/self/status /sys/fs/cgroup/memory/memory.limit_in_bytes\necho 0 > /logs/verifier/reward.txt\n"
DEFAULT_CAPS = "00000000a80425fb"
"""What dockerd gives a container unasked: chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service,
net_raw, sys_chroot, mknod, audit_write, setfcap."""


def test_every_key_together(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """The oracle of a folder with all of them sees what Harbor would show it, and so do the tests in their own container."""
    task = _task(
        tmp_path,
        WHOLE,
        {
            "environment/Dockerfile": RECIPE, "environment/docker-compose.yaml": COMPOSE, "solution/solve.sh": SOLVE,
            "tests/Dockerfile": "FROM parley/agent:1\nCOPY . /tests/\n", "tests/test.sh": CHECK,
        },
    )  # fmt: skip
    runtime.prepare([task])
    played = spec(task=task, needs_main=True)
    with runtime.open(played) as pod:
        report = Report(agent="oracle")
        SolutionAgent().play(task, 0, pod, Budget(), report)
        judged = runtime.judge(played, pod.finish())

    assert report.failed is None
    assert judged.log.decode() == SAID
    assert judged.reward == b'{"reward": 1.0}\n'


def test_capabilities_are_dockers_and_nothing_gains_any(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """Docker's default set for root; no-new-privileges, unless the task says that it needs to gain some."""
    for name, toml, guarded in (("a", "", "1"), ("b", "[metadata.parley-run]\nnew_privileges = true", "0")):
        status = _status(_played(runtime, spec(name, task=_task(tmp_path / name, toml, {"tests/test.sh": SHOW})), "true"))

        assert (status["CapEff"], status["CapBnd"], status["NoNewPrivs"]) == (DEFAULT_CAPS, DEFAULT_CAPS, guarded)


@pytest.mark.parametrize("toml", ['[environment]\nmemory = "256M"', "[verifier.environment]\nmemory_mb = 256"])
def test_a_limit_of_memory_is_a_limit(runtime: DockerRuntime, spec: Specs, tmp_path: Path, toml: str) -> None:
    """Written as Harbor's first schema did it, or for the verifier alone."""
    judged = _played(runtime, spec(task=_task(tmp_path, toml, {"tests/test.sh": SHOW})), "true")

    assert judged.log.split()[-1] == str(256 << 20).encode()


def test_a_granted_variable_reaches_the_task_and_no_record(
    runtime: DockerRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unasked it stops the run; granted it is there, and what prints it is masked, in the log as in the plan."""
    monkeypatch.setenv("PARLEY_TEST_SECRET", "hush-hush-7781")
    env = 'env = { S = "${PARLEY_TEST_SECRET}" }\n'
    toml = f"[environment]\n{env}[verifier]\n{env}[solution]\n{env}"
    check = '#!/bin/bash\necho "$S"\n[ ${#S} = 14 ] && echo 1 > /logs/verifier/reward.txt\n'
    task = _task(tmp_path, toml, {"tests/test.sh": check, "solution/solve.sh": "#!/bin/bash\necho $S\nenv\nfalse\n"})
    with pytest.raises(UsageError, match=r"task\.toml:2: environment\.env\.S: .* needs --env PARLEY_TEST_SECRET"):
        runtime.refuses(task)

    (granted,) = grant([task], ["PARLEY_TEST_SECRET"])
    runtime.prepare([granted])
    key = Key(task_id="counter", family="foreign", seed=0, attempt=1)
    played = EpisodeSpec("granted", "e1", granted, 0, needs_main=True)
    outcome = run_episode(played, key, runtime, SolutionAgent(), Budget())
    record = Plan("granted", [granted], [0], 1).record("docker", {}).model_dump(mode="json")
    everything = [outcome.result.model_dump_json(), json.dumps(record), *map(bytes.decode, outcome.files.values())]

    assert outcome.result.reward == 1.0
    assert "[PARLEY_TEST_SECRET]" in outcome.files["agent.log"].decode()
    assert not [text for text in everything if "hush-hush" in text]
    assert record["environment"]["granted"] == ["PARLEY_TEST_SECRET"]


def test_a_hostile_artifact_does_no_harm(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """A link to the verifier's files, a device and a huge file are as good as missing; the verdict stands and says so."""
    toml = 'artifacts = ["/app/link", "/app/folder", "/app/huge", "/app/none"]\n[verifier]\nenvironment_mode = "separate"\n'
    check = "#!/bin/bash\nls -A /app /app/folder\necho 0 > /logs/verifier/reward.txt\n"
    recipe = "FROM parley/agent:1\nRUN mkdir -p /app/folder && echo old > /app/folder/old\nCOPY . /tests/\n"
    task = _task(tmp_path, toml, {"tests/test.sh": check, "tests/Dockerfile": recipe})
    hostile = """mkdir -p /app/folder; ln -s /tests/test.sh /app/link; mknod /app/folder/null c 1 3; mkfifo /app/folder/pipe
    ln -s ../../etc/shadow /app/folder/up; echo x > /app/folder/kept; truncate -s 300M /app/huge"""

    judged = _played(runtime, spec(task=task), hostile)

    listed = [line for line in judged.log.decode().splitlines() if not line.startswith("artifact ")]
    assert judged.reward == b'{"reward": 0.0}\n'
    assert listed == ["/app:", "folder", "", "/app/folder:", "kept"]
    assert len(judged.log.splitlines()) - len(listed) == 5


def test_a_ready_image_gets_the_files_beside_it(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """Without a Dockerfile, what lies in environment/ is copied into the working directory, which need not exist."""
    toml = '[environment]\ndocker_image = "parley/agent:1"\nworkdir = "/brand/new"\n'
    check = '#!/bin/bash\n[ "$PWD $(cat sub/data)" = "/brand/new 7" ] && echo 1 > /logs/verifier/reward.txt\n'
    task = _task(tmp_path, toml, {"environment/sub/data": "7\n", "tests/test.sh": check}, recipe=False)

    assert _played(runtime, spec(task=task), "true").reward == b'{"reward": 1.0}\n'


def test_what_dockerignore_names_enters_no_image(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """A build context is what a Docker client would send."""
    files = {"environment/.dockerignore": "*.key\n!b.key\n", "environment/a.key": "x", "environment/b.key": "x"}
    check = "#!/bin/bash\nls /app\necho 0 > /logs/verifier/reward.txt\n"
    task = _task(
        tmp_path, "", {**files, "environment/Dockerfile": "FROM parley/agent:1\nCOPY . /app/\n", "tests/test.sh": check}
    )

    assert b"b.key" in (log := _played(runtime, spec(task=task), "true").log)
    assert b"a.key" not in log


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("ln -s /etc/passwd /logs/verifier/reward.json", "reward.json is not a regular file"),
        ("truncate -s 1M /logs/verifier/reward.txt", "reward.txt takes more than 65536 bytes"),
        ("echo true > /logs/verifier/reward.txt", "must hold one number, not 'true'"),
        ("""echo '{"a": 1, "b": 0}' > /logs/verifier/reward.json""", "has 2 keys and none is 'reward'"),
        ("echo 1 > /logs/verifier/reward.txt; /usr/bin/sleep 60", "was killed at its limit"),
    ],
)
def test_a_reward_that_is_none(runtime: DockerRuntime, spec: Specs, tmp_path: Path, script: str, words: str) -> None:
    """What a verifier leaves is a number in a file, within its time, or its own failure."""
    task = _task(tmp_path, "[verifier]\ntimeout_sec = 3\n", {"tests/test.sh": f"#!/bin/bash\n{script}\n"})
    with pytest.raises(VerifierFailure, match=words):
        _played(runtime, spec(task=task), "true")


def _task(path: Path, toml: str, files: dict[str, str], *, recipe: bool = True) -> Task:
    built = {"environment/Dockerfile": "FROM parley/agent:1\nWORKDIR /app\n"} if recipe else {}
    return read_task(write(path / "counter", {"task.toml": toml, "instruction.md": "Look.\n", **built, **files}))


def _played(runtime: DockerRuntime, spec: EpisodeSpec, script: str) -> Judgement:
    runtime.prepare([spec.task])
    with runtime.open(spec) as pod:
        pod.run(["bash", "-c", script], timeout_s=30)
        return runtime.judge(spec, pod.finish())


def _status(judged: Judgement) -> dict[str, str]:
    lines = [line.partition(":") for line in judged.log.decode().splitlines()]
    return {name: value.strip() for name, _, value in lines}
