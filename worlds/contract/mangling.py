"""Classification of byte differences between an artifact as issued and as submitted, and the label of each class.

The classes are tested in this order, so that a submission has exactly one:
`ui_trap` (display text with an ellipsis), `truncated`, `reordered`, `reencoded`, `linewrap`, `other`.
Truncated, re-encoded, wrapped and otherwise changed values are MUTATED_TOKEN. Display text is WRONG_VALUE. The same query
parameters in another order are SIGNATURE_MISMATCH, because a signature covers their order.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote_to_bytes

from worlds.contract.contracts import first_difference
from worlds.contract.labels import Label
from worlds.core.calls import Violation

_ELLIPSES = (b"...", "\u2026".encode(), b"%E2%80%A6")
_WRAPPING = (b"\r", b"\n", b" ", b"\t", b"%0D", b"%0A", b"%20", b"%09", b"%0d", b"%0a")


def classify_mangling(expected: bytes, given: bytes) -> tuple[Label, str] | None:
    """Return label and class of `given` if `expected` was issued; None if they are equal."""
    if given == expected:
        return None
    if any(mark in given and mark not in expected for mark in _ELLIPSES):
        return Label.WRONG_VALUE, "ui_trap"
    if expected.startswith(given) and len(given) < len(expected):
        return Label.MUTATED_TOKEN, "truncated"
    if _parameters(given) == _parameters(expected):
        return Label.SIGNATURE_MISMATCH, "reordered"
    if _decoded(given) == _decoded(expected):
        return Label.MUTATED_TOKEN, "reencoded"
    if _unwrapped(given) == _unwrapped(expected):
        return Label.MUTATED_TOKEN, "linewrap"
    return Label.MUTATED_TOKEN, "other"


def mangled(resource_id: str, expected: bytes, given: bytes, rule: str) -> Violation | None:
    """Return the violation of submitting `given` for `expected`, or None if they are equal."""
    classified = classify_mangling(expected, given)
    if classified is None:
        return None
    label, kind = classified
    offset = first_difference(expected, given)
    detail: dict[str, Any] = {"resource_id": resource_id, "class": kind, "offset_of_first_difference": offset}
    return Violation(label, rule, **detail)


def _parameters(raw: bytes) -> tuple[bytes, list[bytes]]:
    path, _, query = raw.partition(b"?")
    return path, sorted(query.split(b"&"))


def _decoded(raw: bytes) -> bytes:
    return unquote_to_bytes(raw)


def _unwrapped(raw: bytes) -> bytes:
    for mark in _WRAPPING:
        raw = raw.replace(mark, b"")
    return raw
