"""A pod in bubblewrap: what it promises an episode, and whom it blames."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.errors import RuntimeFailure, VerifierFailure, WorldFailure
from harness.pod import CommandResult, EpisodeSpec, Pod
from harness.registry import Task
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from worlds.core.errors import WireError
from worlds.core.events import read_log
from worlds.core.loading import open_world
from worlds.core.testing import InProcess
from worlds.core.wire import WireRequest, request

pytestmark = pytest.mark.bubblewrap

Specs = Callable[..., EpisodeSpec]


def shell(pod: Pod, script: str, *, timeout_s: float = 20, virtual_time: bool = False) -> CommandResult:
    """Run a bash script in `main`."""
    return pod.run(["bash", "-c", script], timeout_s=timeout_s, virtual_time=virtual_time)


def token(pod: Pod) -> str:
    """The token that this pod's world gives."""
    return str(json.loads(pod.call(request("GET", "/hello")).body)["token"])


def test_episode_from_goal_to_reward(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """A pod without main is played over the bridge; the verifier sees the log and the tests, and no network."""
    with runtime.open(spec()) as pod:
        assert pod.instruction.startswith(f"Submit {token(pod)}.")
        assert pod.call(request("POST", "/submission", body=token(pod))).status == 200
        log = pod.finish()

    judged = runtime.judge(spec(), log)

    assert judged.reward == b'{"reward": 1.0}\n'
    assert {"lo", "logs", "state", "tests"} < set(judged.verdict.decode().split())
    assert not {"home", "root", "work"} & set(judged.verdict.decode().split())


def test_oracle_and_violation_of_a_real_task(runtime: BubblewrapRuntime, spec: Specs, presigned: Task) -> None:
    """A solution played in main earns the reward; a wrong client earns its label."""
    verdicts = []
    for player in ("solve", "decoded_link"):
        made = spec(task=presigned, needs_main=True)
        with runtime.open(made) as pod:
            SolutionAgent(player).play(presigned, 0, pod, Budget(), Report(player))
            log = pod.finish()
        verdicts.append(json.loads(runtime.judge(made, log).verdict)["failure_label"])

    assert verdicts == ["SUCCESS", "MUTATED_TOKEN"]


def test_trace_equals_the_one_in_process(runtime: BubblewrapRuntime, spec: Specs, task: Task) -> None:
    """Requests get equal responses, headers included, and leave equal bytes of log in process and in a pod."""
    asked = [
        request("GET", '/hello?a=%2f&&b="x', headers={"X-Odd": "\xe9"}),
        request("POST", "/clock/wait", body=b'{"seconds": 2.5}'),
        WireRequest("HEAD", b"/nowhere"),
        request("POST", "/submission", body=b"\x00wrong"),
    ]
    near = InProcess(open_world(task.world_folder, seed=7, overrides={"greeting": "bye"}))

    with runtime.open(spec(seed=7, overrides={"greeting": "bye"})) as pod:
        answers = [pod.call(one) for one in asked]
        with pytest.raises(WireError):
            pod.call(WireRequest("GET", b"/with space"))
        log = pod.finish()

    assert [near(one) for one in asked] == answers
    assert near.log.dump() == log


def test_stop_is_logged(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """A budget that only the harness counts ends the episode with one event."""
    with runtime.open(spec()) as pod:
        pod.stop("wall")

        assert [event.type for event in read_log(pod.finish())] == ["opened", "stop"]


def test_pods_run_in_parallel_and_outlive_their_threads(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """Each pod has port 8080 for itself, and goes on when the thread that opened it has ended."""
    with ExitStack() as stack:
        pods: dict[int, Pod] = {}

        def open_one(seed: int) -> None:
            pods[seed] = stack.enter_context(runtime.open(spec(f"e{seed}", seed=seed, needs_main=True)))

        threads = [threading.Thread(target=open_one, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        over_http = {json.loads(shell(pod, "curl -s http://api:8080/hello").output)["token"] for pod in pods.values()}

        assert over_http == {token(pod) for pod in pods.values()}
        assert len(over_http) == 3


def test_main_is_the_agents_machine(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """Files arrive, /workspace lasts, background processes live on, and sleeping moves the world's clock."""
    with runtime.open(spec(needs_main=True)) as pod:
        pod.put({"/tmp/solution/play.sh": b"curl -s http://api:8080/hello", "/workspace/note": b"hi"})

        assert shell(pod, "id -un; cat /workspace/note; pwd").output == b"agent\nhi/workspace\n"
        assert json.loads(shell(pod, "bash /tmp/solution/play.sh").output)["token"] == token(pod)
        assert pod.run(["cat"], timeout_s=9, stdin=b"\x00\xff" * 9, virtual_time=False).output == b"\x00\xff" * 9
        assert shell(pod, "exit 7").code == 7
        shell(pod, "setsid bash -c 'while :; do date >> /workspace/beat; /usr/bin/sleep 0.05; done' > /dev/null 2>&1 &")
        assert shell(pod, "rm -f beat; for _ in {1..200}; do test -s beat && exit; /usr/bin/sleep 0.05; done; exit 1").code == 0
        shell(
            pod,
            "sleep 60; python3 -I -c 'import time; time.sleep(30)'; /usr/local/bin/python3 -c 'import httpx'",
            virtual_time=True,
        )
        assert json.loads(pod.call(request("GET", "/clock")).body)["virtual_time"] == 92.0


def test_dead_world_is_the_worlds_failure(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """A world that is gone is blamed by name, with its last words, wherever it is noticed."""
    with runtime.open(spec(needs_main=True)) as pod:
        for ask in (lambda: pod.call(request("GET", "/die")), lambda: pod.call(request("GET", "/hello")), pod.finish):
            with pytest.raises(WorldFailure, match="serve ended with 137: last words"):
                ask()


def test_world_that_cannot_start_says_why(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """The last words of a world that never came up are in the failure."""
    with pytest.raises(WorldFailure, match="echo has no option 'nope'"), runtime.open(spec(overrides={"nope": 1})):
        pass


def test_verifier_without_verdict_is_the_verifiers_failure(
    runtime: BubblewrapRuntime, spec: Specs, task: Task, written: Callable[..., Task], tmp_path: Path
) -> None:
    """Tests that write no verdict, a link, too much, or run too long, are blamed with the end of their output."""
    hurried = (task.path / "task.toml").read_text(encoding="utf-8").replace("timeout_sec = 10", "timeout_sec = 1")
    for number, (script, words) in enumerate({
        "echo lost >&2": "ended with 0.*lost",
        "sleep 60": "killed at its limit of 1 s",
        "ln -s /etc/passwd /logs/verifier/reward.json": "ended with 0",
        "head -c 2M /dev/zero > /logs/verifier/reward.json": "longer than",
    }.items()):  # fmt: skip
        broken = written(tmp_path / str(number), **{"tests/test.sh": script, "task.toml": hurried})
        with pytest.raises(VerifierFailure, match=words):
            runtime.judge(spec(task=broken), b"log\n")


def test_refuses_what_is_not_the_template(
    runtime: BubblewrapRuntime, task: Task, written: Callable[..., Task], tmp_path: Path
) -> None:
    """A Dockerfile that builds something, or a foreign task, is named with its line."""
    built = written(tmp_path / "a", **{"environment/Dockerfile": "FROM parley/agent:1\nRUN apt-get install -y jq\n"})
    other = written(tmp_path / "b", **{"environment/api/Dockerfile": "# x\nFROM python:3.12\n"})
    foreign = written(tmp_path / "c", **{"task.toml": 'schema_version = "1.4"\n'})

    assert runtime.refuses(task) is None
    assert (runtime.refuses(built) or "").startswith(f"{built.path}/environment/Dockerfile:2: 'RUN apt-get install -y jq'")
    assert (runtime.refuses(other) or "").startswith(f"{other.path}/environment/api/Dockerfile:2: ")
    assert (runtime.refuses(foreign) or "").startswith(f"{foreign.path}/task.toml:1: ")


def test_probe_without_bwrap_is_one_clause(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A missing program is an answer, not an exception."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "bubblewrap is not installed" in BubblewrapRuntime(cache=tmp_path).probe().why


def test_environments_are_named_by_content(runtime: BubblewrapRuntime, tmp_path: Path) -> None:
    """What is there is not built again, and many may ask at once for what is not."""
    cache = runtime.environments.python.parent
    before = {path: path.stat().st_mtime_ns for path in cache.iterdir() if path.is_dir()}
    fresh = [BubblewrapRuntime(cache=tmp_path) for _ in range(4)]
    threads = [threading.Thread(target=made.probe) for made in fresh]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert BubblewrapRuntime().environments.python == runtime.environments.python
    assert set(runtime.prepare([])) == {"agent", "world", "verifier"}
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert sorted(path.name.partition("-")[0] for path in (tmp_path / "sandbox").iterdir() if path.is_dir()) == [
        "agent",
        "python",
    ]


def test_needs_main(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """Commands need a pod with main, and files enter it in two places only."""
    with runtime.open(spec()) as pod, pytest.raises(RuntimeFailure, match="without main"):
        shell(pod, "true")
    with runtime.open(spec(needs_main=True)) as pod, pytest.raises(RuntimeFailure, match="not at /etc/x"):
        pod.put({"/etc/x": b""})
