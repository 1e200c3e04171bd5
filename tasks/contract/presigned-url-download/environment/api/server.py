"""Presigned links whose lives differ: earliest deadline first, and every byte as issued.

Three parts, each behind a presigned link (as object stores give out; signed as `worlds.contract.presigned` says). All links
start to run out at the first precheck, the shortest after about 10 s, the longest after about 60 s; a download takes 8 s. The
page lists the parts in an order drawn from the seed in which the shortest is never first, so the listed order loses it, while
ascending order arrives at 8, 16 and 24 s (paper, Appendix H). Loading the page again gives the same links, and a second
precheck gives a new token but no new time. A token lives 40 s: only the longest link outlives it. At higher levels it lives for
26, 18 and 10 s, enough for three downloads, for two and for one, so it has to be renewed in time; the links leave room for it.
Where this differs from AWS Signature Version 4 (query authentication): there X-Amz-Date and X-Amz-Expires say when a link ends,
and the server sorts the query before it verifies; here `expires` is a life in seconds from the first precheck, which has no
counterpart there, and the query counts as it was written.
Order of judgement for a download: precheck made, windows (token, then link), link bytes, header values and absent headers.
"""

from html import escape
from itertools import permutations

from worlds.contract.checks import check_header
from worlds.contract.gates import Gate
from worlds.contract.judgement import validity_first
from worlds.contract.presigned import Presigned, named, presign
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, get

LIVES_S = ((9, 12), (26, 34), (52, 68))
"""Range of each link's life in seconds, shortest first."""


class PresignedUrlDownload(ContractWorld):
    """One file in three parts."""

    def prepare(self) -> None:
        """Draw lives, which part gets which, contents and anchor."""
        draw = self.chance("links")
        lives = [draw.between(low, high) for low, high in LIVES_S]
        parts = draw.sample((1, 2, 3), 3)
        self.life_s = dict(zip(parts, lives, strict=True))
        self.content = {part: f"part {part}: {self.chance('content').base64(96)}\n".encode() for part in (1, 2, 3)}
        self.deliverable = b"".join(self.content.values())
        shortest = parts[0]
        self.listed = self.chance("listed").choice([order for order in permutations((1, 2, 3)) if order[0] != shortest])
        self.draw_slice()
        self.gate = Gate(self, "precheck_token", "precheck")
        self.links: dict[int, Presigned] = {}

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        seconds = {f"{name}_seconds": self.manifest.cost_ms(name) // 1000 for name in ("page", "precheck", "download")}
        return {**self.slice_facts(), **seconds}

    @get("/task", cost="page")
    def page(self, call: Call) -> Reply:
        """The page with the links."""
        rows = "\n".join(self.row(part) for part in self.listed)
        body = f"<!doctype html>\n<title>Downloads</title>\n<ol>\n{rows}\n</ol>\n"
        return Reply(body, media_type="text/html; charset=utf-8")

    def row(self, part: int) -> str:
        """What the page says of one part; its link's bytes do not depend on when it is seen."""
        href = escape(self.presigned(part, issued_at=self.now).text)
        return f'<li><a id="part-{part}" href="{href}">part {part}</a> ({self.life_s[part]} s)</li>'

    @get("/api/precheck", cost="precheck")
    def precheck(self, call: Call) -> dict[str, object]:
        """A new token; the first one starts the links."""
        opened = self.gate.open(self.knob_ms("window_seconds"))
        if not self.links:
            self.links = {part: self.presigned(part, issued_at=self.now) for part in (1, 2, 3)}
            for link in self.links.values():
                self.issued(link.resource_id, link.contract.expires_at)
        return opened

    @get("/api/resource/{name}", cost="download", headers=("X-Seed-Anchor", "X-Contract-Proof"), query=("sig",))
    def download(self, call: Call) -> Reply:
        """One part, if every contract on the way holds."""
        self.gate.require()
        link = named(self.links.values(), call.params["name"])
        validity_first(
            self.gate.check_window,
            lambda: self.follow(link, call),
            lambda: check_header(call, "X-Seed-Anchor", self.slice),
            lambda: self.gate.check_proof(call, "X-Contract-Proof", self.slice),
        )
        return Reply(self.content[int(link.resource_id.removeprefix("part_"))])

    def presigned(self, part: int, issued_at: int) -> Presigned:
        """The part's link: always the same bytes, its window from `issued_at` (virtual ms)."""
        life_s = self.life_s[part]
        return presign(
            self.chance.fresh(f"link-{part}"), f"part_{part}", issued_at=issued_at, ttl_ms=life_s * 1000,
            expires_text=str(life_s), payload_bytes=round(self.knob("payload_bytes")),
        )  # fmt: skip
