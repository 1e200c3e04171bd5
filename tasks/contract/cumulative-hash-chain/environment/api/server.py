"""A digest over everything collected on the way: one token out of place, and the door stays shut (FIPS 180-4).

Five to eight steps by seed, fetched in order; each gives a token of 64 hex digits. The download opens to H, the SHA-256 of all
tokens, a separator (by seed) and the whole seed string, beside a proof that names slice, last token and H. It is a header of
the task's own, in hex, and no Content-Digest (RFC 9530 section 2), which would cover the message it comes with.
The first answer starts one window for all the rest. A request takes 10 s, so with n steps the download can be answered
10 n s after it at the earliest; the window is 25 s longer. Two detours fit, three do not, and collecting all tokens again takes
50 s at least: a client that hashed wrongly can mend it with the tokens in hand, one that starts over is late on every seed.
At level 4 three steps from the third on replace the token of step 1 or 2: who fetches that again at once has three detours, who
waits for the last of them has two at the most.
Choices where the contract leaves one:
1. the window is 10 n + 25 s, not 150 s, which no mistake could overrun;
2. a step can be fetched again, with the same token and the same deadline; a step that is not reached yet is MISSING_CONSTRAINT;
3. the window covers every step, so a chain that has run out says so at once; it can't be started again;
4. H is judged before slice and proof: the proof embeds H, and judged first it would hide a wrong hash (as it did upstream);
5. a clipped H is WRONG_HASH like any other: the client made it, nobody issued it;
6. a late and wrong H is EXPIRED_BEFORE_USE, and also WRONG_HASH.
Order of judgement for the download: all steps fetched, auth there, window, H, slice, proof.
"""

from worlds.contract.anchors import TAIL
from worlds.contract.checks import check_digest, check_header, sha256_hex
from worlds.contract.gates import Gate
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.rows import Row
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get

FEWEST_STEPS, EARLY, TOKEN_CHARS = 5, 2, 64
SEPARATORS = ("|", "||", "::", "~", "#", "--", "=>", "/")


class CumulativeHashChain(ContractWorld):
    """One file behind a chain of tokens."""

    def prepare(self) -> None:
        """Draw length, tokens, separator, anchor and content; the chain is issued with its first step."""
        length = self.chance("length").between(FEWEST_STEPS, round(self.knob("most_steps")))
        self.row, self.chain = Row(length), Gate(self, "chain", "chain")
        self.tokens = [self.new_token() for _ in self.row.numbers]
        self.separator = self.chance("separator").choice(SEPARATORS)
        self.content = f"end of the chain: {self.chance('content').base64(96)}".encode()
        self.draw_slice()
        draw = self.chance("revisions")
        after = draw.sample(self.row.numbers[EARLY:], round(self.knob("revisions")))
        self.revised = {number: draw.between(1, EARLY) for number in after}

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            **self.slice_facts(), "length": len(self.tokens), "separator": self.separator, "tail": TAIL,
            "anchor_chars": len(self.anchor.text), "token_chars": TOKEN_CHARS, "revisions": bool(self.revised),
            "request_seconds": self.manifest.cost_ms("request") // 1000,
        }  # fmt: skip

    @get("/api/chain/{number}")
    def step(self, call: Call) -> dict[str, object]:
        """The token of one step, the next one or one that was given before; the first step starts the window."""
        number = self.row.number(call.params["number"])
        self.row.require(number - 1)
        if self.chain.token is None:
            self.chain.open(self.row.length * self.manifest.cost_ms("request") + self.knob_ms("slack_seconds"))
        self.chain.check_window()
        told = {"step": number, "token": self.tokens[number - 1], "deadline": self.chain.require().expires_at / 1000}
        return {**told, **self.take(number)}

    def take(self, number: int) -> dict[str, object]:
        """Take a step, for the first time or again; which earlier token it replaces, if it does."""
        first, self.row.taken = number > self.row.taken, max(self.row.taken, number)
        if not first or number not in self.revised:
            return {}
        earlier = self.revised[number]
        self.tokens[earlier - 1] = self.new_token()
        return {"revised": earlier}

    def new_token(self) -> str:
        """A token that no step had before."""
        return self.chance("token").hex(TOKEN_CHARS)

    @property
    def digest(self) -> str:
        """H over the tokens that count now."""
        return sha256_hex(*self.tokens, self.separator, self.anchor.text)

    @get("/api/download", query=("auth",), headers=("X-Seed-Anchor", "X-Chain-Proof"))
    def download(self, call: Call) -> Reply:
        """The file, if the chain is complete, in time, and hashed right."""
        self.row.require(self.row.length)
        if not call.query("auth"):
            raise Violation(Label.MISSING_TOKEN, "query parameter auth is missing", field="auth")
        validity_first(
            self.chain.check_window,
            lambda: check_digest(call.query("auth"), self.digest, "query parameter auth"),
            lambda: check_header(call, "X-Seed-Anchor", self.slice),
            lambda: check_header(call, "X-Chain-Proof", f"{self.slice}:{self.tokens[-1][-TAIL:]}:{self.digest[:TAIL]}"),
        )
        self.deliverable = self.content
        return Reply(self.content, media_type="text/plain; charset=utf-8")
