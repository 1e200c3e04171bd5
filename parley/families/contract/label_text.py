"""Meaning of each label of this family in one line: the first sentence of its row in the taxonomy, written for the agent."""

from __future__ import annotations

from worlds.contract.labels import LABELS

MEANINGS: dict[str, str] = {label.value: f"{row.coaching.partition('. ')[0].rstrip('.')}." for label, row in LABELS.items()}
"""A line for each label."""
