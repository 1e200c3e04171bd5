"""Size of the code base, and the part of it that each command loads.

    python benchmarks/house.py

It counts modules and lines of harness, worlds, validators and oracles. For five commands it counts the lines of the modules
that are loaded when the command ends, each in an interpreter of its own. It exits with 1 if a command loads more than its
budget, which is the target or, until that is reached, the last value.

No Docker engine answers the command that plays in Docker, so that its figure is the same everywhere. With an engine it loads
147 lines more, for the family's own figure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.output import show_table

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
    Load("harness list", ("list",), 2_950, 2_600),
    Load("harness run, in process", (*_PLAY, "--runtime", "inprocess", "--out", "{folder}/run"), 15_300, 12_500),
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


def size(*packages: str) -> tuple[int, int]:
    """Return the number of modules and lines in these packages."""
    texts = [path.read_text(encoding="utf-8") for package in packages for path in (ROOT / package).rglob("*.py")]
    return len(texts), sum(text.count("\n") for text in texts)


def main() -> int:
    """Print the table. Return 1 if a command is above its budget."""
    rows: list[tuple[object, ...]] = []
    for name, packages in (("harness", ("harness",)), ("all five packages", PACKAGES)):
        modules, lines = size(*packages)
        rows.append((name, f"{modules:,}", f"{lines:,}", "-", "-"))
    made = figures()
    rows += [(load.name, "-", f"{made[load.name]:,}", f"{load.budget:,}", f"{load.target:,}") for load in LOADS]
    show_table(("of", "modules", "lines", "budget", "target"), rows)
    over = [load.name for load in LOADS if made[load.name] > load.budget]
    for name in over:
        print(f"{name} loads more than its budget", file=sys.stderr)
    return int(bool(over))


if __name__ == "__main__":
    raise SystemExit(main())
