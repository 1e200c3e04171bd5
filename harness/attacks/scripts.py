"""What attacks run in `main`: programs of their own in the folder in-main, read as text and put there."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent / "in-main"


def script(name: str) -> str:
    """A script by its file's name."""
    return (_FOLDER / name).read_text(encoding="utf-8")
