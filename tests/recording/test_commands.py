"""What sixty commands say is what they said before the house was rebuilt, but for times, sizes and places.

The runs that are read are played here, in this process and without a model, so that everything follows from the tasks alone.
`python -m tests.recording.test_commands` writes commands/ anew; nothing but a change that is meant to show may need that.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.paths import ROOT
from tests.forked import WaitingHarness

RECORDED = Path(__file__).with_name("commands")
PLAYED = {
    "contract": "presigned-url-download multi-turn-recall scheduled-maintenance webhook-hmac-verify --agent oracle,nop --k 2",
    "wrong": "presigned-url-download --agent violation:late_link",
    "levels": "presigned-url-download token-refresh-workflow --agent oracle --seeds 0-2 --set level=3",
    "calendar": "uniform-0* varied-prior-01 --agent oracle,imap,dsm-private,nop",
    "hidden": "bakery-switch mayors-chain chapel-roof-slate --agent oracle,pool,coin --seeds 0-1",
    "arms": "bakery-switch mayors-chain --agent pool,coin --set condition=full",
}
"""The runs, by name: what stands behind `harness run`."""

LONGEST = 3000
"""Characters of a written file that is recorded word for word."""

EVERYTHING = "{contract} {levels} {calendar} {hidden} {arms}"
HELP = [
    "list", "show", "run", "view", "runs", "merge", "pack", "unpack", "host", "report", "compare", "leaderboard", "audit",
    "export", "replay", "models", "verify", "new", "sync", "generate", "import", "release", "images", "clean", "doctor",
]  # fmt: skip
COMMANDS = [
    "--help", *(f"{name} --help" for name in HELP),
    "list", "list --families", "list contract --json", "list nothing-like-it", "show presigned-url-download",
    "show presigned-url-download --rules", "show uniform-01", "show bakery-switch", "show bakery-switch --json",
    "run contract --agent oracle --dry-run", "run uniform-01 --agent nobody", "run bakery-switch --k 0",
    "show {contract}", "show {contract}/agent=oracle presigned-url-download s0-a1 --full",
    "show {wrong} presigned-url-download",
    "show {calendar}/agent=imap uniform-01", "show {hidden}/agent=pool bakery-switch s0-a1", "show {contract} --json",
    f"report {EVERYTHING}", f"report {EVERYTHING} --table all", f"report {EVERYTHING} --markdown --all-tasks",
    f"report {EVERYTHING} --json --table all", "report {contract} --published", "report {calendar} --published",
    "report {hidden} --published", f"report {EVERYTHING} --csv {{out}}/csv", f"report {EVERYTHING} --figures {{out}}/figures",
    f"report {EVERYTHING} --html {{out}}/page.html", "report {contract} --table nothing", "report /nowhere",
    "compare {contract}/agent=oracle {contract}/agent=nop", "compare {calendar}/agent=imap {calendar}/agent=dsm-private",
    "compare {hidden} pool coin",
    "compare {wrong} {levels}",
    f"leaderboard {EVERYTHING}", "runs {out}", f"view {EVERYTHING} --bundle {{out}}/pages", "export episodes {contract}",
    "export trace {calendar} --out {out}/traces", "export harbor {out}/harbor presigned-url-download",
    "replay {out}/traces",
    "models", "verify presigned-url-download --runtime inprocess --seeds 0", "release --check", "generate calendar --help",
    "audit disclosure --help", "audit vps --help", "import calbench /nowhere --out {out}/imported",
]  # fmt: skip

MASKS = (
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?", "TIME"),
    (r"\b\d+(\.\d+)?e?-?\d* (k|M|G)?B\b *", "SIZE "),
    (r"\b\d+(\.\d+)? (s|ms|min|h)\b", "SECONDS"),
    (r"\b0x[0-9a-f]{8,}", "ADDRESS"),
    (r"(ok +\d+ +\d+ +)\d+\.\d", r"\1SECONDS"),
    (r'"(\w*(seconds|_s|latency|started|ended|began|begun|bytes|run_id|id))": [^,}\n]*', r'"\1": MEASURED'),
)
"""What differs from one time to the next, and what stands for it."""


def said(scratch: Path) -> Iterator[tuple[str, str]]:
    """Each command, with its exit code, its streams and the text files that it wrote."""
    # pytest, which prints why a hidden test failed, says more where CI is set
    settings = ("PARLEY_", "CI", "BUILD_NUMBER")
    environ = {k: v for k, v in os.environ.items() if not k.startswith(settings) and not k.endswith("_API_KEY")}
    # the hidden tests' own words, which pytest prints of what failed, have sets in any order
    environ |= {"COLUMNS": "100", "PARLEY_CACHE": str(scratch / "cache"), "PYTHONHASHSEED": "0"}
    (out := scratch / "out").mkdir()
    (streams := scratch / "streams").mkdir()
    waiting = WaitingHarness(ROOT, environ, streams)
    places = {"out": out, **{name: out / name for name in PLAYED}}
    try:
        for name, words in PLAYED.items():
            done = waiting.run(["run", *words.split(), "--runtime", "inprocess", "--yes", "--out", str(places[name])], environ)
            assert done.returncode == 0, done.stderr
        settle(out)
        for command in COMMANDS:
            before = {path for path in out.rglob("*") if path.is_file()}
            done = waiting.run(command.format(**places).split(), environ)
            written = sorted({path for path in out.rglob("*") if path.is_file()} - before)
            files = "".join(f"\n=== {path.relative_to(out)}\n{text(path, scratch)}" for path in written)
            yield (
                command,
                masked(f"exit {done.returncode}\n=== stdout\n{done.stdout}\n=== stderr\n{done.stderr}{files}", scratch),
            )
    finally:
        waiting.close()


def settle(out: Path) -> None:
    """Give runs the times and the version that they had when this was recorded: one begins a second after the other."""
    for number, path in enumerate(sorted(out.glob("**/run.json"))):
        told = json.loads(path.read_bytes())
        time = f"2026-01-01T00:00:{number:02}+00:00"
        told["stints"] = [stint | {"begun": time, "ended": time, "commit": ""} for stint in told["stints"]]
        path.write_text(json.dumps(told), encoding="utf-8")
    for path in out.glob("**/result.json"):
        told = json.loads(path.read_bytes())
        told["timings"] = dict.fromkeys(told["timings"], 0.25)
        path.write_text(json.dumps(told), encoding="utf-8")


def text(path: Path, scratch: Path) -> str:
    """A file's text, or the digest of a long one; of one that is no text, that it is there."""
    try:
        words = masked(path.read_text(encoding="utf-8"), scratch)
    except UnicodeDecodeError:
        return "bytes"
    return words if len(words) <= LONGEST else hashlib.sha256(words.encode()).hexdigest()


def masked(words: str, scratch: Path) -> str:
    """Words without what differs from one time to the next."""
    for pattern, instead in MASKS:
        words = re.sub(pattern, instead, words.replace(str(scratch), "SCRATCH").replace(str(ROOT), "ROOT"))
    return words


def file_of(number: int, command: str) -> Path:
    """Where what a command says is recorded."""
    return RECORDED / f"{number:02} {re.sub(r'[^a-z0-9-]+', ' ', command).strip()[:60]}.txt"


@pytest.mark.property
def test_commands_say_what_they_said(tmp_path: Path) -> None:
    """Each command's exit code, streams and files."""
    differing = []
    with tempfile.TemporaryDirectory(dir="/tmp") as made:  # where lines of a table are broken, its length decides
        for number, (command, words) in enumerate(said(Path(made))):
            if file_of(number, command).read_text(encoding="utf-8") != words:
                differing.append(command)
                (tmp_path / file_of(number, command).name).write_text(words, encoding="utf-8")

    assert differing == [], f"what they say now is in {tmp_path}; compare it with {RECORDED}"


if __name__ == "__main__":
    RECORDED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        for number, (command, words) in enumerate(said(Path(made))):
            file_of(number, command).write_text(words, encoding="utf-8")
