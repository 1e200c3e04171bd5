"""Size of the code base, and the part of it that each command loads.

    python benchmarks/house.py

It counts modules and lines of our packages, words of docs, and distributions that playing needs. For five commands it counts
the lines of our modules that are loaded when the command ends, each in an interpreter of its own. It exits with 1 if a figure
is above its budget, which is the target or, until that is reached, the last value with a little to spare.

No Docker engine answers the command that plays in Docker, so that its figure is the same everywhere. With an engine it loads
147 lines more, for the family's own figure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

from harness.tables import show_table

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("harness", "parley", "worlds", "validators", "oracles")

_PLAY = ("run", "presigned-url-download", "--agent", "oracle")


@dataclass(frozen=True)
class Load:
    """A command, and the maximum number of lines it may load."""

    name: str
    words: tuple[str, ...]
    budget: int
    target: int
    exit_code: int = 0


LOADS = (
    Load("harness --help", ("--help",), 900, 900),
    Load("harness list", ("list",), 2_630, 2_600),
    Load("harness run, in process", (*_PLAY, "--runtime", "inprocess", "--out", "{folder}/run"), 12_500, 12_500),
    Load("harness run, in Docker", (*_PLAY, "--runtime", "docker", "--out", "{folder}/docker"), 15_500, 15_500, 3),
    Load("harness report", ("report", "{folder}/run"), 9_000, 9_000),
)
"""Commands in the order of a session: the reported run was played before."""

_COUNTED = """
import atexit, sys

def count():
    files = [getattr(module, "__file__", None) or "" for name, module in sys.modules.items() if name.split(".")[0] in PACKAGES]
    lines = sum(open(file, encoding="utf-8").read().count("\\n") for file in files if file.endswith(".py"))
    open(OUT, "w").write(str(lines))

atexit.register(count)
sys.argv[0] = "harness"
from harness.cli import main
main()
"""


def loaded(load: Load, folder: Path) -> int:
    """Return the lines of our modules that a command has loaded when it ends. Raises RuntimeError on another exit code."""
    out = folder / "lines"
    script = f"PACKAGES, OUT = {PACKAGES!r}, {str(out)!r}\n{_COUNTED}"
    words = [word.format(folder=folder) for word in load.words]
    done = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=ROOT, env=os.environ | {"DOCKER_HOST": f"unix://{folder}/none"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != load.exit_code:
        raise RuntimeError(f"{load.name} ended with {done.returncode}: {done.stderr}")
    return int(out.read_text(encoding="utf-8"))


def figures() -> dict[str, int]:
    """Return the lines that each command loads, by name."""
    with tempfile.TemporaryDirectory() as folder:
        return {load.name: loaded(load, Path(folder)) for load in LOADS}


def lines_in(*folders: str) -> int:
    """Return the lines of the Python files below these folders."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files_in(*folders))


def files_in(*folders: str) -> list[Path]:
    """Return the Python files below these folders, or the files themselves."""
    places = [ROOT / folder for folder in folders]
    return [path for place in places for path in (sorted(place.rglob("*.py")) if place.is_dir() else [place])]


def runtime_distributions() -> list[str]:
    """Return the distributions that `make task` installs, by the lock."""
    lock = (ROOT / "requirements-runtime.lock").read_text(encoding="utf-8")
    needs = [Requirement(line.rstrip(" \\")) for line in lock.splitlines() if line and line[0].isalnum()]
    return [need.name for need in needs if need.marker is None or need.marker.evaluate()]


def megabytes(names: list[str]) -> int:
    """Return the size of the files of these distributions in this environment, without compiled copies, in MB."""
    files = [Path(str(file.locate())) for name in names for file in distribution(name).files or () if file.suffix != ".pyc"]
    return round(sum(file.stat().st_size for file in files if file.is_file()) / 1e6)


def words_of_docs() -> int:
    """Return the words of the pages that people read, without the changelog."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def sizes() -> dict[str, tuple[float, float, float]]:
    """Return each figure of the code base, its budget and its target."""
    code, names = lines_in(*PACKAGES), runtime_distributions()
    return {
        "lines of harness/episode.py": (lines_in("harness/episode.py"), 300, 300),
        "lines of harness": (lines_in("harness"), 19_000, 19_000),
        "lines of the five packages": (code, 80_520, 70_000),
        "modules of the five packages": (len(files_in(*PACKAGES)), 520, 520),
        "lines of tests a line of code": (round(lines_in("tests") / code, 3), 0.9, 0.9),
        "words of docs": (words_of_docs(), 52_200, 50_600),
        "distributions of make task": (len(names), 81, 80),
        "their files, MB": (megabytes(names), 410, 410),
    }


def main() -> int:
    """Print the table. Return 1 if a figure is above its budget."""
    made = figures()
    rows = sizes() | {f"lines loaded by {load.name}": (made[load.name], load.budget, load.target) for load in LOADS}
    show_table(("figure", "is", "budget", "target"), [(name, *(f"{one:,}" for one in row)) for name, row in rows.items()])
    over = [name for name, (value, budget, _) in rows.items() if value > budget]
    for name in over:
        print(f"{name}: above the budget", file=sys.stderr)
    return int(bool(over))


if __name__ == "__main__":
    raise SystemExit(main())
