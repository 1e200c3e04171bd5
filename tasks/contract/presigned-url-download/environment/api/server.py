"""Presigned links whose lives differ: earliest deadline first, every byte as issued (AWS SigV4 query authentication).

Three parts, each behind a presigned link. All links start to run out at the first precheck, the shortest after about 10 s,
the longest after about 60 s; a download takes 8 s. The page lists the longest first, so the listed order loses the shortest
link while ascending order arrives at 8, 16 and 24 s (paper, Appendix H). Loading the page again gives the same links, and a
second precheck gives a new token but no new time.
Order of judgement for a download: precheck made, headers present, windows (token, then link), link bytes, header values.
"""

from html import escape

from worlds.contract.checks import check_header, require_headers
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
        parts = [1, 2, 3]
        draw.shuffle(parts)
        self.life_s = dict(zip(parts, lives, strict=True))
        self.content = {part: f"part {part}: {self.chance('content').base64(96)}\n".encode() for part in (1, 2, 3)}
        self.draw_slice()
        self.gate = Gate(self, "precheck_token", "precheck")
        self.links: dict[int, Presigned] = {}
        self.fetched: set[int] = set()

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        seconds = {f"{name}_seconds": self.manifest.cost_ms(name) // 1000 for name in ("page", "precheck", "download")}
        return {**self.slice_facts(), **seconds}

    @get("/task", cost="page")
    def page(self, call: Call) -> Reply:
        """The page with the links, longest life first."""
        longest_first = sorted(self.life_s.items(), key=lambda life: -life[1])
        rows = "\n".join(
            f'<li><a id="part-{part}" href="{escape(self.presigned(part, 0).text)}">part {part}</a> ({seconds} s)</li>'
            for part, seconds in longest_first
        )
        body = f"<!doctype html>\n<title>Downloads</title>\n<ol>\n{rows}\n</ol>\n"
        return Reply(body, media_type="text/html; charset=utf-8")

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
        require_headers(call, "X-Seed-Anchor", "X-Contract-Proof")
        validity_first(
            self.gate.check_window,
            lambda: self.follow(link, call),
            lambda: check_header(call, "X-Seed-Anchor", self.slice),
            lambda: self.gate.check_proof(call, "X-Contract-Proof", self.slice),
        )
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
