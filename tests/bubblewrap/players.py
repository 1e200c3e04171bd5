"""A small task, and whoever plays it in bubblewrap: this process, one without control groups, an ordinary user of this host."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.paths import ROOT
from harness.pod import EpisodeSpec
from harness.registry import Task, read_task
from harness.runtimes.bubblewrap import bounds
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from worlds.core.wire import request

USER = 60_000 + os.getpid() % 4_000
"""An ordinary user of this host, with no name."""

TASK = """
schema_version = "1.4"
[task]
name = "parley/echo"
[metadata.parley]
family = "contract"
difficulty = "easy"
budgets = { steps = 50, virtual_seconds = 5000 }
options = { greeting = { default = "hello", values = ["hello", "bye"], doc = "what GET /hello says" } }
[environment]
memory_mb = 512
[verifier]
timeout_sec = 10
"""

SERVER = """
import os, signal
from worlds.core.calls import Reply, Violation, get
from worlds.core.world import World


class Echo(World):
    def prepare(self):
        self.token = self.chance("token").hex(12)

    def facts(self):
        return {"token": self.token}

    @get("/hello")
    def hello(self, call):
        return {"says": self.options["greeting"], "token": self.token}

    @get("/die")
    def die(self, call):
        print("last words", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    def judge_submission(self, call):
        if call.body.decode() != self.token:
            raise Violation("WRONG_VALUE", "the token is not the one given")
        return Reply({"done": True}, kind="goal")
"""

TEST_SH = """
cd /logs/verifier
reward=0.0
grep -q '"kind":"goal"' /state/events.jsonl && reward=1.0
echo "{\\"reward\\": $reward}" | tee reward.json
(ls /; tail -n +3 /proc/net/dev | cut -d: -f1; touch /state/x /tests/x) > verdict.json 2> /dev/null
exit 0
"""

AS_USER = """
import json, sys
from pathlib import Path
from harness.registry import read_task
from harness.pod import EpisodeSpec
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from worlds.core.wire import request

asked = json.load(sys.stdin)
runtime = BubblewrapRuntime(cache=Path(asked["cache"]))
runtime.environments.python = Path(asked["python"])
probe = runtime.probe()
assert probe.ok, probe.why
spec = EpisodeSpec("user", "e", read_task(Path(asked["task"])), 0, needs_main=True)
with runtime.open(spec) as pod:
    done = [pod.run(["bash", "-c", script], timeout_s=60, virtual_time=False) for script in asked["scripts"]]
    answered = pod.call(request("GET", "/hello")).status
    log = pod.finish()
assert json.loads(runtime.judge(spec, log).reward) == {"reward": 0.0}
print(json.dumps([[[one.code, one.output.decode("utf-8", "replace")] for one in done], answered, len(log), runtime.limits()]))
"""


@dataclass(frozen=True)
class Played:
    """What scripts did in `main`, the status of a request after them, the length of the log, and what was said of limits."""

    done: list[tuple[int | None, str]]
    answered: int
    log: int
    limits: str

    @property
    def output(self) -> list[str]:
        """What each script printed."""
        return [output for _, output in self.done]


@dataclass(frozen=True)
class Player:
    """Runs bash scripts in the `main` of one pod: as this process, without control groups, or as an ordinary user."""

    who: str
    runtime: BubblewrapRuntime
    public: Path

    def __call__(self, *scripts: str, memory_mb: int = 512) -> Played:
        """Play them one after the other."""
        with tempfile.TemporaryDirectory(dir=self.public) as folder:
            Path(folder).chmod(0o755)
            made = write_task(Path(folder), **{"task.toml": TASK.replace("memory_mb = 512", f"memory_mb = {memory_mb}")})
            return self._as_user(made, scripts) if self.who == "user" else self._here(made, scripts)

    def _here(self, played: Task, scripts: Sequence[str]) -> Played:
        with pytest.MonkeyPatch.context() as patch:
            if self.who == "counted":
                patch.setattr(bounds, "hierarchies", lambda: None)
            with self.runtime.open(EpisodeSpec("played", "e", played, 0, needs_main=True)) as pod:
                done = [pod.run(["bash", "-c", script], timeout_s=60, virtual_time=False) for script in scripts]
                answered = pod.call(request("GET", "/hello")).status
                log = pod.finish()
            said = [(one.code, one.output.decode("utf-8", "replace")) for one in done]
            return Played(said, answered, len(log), self.runtime.limits())

    def _as_user(self, played: Task, scripts: Sequence[str]) -> Played:
        python = self.public / "sandbox" / self.runtime.environments.python.name
        asked = {"cache": str(self.public), "python": str(python), "task": str(played.path), "scripts": scripts}
        packages = sysconfig.get_path("purelib")
        home = str(self.public / "home")
        env = {"HOME": home, "TMPDIR": home, "PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{packages}"}
        other = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.geteuid() == 0 else []
        command = [*other, str(python / "bin/python3"), "-B", "-c", AS_USER]
        done = subprocess.run(command, input=json.dumps(asked).encode(), capture_output=True, env=env, cwd=home, check=False)
        assert done.returncode == 0, done.stderr.decode()
        outputs, answered, log, limits = json.loads(done.stdout)
        return Played([(code, output) for code, output in outputs], answered, log, limits)


def write_task(parent: Path, **changed: str) -> Task:
    """The small task, with other contents for some of its files."""
    files = {
        "task.toml": TASK,
        "instruction.md": "seed 0",
        "environment/Dockerfile": "# main\nFROM parley/agent:1\n",
        "environment/api/Dockerfile": "FROM parley/world:1\nCOPY . /srv/world/\n",
        "environment/api/server.py": SERVER,
        "environment/api/instruction.md.j2": "Submit {{ token }}.\n",
        "tests/Dockerfile": "FROM parley/verifier:1\nRUN mkdir -p /state /workspace\nCOPY . /tests/\n",
        "tests/test.sh": TEST_SH,
    }
    for name, text in {**files, **changed}.items():
        path = parent / "echo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    made = read_task(parent / "echo")
    if (manifest := made.file.manifest()) is not None:
        (made.world_folder / "world.json").write_text(manifest.to_json(), encoding="utf-8")
    return made
