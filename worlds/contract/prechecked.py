"""One download behind a presigned link and a precheck: the flow that the byte-exact tasks share.

page (or instruction) -> precheck -> download with X-Seed-Anchor (the slice) and X-Contract-Proof (slice:tail of the precheck
token). The link is issued once, at the first sight of it; seeing the page again gives the same bytes and no new time. The
precheck is a second, shorter window. A task says how its link looks and where the agent finds it.
Order of judgement for a download: precheck made, headers present, windows (link, then precheck), link bytes, header values.
"""

from __future__ import annotations

from worlds.contract.checks import check_header, require_headers
from worlds.contract.gates import Gate
from worlds.contract.presigned import Presigned, named
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, get

FILE_BYTES = 96
"""Random bytes in the file, as base64 text."""


class PrecheckedDownload(ContractWorld):
    """A world whose one file lies behind `make_link()`; needs the knobs link_seconds and window_seconds."""

    def prepare(self) -> None:
        """Draw file, anchor and slice; nothing is issued yet."""
        self.content = f"{self.chance('content').base64(FILE_BYTES)}\n".encode()
        self.draw_slice()
        self.gate = Gate(self, "precheck_token", "precheck")
        self.link: Presigned | None = None

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return self.slice_facts()

    def make_link(self) -> Presigned:
        """The link, issued now."""
        raise NotImplementedError

    def show_link(self) -> Presigned:
        """The link, issued at the first call."""
        if self.link is None:
            self.link = self.make_link()
            self.issued(self.link.resource_id, self.link.contract.expires_at)
        return self.link

    def reachable(self) -> list[Presigned]:
        """Every link that leads somewhere: the right one, unless a task adds decoys."""
        return [self.link] if self.link else []

    @get("/api/precheck", cost="precheck")
    def precheck(self, call: Call) -> dict[str, object]:
        """A new precheck token; the one before stops counting."""
        return self.gate.open(self.knob_ms("window_seconds"))

    @get("/api/resource/{name}", cost="download", headers=("X-Seed-Anchor", "X-Contract-Proof"), query=("sig",))
    def download(self, call: Call) -> Reply:
        """The file, if every contract on the way holds."""
        self.gate.require()
        require_headers(call, "X-Seed-Anchor", "X-Contract-Proof")
        link = named(self.reachable(), call.params["name"])
        self.follow(link, call)
        self.gate.check_window()
        check_header(call, "X-Seed-Anchor", self.slice)
        self.gate.check_proof(call, "X-Contract-Proof", self.slice)
        self.deliverable = self.content
        return Reply(self.content)
