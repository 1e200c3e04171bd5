"""An announced quota and cursors that live little longer than its window: plan the waits, meet no 429 (RFC 6585 section 4).

Ten pages in order, q page requests (3 or 4 by seed) in any W seconds (50 to 70 by seed). The 429 is that of RFC 6585 section 4,
which leaves it to the server how it counts, here in a sliding window; Retry-After is that of RFC 9110 section 10.2.3, and
X-RateLimit headers are what vendors send, not a standard. A request costs 1 s. A cursor lives for W + 10 s from its issue.
The squeeze: after q requests in a row the youngest cursor is W - q + 1 s old when the next request is allowed, so it can be
used for 9 + q s more, 12 or 13 s whatever the seed. A client that waits Reset and then asks arrives at the age of W - q + 2 s;
ten pages take it 3 waits at q = 3 (at most 3 x 71 + 10 s) and 2 at q = 4. Waiting 15 s longer than told loses the cursor.
At level 4 a cursor lives 28 s less than the window, so q pages in a row lose it on every seed; a page every W / q s, 13 to 24,
never meets the quota and has each cursor in time.
Choices where the contract leaves one:
1. the bootstrap answer announces the quota, so the first 429 already is RATE_LIMITED, and asking again before its
   Retry-After has passed is BACKOFF_VIOLATION;
2. a request counts unless the quota refuses it, whatever its headers; one with an unreadable number is stray, and does not;
3. a second bootstrap is VERSION_CONFLICT: the reading is under way, and nothing restarts it or clears the quota;
4. a cursor that ran out cannot be had again, so such a reading is lost;
5. the deliverable is the pages' `data` strings (hex, of one length) joined with nothing between, free of JSON formatting.
Order of judgement for a page: bootstrap made, quota, page number, cursor (there, window, bytes), anchor slice.
"""

import re

from worlds.contract.anchors import SLICE, draw_anchor
from worlds.contract.checks import check_header
from worlds.contract.contracts import Contract
from worlds.contract.hazards import risky_base64
from worlds.contract.labels import Label
from worlds.contract.quotas import SlidingQuota
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Unreadable, Violation, get

QUOTA = (3, 4)
"""Range of requests per window."""

WINDOW_S = (50, 70)
"""Range of the window in seconds."""

DATA_CHARS = 32
"""Hex characters of data in a page."""


class ApiRateLimitPatience(ContractWorld):
    """One record in pages, behind a quota."""

    def prepare(self) -> None:
        """Draw quota, pages and anchor."""
        draw = self.chance("quota")
        self.quota = SlidingQuota(draw.between(*QUOTA), draw.between(*WINDOW_S) * 1000)
        self.data = [self.chance("data").hex(DATA_CHARS) for _ in range(round(self.knob("pages")))]
        self.anchor = draw_anchor(self.chance("anchor"))
        self.cursor: Contract | None = None
        self.next_page = 0

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        told = {"slice": SLICE, "request_seconds": self.manifest.cost_ms("request") // 1000}
        return {"anchor": self.anchor.text, "total": len(self.data), "data_chars": DATA_CHARS, **told}

    @get("/api/bootstrap")
    def bootstrap(self, call: Call) -> dict[str, object]:
        """The first cursor and the quota, once."""
        if self.cursor is not None:
            raise Violation(Label.VERSION_CONFLICT, "the reading is already open", status=409)
        cursor, expires_at = self.new_cursor()
        quota = {"requests": self.quota.limit, "window_seconds": self.quota.window_ms // 1000}
        return {"initial_cursor": cursor, "expires_at": expires_at, "total": len(self.data), "quota": quota}

    @get("/api/data", query=("page",), headers=("X-Page-Cursor", "X-Seed-Anchor"))
    def page(self, call: Call) -> Reply:
        """The next page, if quota, order, cursor and slice hold."""
        number = page_number(call)
        if self.cursor is None:
            raise Violation(Label.MISSING_CONSTRAINT, "a bootstrap must come first", field="bootstrap")
        self.quota.take(self.now)
        if number >= len(self.data):
            raise Violation(Label.VERSION_CONFLICT, "there is no such page", status=400, page=number)
        if number != self.next_page:
            raise Violation(Label.VERSION_CONFLICT, "this page is not the next one", status=409, page=number)
        self.redeem(self.cursor, call.header("X-Page-Cursor"), "header X-Page-Cursor")
        check_header(call, "X-Seed-Anchor", self.anchor.chars(SLICE * number + 1, SLICE * (number + 1)))
        return Reply(self.serve(number), headers=self.quota.headers(self.now))

    def serve(self, number: int) -> dict[str, object]:
        """The page and the next cursor; with the last page the record can be handed in, and there is no cursor."""
        self.next_page = number + 1
        cursor, expires_at = None, None
        if self.next_page < len(self.data):
            cursor, expires_at = self.new_cursor()
        else:
            self.deliverable = "".join(self.data).encode()
        return {"page": number, "data": self.data[number], "next_cursor": cursor, "next_cursor_expires_at": expires_at}

    def new_cursor(self) -> tuple[str, float]:
        """A cursor for the next page and the virtual second at which it ends."""
        text = risky_base64(self.chance("cursor"), 32)
        life_ms = self.quota.window_ms + self.knob_ms("slack_seconds")
        self.cursor = self.issue(f"cursor_{self.next_page}", text, life_ms)
        return text, self.cursor.expires_at / 1000


def page_number(call: Call) -> int:
    """The page asked for; raises Unreadable unless it is a whole number from 0."""
    text = call.query("page") or ""
    if not re.fullmatch("[0-9]{1,6}", text):
        raise Unreadable("page must be a whole number from 0")
    return int(text)
