"""The list of equivalents: an entry follows its line, and one that fits nothing, or says nothing new, is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import TaskInvalid
from parley.proof.mutants.run import LIST, Equivalent, matched, read_equivalents
from parley.proof.mutants.targets import ROOT, mutants_of

SOURCE = b"def f():\n    return a < 3\n"
ENTRY = Equivalent(path="a.py", within="f", line="return a < 3", operator="number-plus", was="3", reason="nobody counts so far")


def test_an_entry_follows_its_line() -> None:
    """It fits the one mutant that it describes, wherever its line stands."""
    for source in (SOURCE, b"import b\n\n" + SOURCE):
        fitting = matched([ENTRY], mutants_of("a.py", source), ["a.py"])

        assert [ENTRY] == list(fitting.values())
        assert all(name.endswith("number-plus") for name in fitting)


@pytest.mark.parametrize("change", [{"line": "return a < 4"}, {"within": "g"}, {"operator": "raise-dropped"}, {"was": "4"}])
def test_an_entry_that_fits_nothing_is_an_error(change: dict[str, str]) -> None:
    """Where its file is tried; where it is not, nothing is said."""
    entry, mutants = ENTRY.model_copy(update=change), mutants_of("a.py", SOURCE)

    with pytest.raises(TaskInvalid, match=r"a\.py lacks .* of "):
        matched([entry], mutants, ["a.py"])
    assert matched([entry], mutants, ["b.py"]) == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[[equivalent]]\npath = "a"\n', "is not a valid list of equivalents"),
        ("[[equivalent", "is not a valid list of equivalents"),
        (
            '[[equivalent]]\npath = "a"\nline = "b"\noperator = "c"\nwas = "d"\nreason = "short"\n',
            "is not a valid list of equivalents",
        ),
        (2 * '[[equivalent]]\npath = "a"\nline = "b"\noperator = "c"\nwas = "d"\nreason = "it is longer"\n', "in a twice"),
    ],
)
def test_a_broken_list_is_an_error(tmp_path: Path, text: str, why: str) -> None:
    """A key that is missing, no TOML, no reason worth the name, one thing twice."""
    path = tmp_path / "equivalents.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(TaskInvalid, match=why):
        read_equivalents(path)


def test_every_entry_of_ours_fits() -> None:
    """No entry of the list is left over from a line that has changed."""
    listed = read_equivalents(LIST)
    paths = {entry.path for entry in listed}
    mutants = [
        mutant
        for path in sorted(paths)
        for mutant in mutants_of(path, (ROOT / path).read_bytes(), draws=not path.startswith("validators/"))
    ]

    assert {entry.key for entry in matched(listed, mutants, paths).values()} == {entry.key for entry in listed}
