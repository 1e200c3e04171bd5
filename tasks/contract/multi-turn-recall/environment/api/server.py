"""A very long URL is told once, in the instruction: recall it after three noisy steps, every byte as it was.

A presigned target (`worlds.contract.presigned`; compared as a plain string, RFC 3986 section 6.2.1) stands in the instruction
and nowhere else. Session, catalog and preflight come first; together they answer 10 KB of noise in the alphabet of the URL.
The preflight gives a flow token. The option `tier` sets the URL's length, for a score that is a curve over 1k, 4k, 8k and 12k.
That the verbatim URL of the instruction passes is shown by the oracle: solution/solve.py sends what it finds in the fence and
nothing else, at each tier, and tests/test_outcome.py compares the target that was served with the printed one.
Time: every request costs 5 s. The URL lasts 36 to 44 s from the first session, a flow token 16 to 24 s from its preflight, both
by seed (upstream: 160 and 120, which twelve requests cannot use up): straight on they are used at the ages of 15 and 5 s.
Between preflight and URL two more requests always fit, four never do. A new preflight gives a new token, but no time to the
URL: who takes all steps once more uses it at the age of 30 s, in time; who takes them twice more, at 45 s and too late.
Choices where the contract leaves one:
1. a flow token that a newer one replaced is EXPIRED_BEFORE_USE: its bytes are as issued, its time is over (RFC 7009 section 2);
2. a step before its turn, and the URL before a preflight, are MISSING_CONSTRAINT; no flow token is MISSING_TOKEN;
3. the slice is counted in the URL's target, from its first slash, somewhere in its last two thirds, by seed (upstream: 4097 to
   4120 for all, which a URL of 1k does not have);
4. asking for session or catalog again gives the same answer; noise and deadline are the episode's, not the request's;
5. the deliverable is the file, drawn from the seed and given out by the URL alone.
Order of judgement: preflight made, headers present, windows (URL, flow token), bytes (URL, flow token), slice.
"""

from urllib.parse import quote

from worlds.contract.anchors import Anchor, draw_range
from worlds.contract.checks import check_header, require_headers
from worlds.contract.credentials import Credential
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.presigned import Presigned, named, presign
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get

FILE_CHARS, JITTER_S = 64, 4
PAYLOAD_BYTES = {"1k": 632, "4k": 2790, "8k": 5680, "12k": 8560}
"""By tier: random bytes that make a URL of 1024, 4096, 8192, 12288 characters, give or take a few."""


class MultiTurnRecall(ContractWorld):
    """One file behind a URL that only the instruction has."""

    def prepare(self) -> None:
        """Draw file, URL, lives, noise and slice; the URL does not run yet."""
        self.content = self.chance("content").hex(FILE_CHARS).encode()
        self.link_ms, self.token_ms = (
            self.knob_ms(name) + self.chance(name).seconds(-JITTER_S, JITTER_S) for name in ("link_seconds", "token_seconds")
        )
        self.target = self.presigned(issued_at=self.now).text
        third = len(self.target) // 3
        first, last = draw_range(self.chance("range"), Anchor(self.target[third:]))
        self.range = third + first, third + last
        self.link: Presigned | None = None
        self.catalogued = False
        self.token = Credential(self, "flow_token")

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            "target": self.target, "chars": len(self.target), "first": self.range[0], "last": self.range[1],
            "file_chars": FILE_CHARS, "request_seconds": self.manifest.cost_ms("request") // 1000,
        }  # fmt: skip

    @get("/api/session")
    def open_session(self, call: Call) -> dict[str, object]:
        """The session, which starts the URL."""
        if self.link is None:
            self.link = self.presigned(issued_at=self.now)
            self.issued(self.link.resource_id, self.link.contract.expires_at)
        return {"session": "open", "banner": self.noise("session")}

    @get("/api/catalog")
    def catalog(self, call: Call) -> dict[str, object]:
        """The catalog, in a session."""
        if self.link is None:
            raise Violation(Label.MISSING_CONSTRAINT, "a session must come first", field="session")
        self.catalogued = True
        return {"catalog": self.noise("catalog").split("%2F")}

    @get("/api/preflight")
    def preflight(self, call: Call) -> dict[str, object]:
        """A flow token, after the catalog, and when token and URL end."""
        if self.link is None or not self.catalogued:
            raise Violation(Label.MISSING_CONSTRAINT, "a look at the catalog must come first", field="catalog")
        checks, _, trace = self.noise("preflight").partition("%2F")
        made = self.token.renew(self.chance("flow token").base64url(48), self.token_ms)
        return {
            "checks": checks,
            "flow_token": self.token.text,
            "flow_token_expires_at": made.expires_at / 1000,
            "download_deadline": self.link.contract.expires_at / 1000,
            "trace": trace,
        }

    @get("/api/resource/{name}", headers=("X-URL-Anchor", "X-Flow-Token"), query=("sig",))
    def resource(self, call: Call) -> Reply:
        """The file, if URL, flow token and slice hold."""
        if self.link is None or self.token.current is None:
            raise Violation(Label.MISSING_CONSTRAINT, "a preflight must come first", field="preflight")
        require_headers(call, "X-Flow-Token", label=Label.MISSING_TOKEN)
        require_headers(call, "X-URL-Anchor")
        links = [self.link]
        validity_first(
            lambda: self.follow(named(links, call.params["name"]), call),
            lambda: self.token.redeem(call.header("X-Flow-Token"), "header X-Flow-Token"),
            lambda: check_header(call, "X-URL-Anchor", Anchor(self.target).chars(*self.range)),
        )
        self.deliverable = self.content
        return Reply(self.content)

    def presigned(self, issued_at: int) -> Presigned:
        """The URL: always the same bytes, its window from `issued_at` (virtual ms)."""
        name = f"doc_{self.chance.fresh('name').hex(3)}"
        return presign(
            self.chance.fresh("link"), name, issued_at=issued_at, ttl_ms=self.link_ms,
            expires_text=str(self.link_ms // 1000), payload_bytes=PAYLOAD_BYTES[str(self.options["tier"])],
        )  # fmt: skip

    def noise(self, step: str) -> str:
        """Text of the URL's alphabet, the same at each asking."""
        return quote(self.chance.fresh(f"noise {step}").base64(round(self.knob("noise_bytes"))), safe="")
