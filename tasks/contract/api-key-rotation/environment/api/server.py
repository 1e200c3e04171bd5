"""A key that is replaced works a little longer, but not to the end: read what an answer announces, where it announces it.

Six steps with an API key. After one of the first three, or after two of them (by seed), the answer's header carries a new key;
its name is one of three by seed, and neither instruction nor body speaks of it. As vendors do, the old key is honoured for a
grace period, and a Sunset header tells its end (the form of RFC 8594 section 3, there for a resource, here for a key; that a
key changes under way, by a header, is the task's own: vendors announce it). The last step needs a proof with the
tails of the first and of the current key.
A request costs 5 s and grace is 11 or 12 s: a replaced key serves two calls, at 5 and 10 s, and is over for the third, at
15 s. From every rotation at least three steps are left, so on no seed an old key reaches the end. Who takes up a key at once
has all the time there is: six steps take 30 s of 80.
At level 4 a new key starts to work 7 s after its announcement, as Activation tells: the next call still takes the old one.
Choices where the contract leaves one:
1. six steps and not five: with a rotation after step 3 of 5 a client could finish on the old key;
2. steps are taken in order, once each: one that is ahead is MISSING_CONSTRAINT, one that was taken VERSION_CONFLICT;
3. what the proof is made of stands in the answer before the last, since to say it earlier would tell that keys change; its
   slice stands in the instruction;
4. a replaced key is EXPIRED_BEFORE_USE when its grace is over; within it, it is as good as the new one. No grace reaches the
   last step, so the key that is sent with it, and is part of the proof, is the newest one;
5. a key that never was, such as one in quotes, is held against the key it most resembles. A key with a carriage return, which
   the contract lists, cannot be sent: no HTTP client takes it (RFC 9110 section 5.5);
6. the deliverable is `receipt`, drawn from the seed and given out by the last step alone.
Order of judgement: key present, turn, proof present, window and bytes of the key, proof.
"""

from datetime import timedelta

from worlds.contract.checks import check_header, require_headers
from worlds.contract.credentials import Credential
from worlds.contract.labels import Label
from worlds.contract.rows import Row
from worlds.contract.windows import drawn_ms, not_before
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, get
from worlds.core.clock import http_date
from worlds.core.wire import Headers

ANNOUNCED_IN = ("X-Key-Rotation", "X-Replacement-Key", "X-Next-Api-Key")
SPARE_STEPS = 3
"""Steps that are left after the last rotation, at the least."""

TAIL, RECEIPT_CHARS = 8, 48
PROOF = (
    f"the characters of the seed string, a colon, the last {TAIL} characters of the first key you had, a colon, "
    f"and the last {TAIL} characters of the key that you send with that step"
)


class ApiKeyRotation(ContractWorld):
    """A row of steps, and the keys that open them."""

    def prepare(self) -> None:
        """Draw rotations, the header that announces them, the first key and anchor."""
        self.row = Row(round(self.knob("steps")))
        draw = self.chance("rotations")
        self.rotations = draw.sample(self.row.numbers[:-SPARE_STEPS], draw.between(1, 2))
        self.announced_in = self.chance("header").choice(ANNOUNCED_IN)
        self.grace_ms = drawn_ms(self, "grace_seconds")
        self.draw_slice()
        self.key, self.starts = Credential(self, "api_key"), list[int]()
        self.new_key()

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            **self.slice_facts(), "key": self.key.text, "steps": self.row.length, "receipt_chars": RECEIPT_CHARS,
            "lead": bool(self.knob("lead_seconds")),
            "request_seconds": self.manifest.cost_ms("request") // 1000,
        }  # fmt: skip

    @get("/api/step/{number}", headers=("X-API-Key", "X-Key-Proof"))
    def step(self, call: Call) -> Reply:
        """The next step, taken with a key that counts."""
        number = self.row.number(call.params["number"])
        require_headers(call, "X-API-Key", label=Label.MISSING_TOKEN)
        self.row.check_turn(number)
        if number == self.row.length:
            require_headers(call, "X-Key-Proof")
        shown = self.key.redeem(call.header("X-API-Key"), "header X-API-Key")
        not_before(self.now, self.starts[shown.number], "the API key")
        if number == self.row.length:
            check_header(call, "X-Key-Proof", self.proof())
        self.row.taken = number
        return Reply(self.told(), headers=self.rotated())

    def told(self) -> dict[str, object]:
        """The body of the step that was just taken; of the last one, with the receipt."""
        taken = self.row.taken
        if self.row.done:
            receipt = self.chance("receipt").hex(RECEIPT_CHARS)
            self.deliverable = receipt.encode()
            return {"step": taken, "receipt": receipt}
        proof = {"proof": {"header": "X-Key-Proof", "value": PROOF}} if taken == self.row.length - 1 else {}
        return {"step": taken, "next": f"/api/step/{taken + 1}", **proof}

    def rotated(self) -> Headers:
        """The headers that announce a new key, after the steps that bring one."""
        if self.row.taken not in self.rotations:
            return ()
        told = ((self.announced_in, self.new_key()), ("Sunset", self.date_in(self.grace_ms)))
        return (*told, ("Activation", self.date_in(lead_ms))) if (lead_ms := self.knob_ms("lead_seconds")) else told

    def date_in(self, ms: int) -> str:
        """The date so many virtual ms from now, as headers have it."""
        return http_date(self.clock.now + timedelta(milliseconds=ms))

    def new_key(self) -> str:
        """Issue the next key, for as long as there is time; the one before ends after its grace."""
        self.starts.append(self.now + self.knob_ms("lead_seconds") if self.starts else self.now)
        text = f"key_{self.chance('key').base64url(round(self.knob('key_bytes')))}"
        self.key.renew(text, self.manifest.budgets.virtual_ms, grace_ms=self.grace_ms)
        return text

    def proof(self) -> str:
        """What the last step must show."""
        return ":".join([self.slice, self.key.generations[0].text[-TAIL:], self.key.text[-TAIL:]])
