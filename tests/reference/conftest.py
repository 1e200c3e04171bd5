"""Where the reference cases of the calendar family are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference cases, which the project does not ship."""
    folder = os.environ.get("PARLEY_REFERENCE")
    assert folder, "set PARLEY_REFERENCE to the folder of reference cases"
    return Path(folder)
