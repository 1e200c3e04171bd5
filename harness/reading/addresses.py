"""Where the pages of runs and episodes lie, in a bundle of `harness view` and on its server, so that others can link there.

1. Every address is relative to the folder of the bundle, and made of letters that need no quoting in a link; of those beyond
   ASCII, as a task's name may hold, browsers take care.
2. A run is called by the name of its folder. Where several runs share one, the folder above is named too. Who links to a bundle
   must name the same runs as the bundle holds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from harness.records import Key
from harness.run_files import run_name

INDEX = "index.html"

_UNUSUAL = re.compile(r"[^A-Za-z0-9_.=,+-]|^\.+")


def run_names(folders: Sequence[Path]) -> dict[str, Path]:
    """Each run's folder by a name that no other of them has, in their order."""
    plain = [_plain(run_name(folder)) for folder in folders]
    counted = Counter(plain)
    wanted = [
        name if counted[name] == 1 else f"{_plain(folder.parent.name)}--{name}"
        for folder, name in zip(folders, plain, strict=True)
    ]
    named: dict[str, Path] = {}
    for folder, name in zip(folders, wanted, strict=True):
        number = next(number for number in range(1, len(folders) + 1) if _numbered(name, number) not in named)
        named[_numbered(name, number)] = folder
    return named


def run_page(run: str, number: int = 1) -> str:
    """One page of a run's episodes, from 1."""
    return f"runs/{run}/{INDEX}" if number == 1 else f"runs/{run}/page-{number}.html"


def episode_page(run: str, key: Key) -> str:
    """The page of one episode."""
    return f"episodes/{run}/{key.name}.html"


def episode_name(key: Key) -> str:
    """What a link to an episode says: task and seed, and the attempt where it is not the first."""
    return f"{key.task_id} {seed_name(key)}"


def seed_name(key: Key) -> str:
    """Seed, and the attempt where it is not the first: `seed 1, attempt 2`."""
    return f"seed {key.seed}" + (f", attempt {key.attempt}" if key.attempt != 1 else "")


def _plain(name: str) -> str:
    return _UNUSUAL.sub("-", name) or "run"


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"
