"""Tokens of one tree compete: each download revokes others, and what is still needed of them must be refreshed, in time.

A root token delegates to branches, a branch to its resources: six resources under two or three branches; shape, names and order
of download by seed. Serving one revokes at once the token of its own branch (siblings), or those of all others (cousins), and
all below; the instruction says which, the answer names them. Refreshing a branch revokes what is below it, too. That what
was derived ends with its origin is the idea of RFC 7009 section 2.1, where revoking a refresh token should end the access
tokens of its grant; siblings, cousins, and a download as the cause are the task's own. Each order has five or six runs of one
branch, so it comes back to a revoked one: refreshes are needed.
Every request costs 2 s, and the root lives 41 or 42 s from its answer: 20 more requests fit, the last at 40 s, a 21st does not.
The smart plan asks for a token right before its use: 6 resources, 6 downloads, the completion, and a branch before each of them
(siblings) or before each run (cousins) make 18 or 19 requests, 36 or 38 s; one detour fits on any seed. The naive plan derives
all first and refreshes when due: at least 22 requests under siblings, 23 under cousins, and too late on any seed.
At level 4 the resources may be downloaded in any order, each download ends the cousins, and the root lives 35 or 36 s. Branch
by branch 15 or 16 requests do, 30 or 32 s, and a detour; in the order of the list it is 18 or 19, and too late on any seed.
Choices where the contract leaves one:
1. a revoked token is EXPIRED_BEFORE_USE; the token of something else is WRONG_VALUE, unless it is over itself;
2. there is one root: a second one is VERSION_CONFLICT and resets nothing. So are deriving what was derived, and a download that
   is not the next one of the list; refreshing what was never derived is MISSING_CONSTRAINT, as is completing too early;
3. the nonces chain downloads only; deriving and refreshing take the parent's token and no nonce;
4. the proof covers the receipts in the order of download, never that of names; how many refreshes there were does not count;
5. the deliverable is `confirmation`, drawn from the seed and given out by the completion alone.
Order of judgement: turn, token (there, window, bytes, whose it is), nonce, proof, slice.
"""

from itertools import groupby

from worlds.contract.checks import bearer, check_digest, check_value, sha256_hex
from worlds.contract.credentials import Credential
from worlds.contract.hazards import risky_base64
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.nonces import NonceChain
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Unreadable, Violation, get, post

BRANCHES = ("amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heron")
SHAPES = ("222", "321", "213", "33", "42", "24")
"""Resources of each branch."""

RIVALS = ("siblings", "cousins")
"""Whose tokens a download ends; where the order is free, those of cousins alone."""

RUNS, ROOT, CONFIRMATION_CHARS = 5, "root", 48
SAVED = 2  # so many requests less fit into the life of the root where the order is free


