"""Webhook signatures cover the raw bytes: hash what arrived, not what a parser made of it, and do not believe every sender.

Three events, fetched and acknowledged one after another. As at GitHub, X-Hub-Signature-256 is `sha256=` and the hex
HMAC-SHA256 (FIPS 198-1) of the raw body, from a secret in hex where GitHub keys with the text. Bodies hold what no parser
gives back unchanged: numbers like 12.50 and 1.0, an escaped slash, an escaped letter beside a raw emoji, JSON in a string,
keys in no order. An ack must carry the computed HMAC.
Exactly one event is forged, position and manner by seed: signed with the hex text of the secret as the key, signed over the
re-serialised body, or with one hex digit changed; so the usual mistakes side with the forger.
Where this differs from GitHub: there deliveries are posted to the receiver; here they are fetched and acknowledged, with the
MAC that was computed, and X-Event-Sequence numbers them.
At higher levels there are more events, and an ack is told that the next one is ready only after some seconds: who does not read
it fetches too early, and who waits longer than told leaves the window of the last delivery.
Choices where the contract leaves one:
1. a delivery is an artifact with a window of 10 s from its fetch; its ack, the next fetch and, for the last one, the final
   ack must come in that window. A fetch costs 1 s, an ack 2 s. A delivery whose window is over is not repeated;
2. fetching before the ack, before the next event is ready or past the last one, acknowledging any but the current event, or it
   twice, and a final ack before the others are all VERSION_CONFLICT; an ack without `event_sequence` is the final one;
3. in an ack the hash is judged before the HMAC; a wrong HMAC and a wrong `verified` are told apart only in the log; a number or
   a boolean of another JSON type is unreadable and breaks nothing;
4. the final ack names the slice too, so that a wrong slice is WRONG_VALUE and not only a wrong chain;
5. the deliverable is `receipt`, drawn from the seed and given out by the final ack alone.
Order of judgement for an ack: its turn, fields present, window, values.
"""

import json
from collections.abc import Mapping

from worlds.contract.anchors import SLICE, draw_marked
from worlds.contract.checks import hmac_hex, sha256_hex
from worlds.contract.contracts import Contract
from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld, compact
from worlds.core.calls import Call, Reply, Unreadable, Violation, get, post
from worlds.core.chance import Stream

SECRET_BYTES, RECEIPT_CHARS = 16, 48
CITIES = ("Z\\u00fcrich \u23f0", "M\\u00e1laga \U0001f34a", "Troms\\u00f8 \U0001f6a2", "K\\u014dbe \U0001f3ef")
"""As JSON text: an escaped letter, and an emoji as it is."""

RULES = {
    Label.WRONG_HASH: "a hash is not that of the raw bytes",
    Label.SIGNATURE_MISMATCH: "hmac_sha256 or verified is wrong",
    Label.WRONG_VALUE: "the slice of the seed string is wrong",
}
Expected = Mapping[str, tuple[object, Label]]
"""By field, in the order of judgement: the right value, and the label of a wrong one."""


