"""What several rooms of the suite share: a small world with one route of each kind, the tasks, and a command line.

`bench()` opens the small world in process. `harness(...)` runs the real command in a process of its own, a copy of one that has
imported everything (tests/forked.py).
Property tests draw a few cases each time, and others the next time; in CI they draw many, and the same ones each time, because
red must mean there that a change broke something.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from harness.paths import ROOT
from harness.registry import Task, read_task
from tests.forked import WaitingHarness
from tests.sampling import unsampled
from tests.selecting import is_left_out
from worlds.core.calls import Call, Reply, Unreadable, Violation, get, post, protocol, put
from worlds.core.events import EventLog
from worlds.core.manifest import Budgets, Knob, Manifest, Option
from worlds.core.testing import InProcess
from worlds.core.world import World, WorldSetup

IN_CI = "CI" in os.environ
settings.register_profile(
    "parley", max_examples=100 if IN_CI else 25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=IN_CI,
    print_blob=True,
)  # fmt: skip
settings.load_profile("parley")
HOST_TOKEN = "a-host-token"
Bench = Callable[..., InProcess]
Command = Callable[..., subprocess.CompletedProcess[str]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--sample 4` keeps a quarter of the cases of each test that has many."""
    parser.addoption("--sample", type=int, default=1, metavar="N", help="of each test with many cases, one in N, drawn by hash")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of which the markers that are asked for leave nothing is not imported."""
    if not collection_path.name.startswith("test_") or not (expression := config.option.markexpr):
        return None
    declared = [line.partition(":")[0] for line in config.getini("markers")]
    return is_left_out(collection_path, expression, declared) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What talks to a model comes first: one of two processes gets it all, and only that one spends four seconds on LiteLLM."""
    left_out = unsampled([item.nodeid for item in items], config.getoption("--sample"))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]
    items.sort(key=lambda item: not _plays_a_model(item))


