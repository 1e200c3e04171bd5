"""Retry-After is the least time to stay away, and a place in the queue is not held for long after it (RFC 9110 section 10.2.3).

Three to six items by seed. Each has a ladder of its own: four 503 answers with growing Retry-After (4 to 5, 7 to 9, 12 to 15,
22 to 28 s by seed and item), then the item. No text tells a ladder and every item has its own, so each wait must be read off
its answer. Each 503 brings a retry token that the next request for the item must show.
With Retry-After w answered at time t, a request before t + w is early, by however little. The token works until t + w + 4 s,
half-open. A request takes 1 s, so who waits w - 1 s arrives on the dot and who waits w arrives at w + 1 s, both in time; half
of w is early on every rung, twice w is late on every one. At higher levels the place is held for 3, 2 and 1 s; with 1 s,
to wait w is too late, and who does not reckon with the request's own second loses.
Six items take 374 s at most (57 + 5 s each, then two requests) of 450 s: one ladder may be climbed twice.
Where this service goes beyond its sources: the RFC calls Retry-After a time that one ought to wait and knows no latest moment.
That early is a violation, and that a place is lost which is not taken in time, are rules of this service, which its
instruction states; so is the retry token, which no RFC has. The RFC's wait may be a date as well: here it is seconds always.
Choices where the contract leaves one:
1. the service as a whole asks to be left alone: while a Retry-After runs, a request for any item is early, and after it only
   the item that was put off can be asked for. Both are BACKOFF_VIOLATION, so waits can't be put inside one another;
2. too late is past the end of the retry token, a window of its own: EXPIRED_BEFORE_USE;
3. back-off is judged before the token: who must stay away is told nothing else. An appointment that was not kept, for whatever
   reason, is over, and the next request needs no token; the instruction is silent on this, since no way leads back to success;
4. a scripted 503 is `protocol`, an early request is a violation; no page discloses a ladder (as upstream did);
5. an item once given is given again; the order of items is free;
6. the deliverable is `receipt`, drawn from the seed and given out by the completion alone.
Order of judgement for an item: back-off, the right item, token present, window, bytes. For the completion: all items given,
list present and whole, items, header.
"""

from worlds.contract.checks import check_header, require_fields
from worlds.contract.contracts import Contract
from worlds.contract.labels import Label
from worlds.contract.quotas import Ladder
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Unreadable, Violation, get, post, protocol

RUNGS_S = ((4, 5), (7, 9), (12, 15), (22, 28))
"""Range of each Retry-After in seconds."""

FEWEST_ITEMS = 3
DATA_CHARS, RECEIPT_CHARS = 32, 48


class RetryBackoffCompliance(ContractWorld):
    """Items that are each put off four times."""

    def prepare(self) -> None:
        """Draw items, ladders and slice."""
        count = self.chance("count").between(FEWEST_ITEMS, round(self.knob("most_items")))
        self.data = [self.chance("data").hex(DATA_CHARS) for _ in range(count)]
        self.hold_ms = self.knob_ms("hold_seconds")
        self.ladders = [Ladder([self.chance("waits").between(*rung) * 1000 for rung in RUNGS_S]) for _ in self.data]
        self.draw_slice()
        self.given: set[int] = set()
        self.put_off: tuple[int, Contract] | None = None

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            **self.slice_facts(), "count": len(self.data), "data_chars": DATA_CHARS, "receipt_chars": RECEIPT_CHARS,
            "hold": f"{self.hold_ms / 1000:g}", "request_seconds": self.manifest.cost_ms("request") // 1000,
        }  # fmt: skip

    @get("/api/data/{number}", headers=("X-Retry-Token",))
    def item(self, call: Call) -> Reply:
        """One item, or the next wait on the way to it."""
        index = self.index(call.params["number"])
        if self.put_off is not None:
            self.keep_appointment(index, call, *self.put_off)
        wait_ms = self.ladders[index].climb(self.now)
        if wait_ms is not None:
            return self.refuse(index, wait_ms)
        self.given.add(index)
        return Reply({"item": index + 1, "data": self.data[index]})

    def keep_appointment(self, index: int, call: Call, item: int, token: Contract) -> None:
        """Check a request against the last 503: time, item, token. It counts once."""
        self.put_off = None
        if self.now < token.expires_at - self.hold_ms:
            # early for this ladder too: it raises
            self.ladders[item].climb(self.now)
        if index != item:
            raise Violation(Label.BACKOFF_VIOLATION, "the item that was put off must come next", status=409, field="item")
        self.redeem(token, call.header("X-Retry-Token"), "header X-Retry-Token")

    def refuse(self, index: int, wait_ms: int) -> Reply:
        """The planned 503: a wait, and a token that holds the place for a while after it."""
        token = self.chance("token").base64(25)
        self.put_off = index, self.issue("retry_token", token, wait_ms + self.hold_ms)
        after = (("Retry-After", f"{wait_ms // 1000}"),)
        return protocol(503, "the item is not ready yet", body={"item": index + 1, "retry_token": token}, headers=after)

    @post("/api/complete", headers=("X-Seed-Anchor",))
    def complete(self, call: Call) -> dict[str, object]:
        """The receipt for all items."""
        body = call.json()
        if len(self.given) < len(self.data):
            raise Violation(Label.MISSING_CONSTRAINT, "every item must come first", field="items")
        require_fields(body, "items")
        items = body["items"]
        if isinstance(items, list) and len(items) < len(self.data):
            raise Violation(Label.MISSING_CONSTRAINT, "field items lacks an item", field="items")
        if items != self.data:
            raise Violation(Label.WRONG_VALUE, "field items does not hold the items as given", field="items")
        check_header(call, "X-Seed-Anchor", self.slice)
        receipt = self.chance("receipt").hex(RECEIPT_CHARS)
        self.deliverable = receipt.encode()
        return {"receipt": receipt}

    def index(self, number: str) -> int:
        """Where an item stands, from 0; raises Unreadable for a number that no item has."""
        if number not in {str(place + 1) for place in range(len(self.data))}:
            raise Unreadable(f"items are numbered 1 to {len(self.data)}")
        return int(number) - 1
