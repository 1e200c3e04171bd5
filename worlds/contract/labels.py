"""Fifteen labels: the reason for a failure, its axis, its severity, and the missing ability of the model.

Names, groups and the weights of eight labels are the paper's (Tables 2 and 7). The other seven weights, their deficits and
all coaching notes are ours. They keep the paper's order: losing an artifact is worse than misusing one, which is worse than
exceeding a limit. The primary label of an episode is its most severe violation, the first one of a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Axis(StrEnum):
    """The predicate of a contract that a label is about."""

    VALIDITY = "validity"
    INTEGRITY = "integrity"
    META = "meta"


class Label(StrEnum):
    """The closed set of labels."""

    EXPIRED_BEFORE_USE = "EXPIRED_BEFORE_USE"
    RATE_LIMITED = "RATE_LIMITED"
    SCHEDULED_UNAVAILABLE = "SCHEDULED_UNAVAILABLE"
    VERSION_CONFLICT = "VERSION_CONFLICT"
    WRONG_VALUE = "WRONG_VALUE"
    MISSING_CONSTRAINT = "MISSING_CONSTRAINT"
    MUTATED_TOKEN = "MUTATED_TOKEN"
    SIGNATURE_MISMATCH = "SIGNATURE_MISMATCH"
    COMPENSATION_FAILURE = "COMPENSATION_FAILURE"
    WRONG_HASH = "WRONG_HASH"
    SHORTCUT_TAKEN = "SHORTCUT_TAKEN"
    MISSING_TOKEN = "MISSING_TOKEN"
    BACKOFF_VIOLATION = "BACKOFF_VIOLATION"
    SUCCESS = "SUCCESS"
    OTHER = "OTHER"


@dataclass(frozen=True)
class LabelInfo:
    """One row of the taxonomy; `severity` is signed: +1 for success, below 0 for failures."""

    axis: Axis
    severity: float
    source: str
    deficit: str
    coaching: str


_V, _I, _M = Axis.VALIDITY, Axis.INTEGRITY, Axis.META

LABELS: dict[Label, LabelInfo] = {
    Label.EXPIRED_BEFORE_USE: LabelInfo(
        _V, -1.0, "RFC 6750 section 3.1", "temporal awareness, deadline planning",
        "Something you were given had run out when you used it. Note when each thing was issued and how long it lives, "
        "and use the one that ends first before the others.",
    ),
    Label.RATE_LIMITED: LabelInfo(
        _V, -0.5, "RFC 6585 section 4", "patience and back-off strategy",
        "You asked more often than the announced quota allows. Read the remaining count and the reset time, "
        "and wait before the request that would go over.",
    ),
    Label.SCHEDULED_UNAVAILABLE: LabelInfo(
        _V, -0.5, "RFC 9110 section 15.6.4", "respect for announced downtime",
        "You called a service during downtime that it had announced, or used a thing before the time from which it works. "
        "Look at the times you are told first, and come back when they allow it.",
    ),
    Label.VERSION_CONFLICT: LabelInfo(
        _V, -0.75, "RFC 9110 section 13.1.1", "tracking which version or step is current",
        "You acted on a version or a position in a sequence that was not the current one. Read the state again before you act.",
    ),
    Label.WRONG_VALUE: LabelInfo(
        _I, -0.8, "ContractBench section 3.1", "constraint satisfaction",
        "A required field was there but held the wrong value. Derive it again from where the instruction says it comes from.",
    ),
    Label.MISSING_CONSTRAINT: LabelInfo(
        _I, -0.7, "RFC 6749 section 4.1.1", "protocol completeness",
        "A required field or an earlier step was left out. List everything that a request needs before you send it.",
    ),
    Label.MUTATED_TOKEN: LabelInfo(
        _I, -1.0, "RFC 3986 section 6", "byte-level preservation",
        "An artifact reached the server with other bytes than were issued. Pass it on exactly: no decoding, encoding, "
        "wrapping, trimming or cutting.",
    ),
    Label.SIGNATURE_MISMATCH: LabelInfo(
        _I, -0.95, "RFC 9421; AWS Signature Version 4", "exact signing and verification",
        "A signature did not verify. Sign or verify the exact bytes, in the exact order, with the key in its exact form.",
    ),
    Label.COMPENSATION_FAILURE: LabelInfo(
        _I, -0.9, "Garcia-Molina and Salem 1987", "undoing work in the right order",
        "Completed steps were not undone as the saga demands. After a failure compensate in reverse order, once each, "
        "and only when something failed.",
    ),
    Label.WRONG_HASH: LabelInfo(
        _I, -0.85, "FIPS 180-4; RFC 9530", "exact digests",
        "A digest was wrong. Hash the raw bytes in the stated order, and give it in the stated form.",
    ),
    Label.SHORTCUT_TAKEN: LabelInfo(
        _I, -0.9, "Krakovna et al. 2020", "resisting shortcuts that tool output suggests",
        "You followed a suggestion in a response where the instruction said otherwise. The instruction decides.",
    ),
    Label.MISSING_TOKEN: LabelInfo(
        _I, -0.7, "RFC 6749 section 4", "carrying credentials",
        "A request lacked the token that authorises it. Keep the token from the earlier response and send it.",
    ),
    Label.BACKOFF_VIOLATION: LabelInfo(
        _I, -0.6, "RFC 9110 section 10.2.3", "waiting as long as told",
        "You retried before the time the server asked you to wait had passed. Wait the full Retry-After first.",
    ),
    Label.SUCCESS: LabelInfo(_M, 1.0, "ContractBench Table 7", "none: reinforce correct behaviour", "Every contract was kept."),
    Label.OTHER: LabelInfo(
        _M, -0.3, "ContractBench Table 2", "general task completion",
        "The goal was not reached, though no rule was broken. Finish every step, and hand in the result.",
    ),
}  # fmt: skip
"""The taxonomy, by label."""


def severity(label: str) -> float:
    """Return the signed severity of a label; raises ValueError for a string outside the taxonomy."""
    return LABELS[Label(label)].severity