def pytest_collection(session: pytest.Session) -> None:
    """What is collected stays until the end: no search for garbage need look through it, now or later.

    Where nothing is compiled yet, every second worker imports from the end, so that each finds half of the files compiled.
    """
    gc.disable()
    place = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    if place % 2 and session.config.args == session.config.getini("testpaths"):
        for file in sorted((ROOT / "tests").rglob("test_*.py"), reverse=True):
            if not pytest_ignore_collect(file, session.config):
                with suppress(Exception, pytest.skip.Exception):  # it is told of when it is collected
                    import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """From here on garbage is made, but not much of it: to look for it after every 700 objects takes a fourth of the time."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()
    atexit.register(gc.unfreeze)


def _plays_a_model(item: pytest.Item) -> bool:
    assert isinstance(item, pytest.Function)
    return "recorded" in item.fixturenames or _has_a_model(item.module)


@cache
def _has_a_model(module: ModuleType) -> bool:
    places = {getattr(value, "__module__", None) for value in vars(module).values()}
    modules = [module, *(sys.modules[name] for name in places if name in sys.modules and str(name).startswith("tests."))]
    return any(not {"OpenAIServer", "LlmAgent", "LlmConfig"}.isdisjoint(vars(one)) for one in modules)


@pytest.fixture(autouse=True)
def no_event_loop_is_left() -> Iterator[None]:
    """LiteLLM makes an event loop in the main thread and leaves it open; a later test would be blamed for that."""
    yield
    if "litellm" in sys.modules:
        with warnings.catch_warnings(action="ignore"), suppress(RuntimeError):
            asyncio.get_event_loop_policy().get_event_loop().close()
            asyncio.set_event_loop(None)


class BenchWorld(World):
    """One route of each kind."""

    def prepare(self) -> None:
        """Draw one secret."""
        self.secret = self.chance("secret").hex(8)

    def facts(self) -> Mapping[str, Any]:
        """The secret, which the instruction tells."""
        return {"secret": self.secret}

    def judge_submission(self, call: Call) -> Reply:
        """The secret is the goal."""
        if call.body == b"unreadable":
            raise Unreadable("the body must be readable")
        if call.body != self.secret.encode():
            raise Violation("WRONG_VALUE", "the submission is not the result", field="submission")
        return Reply({"accepted": True}, kind="goal")

    @get("/ok", query=("a", "b"))
    def ok(self, call: Call) -> dict[str, Any]:
        """Fine, and an artifact handed out."""
        self.issued("token", expires_at=self.now + 2000)
        return {"a": call.query("a"), "ü": "é"}

    @get("/use")
    def use(self, call: Call) -> str:
        """Fine, and the artifact used."""
        self.used("token")
        return "used"

    @get("/item/{name}", cost="slow")
    def item(self, call: Call) -> bytes:
        """The decoded path parameter, at another cost."""
        return call.params["name"].encode()

    @get("/challenge")
    def challenge(self, call: Call) -> Reply:
        """A planned refusal."""
        return protocol(428, "a challenge comes first", body={"challenge": "c"}, headers=(("X-Challenge", "c"),))

    @get("/broken")
    def broken(self, call: Call) -> Reply:
        """A broken rule."""
        raise Violation("MUTATED_TOKEN", "the token is not as issued", also="WRONG_VALUE", resource_id="token")

    @get("/busy")
    def busy(self, call: Call) -> Reply:
        """A broken rule whose refusal carries a header."""
        raise Violation("RATE_LIMITED", "more requests than allowed", status=429, headers=(("Retry-After", "3"),))

    @get("/fault")
    def fault(self, call: Call) -> Reply:
        """A rule that fails."""
        raise KeyError("oops")

    @get("/unsendable")
    def unsendable(self, call: Call) -> Reply:
        """A body that no response can carry."""
        return Reply({"a set": {1}})

    @get("/unloggable")
    def unloggable(self, call: Call) -> Reply:
        """A detail that no log can hold."""
        raise Violation("WRONG_VALUE", "the value is wrong", given=float("inf"))

    @post("/echo")
    def echo(self, call: Call) -> dict[str, Any]:
        """The body as a JSON object."""
        return call.json()

    @put("/late", cost="slow")
    def late(self, call: Call) -> str:
        """Another method."""
        return "put"


def bench_manifest(steps: int, virtual_seconds: float, levels: Mapping[int, Any]) -> Manifest:
    """The small world's description."""
    return Manifest(
        task_id="bench",
        family="contract",
        category="both",
        budgets=Budgets(steps=steps, virtual_seconds=virtual_seconds),
        costs={"request": 1.0, "slow": 2.5},
        options={"mode": Option(default="a", values=("a", "b"), doc="a choice")},
        knobs={"ttl": Knob(default=5, min=1, max=9, doc="a life")},
        levels=levels,
    )


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """What opens the small world in process, with another seed, budget, option, sink, class or levels where asked."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "instruction.md.j2").write_text("# Bench\n\nThe secret is {{ secret }}.\n", encoding="utf-8")

    def opened(
        *,
        seed: int = 0,
        steps: int = 1999,
        virtual_seconds: float = 100_000,
        overrides: Mapping[str, Any] | None = None,
        sink: Callable[[bytes], object] | None = None,
        cls: type[World] = BenchWorld,
        levels: Mapping[int, Any] = MappingProxyType({}),
    ) -> InProcess:
        manifest = bench_manifest(steps, virtual_seconds, levels)
        setup = WorldSetup(manifest, seed, overrides=overrides or {}, host_token=HOST_TOKEN, folder=folder)
        return InProcess(cls(setup, EventLog(sink)))

    return opened


@pytest.fixture(scope="session")
def bench_class() -> type[World]:
    """The small world's class, for tests that override a part of it."""
    return BenchWorld


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def presigned() -> Task:
    """The one task that this suite knows by name."""
    return read_task(ROOT / "tasks" / "contract" / "presigned-url-download")


@pytest.fixture(scope="session")
def rate_limit() -> Task:
    """A second one, whose pressure is a quota."""
    return read_task(ROOT / "tasks" / "contract" / "api-rate-limit-patience")


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """Runs the command line in a process of its own."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}
    waiting = WaitingHarness(ROOT, environ, tmp_path_factory.mktemp("harness"))

    def run(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        environ = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")} | dict(env or {})
        return waiting.run([*map(str, arguments)], environ)

    yield run
    waiting.close()
