"""A file is left unread only where nothing of it would be run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.paths import ROOT
from tests.selecting import is_left_out

DECLARED = ("docker", "bubblewrap", "property", "proof")
FAST = "not docker and not bubblewrap and not property and not proof"
PLAIN = "def test_a() -> None: ...\n"


@pytest.mark.parametrize(
    ("text", "beside", "expression", "is_out"),
    [
        (PLAIN, "", FAST, False),
        (PLAIN, "", "", False),
        (PLAIN, "", "property and not proof", True),
        (f"pytestmark = pytest.mark.property\n{PLAIN}", "", FAST, True),
        (f"pytestmark = pytest.mark.property\n{PLAIN}", "", "property and not proof", False),
        (f"pytestmark = pytest.mark.docker\n@pytest.mark.proof\n{PLAIN}", "", "proof", False),
        (f"@pytest.mark.property\n{PLAIN}", "", FAST, False),
        (f"@pytest.mark.parametrize('a', spread(ALL))\n{PLAIN}", "", "property and not proof", False),
        (f"@pytest.mark.property\n{PLAIN}", "", "docker and not proof", True),
        (PLAIN, "PARAMS = [pytest.param(1, marks=pytest.mark.docker)]\n", "docker and not proof", False),
        (f"pytestmark = pytest.mark.property\n{PLAIN}", "", "not proprety", False),
        (f"pytestmark = pytest.mark.property\n{PLAIN}", "", "not property(1)", False),
    ],
)
def test_a_file_is_left_out_where_no_test_of_it_can_be_chosen(
    tmp_path: Path, text: str, beside: str, expression: str, is_out: bool
) -> None:
    """Its own marker, those of single tests and of the fixtures beside it count; what is no marker rules out nothing."""
    (tmp_path / "test_a.py").write_text(text, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(beside, encoding="utf-8")

    assert is_left_out(tmp_path / "test_a.py", expression, DECLARED) == is_out


def test_markers_stand_where_they_are_looked_for() -> None:
    """Files of tests, the conftest.py beside them and `spread` alone mark a test; all of a file is marked in one way."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    elsewhere = [path for path, text in texts.items() if re.search(r"mark\.(docker|bubblewrap|property|proof)\b", text)]
    marked = [line for text in texts.values() for line in re.findall(r"^pytestmark.*$", text, re.MULTILINE)]

    assert [path for path in elsewhere if not path.name.startswith(("test_", "conftest", "sampling"))] == []
    assert [line for line in marked if not re.fullmatch(r"pytestmark = pytest\.mark\.\w+", line)] == []
