"""A small world with a signed link, a pod around it, and models that play it well and badly."""

import contextlib
import hashlib
import json
import subprocess
from pathlib import Path

from harness.agent import Budget, Report
from harness.agents.llm.agent import LlmAgent, LlmConfig
from harness.pod import CommandResult
from harness.registry import Task
from harness.taskfile import TaskFile
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script, call, script
from tests.harness.agents.atif import SCHEMA
from worlds.core.calls import Reply as WorldReply
from worlds.core.calls import Violation, get
from worlds.core.events import EventLog
from worlds.core.testing import InProcess
from worlds.core.wire import HOST_HEADER, request
from worlds.core.world import World, WorldSetup

SENTINEL = "sk-sentinel-0123456789abcdef"
HOST_TOKEN = "host-token-of-this-episode"

DEFAULT = Budget()

TASK_TOML = {
    "schema_version": "1.4",
    "task": {"name": "parley/signed-link"},
    "metadata": {
        "parley": {
            "family": "test",
            "difficulty": "easy",
            "budgets": {"steps": 20, "virtual_seconds": 300},
            "costs": {"request": 1},
        }
    },
}


class SignedLink(World):
    """A link with an escaped signature leads to a file; its digest is the result."""

    def prepare(self):
        """One secret file behind one link."""
        self.signature = self.chance("signature").hex(16) + "%2F%3d"
        self.file = self.chance("file").hex(32).encode()

    def facts(self):
        """Nothing to fill in."""
        return {}

    @get("/link")
    def link(self, call):
        """Hands out the link."""
        return {"url": f"http://api:8080/file?sig={self.signature}&x="}

    @get("/file")
    def content(self, call):
        """Takes the link only byte for byte."""
        if call.request.query.decode() != f"sig={self.signature}&x=":
            raise Violation("SIGNATURE_MISMATCH", "the signature does not match")
        return WorldReply(self.file, media_type="text/plain")

    @get("/bytes")
    def raw(self, call):
        """Bytes that are no text."""
        return WorldReply(b"\xff\x00\x01")

    @get("/long")
    def long(self, call):
        """A body longer than a model is shown."""
        return WorldReply("x" * 50_000)

    def judge_submission(self, call):
        """The file's digest."""
        right = call.body == hashlib.sha256(self.file).hexdigest().encode()
        return WorldReply({"accepted": True}, kind="goal" if right else "ok")


class LocalPod:
    """The world in process; commands of the shell in a real subprocess, which reaches the world through $CALL."""

    def __init__(self, folder):
        (folder / "instruction.md.j2").write_text("Fetch the link at /link, and submit the SHA-256 of the file behind it.")
        manifest = TaskFile.model_validate(TASK_TOML).manifest()
        self.world = InProcess(SignedLink(WorldSetup(manifest, folder=folder, host_token=HOST_TOKEN), EventLog()))
        self.instruction = self.world.world.instruction
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.stopped, self.virtual, self.limits = [], [], []

    def call(self, made):
        """Straight to the app."""
        return self.world(made)

    def call_as_host(self, made):
        """With the token of the test's host."""
        return self.world(made.with_header(HOST_HEADER, HOST_TOKEN))

    def stop(self, cause):
        """As a runtime does it."""
        self.stopped.append(cause)
        self.world(request("POST", "/stop", headers=[(HOST_HEADER, HOST_TOKEN)], body=json.dumps({"cause": cause})))

    def run(self, command, *, timeout_s, stdin=b"", virtual_time=True):
        """A real process in a temporary folder."""
        self.virtual.append(virtual_time)
        self.limits.append(timeout_s)
        try:
            done = subprocess.run(
                command,
                cwd=self.workspace,
                input=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return CommandResult(None, late.stdout or b"")
        return CommandResult(done.returncode, done.stdout)

    def put(self, files):
        """Not needed here."""

    def finish(self):
        """The log as text."""
        return b""

    @property
    def kinds(self):
        """What the world logged, in order."""
        return [getattr(event, "kind", event.type) for event in self.world.events]


def task_of(toml=None):
    """The task that fits the world."""
    return Task(Path("/tasks/test/signed-link"), TaskFile.model_validate(toml or TASK_TOML))


@contextlib.contextmanager
def playing(*scripts, say=None, **config):
    """A server with scripts, and an agent that talks to it."""
    said = [] if say is None else say
    with OpenAIServer(*scripts) as server:
        base = {
            "name": "openai/anything",
            "interface": "tool",
            "api_base": server.url,
            "first_pause_s": 0.01,
            "timeout_s": 5.0,
        }
        yield LlmAgent(LlmConfig(**(base | config)), say=said.append), server


def play(pod, *replies, budget=DEFAULT, **config):
    """One whole episode: its report and what the server received. The trajectory is checked against the schema."""
    scripts = replies if isinstance(replies[0], Script) else (script(*replies),)
    with playing(*scripts, **config) as (agent, server):
        report = Report(agent=agent.name)
        agent.check()
        agent.play(task_of(), 0, pod, budget, report)
    SCHEMA.validate(report.trajectory)
    return report, server.requests


def answers(report):
    """What the tools answered, in order."""
    return [r["content"] for step in report.trajectory["steps"] for r in step.get("observation", {"results": []})["results"]]


def careful(messages):
    """A model that uses the link as it got it."""
    return _fetch(messages, lambda url: url)


def careless(messages):
    """A model that decodes the link on the way."""
    return _fetch(messages, lambda url: url.replace("%2F", "/"))


def _fetch(messages, written):
    told = [m["content"] for m in messages if m["role"] in ("tool", "user")][1:]
    if not told:
        return call("http_request", method="GET", url="/link")
    body = told[-1].rpartition("]\n")[2]
    if len(told) == 1:
        return call("http_request", method="GET", url=written(json.loads(body)["url"]), headers=[["Accept", "*/*"]])
    return call("submit", body=hashlib.sha256(body.encode()).hexdigest())
