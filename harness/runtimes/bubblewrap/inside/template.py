"""PID 1 of a template: imports whole packages once, then forks the sandboxes that the host requests (`inside.forks`).

It runs in a sandbox made by bwrap: no network, no file of any task, one end of a socket. It imports only this project's code
and its libraries. Nothing that an episode does can affect it.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import sys
from contextlib import suppress

from harness.runtimes.bubblewrap.inside.init import main as serve


def import_all(name: str) -> None:
    """Import a module; for a package, import also every module in it whose dependencies are available here."""
    module = importlib.import_module(name)
    # only a package contains other modules
    within = () if module.__spec__ is None else module.__spec__.submodule_search_locations or ()
    for inner in pkgutil.walk_packages(within, f"{name}."):
        with suppress(ModuleNotFoundError):
            importlib.import_module(inner.name)


def main() -> None:
    """Import the modules that the command line names before the socket's number, and serve."""
    # Garbage collection would take 1/5 of the import time, and make children copy all of the memory.
    gc.disable()
    for name in sys.argv[2:-1]:
        import_all(name)
    gc.freeze()
    serve()
