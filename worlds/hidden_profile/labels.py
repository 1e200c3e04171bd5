"""How a hidden-profile episode ended: everybody voted the key, or what was lost on the way, pooling before listening.

The reward is the share of seats whose final vote is the key. An episode's label is SUCCESS at reward 1.0, whatever each seat
knew: a lucky vote shows in grounded accuracy, not here. Else the first of these that applies to a seat that did not vote the
key: INVALID_VOTE, NOT_POOLED, NOT_HEARD; so NOT_HEARD says that every seat that failed could have known. OTHER is for
scenarios that prove nothing (imported prose) and for sessions that broke off.
"""

from __future__ import annotations

from enum import StrEnum


class Label(StrEnum):
    """Outcomes of an episode; the losses are those of the specification, 1.4."""

    SUCCESS = "SUCCESS"
    NOT_POOLED = "NOT_POOLED"
    """A seat that failed held and heard too little: its known facts do not entail the key."""

    NOT_HEARD = "NOT_HEARD"
    """The known facts of every seat that failed entail the key, and it voted something else."""

    INVALID_VOTE = "INVALID_VOTE"
    """A seat's final vote was missing, or no option."""

    OTHER = "OTHER"
