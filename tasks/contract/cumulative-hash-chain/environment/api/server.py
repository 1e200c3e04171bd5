"""A digest over everything collected on the way: one token out of place, and the door stays shut (FIPS 180-4, RFC 9530).

Five to eight steps by seed, fetched in order; each gives a token of 64 hex digits. The download opens to H, the SHA-256 of all
tokens, a separator (by seed) and the whole seed string, beside a proof that names slice, last token and H.
The first answer starts one window for all the rest. A request takes 10 s, so with n steps the download can be answered
10 n s after it at the earliest; the window is 25 s longer. Two detours fit, three do not, and collecting all tokens again takes
50 s at least: a client that hashed wrongly can mend it with the tokens in hand, one that starts over is late on every seed.
Choices where the contract leaves one:
1. the window is 10 n + 25 s, not 150 s, which no mistake could overrun;
2. a step can be fetched again, with the same token and the same deadline; a step that is not reached yet is MISSING_CONSTRAINT;
3. the window covers every step, so a chain that has run out says so at once; it can't be started again;
4. H is judged before slice and proof: the proof embeds H, and judged first it would hide a wrong hash (as it did upstream);
5. a clipped H is WRONG_HASH like any other: the client made it, nobody issued it;
6. a late and wrong H is EXPIRED_BEFORE_USE, and also WRONG_HASH.
Order of judgement for the download: all steps fetched, auth and headers present, window, H, slice, proof.
"""

import re

from worlds.contract.checks import check_digest, check_header, require_headers, sha256_hex
from worlds.contract.contracts import Contract
from worlds.contract.gates import TAIL
from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Unreadable, Violation, get

FEWEST_STEPS = 5
SEPARATORS = ("|", "||", "::", "~", "#", "--", "=>", "/")


class CumulativeHashChain(ContractWorld):
    """One file behind a chain of tokens."""

    def prepare(self) -> None:
        """Draw length, tokens, separator, anchor and content; the chain is issued with its first step."""
        length = self.chance("length").between(FEWEST_STEPS, round(self.knob("most_steps")))
        self.tokens = [self.chance("token").hex(64) for _ in range(length)]
        self.separator = self.chance("separator").choice(SEPARATORS)
        self.content = f"end of the chain: {self.chance('content').base64(96)}".encode()
        self.draw_slice()
        self.digest = sha256_hex(*self.tokens, self.separator, self.anchor.text)
        self.chain: Contract | None = None
        self.fetched = 0

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            **self.slice_facts(), "length": len(self.tokens), "separator": self.separator, "tail": TAIL,
            "anchor_chars": len(self.anchor.text), "request_seconds": self.manifest.cost_ms("request") // 1000,
        }  # fmt: skip

    @get("/api/chain/{number}")
    def step(self, call: Call) -> dict[str, object]:
        """The token of one step, the next one or one that was given before; the first step starts the window."""
        number = self.step_number(call.params["number"])
        if number > self.fetched + 1:
            raise Violation(Label.MISSING_CONSTRAINT, "an earlier step must come first", field="step")
        if self.chain is None:
            window_ms = len(self.tokens) * self.manifest.cost_ms("request") + self.knob_ms("slack_seconds")
            self.chain = self.issue("chain", self.digest, window_ms)
        self.check_window(self.chain)
        self.fetched = max(self.fetched, number)
        return {"step": number, "token": self.tokens[number - 1], "deadline": self.chain.expires_at / 1000}

    @get("/api/download", query=("auth",), headers=("X-Seed-Anchor", "X-Chain-Proof"))
    def download(self, call: Call) -> Reply:
        """The file, if the chain is complete, in time, and hashed right."""
        if self.chain is None or self.fetched < len(self.tokens):
            raise Violation(Label.MISSING_CONSTRAINT, "every step of the chain must come first", field="step")
        if not (auth := call.query("auth")):
            raise Violation(Label.MISSING_TOKEN, "query parameter auth is missing", field="auth")
        require_headers(call, "X-Seed-Anchor", "X-Chain-Proof")
        self.check_window(self.chain, also=None if auth == self.digest else Label.WRONG_HASH)
        check_digest(auth, self.digest, "query parameter auth")
        check_header(call, "X-Seed-Anchor", self.slice)
        check_header(call, "X-Chain-Proof", f"{self.slice}:{self.tokens[-1][-TAIL:]}:{self.digest[:TAIL]}")
        self.deliverable = self.content
        return Reply(self.content, media_type="text/plain; charset=utf-8")

    def check_window(self, chain: Contract, also: Label | None = None) -> None:
        """Raise unless the chain is in its window; `also` is told beside an expiry."""
        self.used(chain.contract_id)
        if not chain.validate_validity(self.now):
            raise chain.expired(self.now, also=also)

    def step_number(self, text: str) -> int:
        """The number of a step; raises Unreadable for anything else."""
        if not re.fullmatch("[1-9][0-9]?", text) or int(text) > len(self.tokens):
            raise Unreadable(f"steps are numbered 1 to {len(self.tokens)}")
        return int(text)
