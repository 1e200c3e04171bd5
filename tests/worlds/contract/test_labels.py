"""The taxonomy is complete: fifteen labels, three axes, the severities of the design."""

from __future__ import annotations

from collections import Counter

import pytest

from worlds.contract.labels import LABELS, Axis, Label, severity

SEVERITIES = {
    "SUCCESS": 1.0, "EXPIRED_BEFORE_USE": -1.0, "MUTATED_TOKEN": -1.0, "SIGNATURE_MISMATCH": -0.95, "SHORTCUT_TAKEN": -0.9,
    "COMPENSATION_FAILURE": -0.9, "WRONG_HASH": -0.85, "WRONG_VALUE": -0.8, "VERSION_CONFLICT": -0.75,
    "MISSING_CONSTRAINT": -0.7, "MISSING_TOKEN": -0.7, "BACKOFF_VIOLATION": -0.6, "RATE_LIMITED": -0.5,
    "SCHEDULED_UNAVAILABLE": -0.5, "OTHER": -0.3,
}  # fmt: skip


def test_every_label_has_a_row() -> None:
    """Each of the fifteen labels is described, and its name is its value."""
    assert list(Label) == list(LABELS)
    assert [label.name for label in Label] == [label.value for label in Label]


def test_axes() -> None:
    """Four labels are about validity, nine about integrity, two about neither."""
    expected = {Axis.VALIDITY: 4, Axis.INTEGRITY: 9, Axis.META: 2}

    assert expected == Counter(row.axis for row in LABELS.values())


def test_severities() -> None:
    """The signed severities are the design's, to the digit."""
    assert {label.value: row.severity for label, row in LABELS.items()} == SEVERITIES


@pytest.mark.parametrize("label", Label)
def test_rows_say_something(label: Label) -> None:
    """Source, deficit and coaching are there, and coaching names no label and no value."""
    row = LABELS[label]

    assert all((row.source, row.deficit, row.coaching.endswith(".")))
    assert not any(other in row.coaching for other in Label)


def test_severity_outside_the_taxonomy() -> None:
    """A label that is none has no severity."""
    with pytest.raises(ValueError, match=r"^'REVOKED' is not a valid Label$"):
        severity("REVOKED")
