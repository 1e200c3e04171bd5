"""Presigned targets: path and query are signed and verified as raw bytes, never decoded.

/api/resource/<id>?nonce=<hex>&expires=<s>&payload=<base64, percent-encoded>&sig=<base64url HMAC-SHA256 of all before &sig=>
The payload's + / = are encoded as %2B %2F %3D, so any client that decodes and re-encodes changes the bytes. The names are not
in alphabetical order, so a client that sorts changes them too.
This is a simplified and stricter rule. In AWS Signature Version 4 (query authentication) the server decodes, re-encodes and
sorts the query before it verifies, so a link with reordered parameters or escapes in the other case is still valid. Services
that sign the address as a text are as strict as this one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from worlds.contract.contracts import Contract, make_contract
from worlds.contract.labels import Label
from worlds.contract.mangling import mangled
from worlds.core.calls import Violation
from worlds.core.chance import Stream
from worlds.core.wire import WireRequest


@dataclass(frozen=True)
class Presigned:
    """One issued target and its contract."""

    resource_id: str
    target: bytes
    contract: Contract

    @property
    def text(self) -> str:
        """The target as text, as a page or an instruction shows it."""
        return self.target.decode()

    def check(self, request: WireRequest, now: int) -> None:
        """Raise unless the request's raw target is this one, in its window; validity is judged first.

        Expiry is judged by the id in the path, so it can be decided even if the bytes are wrong.
        """
        broken = mangled(self.resource_id, self.target, request.target, "the link was not sent as issued")
        self.contract.judge(now, broken, "the link does not work at this time")


def presign(
    stream: Stream, resource_id: str, *, issued_at: int, ttl_ms: int, expires_text: str, payload_bytes: int
) -> Presigned:
    """Issue a presigned target for `resource_id`; times in virtual ms, payload length in bytes before encoding."""
    payload = quote(stream.base64(payload_bytes), safe="")
    query = f"nonce={stream.hex(24)}&expires={expires_text}&payload={payload}"
    return sign(stream, resource_id, query, issued_at=issued_at, ttl_ms=ttl_ms)


def sign(stream: Stream, resource_id: str, query: str, *, issued_at: int, ttl_ms: int) -> Presigned:
    """Return a target with this raw query, signed unchanged; the server's key is drawn from `stream`."""
    unsigned = f"/api/resource/{resource_id}?{query}"
    mac = hmac.new(stream.bytes(32), unsigned.encode(), hashlib.sha256).digest()
    signature = base64.urlsafe_b64encode(mac).decode().rstrip("=")
    target = f"{unsigned}&sig={signature}".encode()
    return Presigned(resource_id, target, make_contract(resource_id, target, issued_at, ttl_ms))


def named(links: Iterable[Presigned], resource_id: str) -> Presigned:
    """Return the link with the id that a path names; raises MUTATED_TOKEN if there is none."""
    for link in links:
        if link.resource_id == resource_id:
            return link
    raise Violation(Label.MUTATED_TOKEN, "the link was not sent as issued", resource_id="link")