class WebhookHmacVerify(ContractWorld):
    """Signed events, one of them forged."""

    def prepare(self) -> None:
        """Draw secret, events, the forged one and anchor."""
        events = round(self.knob("events"))
        self.secret = self.chance("secret").bytes(SECRET_BYTES)
        self.bodies = [event_body(self.chance(f"event-{number}")) for number in range(events)]
        self.forged = self.chance("forged").below(events)
        self.anchor, self.marker = draw_marked(self.chance("anchor"))
        self.deliveries: list[Contract] = []
        self.acked = self.ready_at = 0

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            "anchor": self.anchor.text, "marker": self.marker, "slice": SLICE, "events": len(self.bodies),
            "secret": self.secret.hex(), "secret_bytes": SECRET_BYTES, "receipt_chars": RECEIPT_CHARS,
            "window_seconds": f"{self.knob('window_seconds'):g}",
            "fetch_seconds": self.manifest.cost_ms("request") // 1000, "ack_seconds": self.manifest.cost_ms("ack") // 1000,
        }  # fmt: skip

    @get("/webhook/event")
    def deliver(self, call: Call) -> Reply:
        """The next event, once the one before it is acknowledged."""
        fetched, total = len(self.deliveries), len(self.bodies)
        if self.acked < fetched or fetched == total or self.now < self.ready_at:
            raise Violation(Label.VERSION_CONFLICT, "no event is to be fetched now", status=409)
        if self.deliveries:
            self.judge({}, {})
        body, number = self.bodies[fetched], fetched + 1
        self.deliveries.append(self.issue(f"event_{number}", body, self.knob_ms("window_seconds")))
        signature = self.forgery(body) if fetched == self.forged else hmac_hex(self.secret, body)
        numbers = (("X-Event-Sequence", str(number)), ("X-Events-Total", str(total)))
        return Reply(body, headers=(("X-Hub-Signature-256", f"sha256={signature}"), *numbers), media_type="application/json")

    @post("/webhook/ack", cost="ack")
    def acknowledge(self, call: Call) -> dict[str, object]:
        """The acknowledgement of the current event, or the final one."""
        given = call.json()
        sequence = given.get("event_sequence")
        if sequence is None:
            return self.final_ack(given)
        if type(sequence) not in (int, float):
            raise Unreadable("event_sequence must be a number")
        if not isinstance(given.get("verified"), bool | None):
            raise Unreadable("verified must be true or false")
        if sequence != len(self.deliveries) or sequence == self.acked:
            raise Violation(Label.VERSION_CONFLICT, "this event is not to be acknowledged now", status=409)
        body, genuine = self.bodies[self.acked], self.acked != self.forged
        self.judge(given, {
            "body_sha256": (self.deliveries[-1].expected_bytes_hash, Label.WRONG_HASH),
            "hmac_sha256": (hmac_hex(self.secret, body), Label.SIGNATURE_MISMATCH),
            "verified": (genuine, Label.SIGNATURE_MISMATCH),
        })  # fmt: skip
        self.acked += 1
        pause_s = self.chance("pauses").between(0, round(self.knob("pause_seconds")))
        self.ready_at = self.now + pause_s * 1000
        return {"event_sequence": self.acked, "next_in": pause_s}

    def final_ack(self, given: Mapping[str, object]) -> dict[str, object]:
        """The receipt, if hashes, slice and chain hold."""
        if self.acked < len(self.bodies) or self.deliverable is not None:
            raise Violation(Label.VERSION_CONFLICT, "the final acknowledgement is not due now", status=409)
        part, hashes = self.anchor.after(self.marker), [delivery.expected_bytes_hash for delivery in self.deliveries]
        self.judge(given, {
            "hashes": (hashes, Label.WRONG_HASH),
            "anchor": (part, Label.WRONG_VALUE),
            "chain": (sha256_hex(*self.bodies, part), Label.WRONG_HASH),
        })  # fmt: skip
        receipt = self.chance("receipt").hex(RECEIPT_CHARS)
        self.deliverable = receipt.encode()
        return {"receipt": receipt}

    def judge(self, given: Mapping[str, object], expected: Expected) -> None:
        """Raise unless all fields are there, the last delivery is in its window, and the fields hold what is expected."""
        delivery = self.deliveries[-1]
        self.used(delivery.contract_id)
        for field in expected:
            if given.get(field) in (None, ""):
                raise Violation(Label.MISSING_CONSTRAINT, f"field {field} is missing", field=field)
        # compared as JSON text, where 1 is not true
        wrong = [(field, label) for field, (right, label) in expected.items() if compact(given[field]) != compact(right)]
        if not delivery.validate_validity(self.now):
            raise delivery.expired(self.now, also=wrong[0][1] if wrong else None, rule="the period of the delivery is over")
        for field, label in wrong:
            raise Violation(label, RULES[label], resource_id=delivery.contract_id, field=field)

    def forgery(self, body: bytes) -> str:
        """A signature for `body` that the sender did not make."""
        draw, digits = self.chance("forgery"), list(hmac_hex(self.secret, body))
        place = draw.below(len(digits))
        digits[place] = draw.choice("0123456789abcdef".replace(digits[place], ""))
        other_key, other_bytes = hmac_hex(self.secret.hex().encode(), body), hmac_hex(self.secret, compact(json.loads(body)))
        return self.chance("manner").choice((other_key, other_bytes, "".join(digits)))


def event_body(draw: Stream) -> bytes:
    """JSON as some other program writes it: compact, UTF-8, and different from what any parser would write again."""
    order, count = draw.hex(12), draw.between(1, 9)
    pairs = [
        f'"id":"evt_{draw.hex(16)}"',
        f'"amount":{draw.between(10, 999)}.{draw.between(1, 9)}0',
        f'"quantity":{count}{draw.choice(("", ".0", "e0"))}',
        f'"city":"{draw.choice(CITIES)}"',
        f'"link":"https:\\/\\/shop.example\\/orders\\/{order}"',
        f'"data":"{{\\"order\\":\\"{order}\\",\\"weight\\":{count}.0}}"',
    ]
    return ("{" + ",".join(draw.sample(pairs, len(pairs))) + "}").encode()
