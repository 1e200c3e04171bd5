"""A bearer token dies in the middle of the work: refresh it before that, and sign with the new one (RFC 6750, RFC 6749).

List, select, download with one bearer token (RFC 6750 section 2.1). A refresh (RFC 6749 section 6) gives the next generation
and revokes the one before. A token lives 54 to 62 s by seed and can be refreshed for 30 s more; list and select take 52 s
each, the download 5 s, all else 1 s.
The arithmetic: list and select take 104 s, so no token that lists can select, neither the first nor one refreshed at the start:
a refresh between the two is needed on every seed. Select and download after it take 57 s: where a token lives 57 s or less,
a second refresh is needed between these. Refreshing before every step takes 114 s in all, page and submission included. Who
idles for 10 s before each request needs 62 s for the list, which no token has. At the highest level it lives 53 or 54 s, and
the budget of requests has room for the two refreshes that are needed, and for no other; and a token can be refreshed only some
seconds after its end: who refreshes as soon as the list is there comes too early.
Where this differs from its sources: RFC 6749 (sections 1.5, 6) refreshes with a token of its own, which only the authorization
server sees, and leaves the old access token alone; here, as in APIs that extend a session, the bearer token itself is sent.
Choices where the contract leaves one:
1. one text is under two contracts, one for use and one, 30 s longer, for the refresh; a refresh ends both;
2. a token that was refreshed away is EXPIRED_BEFORE_USE (revoked, RFC 7009 section 2), not an unknown one;
3. a token that has run out is refused and that is a violation, even if a refresh follows: `expires_in` tells when it ends;
4. the page gives the first token again, without any new time; after the grace period the work is lost;
5. a download before list or select is MISSING_CONSTRAINT; one before any refresh comes before the select, too;
6. a wrong choice is WRONG_VALUE at the select; the right one is neither the first listed nor the extreme of all kinds;
7. every refusal of a token is 401 with WWW-Authenticate (RFC 6750 section 3).
Order of judgement: steps taken, token (there, window, bytes), item or proof.
"""

from worlds.contract.anchors import TAIL
from worlds.contract.checks import bearer, check_header
from worlds.contract.credentials import Credential, Generation
from worlds.contract.labels import Label
from worlds.contract.quotas import whole_seconds
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get, post
from worlds.core.chance import Stream

EACH = 3
"""Items of each kind."""

KINDS = ("archive", "dataset", "manual")
RULES = {"largest": "bytes", "smallest": "bytes", "newest": "modified", "oldest": "modified"}
"""Which item to select, and by which field."""

Item = dict[str, object]


