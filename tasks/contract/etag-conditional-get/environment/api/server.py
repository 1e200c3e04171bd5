"""A condition holds only for the version it names: read how long that one stays, and write before it is gone (RFC 9110 13.1).

A document has an entity tag, weak, in base64 with + and /. GET with If-None-Match answers 304 and X-Confirmation-Token while
the tag is current, else 200 with the new version (section 13.1.2); PUT with a stale If-Match is refused with 412 (section
13.1.1); GET /api/confirm wants the token of a 304 and an accepted PUT. Others change the document all the time, and
Cache-Control: max-age tells how long it stays as it is. RFC 9111 section 5.2.2.1 promises less: how long an answer is fresh,
not that nothing changes meanwhile.
Time: a request costs 5 s. The first change comes at 11 to 15 s by seed, the next ones 22 to 28 s apart. A client that goes
straight on reads at 5, revalidates at 10, while the tag is still current, and writes at 15, when it is stale on every seed. The
max-age of its first answer, 6 to 10 s, said so: two more requests arrive 10 s later. One that waits for the change reads 5 s
after it and writes at 15, with at least 7 s to spare. A confirmation token lives 16 s and is used 10 s after its issue, as the
write comes in between: one wasted request fits, two do not, nor does a token for the first version, which is 16 to 20 s old.
From level 3 on it lives for 9 s or 6 s, and is to be asked for after the write, with the tag of its answer.
Choices where the contract leaves one:
1. tags count as the bytes that were issued, in both conditions. RFC 9110 compares weakly in If-None-Match, where W/ does not
   matter, and lets no weak tag pass If-Match; OData 4.01 services issue weak tags and take them there. The instruction says so;
2. an issued tag in another form (no W/, no quotes, re-encoded) and what is no entity tag at all are MUTATED_TOKEN. Any other
   well-formed tag, also an old one, gets 200 in a GET; in a PUT an old one is VERSION_CONFLICT, an unknown one MUTATED_TOKEN;
3. * names no version: it is MISSING_CONSTRAINT in both, though RFC 9110 lets it match any, and so is a PUT without If-Match
   (428, RFC 6585 section 3);
4. what is written is compared as JSON, so its formatting does not count; it must be the version that the tag names;
5. a new token ends the one before; 304 may come before the write or after it, and an accepted write is a version of its own;
6. the deliverable is `confirmation`, drawn from the seed and given out by the confirmation alone.
Order of judgement: for a PUT condition there, version, its bytes, document; for the confirmation token there, document written,
slice there, window and bytes of the token, slice.
"""

import json
import re
from typing import Any
from urllib.parse import unquote

from worlds.contract.checks import check_header, require_headers
from worlds.contract.credentials import Credential
from worlds.contract.hazards import risky_base64
from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get, put

FIRST_S, TAG_BYTES = (11, 15), 33
ENTITY_TAG = re.compile(r'(W/)?"[\x21\x23-\x7e\x80-\xff]*"')
STATES = ("approved", "withdrawn", "archived", "published")
TOKEN = "X-Confirmation-Token"


