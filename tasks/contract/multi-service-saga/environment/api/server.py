"""A saga is settled in time or it is lost: undo in reverse what was done, or commit (Garcia-Molina and Salem 1987).

Three to five services by seed. One step from the second on fails, or none does: also by seed, and not announced. The failing
step answers a planned 500 whose body carries nonce, deadline and, mostly, a token: that step is half done and undone first.
When the forward run is over, with the failed step or the last one, every token gets a window of 15 s. A request costs 2 s,
so at most five undos and the completion take 12 s: one detour (a status read) always fits, two and a wait do not. Where no
step failed the window is 10 s. In the paper
a compensation has no deadline and cannot be refused; window, tokens and nonces are the task's own.
Choices where the contract leaves one:
1. the commit path has the same deadline, and the completion presents all tokens, so the same artifacts are used on both paths;
2. a failing step gives a token in three of five cases; where it gives none it is the third at the earliest, so there are
   always two tokens to keep apart;
3. steps out of order are VERSION_CONFLICT; a step once the forward run is over, an undo that is not the next one due, also
   before anything failed, and a completion before its time are COMPENSATION_FAILURE;
4. a nonce of another request is WRONG_VALUE; a refused request leaves the current nonce as it is;
5. the status tells called and undone steps only, costs time like everything, and needs the nonce: nothing leaks from it;
6. a completion that lists more than all tokens is WRONG_VALUE;
7. the deliverable is `confirmation`, drawn from the seed and given out by the completion alone.
Order of judgement: nonce present, turn, fields present, window and bytes of each token, slice, proof, nonce.
"""

from itertools import zip_longest

from worlds.contract.checks import check_digest, check_value, require_fields, sha256_hex
from worlds.contract.contracts import Contract
from worlds.contract.labels import Label
from worlds.contract.nonces import NonceChain
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Unreadable, Violation, get, post, protocol

FIRST = [("inventory", "reserve", "release"), ("payment", "charge", "refund")]
BETWEEN = [("insurance", "insure", "void"), ("courier", "book", "dismiss"), ("customs", "declare", "withdraw")]
LAST = ("shipment", "create", "cancel")
"""Service, step, undo."""

ENDINGS = ("committed", "failed", "failed", "half done", "half done", "half done")
EARLIEST = {"half done": 1, "failed": 2}
"""The first step, from 0, that may end a saga so: there are always two tokens, or there would be nothing to confuse."""

COMMIT_MS = 10_000
"""Time to complete a saga of which no step has failed."""

CONFIRMATION_CHARS = 48


