"""A form token passes through two notations: HTML on its way in, form encoding on its way out; its bytes must survive both.

Synchroniser token in a hidden field (OWASP, Cross-Site Request Forgery Prevention; here a new one for each page, where OWASP
prefers one for each session, and there is no session cookie to bind it to). It is 64 random bytes in base64, at least
one + and one / in it and == at its end. The page writes each + as a character reference (HTML, section 13.1.4; decimal or
hexadecimal, by seed), as some frameworks do; in a form body + / = must become %2B %2F %3D, for a + there means a space (WHATWG
URL, section 5). The comment has quotes, letters and a picture beyond ASCII, an &, a +, and an escape that is meant literally.
Time: each request costs 2 s. The token lives 72 to 80 s from its page and a precheck 63 to 70 s, by seed; who goes straight on
submits at the ages of 4 and 2 s, and even a second page and precheck cost 4 s only. A wait of 85 s outlives both, one of 70 s
the precheck: the task is about bytes, and time catches only who dawdles.
At level 4 a form may be sent 20 s after its page at the earliest, as spam filters have it, and a precheck lives 6 s: it has to
come right before the submit.
Choices where the contract leaves one:
1. a token that a reload has replaced is EXPIRED_BEFORE_USE and not MUTATED_TOKEN: its bytes are those that were issued, only
   its time is over, as for any revoked credential (RFC 7009 section 2). Bytes that were never issued are MUTATED_TOKEN;
2. a reload also takes the precheck back; a submit without a new one is MISSING_CONSTRAINT, which is judged first;
3. a token serves one accepted submit, so sending the form twice is EXPIRED_BEFORE_USE, and sending another form once the
   comment was taken is VERSION_CONFLICT; a refused submit leaves all as it is;
4. no token is MISSING_TOKEN; a body of another type, no comment, no slice, no precheck, and asking for the result before the
   submit (upstream: OTHER) are MISSING_CONSTRAINT, as steps and fields left out are everywhere in the family;
5. further fields are ignored, and a result may be fetched again;
6. the deliverable is `receipt`, drawn from the seed and given out by the result alone.
Order of judgement for a submit: precheck made, form type, windows (precheck, token), token (there, bytes), slice, comment, not
taken before.
"""

from worlds.contract.checks import check_header, check_value, form
from worlds.contract.credentials import Credential
from worlds.contract.gates import Gate
from worlds.contract.hazards import risky_base64
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.windows import drawn_ms, not_before
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get, post
from worlds.core.chance import Stream

RECEIPT_CHARS = 48
REFERENCES = ("&#43;", "&#x2B;", "&#x2b;", "&plus;")
"""Ways to write a + in HTML."""

NAMES = ("Zoë", "Søren", "Łucja", "Renée", "Jürgen", "İpek")
DISHES = ("tea", "cake", "soup", "rice", "plums", "bread", "olives")
PICTURES = ("\u2615", "\U0001f35c", "\U0001f950", "\U0001f347")


class CsrfFormSubmit(ContractWorld):
    """One form, its token, and a result."""

    def prepare(self) -> None:
        """Draw comment, notation, lives and anchor; no token exists yet."""
        self.comment = comment(self.chance("comment"))
        self.plus = self.chance("notation").choice(REFERENCES)
        self.token_ms, self.window_ms = (drawn_ms(self, name) for name in ("token_seconds", "window_seconds"))
        self.draw_slice()
        self.token, self.gate = Credential(self, "csrf_token"), Gate(self, "precheck_token", "precheck")
        self.submitted, self.opens_at = False, self.now

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            **self.slice_facts(), "comment": self.comment, "receipt_chars": RECEIPT_CHARS,
            "request_seconds": self.manifest.cost_ms("request") // 1000, "least_seconds": round(self.knob("least_seconds")),
        }  # fmt: skip

    @get("/task")
    def page(self, call: Call) -> Reply:
        """The form with a new token; the token before ends, and a precheck is taken back."""
        self.token.renew(risky_base64(self.chance("token"), round(self.knob("token_bytes"))), self.token_ms)
        self.gate.close()
        self.opens_at = self.now + self.knob_ms("least_seconds")
        value = self.token.text.replace("+", self.plus)
        body = (
            "<!doctype html>\n<title>Leave a comment</title>\n"
            '<form method="post" action="/api/submit" enctype="application/x-www-form-urlencoded">\n'
            f'<input type="hidden" name="csrf_token" value="{value}">\n<textarea name="comment"></textarea>\n'
            f"<button>Send</button>\n</form>\n<p>This form works for {self.token_ms / 1000:g} s.</p>\n"
        )
        return Reply(body, media_type="text/html; charset=utf-8")

    @get("/api/precheck")
    def precheck(self, call: Call) -> dict[str, object]:
        """The window for a submit."""
        return {"deadline": self.gate.open(self.window_ms)["deadline"]}

    @post("/api/submit", headers=("X-Seed-Anchor",))
    def submit(self, call: Call) -> dict[str, object]:
        """The comment is taken, if token, slice and comment are right."""
        self.gate.require()
        given = form(call)
        validity_first(
            self.gate.check_window,
            lambda: not_before(self.now, self.opens_at, "the form"),
            lambda: self.token.redeem(given.get("csrf_token"), "field csrf_token"),
            lambda: check_header(call, "X-Seed-Anchor", self.slice),
            lambda: check_value(given.get("comment"), self.comment, "field comment"),
        )
        if self.submitted:
            raise Violation(Label.VERSION_CONFLICT, "a comment was taken before", status=409)
        self.token.revoke()
        self.submitted = True
        return {"next": "/api/result"}

    @get("/api/result")
    def result(self, call: Call) -> dict[str, object]:
        """The receipt of the comment that was taken."""
        if not self.submitted:
            raise Violation(Label.MISSING_CONSTRAINT, "a submit must come first", field="submit")
        receipt = self.chance.fresh("receipt").hex(RECEIPT_CHARS)
        self.deliverable = receipt.encode()
        return {"receipt": receipt}


def comment(draw: Stream) -> str:
    """A sentence in which each kind of character that clients alter occurs."""
    first, second = draw.sample(DISHES, 2)
    return (
        f"{draw.choice(NAMES)}\u2019s \u201c{first} & {second}\u201d: {draw.between(2, 9)}+{draw.between(2, 9)} portions, "
        f"code SAVE%{draw.choice(('2B', '20', '3D', '26'))}{draw.between(10, 99)}, {draw.choice(PICTURES)} 100% = fair"
    )
