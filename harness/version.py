"""Version of this package, and its commit in a checkout."""

from __future__ import annotations

import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from harness.paths import ROOT


def version_line() -> str:
    """Return version and commit in one line."""
    return f"{package_version()} ({commit()})" if commit() else package_version()


def package_version() -> str:
    """Return the version of the installed package."""
    try:
        return version("parley-bench")
    except PackageNotFoundError:
        return "not installed"


@cache
def commit() -> str:
    """Return the commit of this checkout, with `-dirty` if files are modified; "" without a checkout or git."""
    if not (ROOT / ".git").exists():
        return ""
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
