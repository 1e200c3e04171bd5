"""Labels of a hidden-profile episode: all seats voted for the key, or why some did not.

The reward is the fraction of seats whose final vote is the key. The label is SUCCESS at reward 1.0, regardless of the knowledge
of the seats: a lucky vote affects grounded accuracy only. Otherwise it is the first of these that applies to a seat that did
not vote for the key: INVALID_VOTE, NOT_POOLED, NOT_HEARD. So NOT_HEARD means that every failed seat could have known. OTHER is
for scenarios that prove nothing (imported prose) and for sessions that broke off.
"""

from __future__ import annotations

from enum import StrEnum


class Label(StrEnum):
    """Outcomes of an episode; the losses are those of the specification, 1.4."""

    SUCCESS = "SUCCESS"
    NOT_POOLED = "NOT_POOLED"
    """The facts that a failed seat held or heard do not entail the key."""

    NOT_HEARD = "NOT_HEARD"
    """The known facts of every failed seat entail the key, but it voted for another option."""

    INVALID_VOTE = "INVALID_VOTE"
    """A seat's final vote was missing, or named no option."""

    OTHER = "OTHER"
