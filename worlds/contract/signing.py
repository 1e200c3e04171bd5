"""The canonical form of a request to sign: one text for one request, however a client wrote it (AWS SigV4; RFC 9421 section 2).

Lines, joined by line feeds, with none at the end:
1. the method;
2. the path as it was sent, undecoded;
3. the query: names and values percent-decoded (+ is a plus), encoded again by RFC 3986 section 2.3, sorted by encoded name,
   then by encoded value, and joined as `name=value` with `&`;
4. one line `name:value` for each signed header, by name: the name in lower case, the value without outer spaces and with
   every inner run of spaces as one; a header that was sent twice has both values, joined by a comma;
5. an empty line;
6. the names of the signed headers, as in 4, joined by `;`;
7. the SHA-256 of the body, in lower-case hex.
`Authorization` is what carries the signature: a scheme, then KeyId, SignedHeaders and Signature.
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
    """What an Authorization header says."""

    key_id: str
    signed: str
    signature: str


def read_authorization(text: str | None) -> Authorization | None:
    """The parts of an Authorization header of our scheme; None for anything else."""
    match = _AUTHORIZATION.fullmatch(text or "")
    return Authorization(*match.groups()) if match else None


def signed_list(names: Iterable[str]) -> str:
    """The names of signed headers: in lower case, sorted, joined by semicolons."""
    return ";".join(sorted(name.lower() for name in names))


def canonical_query(raw: bytes) -> str:
    """A raw query in canonical form; "" for an empty one."""
    pairs = (pair.partition(b"=") for pair in raw.split(b"&") if pair)
    return canonical_parameters((unquote_to_bytes(name), unquote_to_bytes(value)) for name, _, value in pairs)


def canonical_parameters(pairs: Iterable[Sequence[str | bytes]]) -> str:
    """Decoded names and values, str as UTF-8, in the form that a query with them has."""
    # quote leaves exactly the unreserved characters
    encoded = sorted(tuple(quote(part, safe="") for part in pair) for pair in pairs)
    return "&".join("=".join(pair) for pair in encoded)


def canonical_request(request: WireRequest, names: Iterable[str]) -> str:
    """The text to sign for `request`, with these headers signed; a header that is not there has an empty value."""
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
