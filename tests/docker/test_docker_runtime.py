"""A pod in Docker: what it promises an episode, what it keeps from an agent, and whom it blames."""

from __future__ import annotations

import gc
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import RuntimeFailure, VerifierFailure, WorldFailure
from harness.pod import OUTPUT_CAP, CommandResult, EpisodeSpec, Pod
from harness.registry import Task, read_task
from harness.runtimes.docker.engine.client import Engine
from harness.runtimes.docker.runtime import DockerRuntime
from worlds.core.errors import WireError
from worlds.core.events import read_log
from worlds.core.loading import open_world
from worlds.core.testing import InProcess
from worlds.core.wire import WireRequest, request

pytestmark = pytest.mark.docker

Specs = Callable[..., EpisodeSpec]


def shell(pod: Pod, script: str, *, timeout_s: float = 20, virtual_time: bool = False) -> CommandResult:
    """Run a bash script in `main`."""
    return pod.run(["bash", "-c", script], timeout_s=timeout_s, virtual_time=virtual_time)


def token(pod: Pod) -> str:
    """The token that this pod's world gives."""
    return str(json.loads(pod.call(request("GET", "/hello")).body)["token"])


def test_probe_says_that_docker_works(runtime: DockerRuntime) -> None:
    """A container that starts and answers is what makes a runtime usable."""
    assert runtime.probe().ok


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_probe_of_no_engine_is_one_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing engine is an answer, not an exception; the socket that the SDK then leaks is its own affair."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")

    probe = DockerRuntime().probe()
    gc.collect()

    assert not probe.ok
    assert probe.why == "no Docker engine answers at unix:///nonexistent/docker.sock (No such file or directory)"


def test_episode_from_goal_to_reward(runtime: DockerRuntime, spec: Specs) -> None:
    """A pod without main is played over the bridge, its log judged by the verifier's own user."""
    with runtime.open(spec()) as pod:
        assert pod.instruction.startswith(f"Submit {token(pod)}.")
        assert pod.call(request("POST", "/submission", body=token(pod))).status == 200
        log = pod.finish()

    judged = runtime.judge(spec(), log)

    assert (judged.reward, judged.verdict) == (b'{"reward": 1.0}\n', b"verifier\n")


def test_nothing_done_earns_nothing(runtime: DockerRuntime, spec: Specs) -> None:
    """A log without the goal is judged too."""
    with runtime.open(spec()) as pod:
        log = pod.finish()

    assert runtime.judge(spec(), log).reward == b'{"reward": 0.0}\n'


def test_trace_equals_the_one_in_process(runtime: DockerRuntime, spec: Specs, task: Task) -> None:
    """Requests get equal responses, headers included, and leave equal bytes of log in process and in a pod."""
    asked = [
        request("GET", '/hello?a=%2f&&b="x', headers={"X-Odd": "\xe9"}),
        request("POST", "/clock/wait", body=b'{"seconds": 2.5}'),
        WireRequest("HEAD", b"/nowhere"),
        request("POST", "/submission", body=b"\x00wrong"),
        request("GET", "/hello"),
    ]
    near = InProcess(open_world(task.world_folder, seed=7, overrides={"greeting": "bye"}))

    with runtime.open(spec(seed=7, overrides={"greeting": "bye"})) as pod:
        answers = [pod.call(one) for one in asked]
        log = pod.finish()

    assert [near(one) for one in asked] == answers
    assert near.log.dump() == log


def test_unsendable_request_never_leaves(runtime: DockerRuntime, spec: Specs) -> None:
    """What no HTTP client can send is refused by the transport, and leaves no event."""
    with runtime.open(spec()) as pod:
        with pytest.raises(WireError):
            pod.call(WireRequest("GET", b"/with space"))
        events = read_log(pod.finish())

    assert [event.type for event in events] == ["opened"]


def test_calls_from_many_threads(runtime: DockerRuntime, spec: Specs) -> None:
    """Each caller gets the answer to its own request."""
    got: dict[int, bytes] = {}

    def ask(number: int) -> None:
        got[number] = pod.call(request("POST", "/clock/wait", body=json.dumps({"seconds": -number}))).body

    with runtime.open(spec()) as pod:
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(1, 17)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert set(range(1, 17)) == set(got)


