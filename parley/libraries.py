"""Optional libraries of the extra `[report]`; runs do not need them."""

from __future__ import annotations

import importlib
from typing import Any

from harness.errors import UsageError
from harness.paths import is_checkout

REPORT_EXTRA = "make setup" if is_checkout() else "pip install 'parley-bench[report]'"
"""Command that installs the libraries of reports and packed runs."""


def report_library(name: str) -> Any:
    """Import a library that only reports and packed runs need; raises UsageError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name.partition(".")[0]:
            raise
        raise UsageError(f"this needs {error.name}, which is not installed", hint=REPORT_EXTRA) from None
