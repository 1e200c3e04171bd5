"""One download behind a presigned link and a precheck: the flow that the byte-exact tasks share.

page -> precheck -> download with X-Seed-Anchor (the slice) and X-Contract-Proof (slice:tail of the precheck token). A task
defines the form of its link and of its page.
1. The link is issued at the first request of the page; later requests return the same bytes and the same expiry.
2. The precheck is a second, shorter window; another precheck replaces its token. Both lengths vary by seed, and both ends are
announced: the link's as a date, the token's as virtual time.
3. The file is one line without a final newline, which no shell adds or removes unless it is told to.
Order of judgement for a download: precheck made, headers present, windows (link, then precheck), link bytes, header values.
"""

from __future__ import annotations

from datetime import timedelta

from worlds.contract.checks import check_header, require_headers
from worlds.contract.gates import Gate
from worlds.contract.judgement import validity_first
from worlds.contract.presigned import Presigned, named, presign
from worlds.contract.windows import drawn_ms
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, get
from worlds.core.clock import http_date

FILE_BYTES = 96
"""Random bytes in the file, as base64 text without padding."""


class PrecheckedDownload(ContractWorld):
    """World with one file behind a link; needs the knobs link_seconds and window_seconds, and the costs of each route.

    A task defines `show_page`, the knob payload_bytes or a method of that name, and `make_link` if its link is of another kind.
    """

    def prepare(self) -> None:
        """Draw file, anchor, slice, windows and the file's id; nothing is issued yet."""
        self.content = self.chance("content").base64(FILE_BYTES).encode()
        self.draw_slice()
        self.link_ms, self.window_ms = drawn_ms(self, "link_seconds"), drawn_ms(self, "window_seconds")
        # short enough for a refusal to name it
        self.resource_id = f"file_{self.chance('resource').hex(2)}"
        self.gate = Gate(self, "precheck_token", "precheck")
        self.link: Presigned | None = None

    def facts(self) -> dict[str, object]:
        """Return the variables of the instruction."""
        return {
            **self.slice_facts(), "file_chars": len(self.content),
            **{f"{cost}_seconds": self.manifest.cost_ms(cost) // 1000 for cost in ("page", "precheck", "download")},
        }  # fmt: skip

    def payload_bytes(self) -> int:
        """Return the number of random bytes in the link's payload parameter; by default the value of a knob."""
        return round(self.knob("payload_bytes"))

    def show_page(self, link: Presigned) -> str:
        """Return the page as HTML; it is the same for every request."""
        raise NotImplementedError

    def make_link(self) -> Presigned:
        """Return the link, issued now."""
        return presign(
            self.chance("link"), self.resource_id, issued_at=self.now, ttl_ms=self.link_ms,
            expires_text=self.unix_at(self.now + self.link_ms), payload_bytes=self.payload_bytes(),
        )  # fmt: skip

    def reachable(self) -> list[Presigned]:
        """Return every link that works: the correct one, unless a task adds others."""
        return [self.link] if self.link else []

    def unix_at(self, ms: int) -> str:
        """Return a virtual instant (virtual ms since the start) as whole seconds since 1970, as in a link's `expires`."""
        return str(int(self.clock.epoch.timestamp()) + ms // 1000)

    def date_at(self, ms: int) -> str:
        """Return a virtual instant (virtual ms since the start) in the form of the Date header, as on a page."""
        return http_date(self.clock.epoch + timedelta(milliseconds=ms))

    @get("/task", cost="page")
    def page(self, call: Call) -> Reply:
        """Serve the page; the first request issues the link."""
        if self.link is None:
            self.link = self.make_link()
            self.issued(self.link.resource_id, self.link.contract.expires_at)
        return Reply(self.show_page(self.link), media_type="text/html; charset=utf-8")

    @get("/api/precheck", cost="precheck")
    def precheck(self, call: Call) -> dict[str, object]:
        """Issue a new precheck token, which replaces the previous one."""
        return self.gate.open(self.window_ms)

    @get("/api/resource/{name}", cost="download", headers=("X-Seed-Anchor", "X-Contract-Proof"), query=("sig",))
    def download(self, call: Call) -> Reply:
        """Serve the file if every contract on the way holds."""
        self.gate.require()
        require_headers(call, "X-Seed-Anchor", "X-Contract-Proof")
        validity_first(
            lambda: self.follow(named(self.reachable(), call.params["name"]), call),
            self.gate.check_window,
            lambda: check_header(call, "X-Seed-Anchor", self.slice),
            lambda: self.gate.check_proof(call, "X-Contract-Proof", self.slice),
        )
        self.deliverable = self.content
        return Reply(self.content, media_type="text/plain; charset=us-ascii")