def test_stop_is_logged(runtime: DockerRuntime, spec: Specs) -> None:
    """A budget that only the harness counts ends the episode with one event."""
    with runtime.open(spec()) as pod:
        pod.stop("wall")
        events = read_log(pod.finish())

    assert [event.type for event in events] == ["opened", "stop"]


def test_main_is_the_agents_machine(runtime: DockerRuntime, spec: Specs) -> None:
    """Files arrive, commands run as the agent, the world answers at its one address, and all its commands move one clock."""
    with runtime.open(spec(needs_main=True)) as pod:
        pod.put({"/tmp/solution/play.sh": b"curl -s http://api:8080/hello", "/workspace/note": b"hi"})

        assert shell(pod, "id -un; cat /workspace/note; pwd").output == b"agent\nhi/workspace\n"
        assert json.loads(shell(pod, "bash /tmp/solution/play.sh").output)["token"] == token(pod)
        assert pod.run(["cat"], timeout_s=9, stdin=b"\x00\xff" * 9, virtual_time=False).output == b"\x00\xff" * 9
        assert shell(pod, "exit 7").code == 7
        moved = shell(pod, "date +%s; sleep 90; date +%s", virtual_time=True)

    before, after = map(int, moved.output.split())
    assert after - before == 90


def test_main_is_locked_down(runtime: DockerRuntime, spec: Specs) -> None:
    """No capability, no way to gain one, no other network, no file of the world, nothing written but in two places."""
    with runtime.open(spec(needs_main=True)) as pod:
        status = shell(pod, "grep -hE 'Cap(Eff|Bnd)|NoNewPrivs' /proc/self/status").output.split()
        links = shell(pod, "tail -n +3 /proc/net/dev | cut -d: -f1").output.split()
        reach = shell(pod, "curl -s -m 2 http://1.1.1.1; curl -s -m 2 http://example.com; true").output
        seen = shell(pod, "ls /srv /state /tests; cat /proc/*/environ | tr '\\0' '\\n' | grep -c PARLEY").output
        places = "/x /etc/x /opt/parley/bin/sleep /run/parley/clock /home/x"
        written = shell(pod, f"for place in {places}; do touch $place 2> /dev/null && echo $place; done").output
        full = shell(pod, "head -c 400M /dev/zero > /workspace/big; stat -c %s /workspace/big").output

    assert status[1::2] == [b"0" * 16, b"0" * 16, b"1"]
    assert links == [b"lo"]
    assert reach == b""
    assert seen.split()[-1] == b"0"
    assert written == b""
    assert full.split()[-1] == b"268435456"


def test_host_routes_are_closed_to_main(runtime: DockerRuntime, spec: Specs) -> None:
    """What only the host may ask is, for the agent, a route that does not exist."""
    ask = "curl -s -o /dev/null -w '%{http_code} ' -H 'X-Parley-Host: guess' http://api:8080/instruction; "
    ask += "curl -s -o /dev/null -w '%{http_code}' -X POST -d '{\"cause\":\"wall\"}' http://api:8080/stop"

    with runtime.open(spec(needs_main=True)) as pod:
        assert shell(pod, ask).output == b"404 404"


def test_hostile_commands_leave_main_usable(runtime: DockerRuntime, spec: Specs) -> None:
    """Killing everything, ignoring signals, filling memory or the output ends the command, and the next one runs."""
    with runtime.open(spec(needs_main=True)) as pod:
        assert shell(pod, "kill -9 -1").code == 137
        assert shell(pod, "trap '' TERM INT HUP; while :; do :; done", timeout_s=0.5).code is None
        assert shell(pod, "python3 -c \"x = 'a' * (4 << 30)\"").code != 0
        flood = shell(pod, "head -c 100000000 /dev/zero")
        assert (flood.code, len(flood.output), flood.omitted) == (0, OUTPUT_CAP, 100_000_000 - OUTPUT_CAP)
        assert shell(pod, "echo still here").output == b"still here\n"
        pod.finish()


