"""Paths of the pages of runs and episodes, in a bundle of `harness view` and on its server, for links from other pages.

1. Every path is relative to the folder of the bundle and needs no quoting in a link, except for characters beyond ASCII in a
   task's name, which browsers quote.
2. A run is called by the name of its folder. If several runs share one, the parent folder is added. A page that links to a
   bundle must use the same list of runs as the bundle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from harness.records import Key
from parley.places import run_name

INDEX = "index.html"

_UNUSUAL = re.compile(r"[^A-Za-z0-9_.=,+-]|^\.+")


def run_names(folders: Sequence[Path]) -> dict[str, Path]:
    """Return each run's folder under a unique name, in the order of `folders`."""
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
    """Return the path of a page of a run's episodes, numbered from 1."""
    return f"runs/{run}/{INDEX}" if number == 1 else f"runs/{run}/page-{number}.html"


def episode_page(run: str, key: Key) -> str:
    """Return the path of an episode's page."""
    return f"episodes/{run}/{key.name}.html"


def episode_name(key: Key) -> str:
    """Return the text of a link to an episode: task and seed, and the attempt unless it is the first."""
    return f"{key.task_id} {seed_name(key)}"


def seed_name(key: Key) -> str:
    """Return the seed, and the attempt unless it is the first: `seed 1, attempt 2`."""
    return f"seed {key.seed}" + (f", attempt {key.attempt}" if key.attempt != 1 else "")


def _plain(name: str) -> str:
    return _UNUSUAL.sub("-", name) or "run"


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"