class CascadingTokenRevocation(ContractWorld):
    """One tree of tokens over six resources."""

    def prepare(self) -> None:
        """Draw tree, order, rule, the root's life, confirmation and anchor."""
        draw = self.chance("tree")
        sizes = [int(size) for size in draw.choice(SHAPES)]
        branches = zip(draw.sample(BRANCHES, len(sizes)), sizes, strict=True)
        self.tree = {branch: [f"{branch}-{number + 1}" for number in range(size)] for branch, size in branches}
        self.parent = dict.fromkeys(self.tree, ROOT)
        self.parent |= {resource: branch for branch, resources in self.tree.items() for resource in resources}
        self.order = [resource for resources in self.tree.values() for resource in resources]
        while len(list(groupby(self.order, self.parent.get))) < RUNS:
            draw.shuffle(self.order)
        self.free = bool(self.options["free_order"])
        self.left = list(self.order)
        self.rivals = self.chance("rule").choice(RIVALS[self.free :])
        self.root_ms = self.knob_ms("root_seconds") - self.chance("life").seconds(0, 1)
        if self.free:
            self.root_ms -= SAVED * self.manifest.cost_ms("request")
        self.confirmation = self.chance("confirmation").hex(CONFIRMATION_CHARS)
        self.draw_slice()
        self.tokens = {name: Credential(self, f"token_{name}") for name in (ROOT, *self.parent)}
        self.nonces = NonceChain(self.chance("nonce"), "X-Download-Nonce")
        self.receipts: list[str] = []

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        told = {
            "tree": self.tree,
            "order": self.order,
            "rivals": self.rivals,
            "free": self.free,
            "confirmation_chars": CONFIRMATION_CHARS,
        }
        return {**self.slice_facts(), **told, "request_seconds": self.manifest.cost_ms("request") // 1000}

    @post("/token/root")
    def root(self, call: Call) -> dict[str, object]:
        """The root token and the first nonce, once."""
        if self.tokens[ROOT].current is not None:
            raise Violation(Label.VERSION_CONFLICT, "there is a root already", status=409)
        return {**self.new_token(ROOT, self.root_ms), "nonce": self.nonces.advance()}

    @post("/token/{how}", headers=("Authorization",))
    def delegate(self, call: Call) -> dict[str, object]:
        """A token derived or refreshed; the tokens below it end with the one that it replaces."""
        how, name = call.params["how"], call.json().get("token_id")
        if how not in ("derive", "refresh"):
            raise Unreadable("a token is derived or refreshed")
        if name not in list(self.parent):
            raise Unreadable("token_id must be the name of a branch or a resource")
        derived = self.tokens[name].current is not None
        if how == "derive" and derived:
            raise Violation(Label.VERSION_CONFLICT, "this token was derived before", status=409)
        if how == "refresh" and not derived:
            raise Violation(Label.MISSING_CONSTRAINT, "a token must be derived before it is refreshed", field="derive")
        self.present(call, self.parent[name])
        for below in self.tree.get(name, ()):
            self.tokens[below].revoke()
        return {"token_id": name, **self.new_token(name, self.tokens[ROOT].generations[0].contract.expires_at - self.now)}

    @get("/resource/{name}", headers=("Authorization", "X-Download-Nonce"))
    def download(self, call: Call) -> dict[str, object]:
        """The receipt of the resource that is next; its rivals end."""
        name = call.params["name"]
        if name not in self.order:
            raise Unreadable("there is no such resource")
        if name not in (self.left if self.free else self.left[:1]):
            raise Violation(Label.VERSION_CONFLICT, "this resource is not the next one", status=409)
        validity_first(lambda: self.present(call, name), lambda: self.nonces.check(call))
        self.receipts.append(self.chance("receipt").hex(32))
        self.left.remove(name)
        return {"receipt": self.receipts[-1], "ended": self.end_rivals(name), "nonce": self.nonces.advance()}

    @post("/complete", headers=("Authorization",))
    def complete(self, call: Call) -> dict[str, object]:
        """The confirmation, for who has all receipts and still has the root."""
        given = call.json()
        if self.left:
            raise Violation(Label.MISSING_CONSTRAINT, "a resource is still to be downloaded", field="download")
        validity_first(
            lambda: self.present(call, ROOT),
            lambda: check_digest(given.get("proof"), sha256_hex(*self.receipts, self.slice), "field proof"),
            lambda: check_value(given.get("anchor"), self.slice, "field anchor"),
        )
        self.deliverable = self.confirmation.encode()
        return {"confirmation": self.confirmation}

    def present(self, call: Call, name: str) -> None:
        """Raise unless the bearer token is the live one of this name."""
        text = bearer(call)
        owner = next((other for other, token in self.tokens.items() if token.find(text)), name)
        self.tokens[owner].redeem(text, "the bearer token")
        if owner != name:
            raise Violation(Label.WRONG_VALUE, "the bearer token is for something else", field="Authorization")

    def end_rivals(self, name: str) -> list[str]:
        """Revoke what a download of `name` excludes; the names of those that were alive."""
        ended, own, siblings = [], self.parent[name], self.rivals == "siblings"
        for other in [other for other in self.parent if (own in (other, self.parent[other])) == siblings]:
            last = self.tokens[other].current
            if last and last.contract.validate_validity(self.now):
                self.tokens[other].revoke()
                ended.append(other)
        return ended

    def new_token(self, name: str, life_ms: int) -> dict[str, object]:
        """Issue a token for `life_ms`; the body that says so."""
        text = risky_base64(self.chance("token"), round(self.knob("token_bytes")))
        return {"token": text, "expires_at": self.tokens[name].renew(text, life_ms).expires_at / 1000}