class EtagConditionalGet(ContractWorld):
    """A document that changes under one's hands."""

    def prepare(self) -> None:
        """Draw the first change, the state to write, document, anchor."""
        self.next_change = self.chance("changes").seconds(*FIRST_S)
        self.state = self.chance("state").choice(STATES)
        self.document: dict[str, object] = {"title": f"Tariff {self.chance('title').hex(6)}", "state": "draft"}
        self.tags: list[str] = []
        self.draw_slice()
        self.tokens = Credential(self, "confirmation")
        self.written = False
        self.new_version()

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        told = {"state": self.state, "seconds": self.manifest.cost_ms("exchange") // 1000}
        return {**self.slice_facts(), **told, "token_seconds": f"{self.knob('confirm_seconds'):g}"}

    @get("/api/resource", cost="exchange", headers=("If-None-Match",))
    def read(self, call: Call) -> Reply:
        """The document, or 304 and a token for whoever has the current tag."""
        self.catch_up()
        if call.header("If-None-Match") and self.named(call, "If-None-Match") == len(self.tags):
            self.tokens.renew(self.chance("token").base64(24), self.knob_ms("confirm_seconds"))
            return Reply(b"", 304, (*self.told(), (TOKEN, self.tokens.text)))
        return Reply(self.document, headers=self.told())

    @put("/api/resource", cost="exchange", headers=("If-Match",))
    def write(self, call: Call) -> Reply:
        """The document with its new state, if it is the current version that is replaced."""
        self.catch_up()
        if not call.header("If-Match"):
            raise Violation(Label.MISSING_CONSTRAINT, "header If-Match is missing", status=428, field="If-Match")
        version = self.named(call, "If-Match")
        if version is None:
            raise Violation(Label.MUTATED_TOKEN, "If-Match is no entity tag as issued", status=412, field="If-Match")
        if version != len(self.tags):
            raise Violation(Label.VERSION_CONFLICT, "If-Match names another version than the current one", status=412)
        if same(call.json()) != same({**self.document, "state": self.state}):
            raise Violation(Label.WRONG_VALUE, "this is not the current version with its new state", status=422, field="body")
        self.written = True
        self.new_version()
        return Reply(self.document, headers=self.told())

    @get("/api/confirm", cost="exchange", headers=(TOKEN, "X-Seed-Anchor"))
    def confirm(self, call: Call) -> dict[str, object]:
        """The confirmation, once the document is written, if token and slice hold."""
        require_headers(call, TOKEN, label=Label.MISSING_TOKEN)
        if not self.written:
            raise Violation(Label.MISSING_CONSTRAINT, "the document must be written first", field="document")
        require_headers(call, "X-Seed-Anchor")
        self.tokens.redeem(call.header(TOKEN), f"header {TOKEN}")
        check_header(call, "X-Seed-Anchor", self.slice)
        confirmation = self.chance("confirmation").hex(48)
        self.deliverable = confirmation.encode()
        return {"confirmation": confirmation}

    def catch_up(self) -> None:
        """Make the changes that are due by now."""
        while self.next_change <= self.now:
            self.next_change += self.knob_ms("period_seconds") + self.chance("changes").seconds(0, 6)
            self.new_version()

    def told(self) -> tuple[tuple[str, str], ...]:
        """What an answer tells of the current version: its tag, and for how many whole seconds it stays."""
        return ("ETag", self.tags[-1]), ("Cache-Control", f"max-age={(self.next_change - self.now) // 1000}")

    def new_version(self) -> None:
        """Somebody's next version; ours keeps the state that was written."""
        draw = self.chance("versions")
        self.tags.append(f'W/"{risky_base64(draw, TAG_BYTES)}"')
        state = self.state if self.written else "draft"
        self.document |= {"state": state, "cents": draw.between(100, 99999), "by": f"user-{draw.hex(4)}", "note": draw.hex(9)}

    def named(self, call: Call, header: str) -> int | None:
        """The number of the version whose tag a condition carries, None for a tag that is nobody's."""
        given = call.header(header) or ""
        if given in self.tags:
            return self.tags.index(given) + 1
        if given == "*":
            raise Violation(Label.MISSING_CONSTRAINT, f"{header} must name an entity tag", status=428, field=header)
        if not ENTITY_TAG.fullmatch(given) or bare(given) in map(bare, self.tags):
            raise Violation(Label.MUTATED_TOKEN, f"{header} is no entity tag as issued", status=412, field=header)
        return None


def bare(tag: str) -> str:
    """What stays of a tag when its form is forgotten."""
    return unquote(tag).removeprefix("W/").replace('"', "").replace("\\", "")


def same(document: Any) -> str:
    """A JSON value as a text that is equal for equal values, and in which 1 is not true."""
    return json.dumps(document, sort_keys=True)
