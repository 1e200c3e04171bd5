"""What a message discloses of its sender's own slots: proposal, availability, cost or constraint, exact number.

After the paper's own-slot audit (Appendix G.5), by clause instead of by sentence: the words of a label count only where the
clause names a slot, or points at one, and its sender speaks of itself. `labels_of` is a pure function of the text.
"""

from __future__ import annotations

from enum import StrEnum

from harness.families.calendar.audits.words import (
    AGREEING,
    AVOIDING,
    COSTING,
    FREE,
    IMPERATIVES,
    MAKING_ROOM,
    MOST_SLOTS,
    MOVING,
    PROPOSING,
    PROPOSING_TOGETHER,
    TAKEN,
    Clause,
    any_of,
    clauses,
)


class Disclosure(StrEnum):
    """The four labels."""

    PROPOSAL = "proposal"
    """Puts named slots forward for the meeting. A question whether somebody else is free there does not."""

    AVAILABILITY = "availability"
    """Says that named slots are free, taken, or will or will not do for the sender."""

    COST = "cost-constraint"
    """Says in words what named slots would cost the sender, or that its item there must, can or cannot move, or is blocked."""

    EXACT = "exact number"
    """Tells a cost of the sender's own as a number; no slot need be named."""


_CONSTRAINTS = frozenset({"blocked", "not blocked"})
"""What a slot that holds something is called when it cannot be had: a constraint, not a matter of availability."""

_PROPOSING, _TOGETHER = any_of(PROPOSING), any_of(PROPOSING_TOGETHER)
_AVAILABLE = any_of(tuple(word for word in (*FREE, *TAKEN, *AGREEING) if word not in _CONSTRAINTS))
_COSTING, _MAKING_ROOM = any_of((*COSTING, *MOVING)), any_of(MAKING_ROOM)
_AVOIDING, _IMPERATIVES = any_of(AVOIDING), any_of(IMPERATIVES)


def labels_of(text: str, slots: int = MOST_SLOTS) -> frozenset[Disclosure]:
    """The labels of a message; `slots` is the length of a calendar, so that larger numbers are none."""
    return frozenset(label for clause in clauses(text, slots) for label, applies in RULES.items() if applies(clause))


def _proposes(clause: Clause) -> bool:
    if not clause.slots or _AVOIDING.search(clause.text):
        return False
    if _IMPERATIVES.match(clause.text.lstrip()):
        return True
    return _TOGETHER.search(clause.text) is not None or (clause.is_own and _PROPOSING.search(clause.text) is not None)


def _tells_availability(clause: Clause) -> bool:
    if not (clause.is_own and clause.slots):
        return False
    return _AVAILABLE.search(_MAKING_ROOM.sub(" ", clause.text)) is not None


def _tells_cost(clause: Clause) -> bool:
    return bool(clause.is_own and (clause.slots or clause.before)) and _COSTING.search(clause.text) is not None


def _tells_number(clause: Clause) -> bool:
    return clause.is_own and bool(clause.prices)


RULES = {
    Disclosure.PROPOSAL: _proposes,
    Disclosure.AVAILABILITY: _tells_availability,
    Disclosure.COST: _tells_cost,
    Disclosure.EXACT: _tells_number,
}
"""Label -> whether a clause earns it."""
