"""A copy of this checkout for whoever types what a page says, with `harness` on its path and a model behind a local address."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.paths import ROOT
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script

COPIED = ("harness", "parley", "worlds", "oracles", "validators", "docker", "tasks", "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True)
class Reader:
    """Somebody who types what a page says."""

    checkout: Path
    environ: Mapping[str, str]

    def types(self, line: str) -> subprocess.CompletedProcess[str]:
        """What a line does; errors are among what it prints, as on a terminal."""
        return subprocess.run(
            ["bash", "-c", line], cwd=self.checkout, env=self.environ, text=True, timeout=600, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def tidies_up(self) -> None:
        """Takes away what earlier pages made."""
        for left in [path for path in self.checkout.iterdir() if path.name not in COPIED] + [
            *self.checkout.glob("tasks/*/my-*")
        ]:
            shutil.rmtree(left) if left.is_dir() else left.unlink()


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A reader with a checkout, a model behind a local address, and no Docker."""
    checkout, binary = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("bin") / "harness"
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, checkout / name)
    binary.write_text(f'#!/bin/sh\nexec {sys.executable} -m harness "$@"\n')
    binary.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    with OpenAIServer(Script(play=lambda messages: "I do not know.")) as server:
        yield Reader(
            checkout,
            kept
            | {
                "PATH": f"{binary.parent}:{kept['PATH']}", "PYTHONPATH": str(checkout), "OPENAI_API_KEY": "sk-local",
                "OPENAI_BASE_URL": server.url, "DOCKER_HOST": "unix:///nowhere", "COLUMNS": "128",
            },
        )  # fmt: skip
