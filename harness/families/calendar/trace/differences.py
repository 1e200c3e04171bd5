"""Where two JSON values differ, by path: what the file says, and what it should say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_SHOWN = 80
NOTHING = "nothing"


def differences(told: Any, meant: Any, path: str = "") -> Iterator[str]:
    """One line for each value of `told` that is not what is `meant`; 1 and 1.0 are one number, true is none."""
    if isinstance(told, dict) and isinstance(meant, dict):
        for key in [*meant, *(key for key in told if key not in meant)]:
            below = f"{path}.{key}" if path else str(key)
            if key in told and key in meant:
                yield from differences(told[key], meant[key], below)
            else:
                yield _line(below, told.get(key, _Absent), meant.get(key, _Absent))
    elif isinstance(told, list) and isinstance(meant, list):
        for place, (one, other) in enumerate(zip(told, meant, strict=False)):
            yield from differences(one, other, f"{path}[{place}]")
        if len(told) != len(meant):
            yield f"{path}: {len(told)} entries in the file, {len(meant)} by the rules"
    elif isinstance(told, bool) is not isinstance(meant, bool) or told != meant:
        yield _line(path, told, meant)


class _Absent:
    """What a key stands for that is not there."""


def _line(path: str, told: Any, meant: Any) -> str:
    return f"{path}: {_brief(told)} in the file, {_brief(meant)} by the rules"


def _brief(value: Any) -> str:
    if value is _Absent:
        return NOTHING
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