def test_fork_bomb_does_not_reach_the_world(runtime: DockerRuntime, spec: Specs) -> None:
    """A bomb that fills `main` costs its owner only: the world answers, and the log comes out."""
    bomb = "import os, time\nos.setsid()\nwhile True:\n  try: os.fork()\n  except OSError: time.sleep(0.1)"

    with runtime.open(spec(needs_main=True)) as pod:
        pod.put({"/tmp/bomb.py": bomb.encode()})
        shell(pod, "(python3 /tmp/bomb.py > /dev/null 2>&1 &); /usr/bin/sleep 0.5", timeout_s=5)

        assert pod.call(request("GET", "/hello")).status == 200
        assert len(read_log(pod.finish())) == 2


def test_main_is_dead_before_the_log_leaves(runtime: DockerRuntime, spec: Specs) -> None:
    """No process of main outlives finish, however it detached, and none writes an event after it."""
    with runtime.open(spec(needs_main=True)) as pod:
        shell(pod, "setsid nohup bash -c 'while :; do curl -s http://api:8080/hello; done' > /dev/null 2>&1 &")
        log = pod.finish()
        left = runtime.engine.labelled(f"parley.run={spec().run_id}")["containers"]

    read_log(log)
    assert [c["State"] for c in left if "verifier" not in c["Names"][0]] == ["exited"]


def test_dead_world_is_the_worlds_failure(runtime: DockerRuntime, spec: Specs) -> None:
    """A world that is gone is blamed by name, with how its container ended, wherever it is noticed."""
    with runtime.open(spec()) as pod:
        world = runtime.engine.labelled(f"parley.run={spec().run_id}")["containers"][0]["Id"]
        runtime.engine.kill(world)

        with pytest.raises(WorldFailure, match="its container ended with 137"):
            pod.call(request("GET", "/hello"))
        with pytest.raises(WorldFailure, match="its container ended with 137"):
            pod.finish()


def test_world_that_cannot_start_says_why(runtime: DockerRuntime, spec: Specs) -> None:
    """The last words of a world that never came up are in the failure."""
    with pytest.raises(WorldFailure, match="echo has no option 'nope'"), runtime.open(spec(overrides={"nope": 1})):
        pass


def test_verifier_without_verdict_is_the_verifiers_failure(
    runtime: DockerRuntime, spec: Specs, task: Task, tmp_path: Path
) -> None:
    """Tests that write no verdict, or run too long, are blamed with the end of their output."""
    for script, words in (
        ("echo lost >&2", "ended with 0 and left no reward.json: lost"),
        ("sleep 60", "killed at its limit of 1 s"),
    ):
        broken = _copy(task, tmp_path / words[:5].strip(), script)
        with pytest.raises(VerifierFailure, match=words):
            runtime.judge(spec(task=broken), b"log\n")


def test_abort_ends_a_run_from_another_thread(runtime: DockerRuntime, spec: Specs) -> None:
    """What is running fails at once, and nothing of the run starts any more."""
    stopper = DockerRuntime()
    with stopper.open(spec(needs_main=True)) as pod:
        threading.Timer(0.5, stopper.abort, [spec().run_id]).start()
        with pytest.raises((RuntimeFailure, WorldFailure)):  # noqa: PT012 - whichever of the two notices first
            shell(pod, "/usr/bin/sleep 30", timeout_s=40)
            pod.finish()

    with pytest.raises(RuntimeFailure, match="was aborted"), stopper.open(spec()):
        pass


def test_exception_inside_a_pod_leaves_nothing(runtime: DockerRuntime, spec: Specs) -> None:
    """Closing removes the pod whatever happened inside."""
    with pytest.raises(ZeroDivisionError), runtime.open(spec(needs_main=True)):
        raise ZeroDivisionError


