"""Console output: results of a command go to stdout, messages and progress to stderr.

`say` prints one line for people, `emit` prints one JSON document for programs, and `harness.tables` prints tables.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

from harness.log_context import about, say

__all__ = ["about", "emit", "people", "say"]

people = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def emit(document: Any) -> None:
    """Print one JSON document for programs."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")
    sys.stdout.flush()
