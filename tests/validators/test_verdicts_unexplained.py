"""What a verdict says of a failure that no rule names is what the table of labels says of OTHER."""

from __future__ import annotations

from validators.verdict import UNEXPLAINED, UNEXPLAINED_SEVERITY
from worlds.contract.labels import LABELS, Label


def test_severity_is_the_one_of_the_table() -> None:
    """One number, in two rooms that may not import each other."""
    assert Label(UNEXPLAINED) is Label.OTHER
    assert LABELS[Label.OTHER].severity == UNEXPLAINED_SEVERITY
