"""Packages that moved from `harness` to `parley` are importable by their former names, with a warning."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import parley
import parley.training

FORMER = {
    "harness.env.Episode": "parley.training",
    "harness.testing.openai_server.OpenAIServer": "parley.testing.openai_server",
    "harness.testing.scripts.Script": "parley.testing.scripts",
    "harness.interop.atif.whole_trajectory": "parley.interop.atif",
}


def test_former_names_work_with_a_warning() -> None:
    """A program written against the former names goes on working, and is told each new one."""
    names = [former.rpartition(".")[::2] for former in FORMER]
    script = "\n".join(f"from {module} import {name}; print({name}.__name__)" for module, name in names)
    done = subprocess.run([sys.executable, "-W", "always", "-c", script], capture_output=True, text=True, check=False)

    today = [getattr(importlib.import_module(module), name) for module, (_, name) in zip(FORMER.values(), names, strict=True)]
    assert (done.returncode, done.stdout.split()) == (0, [one.__name__ for one in today])
    for module in FORMER.values():
        assert f"is {'.'.join(module.split('.')[:2])} now" in done.stderr


def test_public_names() -> None:
    """`parley` has the names that it declares, and no other."""
    assert parley.Episode is parley.training.Episode
    assert {name: getattr(parley, name) for name in parley.__all__}.keys() <= set(dir(parley))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        parley.Nothing  # noqa: B018
