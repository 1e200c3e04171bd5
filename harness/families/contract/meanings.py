"""What a label of this family means, in a line: the first sentence of its row in the taxonomy, which speaks to the agent."""

from __future__ import annotations

from worlds.contract.labels import LABELS

MEANINGS: dict[str, str] = {label.value: f"{row.coaching.partition('. ')[0].rstrip('.')}." for label, row in LABELS.items()}
"""A line for each label."""
