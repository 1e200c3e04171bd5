"""Three negotiated answers in a row, each short-lived: name the right media type at once, and send the path as raw bytes.

auth-config gives a bearer token (RFC 6750), resource-manifest a path, the path an encoded document. Each has a representation
for people and one for programs, chosen by proactive negotiation (RFC 9110 section 12.5.1: weights, parameters, the closest
range first; else 406, section 15.5.7). The path holds non-ASCII letters, a space, brackets, +, %25 and %2F, one letter in
lower-case hex, and is judged as raw bytes, whatever RFC 3986 section 6 calls equivalent.
Time: a GET costs 15 s, whatever it is answered, and a token lives 45 s less 0 to 7 by seed. The download comes when the token
is 30 s old, within its life; with one more call in between it is 45 s old, which is too late (half-open window).
At level 4 a token lives 17 to 24 s and a path 15 s longer: the manifest takes the first token, the download needs another one.
Choices where the contract leaves one:
1. what a resource is served as is told by OPTIONS on it, also on any download path: no time, no token, but it is a step;
2. an Accept that admits a type by a wildcard only, or none at all, is MISSING_CONSTRAINT, where section 12.5.1 reads both as
   any type will do: the instruction asks that the type be named; one that admits no type, also by q=0, is WRONG_VALUE.
   Parameters may be left out. The page for people is served to whoever prefers it, and only 15 s are gone;
3. a new token ends the one before; asking for the manifest again gives the same path a new life, which a new token may use;
4. any path under /api/download/ is judged as the one that was issued; the token's window and bytes come before the path's;
5. gzip is stored, not deflated, so that its bytes are those of every machine's zlib;
6. the deliverable is the decoded document, whose receipt is drawn from the seed; written again by a parser it has other bytes.
Order of judgement: manifest fetched, a type named, token (there, window, bytes), path (window, bytes), slice, type.
"""

import base64
import zlib
from collections.abc import Callable

from worlds.contract.checks import bearer, check_header
from worlds.contract.credentials import Credential
from worlds.contract.labels import Label
from worlds.contract.negotiation import accepted, choose
from worlds.contract.presigned import Presigned
from worlds.contract.world import ContractWorld
from worlds.core.calls import Body, Call, Reply, Unreadable, Violation, get, route
from worlds.core.chance import Stream

PEOPLE = "text/html;charset=utf-8"
PAGE = "<!doctype html>\n<title>Depot</title>\n<p>Programs read this resource as another media type.</p>\n"
TOKEN = "the bearer token"
STORED, GZIP = 0, 31  # level and format, as zlib numbers them
PIECES = ("%C3%BC", "%c3%a9", "%20", "+", "%2B", "%5B3%5D", "%2541", "%2F")


