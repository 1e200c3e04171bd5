"""An order is made once, whatever its answers say: send the same request under the same key, after the wait that was asked for.

The first request makes the order, but one or two answers in a row get lost, by seed: a 502, a 504, a 201 without its body, or
202 and nothing yet, each with Retry-After (RFC 9110 section 10.2.3). draft-ietf-httpapi-idempotency-key-header (section 2)
and Stripe's API agree on the way out: the same key with the same body gets the stored answer. For another body this service
answers as the draft has it, 422 (section 2.7); Stripe answers 400. A new key would make a second order, refused with 409.
Only the stored answer has the order id, without which there is no receipt.
What a lost answer said is not what is stored: all of them are failures on the way, or say that the work is under way. A 500 of
the service itself would be stored and given again, as Stripe does, so there is none.
Where this differs from both: neither promises Retry-After, nor that an API knows a second order when it sees one, and neither
has a 202 while the first request is under way (the draft answers a second one 409).
It announces that receipts are down for a while (503, RFC 9110 section 15.6.4), and how long this one is kept at all.
Time: a request costs 2 s and Retry-After is 3 to 5 s, so a retry at once is early, and two waits end after 16 s at the most; a
key is remembered for 60 s. Receipts go down with the stored answer, for 12 to 20 s, and this one is kept for 10 s more: who
waits for the end comes 2 s after it, who idles for ten before is too late.
At level 4 it is kept for 2 s: who sends when they are up again is too late then, and has to send a second before.
Choices where the contract leaves one:
1. a body is the same when its bytes are, as the draft lets a service choose; the instruction says so, and for how long a key is
   remembered, as any API's documentation would, but not that an answer may get lost;
2. the order's fields are judged as JSON values when it is placed; quotes around the key (the draft's structured string) do not
   matter, a key that is no UUID is WRONG_VALUE;
3. every lost answer has Retry-After; asking before it has passed is BACKOFF_VIOLATION (409, as the draft has it for a request
   that is under way) and moves nothing;
4. the stored answer keeps its times: asking again moves nothing either;
5. a second order is WRONG_VALUE at any time, also when the key is forgotten, because the order is not;
6. the deliverable is the body of the receipt, whose code is drawn from the seed and given out by the receipt alone.
Order of judgement: for an order key and fields there, Retry-After, window of the key, key and body; for a receipt order placed,
id and slice there, downtime, window and bytes of the id, slice.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus

from worlds.contract.checks import check_header, require_fields, require_headers
from worlds.contract.contracts import Contract
from worlds.contract.labels import Label
from worlds.contract.quotas import whole_seconds
from worlds.contract.world import ContractWorld, compact
from worlds.core.calls import Body, Call, Reply, Violation, get, post

LOST: tuple[tuple[int, Body], ...] = (
    (HTTPStatus.GATEWAY_TIMEOUT, {"error": "gateway timeout"}), (HTTPStatus.BAD_GATEWAY, {"error": "bad gateway"}),
    (HTTPStatus.CREATED, b""), (HTTPStatus.ACCEPTED, {"status": "pending"}),
)  # fmt: skip
"""Status and body of answers that do not tell what became of the order."""

DOWN_S = (12, 20)
CITIES = ("Tromsø", "Kraków", "Győr", "Île-de-Bréhat", "Nuño Gómez")
UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class IdempotencyKeyRetry(ContractWorld):
    """One order and its receipt."""

    again_at: int
    """When the order may be asked for again, virtual ms."""
    down_until: int
    """When receipts are up again."""

    def prepare(self) -> None:
        """Draw the order, the answers that get lost, the downtime and the anchor."""
        draw = self.chance("order")
        self.order: dict[str, object] = {"sku": f"0{draw.between(10, 99)}E{draw.between(1, 9)}", "quantity": draw.between(2, 9)}
        self.order |= {"city": draw.choice(CITIES), "reference": draw.hex(10)}
        draw = self.chance("lost")
        self.lost = draw.sample(LOST, draw.between(1, 2))
        draw = self.chance("downtime")
        self.down_ms = draw.seconds(*DOWN_S)
        self.draw_slice()
        self.key, self.body = "", b""
        self.record: Contract | None = None
        self.receipt: Contract | None = None
        self.stored: dict[str, object] = {}

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        told = {"order": self.order, "record_seconds": f"{self.knob('record_seconds'):g}"}
        return {**self.slice_facts(), **told, "seconds": self.manifest.cost_ms("exchange") // 1000}

    @post("/api/orders", cost="exchange", headers=("Idempotency-Key",))
    def place(self, call: Call) -> Reply:
        """The order, made once, and an answer that may get lost."""
        require_headers(call, "Idempotency-Key")
        given, key = call.json(), (call.header("Idempotency-Key") or "").strip('"')
        require_fields(given, *self.order)
        if self.record is None:
            self.make(given, key)
            self.key, self.body = key, call.body
            self.record = self.issue("idempotency_key", key, self.knob_ms("record_seconds"))
        else:
            self.check_repeated(self.record, key, call.body)
        return self.answer()

    def make(self, given: Mapping[str, object], key: str) -> None:
        """Check the order as it is placed for the first time."""
        if not UUID.fullmatch(key):
            raise Violation(Label.WRONG_VALUE, "Idempotency-Key is no UUID", status=400, field="Idempotency-Key")
        wrong = [name for name in given if compact(given[name]) != compact(self.order.get(name))]
        if wrong:
            raise Violation(Label.WRONG_VALUE, "this is not the order that is to be placed", status=422, field="body")

    def check_repeated(self, record: Contract, key: str, body: bytes) -> None:
        """Check a request after the first: not too early, not too late, and the same."""
        self.used(record.contract_id)
        also = None if (key, body) == (self.key, self.body) else Label.WRONG_VALUE
        if (early_ms := self.again_at - self.now) > 0:
            raise Violation(
                Label.BACKOFF_VIOLATION, "asked again before Retry-After had passed", status=409, also=also,
                headers=(("Retry-After", str(-(-early_ms // 1000))),), early_by_s=early_ms / 1000,
            )  # fmt: skip
        if key != self.key:
            raise Violation(Label.WRONG_VALUE, "this would be a second order", status=409, field="Idempotency-Key")
        if not record.validate_validity(self.now):
            raise record.expired(self.now, also=also, rule="Idempotency-Key is no longer remembered")
        if body != self.body:
            raise Violation(Label.WRONG_VALUE, "the key stands for another body", status=422, field="body")

    def answer(self) -> Reply:
        """The next answer that gets lost, or the stored one, whose times begin when it is first given."""
        if self.lost:
            (status, body), pause = self.lost.pop(0), round(self.knob("retry_seconds")) + self.chance("pause").below(3)
            self.again_at = self.now + pause * 1000
            return Reply(body, status, (("Retry-After", str(pause)),), "protocol")
        if self.receipt is None:
            order_id = f"ord_{self.chance('order-id').hex(24)}"
            self.down_until = self.now + self.down_ms
            self.receipt = self.issue("order_id", order_id, self.down_ms + self.knob_ms("receipt_seconds"))
            times = {"down_from": self.now, "down_until": self.down_until, "kept_until": self.receipt.expires_at}
            self.stored = {"order_id": order_id, "receipt": {name: at / 1000 for name, at in times.items()}}
        return Reply(self.stored, HTTPStatus.CREATED)

    @get("/api/receipt", cost="exchange", query=("order_id",), headers=("X-Seed-Anchor",))
    def fetch(self, call: Call) -> Reply:
        """The receipt, while receipts are up and this one is kept."""
        if self.receipt is None:
            raise Violation(Label.MISSING_CONSTRAINT, "no order has been answered yet", field="order")
        order_id = call.query("order_id")
        if not order_id:
            raise Violation(Label.MISSING_CONSTRAINT, "parameter order_id is missing", status=400, field="order_id")
        require_headers(call, "X-Seed-Anchor")
        if self.now < self.down_until:
            pause = str(whole_seconds(self.down_until - self.now))
            rule = "receipts are down, as was announced"
            raise Violation(Label.SCHEDULED_UNAVAILABLE, rule, status=503, headers=(("Retry-After", pause),))
        self.redeem(self.receipt, order_id, "parameter order_id", ended="is that of a receipt that is gone")
        check_header(call, "X-Seed-Anchor", self.slice)
        self.deliverable = compact({**self.order, "order_id": order_id, "code": self.chance("code").hex(40)})
        return Reply(self.deliverable, media_type="application/json")
