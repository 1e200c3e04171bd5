"""Meaning of each label of this family, in one line."""

from __future__ import annotations

from worlds.hidden_profile.labels import Label

MEANINGS: dict[str, str] = {
    Label.SUCCESS.value: "Everybody voted for the right option.",
    Label.NOT_POOLED.value: "Somebody voted for another option, and had heard too little to know the right one.",
    Label.NOT_HEARD.value: "Somebody voted for another option, though what they had heard proves the right one.",
    Label.INVALID_VOTE.value: "Somebody's last vote is missing, or names no option.",
    Label.OTHER.value: "Somebody voted for another option, and the scenario proves none to be right; or the session broke off.",
}
"""A line for each label."""
