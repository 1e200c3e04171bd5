"""Before a shared verifier starts nothing of the agent runs, however it was started; what the image started lives on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.pod import EpisodeSpec
from harness.registry import read_task
from harness.runtimes.docker.runtime import DockerRuntime
from parley.interop.foreign.pod import ForeignPod
from tests.docker.conftest import write
from tests.docker.test_foreign import TOML

pytestmark = pytest.mark.docker

Specs = Callable[..., EpisodeSpec]

PLAIN = "FROM parley/agent:1\nWORKDIR /app\n"
SERVER = """
import http.server, secrets
TOKEN = secrets.token_hex(8).encode()
class Token(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(TOKEN)
http.server.ThreadingHTTPServer(("127.0.0.1", 9000), Token).serve_forever()
"""
SERVED = """FROM parley/agent:1
COPY server.py entrypoint.sh /srv/
RUN chmod +x /srv/entrypoint.sh
WORKDIR /app
ENTRYPOINT ["/srv/entrypoint.sh"]
"""
ENTRYPOINT = '#!/bin/bash\npython3 /srv/server.py &\nexec "$@"\n'
ZERO = "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\n/usr/bin/sleep 1\n"
READY = "until token=$(curl -fs http://127.0.0.1:9000/); do /usr/bin/sleep 0.05; done; "

FORGE = "while :; do echo 1 > /logs/verifier/reward.txt; /usr/bin/sleep 0.01; done"
RESPAWN = """
import os, sys, time
partner = int(sys.argv[1]) if len(sys.argv) > 1 else 0
while True:
    open("/logs/verifier/reward.txt", "w").write("1")
    try:
        os.kill(partner, 0) if partner else os.kill(2**22, 0)
    except OSError:
        if (child := os.fork()) == 0:
            os.setsid()
            os.execvp("python3", ["python3", __file__, str(os.getppid())])
        partner = child
    time.sleep(0.01)
"""
DAEMONS = {
    "a session of its own": f"setsid bash -c '{FORGE}' &> /dev/null &",
    "renamed, orphaned twice": f"(exec -a init nohup bash -c '(exec -a sleep bash -c \"{FORGE}\") & disown' &> /dev/null &)",
    "two that start each other": "nohup python3 /tmp/respawn.py &> /dev/null &",
    "a new one each moment": (
        "export R=/logs/verifier/reward.txt; setsid bash -c 'f() { echo 1 > $R; /usr/bin/sleep 0.02; f & }; f' &> /dev/null &"
    ),
    "with kill, ps and cat replaced": (
        f"for t in kill ps cat; do printf '#!/bin/bash\\n' > /usr/bin/$t; done; setsid bash -c '{FORGE}' &> /dev/null &"
    ),
}


@pytest.mark.parametrize("served", [False, True], ids=["alone", "beside a service"])
@pytest.mark.parametrize("daemon", DAEMONS.values(), ids=DAEMONS)
def test_no_daemon_outlives_the_agent(runtime: DockerRuntime, spec: Specs, tmp_path: Path, daemon: str, served: bool) -> None:
    """A written 0 stays a 0, whatever was left behind to overwrite it."""
    task = read_task(_folder(tmp_path, ZERO, served=served))
    runtime.prepare([task])
    played = spec(task=task)
    with runtime.open(played) as pod:
        pod.put({"/tmp/respawn.py": RESPAWN.encode()})
        pod.run(["bash", "-c", daemon], timeout_s=20)
        until = "until grep -q 1 /logs/verifier/reward.txt; do /usr/bin/sleep 0.02; done"
        assert pod.run(["bash", "-c", until], timeout_s=20).code == 0

        assert runtime.judge(played, pod.finish()).reward == b'{"reward": 0.0}\n'


def test_a_service_of_the_image_keeps_what_it_remembers(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """Tests may ask the server that ENTRYPOINT started: it is the very process that the agent spoke to."""
    check = f'{READY}[ "$token" = "$(cat /app/answer)" ] && n=1 || n=0; echo $n > /logs/verifier/reward.txt\n'
    task = read_task(_folder(tmp_path, f"#!/bin/bash\n{check}", served=True))
    runtime.prepare([task])
    played = spec(task=task)
    with runtime.open(played) as pod:
        pod.run(["bash", "-c", f'{READY} echo "$token" > /app/answer; setsid /usr/bin/sleep 600 &'], timeout_s=20)

        judged = runtime.judge(played, pod.finish())

    assert judged.reward == b'{"reward": 1.0}\n', judged.log


def test_a_freezer_that_fails_is_asked_again(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """A container that cannot be frozen at the first try keeps its services: here it is frozen already, for half a second."""
    check = f'{READY}[ "$token" = "$(cat /app/answer)" ] && n=1 || n=0; echo $n > /logs/verifier/reward.txt\n'
    task = read_task(_folder(tmp_path, f"#!/bin/bash\n{check}", served=True))
    runtime.prepare([task])
    played = spec(task=task)
    with runtime.open(played) as pod:
        assert isinstance(pod, ForeignPod)
        pod.run(["bash", "-c", f'{READY} echo "$token" > /app/answer'], timeout_s=20)
        main = pod._containers.ids["main"]
        runtime.engine.api.pause(main)
        thaw = threading.Timer(0.5, runtime.engine.api.unpause, [main])
        thaw.start()
        judged = runtime.judge(played, pod.finish())
        thaw.join()

    assert judged.reward == b'{"reward": 1.0}\n', judged.log


def test_a_container_that_is_called_paused_for_a_moment_takes_the_tests(
    runtime: DockerRuntime, spec: Specs, tmp_path: Path
) -> None:
    """The engine may say of a thawed container that it is paused, until it has read its own events: a command asks again."""
    task = read_task(_folder(tmp_path, ZERO, served=True))
    runtime.prepare([task])
    played = spec(task=task)
    with runtime.open(played) as pod:
        assert isinstance(pod, ForeignPod)
        main = pod._containers.ids["main"]
        runtime.engine.api.pause(main)
        thaw = threading.Timer(0.5, runtime.engine.api.unpause, [main])
        thaw.start()

        assert pod.run(["echo", "here"], timeout_s=20).output == b"here\n"
        thaw.join()


@pytest.mark.parametrize("served", [False, True], ids=["alone", "beside a service"])
def test_who_kills_everything_is_graded(runtime: DockerRuntime, spec: Specs, tmp_path: Path, served: bool) -> None:
    """An agent that ends its own machine is told so, and earns what its files earn."""
    task = read_task(_folder(tmp_path, ZERO, served=served))
    runtime.prepare([task])
    played = spec(task=task)
    with runtime.open(played) as pod:
        for _ in range(3):
            pod.run(["bash", "-c", "kill -9 -1"], timeout_s=20)

        assert pod.run(["true"], timeout_s=20).output == b"this machine is gone\n"
        assert runtime.judge(played, pod.finish()).reward == b'{"reward": 0.0}\n'


def test_who_breaks_the_machine_for_good_earns_nothing(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """A container that ran before the agent and cannot start after it was broken by nobody else: 0, not ungraded."""
    task = read_task(_folder(tmp_path, ZERO, served=False))
    runtime.prepare([task])
    played = spec(task=task)
    with runtime.open(played) as pod:
        pod.run(["bash", "-c", "rm -f /bin/sh /usr/bin/sh /bin/dash /usr/bin/dash"], timeout_s=20)
        judged = runtime.judge(played, pod.finish())

    assert judged.reward == b'{"reward": 0.0}\n'
    assert judged.log.startswith(b"main takes no tests after the agent")


def test_a_planted_test_is_no_test(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """Where the image has no /tests, what the agent puts there is gone before the real ones come."""
    listing = "#!/bin/bash\nls -A /tests\necho 0 > /logs/verifier/reward.txt\n"
    task = read_task(_folder(tmp_path, listing, served=False))
    runtime.prepare([task])
    played = spec(task=task)
    with runtime.open(played) as pod:
        pod.run(["bash", "-c", "mkdir -p /tests && echo x > /tests/conftest.py"], timeout_s=20)

        assert runtime.judge(played, pod.finish()).log == b"test.sh\n"


def _folder(path: Path, tests: str, *, served: bool) -> Path:
    files = {"environment/Dockerfile": SERVED, "environment/server.py": SERVER, "environment/entrypoint.sh": ENTRYPOINT}
    return write(
        path / "counter",
        {
            "task.toml": TOML,
            "instruction.md": "Earn nothing.\n",
            "solution/solve.sh": "true\n",
            "tests/test.sh": tests,
            **(files if served else {"environment/Dockerfile": PLAIN}),
        },
    )
