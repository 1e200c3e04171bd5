"""Small foreign folders, each with one flaw, and the mended twin of each: what the attacks are tried on.

`sound` is a whole task without a flaw: the agent asks a service beside it for a token, which is new in every episode, and
hands in a file; the verifier runs on a machine of its own and holds the file against what the service says it gave out.
A flaw is a change of some of its files: `Flaw.folder` writes the flawed folder, `Flaw.twin` the mended one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.registry import Task, read_task

BASE = "parley/agent:1"
"""An image that is here, with bash, curl and Python, and with an ordinary user called agent."""

TOML = """
schema_version = "1.4"
artifacts = [{ source = "/workspace/answer.txt" }, { source = "/var/lib/tokens/given", service = "api" }]
[task]
name = "somebody/sound"
[agent]
timeout_sec = 60.0
user = "agent"
[verifier]
timeout_sec = 30.0
environment_mode = "separate"
[environment]
memory_mb = 512
"""

COMPOSE = """
services:
  main:
    depends_on:
      api: { condition: service_healthy }
  api:
    build: { context: ./api }
    init: true
    healthcheck:
      test: ["CMD", "python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 9000), 1)"]
      interval: 0.2s
      timeout: 5s
      retries: 60
"""

SERVER = """
import http.server, os, secrets

TOKEN = secrets.token_hex(16)
os.makedirs("/var/lib/tokens", exist_ok=True)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"not here"
        if self.path == "/token":
            body = TOKEN.encode()
            with open("/var/lib/tokens/given", "w") as file:
                file.write(TOKEN)
        self.send_response(404 if body == b"not here" else 200)
        self.end_headers()
        self.wfile.write(body)


http.server.HTTPServer(("0.0.0.0", 9000), Handler).serve_forever()
"""

SOLVE = """#!/bin/bash
curl -fs http://api:9000/token > /workspace/answer.txt
"""

TEST_SH = """#!/bin/bash
echo 0 > /logs/verifier/reward.txt
answer=/workspace/answer.txt given=/var/lib/tokens/given
[ -f "$answer" ] && [ ! -L "$answer" ] && [ -s "$given" ] && cmp -s "$answer" "$given" && echo 1 > /logs/verifier/reward.txt
true
"""

DOCKERFILE = f"""FROM {BASE}
USER root
RUN mkdir -p /workspace && chown agent:agent /workspace
WORKDIR /workspace
"""

API_DOCKERFILE = f"""FROM {BASE}
USER root
COPY server.py /srv/server.py
ENTRYPOINT []
CMD ["python3", "/srv/server.py"]
"""

TESTS_DOCKERFILE = f"""FROM {BASE}
USER root
RUN mkdir -p /workspace /var/lib/tokens /logs/verifier
COPY . /tests/
"""

SOUND: Mapping[str, str] = {
    "task.toml": TOML,
    "instruction.md": "Ask http://api:9000/token for a token and write it to /workspace/answer.txt, with nothing around it.\n",
    "environment/Dockerfile": DOCKERFILE,
    "environment/docker-compose.yaml": COMPOSE,
    "environment/api/Dockerfile": API_DOCKERFILE,
    "environment/api/server.py": SERVER,
    "solution/solve.sh": SOLVE,
    "tests/Dockerfile": TESTS_DOCKERFILE,
    "tests/test.sh": TEST_SH,
}
"""A task without a flaw, by file."""


@dataclass(frozen=True)
class Flaw:
    """One flaw: the files that differ from the sound task, and those of its mended twin; None takes a file away."""

    name: str
    attack: int
    """The number of the attack that must find it."""

    flawed: Mapping[str, str | None]
    mended: Mapping[str, str | None] = field(default_factory=dict)
    """Where the twin differs from the sound task: as little as mends the flaw."""

    def folder(self, root: Path) -> Task:
        """The flawed folder."""
        return _written(root / f"flawed-{self.name}", {**SOUND, **self.flawed})

    def twin(self, root: Path) -> Task:
        """The mended folder."""
        return _written(root / f"mended-{self.name}", {**SOUND, **self.mended})


def _written(folder: Path, files: Mapping[str, str | None]) -> Task:
    for name, text in files.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("somebody/sound", f"somebody/{folder.name}"), encoding="utf-8")
    return read_task(folder)