class MultiServiceSaga(ContractWorld):
    """One saga, to be undone or committed."""

    failed: bool
    """Whether the step that was called last has failed."""

    def prepare(self) -> None:
        """Draw services, the failing step, first nonce and anchor."""
        services, failing = self.chance("services"), self.chance("failing-step")
        self.steps = [*FIRST, *services.sample(BETWEEN, services.below(3)), LAST]
        self.ending = self.chance("finish").choice(ENDINGS)
        able = range(EARLIEST.get(self.ending, len(self.steps)), len(self.steps))
        self.failing = failing.choice(able) if able else None
        self.draw_slice()
        self.nonces = NonceChain(self.chance("nonce"), "X-Saga-Nonce")
        self.nonces.advance()
        self.called = 0
        self.tokens: dict[str, str] = {}
        self.contracts: dict[str, Contract] = {}
        self.receipts: dict[str, str] = {}

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            **self.slice_facts(), "steps": self.steps, "nonce": self.nonces.current,
            "request_seconds": self.manifest.cost_ms("request") // 1000,
            "window_seconds": f"{self.knob('window_seconds'):g}", "commit_seconds": COMMIT_MS // 1000,
            "confirmation_chars": CONFIRMATION_CHARS,
        }  # fmt: skip

    @post("/service/{service}/{action}", headers=("X-Saga-Nonce",))
    def act(self, call: Call) -> Reply:
        """A step or an undo, told apart by its name."""
        service, action = call.params["service"], call.params["action"]
        for number, (name, step, undo) in enumerate(self.steps):
            if service == name and action in (step, undo):
                self.nonces.require(call)
                return self.step(call, number) if action == step else self.undo(call, service)
        raise Unreadable("there is no such service or action")

    def step(self, call: Call, number: int) -> Reply:
        """The next step, done or failed as planned; the one that ends the forward run starts the window."""
        if self.contracts:
            raise Violation(Label.COMPENSATION_FAILURE, "the steps are over", status=409)
        if number != self.called:
            raise Violation(Label.VERSION_CONFLICT, "this step is not the next one", status=409)
        self.nonces.check(call)
        self.called += 1
        self.failed, body = number == self.failing, {}
        if not self.failed or self.ending == "half done":
            body["token"] = self.chance("token").base64(round(self.knob("token_bytes")))
            self.tokens[self.steps[number][0]] = body["token"]
        if self.failed or self.called == len(self.steps):
            body["deadline"] = self.start_window()
        body["nonce"] = self.nonces.advance()
        return protocol(500, "the step failed", body=body) if self.failed else Reply(body)

    def undo(self, call: Call, service: str) -> Reply:
        """The undoing of one step, in its turn."""
        if service != self.due():
            raise Violation(Label.COMPENSATION_FAILURE, "this is not to be undone now", status=409)
        self.present(service, call.json().get("token"))
        self.nonces.check(call)
        self.receipts[service] = self.chance("receipt").hex(32)
        return Reply({"receipt": self.receipts[service], "nonce": self.nonces.advance()})

    @post("/saga/complete", headers=("X-Saga-Nonce",))
    def complete(self, call: Call) -> dict[str, object]:
        """The confirmation, once all is done or undone, if tokens, slice and proof hold."""
        self.nonces.require(call)
        if not self.contracts or self.due() or self.deliverable:
            raise Violation(Label.COMPENSATION_FAILURE, "the saga is not to be completed now", status=409)
        given, part = call.json(), self.slice
        require_fields(given, "anchor", "proof")
        tokens = given["tokens"] if isinstance(given.get("tokens"), list) else []
        for service, token in zip_longest(self.tokens, tokens):
            if service is None:
                raise Violation(Label.WRONG_VALUE, "field tokens holds more than all tokens", field="tokens")
            self.present(service, token)
        check_value(given["anchor"], part, "anchor")
        proved = [*self.tokens.values(), *self.receipts.values(), part, "COMPENSATED" if self.failed else "COMMITTED"]
        check_digest(given["proof"], sha256_hex(*proved), "proof")
        self.nonces.check(call)
        confirmation = self.chance("confirmation").hex(CONFIRMATION_CHARS)
        self.deliverable = confirmation.encode()
        return {"confirmation": confirmation}

    @get("/saga/status", headers=("X-Saga-Nonce",))
    def status(self, call: Call) -> dict[str, object]:
        """Which steps were called, a failed one too, and which undone."""
        self.nonces.check(call)
        return {"called": [service for service, _, _ in self.steps[: self.called]], "undone": list(self.receipts)}

    def due(self) -> str | None:
        """The service to undo next."""
        left = [service for service in self.tokens if service not in self.receipts]
        return left[-1] if left and self.failed else None

    def present(self, service: str, token: object) -> None:
        """Check the token of one service."""
        given = token if isinstance(token, str) else None
        self.redeem(self.contracts[service], given, f"the token of {service}", ended="came after the deadline")

    def start_window(self) -> float:
        """Give every token its window, and return the virtual second at which all of them end."""
        window_ms = self.knob_ms("window_seconds") if self.failed else COMMIT_MS
        self.contracts = {s: self.issue(f"token_{s}", token, window_ms) for s, token in self.tokens.items()}
        return (self.now + window_ms) / 1000
