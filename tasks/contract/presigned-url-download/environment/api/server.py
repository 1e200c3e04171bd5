"""Presigned links whose lives differ: earliest deadline first, every byte as issued (AWS SigV4 query authentication).

Three parts, each behind a presigned link. All links start to run out at the first precheck, the shortest after about 10 s,
the longest after about 60 s; a download takes 8 s. The page lists the longest first, so the listed order loses the shortest
link while ascending order arrives at 8, 16 and 24 s (paper, Appendix H). Loading the page again gives the same links, and a
second precheck gives a new token but no new time.
Order of judgement for a download: precheck made, headers present, windows (token, then link), link bytes, header values.
"""

from html import escape

from worlds.contract.anchors import check_header, draw_anchor, draw_range
from worlds.contract.contracts import Contract
from worlds.contract.labels import Label
from worlds.contract.presigned import Presigned, presign
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get

LIVES_S = ((9, 12), (26, 34), (52, 68))
"""Range of each link's life in seconds, shortest first."""


class PresignedUrlDownload(ContractWorld):
    """One file in three parts."""

    def prepare(self) -> None:
        """Draw lives, which part gets which, contents and anchor."""
        draw = self.chance("links")
        lives = [draw.between(low, high) for low, high in LIVES_S]
        parts = [1, 2, 3]
        draw.shuffle(parts)
        self.life_s = dict(zip(parts, lives, strict=True))
        self.content = {part: f"part {part}: {self.chance('content').base64(96)}\n".encode() for part in (1, 2, 3)}
        self.anchor = draw_anchor(self.chance("anchor"))
        self.range = draw_range(self.chance("range"), self.anchor)
        self.links: dict[int, Presigned] = {}
        self.token: Contract | None = None
        self.token_text = ""
        self.fetched: set[int] = set()
        self.targets = {part: self.presigned(part, issued_at=0).target for part in (1, 2, 3)}

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        first, last = self.range
        seconds = self.manifest.cost_ms("download") // 1000
        return {"anchor": self.anchor.text, "first": first, "last": last, "download_seconds": seconds}

    @get("/task", cost="page")
    def page(self, call: Call) -> Reply:
        """The page with the links, longest life first."""
        rows = "\n".join(
            f'<li><a id="part-{part}" href="{escape(self.targets[part].decode())}">part {part}</a> ({self.life_s[part]} s)</li>'
            for part in sorted(self.life_s, key=self.life_s.__getitem__, reverse=True)
        )
        body = f"<!doctype html>\n<title>Downloads</title>\n<ol>\n{rows}\n</ol>\n"
        return Reply(body, media_type="text/html; charset=utf-8")

    @get("/api/precheck", cost="precheck")
    def precheck(self, call: Call) -> dict[str, object]:
        """A new token; the first one starts the links."""
        window_ms = round(self.knob("window_seconds") * 1000)
        self.token_text = self.chance("token").base64url(24)
        self.token = self.issue("precheck_token", self.token_text, window_ms)
        if not self.links:
            self.links = {part: self.presigned(part, issued_at=self.now) for part in (1, 2, 3)}
            for link in self.links.values():
                self.issued(link.resource_id, link.contract.expires_at)
        return {"precheck_token": self.token_text, "deadline": self.token.expires_at / 1000}

    @get("/api/resource/{name}", cost="download", headers=("X-Seed-Anchor", "X-Contract-Proof"), query=("sig",))
    def download(self, call: Call) -> Reply:
        """One part, if every contract on the way holds."""
        if self.token is None:
            raise Violation(Label.MISSING_CONSTRAINT, "a precheck must come first", field="precheck")
        link = next((made for made in self.links.values() if made.resource_id == call.params["name"]), None)
        if link is None:
            raise Violation(Label.MUTATED_TOKEN, "the link was not sent as issued", resource_id="link")
        self.used(link.resource_id)
        for header in ("X-Seed-Anchor", "X-Contract-Proof"):
            if not call.header(header):
                raise Violation(Label.MISSING_CONSTRAINT, f"header {header} is missing", field=header)
        link.check(call.request, self.now)
        if not self.token.validate_validity(self.now):
            raise self.token.expired(self.now)
        part_slice = self.anchor.chars(*self.range)
        check_header(call, "X-Seed-Anchor", part_slice)
        check_header(call, "X-Contract-Proof", f"{part_slice}:{self.token_text[-8:]}")
        self.used(self.token.contract_id)
        return self.serve(int(link.resource_id.removeprefix("part_")))

    def serve(self, part: int) -> Reply:
        """The part's bytes; with the last one the whole file can be handed in."""
        self.fetched.add(part)
        if len(self.fetched) == 3:
            self.deliverable = b"".join(self.content[p] for p in (1, 2, 3))
        return Reply(self.content[part])

    def presigned(self, part: int, issued_at: int) -> Presigned:
        """The part's link: always the same bytes, its window from `issued_at` (virtual ms)."""
        life_s = self.life_s[part]
        return presign(
            self.chance.fresh(f"link-{part}"), f"part_{part}", issued_at=issued_at, ttl_ms=life_s * 1000,
            expires_text=str(life_s), payload_bytes=round(self.knob("payload_bytes")),
        )  # fmt: skip