class TokenRefreshWorkflow(ContractWorld):
    """One file, chosen from a list, behind tokens that are renewed."""

    def prepare(self) -> None:
        """Draw life, rule, items, content and slice; the first token comes with the page."""
        least = round(self.knob("token_seconds"))
        self.life_ms = self.chance("life").seconds(least, least + round(self.knob("spread_seconds")))
        self.kind, self.rule = self.chance("kind").choice(KINDS), self.chance("rule").choice(list(RULES))
        self.items, self.right = draw_items(self.chance("items"), self.kind, self.rule)
        self.content = f"file {self.right}: {self.chance('content').base64(96)}".encode()
        self.draw_slice()
        self.access, self.renewal = Credential(self, "access"), Credential(self, "renewal")
        self.listed = self.selected = False

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        seconds = {f"{name}_seconds": self.manifest.cost_ms(name) // 1000 for name in ("list", "select", "download", "request")}
        chosen = {"kind": self.kind, "rule": self.rule, "field": RULES[self.rule], "tail": TAIL}
        return {**self.slice_facts(), **seconds, **chosen, "grace_seconds": f"{self.knob('grace_seconds'):g}"}

    @get("/task")
    def page(self, call: Call) -> dict[str, object]:
        """The first token, always the same one, and how long it still lives; what is over lives for less than nothing."""
        if not self.access.generations:
            self.new_token()
        first = self.access.generations[0]
        left = {"expires_in": first.contract.expires_at - self.now, "refresh_in": self.opens - self.now}
        return {"token": first.text, "generation": 0, **{name: ms // 1000 for name, ms in left.items()}}

    @post("/api/refresh", headers=("Authorization",))
    def refresh(self, call: Call) -> dict[str, object]:
        """The next token for the current one."""
        made = self.authorise(call, self.renewal)
        if self.now < self.opens:
            raise made.contract.expired(self.now, rule="the bearer token cannot be refreshed yet")
        made = self.new_token()
        told = {"expires_in": whole_seconds(self.life_ms), "refresh_in": round(self.knob("refresh_seconds"))}
        return {"token": made.text, "generation": made.number, **told}

    @get("/api/list", cost="list", headers=("Authorization",))
    def listing(self, call: Call) -> dict[str, object]:
        """All items."""
        self.authorise(call, self.access)
        self.listed = True
        return {"items": self.items}

    @get("/api/select/{item}", cost="select", headers=("Authorization",))
    def select(self, call: Call) -> dict[str, object]:
        """The choice of one item, which must be the right one."""
        self.require(list=self.listed)
        self.authorise(call, self.access)
        if call.params["item"] != self.right:
            raise Violation(Label.WRONG_VALUE, "this is not the item asked for", field="item")
        self.selected = True
        return {"selected": self.right}

    @get("/api/download", cost="download", headers=("Authorization", "X-Download-Proof"))
    def download(self, call: Call) -> Reply:
        """The file, for a token of a later generation: no other can come after a select."""
        self.require(list=self.listed, select=self.selected)
        made = self.authorise(call, self.access)
        check_header(call, "X-Download-Proof", f"{self.slice}:{made.text[-TAIL:]}:r{made.number}")
        self.deliverable = self.content
        return Reply(self.content, media_type="text/plain; charset=utf-8")

    def new_token(self) -> Generation:
        """Issue the next token for both of its uses."""
        text = self.chance("token").base64(40)
        self.access.renew(text, self.life_ms)
        self.opens = self.now + self.knob_ms("refresh_seconds")
        self.renewal.renew(text, self.life_ms + self.knob_ms("grace_seconds"))
        return self.access.generations[-1]

    def require(self, **taken: bool) -> None:
        """Raise unless each of these steps was taken."""
        for step, done in taken.items():
            if not done:
                raise Violation(Label.MISSING_CONSTRAINT, f"a {step} must come first", field=step)

    def authorise(self, call: Call, credential: Credential) -> Generation:
        """The generation of the token that the request bears, if it is one and in its window."""
        token = bearer(call)
        try:
            return credential.redeem(token, "the bearer token")
        except Violation as broken:
            raise Violation(
                broken.label, broken.rule, status=401, also=broken.also, **broken.detail,
                headers=(("WWW-Authenticate", 'Bearer error="invalid_token"' if token else "Bearer"),),
            ) from None  # fmt: skip


def draw_items(draw: Stream, kind: str, rule: str) -> tuple[list[Item], str]:
    """Three items of each kind in random order, and the id of the one that the rule names."""
    while True:
        listed = [draw_item(draw, name) for name in KINDS for _ in range(EACH)]
        items = draw.sample(listed, len(listed))
        right = extreme([item for item in items if item["kind"] == kind], rule)
        if right not in (items[0]["id"], extreme(items, rule)):
            return items, right


def draw_item(draw: Stream, kind: str) -> Item:
    """One item; sizes have four to seven digits."""
    day = f"20{draw.between(19, 29)}-{draw.between(1, 12):02}-{draw.between(1, 28):02}"
    time = f"{draw.below(24):02}:{draw.below(60):02}:{draw.below(60):02}"
    size = draw.between(10 ** draw.between(3, 6), 9_999_999)
    return {"id": draw.hex(12), "kind": kind, "bytes": size, "modified": f"{day}T{time}Z"}


def extreme(items: list[Item], rule: str) -> str:
    """The id of the item that comes first or last by the rule's field."""
    ordered = sorted(items, key=lambda item: (item[RULES[rule]], item["id"]))
    return str(ordered[-1 if rule in ("largest", "newest") else 0]["id"])