def test_every_container_ends_by_itself(runtime: DockerRuntime, spec: Specs) -> None:
    """With nobody left to remove them, containers run no longer than the deadline they were given."""
    engine = Engine()
    with runtime.open(spec(needs_main=True)):
        found = engine.labelled(f"parley.run={spec().run_id}")["containers"]
        commands = {json.dumps(engine.api.inspect_container(c["Id"])["Config"]["Cmd"]) for c in found}

    assert {'["timeout", "-s", "KILL", "4210", "python3", "-m", "worlds.core.serve"]', '["/usr/bin/sleep", "4210"]'} == commands


def test_unchanged_folder_is_not_rebuilt(runtime: DockerRuntime, task: Task, tmp_path: Path) -> None:
    """A tag is its content: the same folder keeps its images, one changed byte makes another, and `main` needs none."""
    first = runtime.images.task_images(task)
    changed = _copy(task, tmp_path, "echo changed")

    assert first == runtime.images.task_images(task)
    assert first["agent"] == runtime.images.build_bases()["agent"]
    assert [first[room] == runtime.images.task_images(changed)[room] for room in ("world", "verifier")] == [True, False]


def test_task_image_stands_on_our_base_whoever_has_the_name(runtime: DockerRuntime, task: Task, tmp_path: Path) -> None:
    """A checkout beside ours that made `parley/verifier:1` its own changes no image that we build."""
    changed, bases = _copy(task, tmp_path, f"echo {secrets.token_hex(4)}"), runtime.images.build_bases()
    api = runtime.engine.api
    api.tag(bases["agent"], "parley/verifier", "1", force=True)
    try:
        built = api.inspect_image(runtime.images.task_images(changed)["verifier"])["RootFS"]["Layers"]
    finally:
        api.tag(bases["verifier"], "parley/verifier", "1", force=True)

    below = api.inspect_image(bases["verifier"])["RootFS"]["Layers"]
    assert built[: len(below)] == below


def test_what_tests_left_ends_before_the_reward_is_read(
    runtime: DockerRuntime, task: Task, spec: Callable[..., EpisodeSpec], tmp_path: Path
) -> None:
    """Nothing of a verifier that is used once runs on when its reward is handed out, but the container's first process."""
    leaves = "setsid sleep 299 > /dev/null 2>&1 & echo '{\"reward\": 1}' > /logs/verifier/reward.json"
    container = runtime._start_verifier(spec(task=_copy(task, tmp_path, leaves)))
    try:
        code, left = runtime._tested(container, 5, b"")
        running = [row[-1] for row in runtime.engine.api.top(container)["Processes"]]
    finally:
        runtime.engine.remove(container)

    assert (code, left["reward.json"]) == (0, b'{"reward": 1}\n')
    assert running
    assert not [command for command in running if "299" in command]


def test_cleaning_keeps_the_newest_image(runtime: DockerRuntime, task: Task, tmp_path: Path) -> None:
    """Of the images of one room of a task only the last one built stays."""
    toml = (task.path / "task.toml").read_text(encoding="utf-8").replace("parley/echo", "parley/echo-clean")
    versions = []
    for number in range(2):
        made = _copy(task, tmp_path / str(number), f"echo {secrets.token_hex(4)}")
        folder = made.path.rename(made.path.with_name("echo-clean"))
        (folder / "task.toml").write_text(toml, encoding="utf-8")
        versions.append(runtime.images.task_images(read_task(folder))["verifier"])
        time.sleep(1.1)  # Docker tells the age of an image in whole seconds.

    cleaned = runtime.images.clean_images("echo-clean")

    # One more may be there from an earlier session.
    assert [version in cleaned for version in versions] == [True, False]
    assert runtime.images.clean_images("echo-clean") == []
    assert [bool(runtime.images.image_id(version)) for version in versions] == [False, True]


def _copy(task: Task, folder: Path, test_sh: str) -> Task:
    """The task with another test.sh and a limit of one second."""
    for path in (p for p in task.path.rglob("*") if p.is_file()):
        target = folder / "echo" / path.relative_to(task.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    (folder / "echo" / "tests" / "test.sh").write_text(test_sh + "\n", encoding="utf-8")
    made = read_task(folder / "echo")
    return replace(
        made, file=made.file.model_copy(update={"verifier": made.file.verifier.model_copy(update={"timeout_sec": 1.0})})
    )
