"""Canonical form of a request to sign, independent of how a client wrote it (AWS SigV4; RFC 9421 section 2).

Lines, joined by line feeds, without a final one:
1. the method;
2. the path as it was sent, undecoded;
3. the query: names and values percent-decoded (+ is a plus), encoded again by RFC 3986 section 2.3, sorted by encoded name,
then by encoded value, and joined as `name=value` with `&`;
4. one line `name:value` for each signed header, sorted by name: the name in lower case, the value without outer spaces and
with every inner run of spaces as one; the values of a repeated header are joined by a comma;
5. an empty line;
6. the names of the signed headers, as in 4, joined by `;`;
7. the SHA-256 of the body, in lower-case hex.
`Authorization` carries the signature: a scheme, then KeyId, SignedHeaders and Signature.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from worlds.core.wire import WireRequest

SCHEME = "PARLEY-HMAC-SHA256"

_AUTHORIZATION = re.compile(rf"{SCHEME} +KeyId=([^,\s]+), *SignedHeaders=([^,\s]+), *Signature=([^,\s]+)")
_SPACES = re.compile(" +")


@dataclass(frozen=True)
class Authorization:
    """Parsed Authorization header."""

    key_id: str
    signed: str
    signature: str


def read_authorization(text: str | None) -> Authorization | None:
    """Parse an Authorization header of our scheme; None for anything else."""
    match = _AUTHORIZATION.fullmatch(text or "")
    return Authorization(*match.groups()) if match else None


def signed_list(names: Iterable[str]) -> str:
    """Return the names of signed headers in lower case, sorted, joined by semicolons."""
    return ";".join(sorted(name.lower() for name in names))


def canonical_query(raw: bytes) -> str:
    """Return a raw query in canonical form; "" for an empty one."""
    pairs = (pair.partition(b"=") for pair in raw.split(b"&") if pair)
    return canonical_parameters((unquote_to_bytes(name), unquote_to_bytes(value)) for name, _, value in pairs)


def canonical_parameters(pairs: Iterable[Sequence[str | bytes]]) -> str:
    """Return decoded names and values (str is encoded as UTF-8) in the form of a canonical query."""
    # quote leaves exactly the unreserved characters
    encoded = sorted(tuple(quote(part, safe="") for part in pair) for pair in pairs)
    return "&".join("=".join(pair) for pair in encoded)


def canonical_request(request: WireRequest, names: Iterable[str]) -> str:
    """Return the text to sign for `request` and these headers; an absent header has an empty value."""
    listed = signed_list(names)
    return "\n".join([
        request.method,
        request.path.decode("latin-1"),
        canonical_query(request.query),
        *(f"{name}:{_value(request, name)}" for name in listed.split(";")),
        "",
        listed,
        hashlib.sha256(request.body).hexdigest(),
    ])  # fmt: skip


def _value(request: WireRequest, name: str) -> str:
    values = (value for given, value in request.headers if given.lower() == name)
    return ",".join(_SPACES.sub(" ", value.strip(" ")) for value in values)