class ContentNegotiationChain(ContractWorld):
    """A document behind a token and a path."""

    def prepare(self) -> None:
        """Draw media types, lives, path, document, encodings and anchor."""
        draw = self.chance("types")
        vendor, numbers = f"application/vnd.d{draw.hex(6)}", iter(draw.sample(range(2, 10), 2))
        self.types = {kind: f"{vendor}.{kind}+json;version={next(numbers)}" for kind in ("auth-config", "resource-manifest")}
        self.types["download"] = "application/octet-stream"
        less_ms = self.chance("life").seconds(0, 7)
        self.life_ms, self.path_ms = self.knob_ms("life_seconds") - less_ms, self.knob_ms("path_seconds") - less_ms
        self.path = f"/api/download/{draw_path(self.chance('path'), round(self.knob('path_words')))}"
        self.document = draw_document(self.chance("document"))
        self.encodings = self.chance("encodings").sample(list(ENCODERS), self.chance("layers").between(2, 3))
        self.draw_slice()
        self.tokens = Credential(self, "token")
        self.link: Presigned | None = None

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {**self.slice_facts(), "get_seconds": self.manifest.cost_ms("exchange") // 1000}

    @route("OPTIONS", "/api/{resource:any}", cost="discovery")
    def offered(self, call: Call) -> Reply:
        """What a resource is served as."""
        if (kind := call.params["resource"].partition("/")[0]) not in self.types:
            raise Unreadable("there is no such resource")
        told = {"produces": [PEOPLE, self.types[kind]], "accept": "must name one, parameters optional; a wildcard names none"}
        return Reply(told, headers=(("Allow", "GET, OPTIONS"),))

    @get("/api/auth-config", cost="exchange", headers=("Accept",))
    def auth_config(self, call: Call) -> Reply:
        """A new token."""
        return self.represent(self.negotiated(call, "auth-config"), self.new_token)

    @get("/api/resource-manifest", cost="exchange", headers=("Accept", "Authorization"))
    def resource_manifest(self, call: Call) -> Reply:
        """The path of the document, and what was done to it."""
        media_type = self.negotiated(call, "resource-manifest")
        self.tokens.redeem(bearer(call), TOKEN)
        return self.represent(media_type, self.new_path)

    @get("/api/download/{path:any}", cost="exchange", headers=("Accept", "Authorization", "X-Seed-Anchor"))
    def download(self, call: Call) -> Reply:
        """The encoded document, if token, path and slice hold."""
        if self.link is None:
            raise Violation(Label.MISSING_CONSTRAINT, "the manifest must be fetched first", field="manifest")
        media_type = self.negotiated(call, "download")
        self.tokens.redeem(bearer(call), TOKEN)
        self.follow(self.link, call)
        check_header(call, "X-Seed-Anchor", self.slice)
        return self.represent(media_type, self.hand_out)

    def negotiated(self, call: Call, kind: str) -> str | None:
        """The media type to answer in, None when none is acceptable; raises for one that only a wildcard admits."""
        chosen = choose(accepted(call.request), (PEOPLE, self.types[kind]))
        if chosen and not chosen.named:
            raise Violation(Label.MISSING_CONSTRAINT, "Accept names no media type of this resource", status=406, field="Accept")
        return chosen.media_type if chosen else None

    def represent(self, media_type: str | None, make: Callable[[], Body]) -> Reply:
        """The representation that was negotiated; only the one for programs is made."""
        if media_type is None:
            raise Violation(Label.WRONG_VALUE, "Accept admits no media type of this resource", status=406, field="Accept")
        return Reply(PAGE if media_type == PEOPLE else make(), media_type=media_type)

    def new_token(self) -> Body:
        """The next token and the virtual second at which it ends."""
        token = self.tokens.renew(text := self.chance("token").base64url(36), self.life_ms)
        return {"token": text, "expires_at": token.expires_at / 1000}

    def new_path(self) -> Body:
        """The path, and all that is to be known of the document."""
        window = self.issue("download_path", self.path, self.path_ms)
        self.link = Presigned("download_path", self.path.encode(), window)
        told = {"download_path": self.path, "expires_at": window.expires_at / 1000}
        return {**told, "encodings": self.encodings, "size": len(self.document)}

    def hand_out(self) -> Body:
        """The document, encoded; from now on it can be handed in."""
        self.deliverable = encoded = self.document
        for name in self.encodings:
            encoded = ENCODERS[name](encoded)
        return encoded


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: zlib.compress(data, STORED, GZIP), "base64": base64.b64encode, "hex": lambda data: data.hex().encode(),
}  # fmt: skip


def draw_path(draw: Stream, words: int) -> str:
    """Segments with all the pieces in random places, then a file."""
    segments = [draw.hex(4) for _ in range(words)]
    for piece in draw.sample(PIECES, len(PIECES)):
        segments[draw.below(words)] += piece + draw.hex(3)
    return "/".join([*segments, f"{draw.hex(12)}.bin"])


def draw_document(draw: Stream) -> bytes:
    """JSON that no parser writes again as it was."""
    parts = [
        f'"receipt": "{draw.hex(40)}"', f'"weight":{draw.between(1, 99)}.50', f'"tare":{draw.between(1, 9)}e0',
        f'"place":"Lule\\u00e5 \u00d8st {draw.hex(4)}"', f'"href":"https:\\/\\/depot.example\\/{draw.hex(6)}"',
    ]  # fmt: skip
    return f"{{{', '.join(draw.sample(parts, len(parts)))}}}".encode()
