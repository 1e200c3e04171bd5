"""Several files, one channel, and links that end one after another: only earliest deadline first gets them all.

Three to five files by seed, each behind a presigned link (`worlds.contract.presigned`); a download takes 20 s. The page says
until when each link works, as local time with an offset (RFC 3339), another one for each: read as text, the times sort wrongly,
as section 5.1 there warns. The page lists the files in an order that is never the right one.
Time: from the first page on, the file with the k-th deadline has 20k + 10 s, moved by the seed by up to 5. Taken in ascending
order it arrives at 20k, 5 to 15 s early; one place later it arrives at 20k + 20, 5 to 15 s late. So the ascending order is the
only one that fits, whatever the number of files (Jackson's rule, made strict), and there is room for four requests of 1 s too.
A session lasts 110 s: opened right before or after the page, it covers five downloads with 8 s to spare, so it takes nothing
from that room; opened 50 s before the page, it does not cover three.
From level 3 on each time is in one of three notations: RFC 3339, the one of the Date header, seconds since 1970.
Choices where the contract leaves one:
1. lives are 30, 50, 70, 90 and 110 s and not 30, 90 and 180, with which other orders fit too; a session of 105 s would leave
   three requests only where there are five files, and bind harder than the links;
2. the page always shows the same links and times, the session always the same token and deadline: asking again extends nothing;
3. a file may be fetched again, which costs its 20 s again; a refused download costs them, too;
4. no flow token is MISSING_TOKEN, no session, slice or proof MISSING_CONSTRAINT, one proof for all files WRONG_VALUE;
5. the deliverable is all files joined in the order of the page, which is not that of the downloads; each is hex of one length.
Order of judgement: session open, headers present, windows (link, session), bytes (link, flow token), slice, proof.
"""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from html import escape
from itertools import cycle
from urllib.parse import quote

from worlds.contract.checks import check_header, require_headers
from worlds.contract.gates import Gate
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.presigned import Presigned, named, sign
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, get
from worlds.core.chance import Stream
from worlds.core.clock import http_date

FILES, FILE_CHARS, MARGIN_S = (3, 5), 48, 10
NAMES = ("atlas", "brook", "cedar", "delta", "ember", "fjord", "grove", "haven", "islet", "kiosk")
OFFSETS_MIN = (-600, -480, -300, -210, 0, 120, 330, 540, 765)
"""Offsets from UTC in minutes, far enough apart for each to decide where its time sorts as text."""

NOTATIONS: dict[str, tuple[Callable[[datetime], str], ...]] = {
    "rfc3339": (datetime.isoformat,),
    "mixed": (
        http_date,
        datetime.isoformat,
        lambda ends: str(round(ends.timestamp())),
    ),
}
"""How the page writes times. As texts, three neighbours among the mixed ones never sort as the instants do."""


class MultiResourcePriority(ContractWorld):
    """A page of files with a deadline each."""

    def prepare(self) -> None:
        """Draw files, their lives in ascending order, the order of the page, offsets and anchor."""
        count, jitter = self.chance("count").between(*FILES), round(self.knob("jitter_seconds"))
        self.urgent_first = self.chance("names").sample(NAMES, count)
        download_s, lives = self.manifest.cost_ms("download") // 1000, self.chance("lives")
        self.life_s = {
            name: download_s * place + MARGIN_S + lives.between(-jitter, jitter)
            for place, name in enumerate(self.urgent_first, start=1)
        }
        self.content = {name: self.chance(f"content {name}").hex(FILE_CHARS).encode() for name in self.urgent_first}
        self.listed = disordered(self.chance("page"), self.urgent_first)
        notations = NOTATIONS[str(self.options["notation"])]
        turn = self.chance("notations").below(len(notations))
        self.notations = dict(zip(self.urgent_first, cycle((*notations[turn:], *notations[:turn])), strict=False))
        eastward = sorted(self.chance("offsets").sample(OFFSETS_MIN, count))
        self.zones = dict(zip(disordered(self.chance("zones"), self.urgent_first), eastward, strict=True))
        self.draw_slice()
        self.gate = Gate(self, "flow_token", "session")
        self.session: dict[str, object] = {}
        self.links: dict[str, Presigned] = {}

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            **self.slice_facts(), "files": len(self.listed), "file_chars": FILE_CHARS,
            "request_seconds": self.manifest.cost_ms("request") // 1000,
            "download_seconds": self.manifest.cost_ms("download") // 1000, "mixed": self.options["notation"] == "mixed",
        }  # fmt: skip

    @get("/api/session")
    def open_session(self, call: Call) -> dict[str, object]:
        """The flow token and its deadline, the same ones each time."""
        self.session = self.session or self.gate.open(self.knob_ms("session_seconds"))
        return self.session

    @get("/task")
    def page(self, call: Call) -> Reply:
        """The links, which start to run out when first seen."""
        if not self.links:
            self.links = {name: self.presigned(name) for name in self.listed}
            for name, link in self.links.items():
                self.issued(name, link.contract.expires_at)
        rows = "\n".join(
            f'<li><a href="{escape(link.text)}">{name}</a> until <time>{self.local_end(link)}</time></li>'
            for name, link in self.links.items()
        )
        body = f"<!doctype html>\n<title>Files</title>\n<ol>\n{rows}\n</ol>\n"
        return Reply(body, media_type="text/html; charset=utf-8")

    @get("/api/resource/{name}", cost="download", headers=("X-Flow-Token", "X-Seed-Anchor", "X-Contract-Proof"), query=("sig",))
    def download(self, call: Call) -> Reply:
        """One file, if link, session, slice and proof hold."""
        session, name = self.gate.require(), call.params["name"]
        require_headers(call, "X-Flow-Token", label=Label.MISSING_TOKEN)
        require_headers(call, "X-Seed-Anchor", "X-Contract-Proof")
        validity_first(
            lambda: self.follow(named(self.links.values(), name), call),
            lambda: self.redeem(session, call.header("X-Flow-Token"), "header X-Flow-Token"),
            lambda: check_header(call, "X-Seed-Anchor", self.slice),
            lambda: check_header(call, "X-Contract-Proof", f"{self.gate.proof(self.slice)}:{name}"),
        )
        self.deliverable = b"".join(self.content[each] for each in self.listed)
        return Reply(self.content[name])

    def presigned(self, name: str) -> Presigned:
        """The link of a file, issued now."""
        draw = self.chance(f"link {name}")
        query = f"payload={quote(draw.base64(round(self.knob('payload_bytes'))), safe='')}&nonce={draw.hex(24)}"
        return sign(draw, name, query, issued_at=self.now, ttl_ms=self.life_s[name] * 1000)

    def local_end(self, link: Presigned) -> str:
        """When a link ends, in zone and notation of its file."""
        ends: datetime = self.clock.epoch + timedelta(milliseconds=link.contract.expires_at)
        return self.notations[link.resource_id](ends.astimezone(timezone(timedelta(minutes=self.zones[link.resource_id]))))


def disordered(draw: Stream, names: list[str]) -> list[str]:
    """The names in any order but the given one."""
    shuffled = list(names)
    while shuffled == names:
        draw.shuffle(shuffled)
    return shuffled
