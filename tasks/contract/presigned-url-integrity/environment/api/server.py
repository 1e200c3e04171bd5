"""A signature covers the query as it was written: parsed and written again, it is another query (RFC 3986 sections 2.1, 6).

The link's raw query holds percent-escapes in both cases (%2f beside %2F), a parameter without a value, one key given twice and
an & at its end, and the signature covers all of it. RFC 3986 calls the two cases equivalent and lets any party normalise them;
many do: URL libraries write escapes in capitals, parsers drop empty parameters, dictionaries keep one of two equal keys, and
proxies sort. AWS Signature Version 4 canonicalises and sorts before it verifies, so there most of these changes are harmless;
this server signs raw bytes, a simplification that its instruction states, so only the bytes count. What
`curl "$URL"` and httpx send is the raw target; requests (urllib3) writes escapes in capitals, and so breaks the link.
Time: page and precheck cost 5 s each, the download 8 s. The right order uses the link 13 s after its issue (life 35 to 38 s by
seed) and the token 8 s after its (17 or 18 s; upstream: 240 and 120, which ten requests cannot use up). A page or precheck once
more is a detour of 5 s: the token bears one after its own precheck (13 s) and never two (18 s), the link four (33 s) and never
five (38 s). Who idles for 10 s before each request uses the token 18 s after its issue, which is too late.
At higher levels the link works only from some time after its first sight on, and the token lives for a second or two more than
the download takes: who follows the link at once is too early, and who then asks for the token too soon loses that.
Choices where the contract leaves one:
1. the & at the end stands where the signed query ends, so the whole target reads `&&sig=`; a client that drops the empty pair
   between the two changes signed bytes;
2. the parameter without a value is `name=` or a bare `name` by seed, and the order of all parameters varies by seed; sorting
   them always changes something, because the empty pair before `sig` does not stand where any order would put it;
3. swapping the two equal keys is a change of order, SIGNATURE_MISMATCH; dropping one is MUTATED_TOKEN;
4. task presigned-url-download is about deadlines, with clean queries; this one has one link, and time for a few detours.
Order of judgement for a download: that of `worlds.contract.prechecked`.
"""

import re
from html import escape

from worlds.contract.prechecked import PrecheckedDownload
from worlds.contract.presigned import Presigned, sign
from worlds.core.chance import Stream
from worlds.core.wire import API_URL

EMPTY = ("version=", "note=", "label=", "acl", "torrent", "policy")
"""Parameters without a value, with and without the sign for one."""

TWICE = ("part", "scope", "range", "tag")
"""Keys that may be given twice."""

SHELVES = ("ledger", "survey", "census", "atlas", "herbarium", "logbook")


class PresignedUrlIntegrity(PrecheckedDownload):
    """One file behind a query that is signed as it was written."""

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {**super().facts(), "request_seconds": self.manifest.cost_ms("request") // 1000}

    def make_link(self) -> Presigned:
        """The link, whose time begins now or later."""
        begins = self.now + self.knob_ms("opens_seconds")
        query = written(self.chance("query"), self.unix_at(begins + self.link_ms), self.payload_bytes())
        return sign(self.chance("link"), self.resource_id, query, issued_at=begins, ttl_ms=self.link_ms)

    def show_page(self, link: Presigned) -> str:
        """The link in a sentence."""
        shelf = self.chance.fresh("shelf").choice(SHELVES)
        first, last = self.date_at(link.contract.issued_at), self.date_at(link.contract.expires_at)
        return (
            f"<!doctype html>\n<html><head><title>{shelf}</title></head>\n<body>\n"
            f'<p>The {shelf} can be <a id="download" href="{escape(API_URL + link.text)}">downloaded</a>\n'
            f"from {first} until {last}.</p>\n</body></html>\n"
        )


def written(draw: Stream, expires: str, payload_bytes: int) -> str:
    """A query as only its author would write it."""
    key, first = draw.choice(TWICE), draw.between(10, 50)
    payload = re.sub("[+/=]", lambda found: f"%{ord(found[0]):02X}", draw.base64(payload_bytes))
    slashes = draw.sample(("%2F", "%2f"), 2)
    pairs = [
        f"nonce={draw.hex(24)}",
        f"expires={expires}",
        f"object={draw.hex(6)}{slashes[0]}{draw.hex(6)}{slashes[1]}{draw.hex(6)}",
        f"{key}={first}",
        f"{key}={first + draw.between(1, 40)}",
        draw.choice(EMPTY),
        f"payload={mixed(draw, payload)}",
    ]
    return "&".join(draw.sample(pairs, len(pairs))) + "&"


def mixed(draw: Stream, text: str) -> str:
    """A text with about half of its escapes in lower case."""
    return re.sub("%..", lambda escape: draw.choice((escape[0], escape[0].lower())), text)
