"""Opaque cursors pass through a form-decoded query unharmed or not at all, and the page quota leaves no time to dawdle.

Six to ten pages by seed. The server reads `?cursor=` as web frameworks do (application/x-www-form-urlencoded, WHATWG URL
section 5.1): + is a space, %XX one byte, decoded once. Cursors are base64 with + and /, and hold one escape such as %2B of
their own, so only a client that percent-encodes the whole cursor (RFC 3986 section 2.1) delivers its bytes; the raw cursor, a
decoded one and one in the other alphabet arrive changed. Items have outer and double spaces, combining marks and a twin.
Time: a page costs 3 s, a cursor lives 20 s, and q (3 to 5) page requests are allowed in any W = 3q + 8..11 s (RFC 6585
section 4). After q pages in a row Reset is 11 to 14 s, so a client that waits so long and asks uses a cursor of 14 to 17 s. One
that goes on earns a 429 at once, as the next page is due 3q s after the first and 3q < W; one that waits all of W after it
has none left is W + 3 >= 20 s late. Ten pages at q = 3 end at 3W + 12 = 72 s, within the budget; six at q = 5 still wait once.
At level 4 a page costs 5 s and a cursor lives 18 s: who waits for all of Reset and then asks uses one of 18 to 21 s; who asks
5 s earlier, and so is judged when Reset is over, one of 13 to 16 s.
Choices where the contract leaves one:
1. the quota stands in the docs page and in the headers of every page (X-RateLimit, as vendors have them, no standard), so the
   first 429 already is RATE_LIMITED;
2. every request to /api/page counts unless the quota refuses it, whatever its cursor;
3. a page asked for again shows the same next cursor, which lives no longer for it; without `cursor` it is the first page;
4. a lost cursor cannot be had again from the start, so such a reading is lost;
5. a parameter that is none of the issued cursors is judged against the newest one; an empty one is MISSING_TOKEN;
6. `collected` is a list of JSON strings, compared string by string, so JSON formatting does not count;
7. the deliverable is `receipt`, drawn from the seed and given out by the verification alone.
Order of judgement: for a page quota, cursor (window, bytes); for the verification slice, items.
"""

from worlds.contract.anchors import SLICE, draw_marked
from worlds.contract.checks import check_value, require_fields
from worlds.contract.credentials import Credential
from worlds.contract.hazards import risky_base64
from worlds.contract.labels import Label
from worlds.contract.quotas import SlidingQuota
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get, post
from worlds.core.chance import Stream

PAGES, QUOTA, SLACK_S = (6, 10), (3, 5), (8, 11)
"""Range of pages, of requests in a window, and of what the window has beyond their cost."""

SHAPES = (" {0} {1}", "{0} {1} ", "{0}  {1}", "{0}e\u0301 {1}", "\u00a0{0} {1}", "{0} {1}\u2009\U0001f9ed")
"""Items that trimming, squeezing or normalising changes."""

ESCAPES = ("%2B", "%2F", "%3D")
RECEIPT_CHARS = 40

DOCS = """\
GET /api/page
  The first page, or with ?cursor= the page that the cursor leads to.
  The query is read as application/x-www-form-urlencoded: + is a space, %XX is a byte, and it is decoded once.
  What comes out must be the cursor, character for character, as the string next_cursor holds it.
  Asking for a page again shows the same next_cursor with the same end.
Quota
  At most {limit} requests to /api/page in any {window} seconds, whatever they ask for. A request counts at its end.
  X-RateLimit-Remaining: how many more may end now. X-RateLimit-Reset: in how many seconds one more may; 0 if now.
  A request over the quota is refused with 429; none may follow before its Retry-After has passed.
"""


class CursorPaginationIntegrity(ContractWorld):
    """A catalogue in pages, to be read whole."""

    def prepare(self) -> None:
        """Draw pages, items, quota and anchor."""
        draw = self.chance("pages")
        sizes = [round(self.knob("page_items")) + draw.below(3) for _ in range(draw.between(*PAGES))]
        self.items = draw_items(self.chance("items"), sum(sizes))
        rest = iter(self.items)
        self.pages = [[next(rest) for _ in range(size)] for size in sizes]
        draw = self.chance("quota")
        limit = draw.between(*QUOTA)
        self.quota = SlidingQuota(limit, limit * self.manifest.cost_ms("page") + draw.between(*SLACK_S) * 1000)
        self.anchor, self.marker = draw_marked(self.chance("anchor"))
        self.cursors = Credential(self, "cursor")

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        seconds = {f"{name}_seconds": self.manifest.cost_ms(name) // 1000 for name in ("page", "request")}
        told = {**seconds, "slice": SLICE, "receipt_chars": RECEIPT_CHARS}
        return {"anchor": self.anchor.text, "marker": self.marker, **told}

    @get("/api/docs")
    def docs(self, call: Call) -> str:
        """How the service reads a query, and its quota."""
        return DOCS.format(limit=self.quota.limit, window=self.quota.window_ms // 1000)

    @get("/api/page", cost="page", query=("cursor",))
    def page(self, call: Call) -> Reply:
        """The page that the cursor leads to, or the first."""
        self.quota.take(self.now)
        cursor = call.query("cursor")
        number = 0 if cursor is None else self.cursors.redeem(cursor, "parameter cursor").number + 1
        return Reply(self.shown(number), headers=self.quota.headers(self.now))

    def shown(self, number: int) -> dict[str, object]:
        """A page with the cursor of the next one, issued when it is first shown."""
        shown: dict[str, object] = {"items": self.pages[number], "next_cursor": None, "cursor_expires_at": None}
        if number + 1 < len(self.pages):
            if number == len(self.cursors.generations):
                life_ms = self.knob_ms("cursor_seconds")
                # a cursor does not end the one before it
                self.cursors.renew(
                    draw_cursor(self.chance("cursor"), round(self.knob("cursor_bytes"))), life_ms, grace_ms=life_ms
                )
            cursor = self.cursors.generations[number]
            shown |= {"next_cursor": cursor.text, "cursor_expires_at": cursor.contract.expires_at / 1000}
        return shown

    @post("/api/verify")
    def verify(self, call: Call) -> dict[str, object]:
        """The receipt, if slice and items hold."""
        given = call.json()
        check_value(given.get("anchor"), self.anchor.after(self.marker), "anchor")
        require_fields(given, "collected")
        if given["collected"] != self.items:
            raise Violation(Label.WRONG_VALUE, "collected is not the list of all items as given", field="collected")
        receipt = self.chance("receipt").hex(RECEIPT_CHARS)
        self.deliverable = receipt.encode()
        return {"verified": len(self.items), "receipt": receipt}


def draw_items(draw: Stream, count: int) -> list[str]:
    """Items in pairs of words, some in each of the shapes, and one twice."""
    items = [f"{draw.hex(5)} {draw.hex(draw.between(3, 8))}" for _ in range(count)]
    twin, copied, *places = draw.sample(range(count), len(SHAPES) + 2)
    for place, shape in zip(places, SHAPES, strict=True):
        items[place] = shape.format(*items[place].split(" "))
    items[twin] = items[copied]
    return items


def draw_cursor(draw: Stream, least_bytes: int) -> str:
    """Base64 with + and / to lose, and an escape that stands in it as three characters like any others."""
    text = risky_base64(draw, least_bytes + draw.below(51))
    place = draw.between(1, len(text) - 4)
    return text[:place] + draw.choice(ESCAPES) + text[place:]
