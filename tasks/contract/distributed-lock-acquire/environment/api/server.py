"""A leased lock is held only while it is renewed, and what was begun under a lost one is undone first (Gray and Cheriton 1989).

Four steps under one lock, as with the leases of Chubby and etcd; every grant brings a higher fencing token (Kleppmann 2016),
which each step must carry. A step takes 4 to 16 s by seed, a lease lives for 20 s, give or take one. The estimate tells how
long each step takes, and between which two no lease is renewed, so that both must fit into one. A lease can be renewed only
so often as a plan needs that renews just before what would not fit, a step or those two. Estimate, quota of renewals and undo
are the task's own; the sources let a holder renew as often as it likes.
At step 2 or 3 by seed the service loses the lease under way: a planned 409, when the step would have been done, with an undo
token that lives for 6 to 8 s. The step is half done; it is undone (2 s), the lock is acquired anew, with a renewal quota of its
own, and the step is done again.
The arithmetic: a step fits if it ends more than 1 s before its lease, as the next request takes 1 s; a step that does fit
leaves at least 3 s on every seed, so one detour (a look at the estimate) fits into each lease between renewals, two may not.
Plans are drawn until they punish three ways without one: who never renews loses the lease, who renews before every step runs
out, and who looks no further than the next step is between the two steps when the second one does not fit. At most 5 x 16 s of
work leave 40 s for the rest.
Choices where the contract leaves one:
1. the lease must hold from before a step until its end, with the step's whole time charged before it is judged;
2. a lease that ran out by itself is lost for good: acquiring again is EXPIRED_BEFORE_USE, and VERSION_CONFLICT while it lives;
3. a renewal over the quota is RATE_LIMITED, as the quota is announced with the lock; one between the two steps is
   SCHEDULED_UNAVAILABLE, as that is announced by the estimate. Waiting does not help, so neither has a Retry-After;
4. acquiring before the undo, and undoing anything but the half-done step, once, with its token, are COMPENSATION_FAILURE;
5. a token of a lost lease is EXPIRED_BEFORE_USE; a step out of order is WRONG_VALUE, completing too early MISSING_CONSTRAINT;
6. the deliverable is `proof`, drawn from the seed and given out by the completion alone.
Order of judgement: fields and headers present, lease (window, bytes), fencing token, step, values; an undo: its turn first.
"""

from collections.abc import Callable

from worlds.contract.checks import check_digest, check_turn, check_value, require_fields, require_headers, sha256_hex
from worlds.contract.contracts import Contract
from worlds.contract.credentials import Credential
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.leases import STEPS, draw_plan, fewest_renewals
from worlds.contract.rows import Row
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get, post, protocol, put

PROOF_CHARS = 48


