"""The line of a key, as a reader would find it."""

from __future__ import annotations

import pytest

from harness.taskfile import line_of

TEXT = """\
top = 1
[a.b]
y = 1
inline = { deep = { z = 1 } }
[a]
x = 1
"quoted" = 2
dotted.k = 3
[[list]]
name = "n"
[c . d]
w = 1
"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("top",), 1),
        (("a",), 2),
        (("a", "x"), 6),
        (("a", "quoted"), 7),
        (("a", "b"), 2),
        (("a", "b", "y"), 3),
        (("a", "b", "inline", "deep", "z"), 4),
        (("a", "b", "inline", "missing"), 4),
        (("a", "b", "missing"), 2),
        (("a", "dotted", "k"), 8),
        (("list", "0", "name"), 10),
        (("list", "0", "missing"), 9),
        (("c",), 11),
        (("c", "d", "w"), 12),
        (("nowhere",), 1),
        ((), 1),
    ],
)
def test_line_of(keys: tuple[str, ...], line: int) -> None:
    """A key has its own line, a missing one that of its section, anything else the first."""
    assert line == line_of(TEXT, keys)
