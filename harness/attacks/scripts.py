"""What attacks run in `main`: programs of their own in the folder in-main, read as text and put there."""

from __future__ import annotations

from pathlib import Path

from harness.pod import CommandResult, Pod

_FOLDER = Path(__file__).parent / "in-main"


def script(name: str) -> str:
    """A script by its file's name."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def shell(pod: Pod, text: str, limit_s: float = 60.0) -> CommandResult:
    """Run a bash script in `main`, in real time."""
    return pod.run(["bash", "-c", text], timeout_s=limit_s, virtual_time=False)
