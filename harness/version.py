"""Which version of this package runs, and of which commit, where it is a checkout."""

from __future__ import annotations

import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from harness.places import ROOT


def told_version() -> str:
    """Version and commit in one line."""
    return f"{package_version()} ({commit()})" if commit() else package_version()


def package_version() -> str:
    """The version of the installed package."""
    try:
        return version("parley-bench")
    except PackageNotFoundError:
        return "not installed"


@cache
def commit() -> str:
    """The commit of this checkout, with `-dirty` where files differ from it; "" where there is no checkout or no git."""
    if not (ROOT / ".git").exists():
        return ""
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
