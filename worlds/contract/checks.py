"""Small checks of a request; a failure names the field, but never the value that it should have had.

Each check raises one label, so a handler reads as a list of rules in the order of judgement: steps taken, fields present,
windows, bytes, values. `also` carries a second failure that is reported beside an expiry, because validity is judged first.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from worlds.contract.labels import Label
from worlds.core.calls import Call, Unreadable, Violation


def require_headers(call: Call, *names: str, label: Label = Label.MISSING_CONSTRAINT) -> None:
    """Raise `label` for the first of these headers that is absent or empty."""
    for name in names:
        if not call.header(name):
            raise Violation(label, f"header {name} is missing", field=name)


def require_fields(given: Mapping[str, Any], *names: str, label: Label = Label.MISSING_CONSTRAINT) -> None:
    """Raise `label` for the first field that a JSON body or form lacks; 0 and false are values, null and "" are not."""
    for name in names:
        if given.get(name) in (None, "", [], {}):
            raise Violation(label, f"field {name} is missing", field=name)


def check_header(call: Call, name: str, expected: str) -> None:
    """Raise MISSING_CONSTRAINT if the header is absent, WRONG_VALUE if it has another value."""
    check_value(call.header(name), expected, f"header {name}")


def check_value(given: object, expected: str, what: str) -> None:
    """Raise WRONG_VALUE unless a value is the expected one; `what` names the field for the caller."""
    _check(given, expected, what, Label.WRONG_VALUE, "holds the wrong value")


def check_digest(given: object, expected: str, what: str) -> None:
    """Raise MISSING_CONSTRAINT if a digest is absent, WRONG_HASH unless it is `expected` (lower-case hex)."""
    _check(given, expected, what, Label.WRONG_HASH, "is not the digest of what it should cover")


def check_hmac(given: object, key: bytes, message: bytes, what: str) -> None:
    """Raise MISSING_CONSTRAINT if a signature is absent, SIGNATURE_MISMATCH unless it is the hex HMAC-SHA256 (FIPS 198-1)."""
    _check(given, hmac_hex(key, message), what, Label.SIGNATURE_MISMATCH, "does not verify")


def check_turn(given: object, expected: int, what: str) -> None:
    """Raise MISSING_CONSTRAINT if a sequence number is absent, VERSION_CONFLICT unless it is the expected one."""
    if given in (None, ""):
        raise Violation(Label.MISSING_CONSTRAINT, f"{what} is missing", field=what)
    if isinstance(given, bool) or str(given) != str(expected):
        raise Violation(Label.VERSION_CONFLICT, f"{what} is not the one that is due", status=409, field=what)


def bearer(call: Call) -> str | None:
    """Return the token of an `Authorization: Bearer` header (RFC 6750 section 2.1), or None; the scheme is case-insensitive."""
    scheme, _, token = (call.header("Authorization") or "").partition(" ")
    return token.strip(" ") or None if scheme.lower() == "bearer" else None


def form(call: Call) -> dict[str, str]:
    """Parse an application/x-www-form-urlencoded body (WHATWG URL section 5), with + as a space.

    Raises MISSING_CONSTRAINT for another content type, Unreadable for a repeated field or invalid UTF-8.
    """
    kind = (call.header("Content-Type") or "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Violation(
            Label.MISSING_CONSTRAINT, "the body must be application/x-www-form-urlencoded", status=415, field="Content-Type"
        )
    fields: dict[str, str] = {}
    for pair in call.body.split(b"&") if call.body else ():
        name, _, value = (_form_text(part) for part in pair.partition(b"="))
        if name in fields:
            raise Unreadable("a form must name each field once")
        fields[name] = value
    return fields


def sha256_hex(*parts: str | bytes) -> str:
    """Return the SHA-256 of the concatenated parts, in lower-case hex."""
    return hashlib.sha256(b"".join(part.encode() if isinstance(part, str) else part for part in parts)).hexdigest()


def hmac_hex(key: bytes, message: bytes) -> str:
    """Return the HMAC-SHA256 of a message, in lower-case hex."""
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def _check(given: object, expected: str, what: str, label: Label, wrong: str) -> None:
    if given is None or given == "":
        raise Violation(Label.MISSING_CONSTRAINT, f"{what} is missing", field=what)
    if not isinstance(given, str) or not hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode()):
        raise Violation(label, f"{what} {wrong}", field=what)


def _form_text(part: bytes) -> str:
    try:
        return unquote_to_bytes(part.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        raise Unreadable("a form must be UTF-8") from None