class DistributedLockAcquire(ContractWorld):
    """Four steps under a lock that is lost once."""

    quota: int
    """How often the lease that is held can be renewed."""
    renewals_left: int
    allowed: dict[int, int]
    """How often a lease can be renewed, by the steps done when it is acquired."""

    def prepare(self) -> None:
        """Draw lease, durations, the step that is lost, first fencing token and anchor."""
        draw = self.chance("plan")
        self.plan = draw_plan(draw, round(self.knob("lease_seconds")))
        while not self.far_sighted():
            self.plan = draw_plan(draw, round(self.knob("lease_seconds")))
        self.lease_ms = 1000 * self.plan.lease_s
        self.undo_ms = self.knob_ms("undo_seconds") + draw.seconds(0, 2)
        self.draw_slice()
        self.lock = Credential(self, "lease")
        self.fence = self.chance("fence").between(1000, 9999)
        self.row, self.receipts = Row(STEPS), list[str]()
        self.undo_token: Contract | None = None
        self.undone = ""

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        costs = {f"{name}_cost": self.manifest.cost_ms(name) // 1000 for name in ("request", "undo")}
        return {**self.slice_facts(), **costs, "steps": STEPS, "proof_chars": PROOF_CHARS}

    def far_sighted(self) -> bool:
        """Whether the plan can be done, but not by who looks no further than the next step."""
        lease, (before, first, second) = self.plan.lease_s, self.plan.seconds[self.sealed - 2 : self.sealed + 1]
        tempting = fewest_renewals(lease, (before, first)) == 0 and before + first + second >= lease
        needed = {done: self.fewest(done) for done in (0, self.plan.losing - 1)}
        self.allowed = {done: renewals for done, renewals in needed.items() if renewals is not None}
        return tempting and self.allowed == needed

    def fewest(self, done: int) -> int | None:
        """The fewest renewals for the steps after so many; the two that must share a lease count as one."""
        steps = list(self.plan.seconds)
        if done in range(self.sealed):
            steps[self.sealed - 1] += steps.pop(self.sealed)
        return fewest_renewals(self.plan.lease_s, steps[done:])

    @property
    def sealed(self) -> int:
        """Between this step and the next one no lease is renewed."""
        return STEPS + 1 - self.plan.losing

    @get("/work/estimate")
    def estimate(self, call: Call) -> dict[str, object]:
        """How long each step takes, and where no lease is renewed."""
        seconds = {str(number): seconds for number, seconds in enumerate(self.plan.seconds, 1)}
        return {"seconds": seconds, "no_renewal_after": self.sealed}

    @post("/lock")
    def acquire(self, call: Call) -> dict[str, object]:
        """The lock, if nobody holds it and nothing is half done."""
        held = self.lock.current
        if self.half_done:
            raise Violation(Label.COMPENSATION_FAILURE, "something is half done", status=409)
        if held and not held.revoked:
            if held.contract.validate_validity(self.now):
                raise Violation(Label.VERSION_CONFLICT, "the lock is held already", status=409)
            raise held.contract.expired(self.now)
        self.quota = self.renewals_left = self.allowed[self.row.taken]
        self.lock.renew(self.chance("lock").hex(64), self.lease_ms)
        return {"lock_token": self.lock.text, **self.grant()}

    @put("/lock/renew")
    def renew(self, call: Call) -> dict[str, object]:
        """The same lease, from now on, while renewals are left."""
        self.lock.redeem(call.json().get("lock_token"), "field lock_token")
        if not self.renewals_left:
            raise Violation(
                Label.RATE_LIMITED, "this lease cannot be renewed any more", status=429,
                limit=self.quota, window_s=self.plan.lease_s, retry_after_s=None,
            )  # fmt: skip
        if self.row.taken == self.sealed:
            raise Violation(Label.SCHEDULED_UNAVAILABLE, "no lease is renewed between these two steps", status=503)
        self.renewals_left -= 1
        self.lock.extend(self.lease_ms)
        return self.grant()

    @post("/work/step/{number}", headers=("X-Lock-Token", "X-Fencing-Token"))
    def step(self, call: Call) -> Reply:
        """The next step, done under the lease, or lost as planned."""
        number = self.row.number(call.params["number"])
        self.enter(call, lambda: self.check_next(number))
        lease = self.lock.generations[-1].contract
        self.clock.charge(1000 * self.plan.seconds[number - 1] - self.manifest.cost_ms("request"))
        if not lease.validate_validity(self.now):
            raise lease.expired(self.now)
        if number == self.plan.losing and not self.undone:
            return self.lose()
        self.row.taken = number
        self.receipts.append(self.chance("receipt").hex(32))
        return Reply({"receipt": self.receipts[-1]})

    @post("/work/undo/{number}", cost="undo")
    def undo(self, call: Call) -> dict[str, object]:
        """The undoing of the half-done step; the lock can be acquired after it."""
        number, token = self.row.number(call.params["number"]), self.undo_token
        if token is None or self.undone or number != self.plan.losing:
            raise Violation(Label.COMPENSATION_FAILURE, "this is not half done", status=409)
        self.redeem(token, call.json().get("undo_token"), "field undo_token")
        self.undone = self.chance("undone").hex(32)
        return {"receipt": self.undone}

    @post("/work/complete", headers=("X-Lock-Token", "X-Fencing-Token"))
    def complete(self, call: Call) -> dict[str, object]:
        """The proof, once all steps are done, if slice and digest hold."""
        given = call.json()
        require_fields(given, "anchor", "digest")
        self.enter(
            call,
            lambda: self.row.require(STEPS),
            lambda: check_value(given["anchor"], self.slice, "field anchor"),
            lambda: check_digest(given["digest"], sha256_hex(*self.receipts, self.undone, self.slice), "field digest"),
        )
        proof = self.chance.fresh("proof").hex(PROOF_CHARS)
        self.deliverable = proof.encode()
        return {"proof": proof}

    @property
    def half_done(self) -> bool:
        """Whether a step was lost and not undone yet."""
        return self.undo_token is not None and not self.undone

    def check_next(self, number: int) -> None:
        """Raise unless this step is the next one."""
        if number != self.row.taken + 1:
            raise Violation(Label.WRONG_VALUE, "this step is not the next one", field="step")

    def enter(self, call: Call, *checks: Callable[[], object]) -> None:
        """Check the lease and the fencing token, then the rest."""
        require_headers(call, "X-Lock-Token", label=Label.MISSING_TOKEN)
        require_headers(call, "X-Fencing-Token")
        validity_first(
            lambda: self.lock.redeem(call.header("X-Lock-Token"), "header X-Lock-Token"),
            lambda: check_turn(call.header("X-Fencing-Token"), self.fence, "header X-Fencing-Token"),
            *checks,
        )

    def grant(self) -> dict[str, object]:
        """What an acquired or renewed lease is told with: its end, a higher fencing token, renewals left."""
        self.fence += self.chance("fence").between(1, 9)
        ends = self.lock.generations[-1].contract.expires_at / 1000
        told = {"lease_ttl": self.plan.lease_s, "expires_at": ends, "fencing_token": self.fence}
        return {**told, "renewals_left": self.renewals_left}

    def lose(self) -> Reply:
        """The planned loss: the lease ends, and an undo token is issued."""
        self.lock.revoke()
        text = self.chance("undo-token").base64(32)
        self.undo_token = self.issue("undo_token", text, self.undo_ms)
        body = {"undo_token": text, "undo_before": self.undo_token.expires_at / 1000}
        return protocol(409, "the lease was lost while the step ran; the step is half done", body=body)
