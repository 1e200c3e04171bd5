"""Packages that moved from `harness` to `parley` are importable by their former names, with a warning."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import parley
import parley.training


@pytest.mark.parametrize(
    ("former", "name", "today"),
    [
        ("harness.env", "Episode", "parley.training"),
        ("harness.testing.openai_server", "OpenAIServer", "parley.testing.openai_server"),
        ("harness.testing.scripts", "Script", "parley.testing.scripts"),
        ("harness.interop.atif", "whole_trajectory", "parley.interop.atif"),
    ],
)
def test_former_names_work_with_a_warning(former: str, name: str, today: str) -> None:
    """A program written against the former names goes on working, and is told the new one."""
    script = f"from {former} import {name}; print({name}.__name__)"
    done = subprocess.run([sys.executable, "-W", "always", "-c", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, getattr(importlib.import_module(today), name).__name__)
    assert f"is {'.'.join(today.split('.')[:2])} now" in done.stderr


def test_public_names() -> None:
    """`parley` has the names that it declares, and no other."""
    assert parley.Episode is parley.training.Episode
    assert {name: getattr(parley, name) for name in parley.__all__}.keys() <= set(dir(parley))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        parley.Nothing  # noqa: B018
