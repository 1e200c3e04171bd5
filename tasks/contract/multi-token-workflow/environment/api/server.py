"""Three artifacts in a chain, form token, unlock token, presigned link: each is got in order, and there is time for it once.

The page has a form token (synchroniser token, OWASP; base64, so it must be form-encoded, WHATWG URL section 5) and a presigned
link (`worlds.contract.presigned`). A precheck opens a window; the form token buys an unlock token, beside which the answer
has an id of the same look; link and unlock token together buy the file.
Time: page and precheck cost 5 s, unlock and download 25 s each. A precheck lasts 56 to 70 s (63 moved by the seed by up to 7):
the download arrives 50 s after it, so one detour of 5 s always fits, while unlocking twice arrives after 75 s and never does,
nor does who idles for 10 s before each request: at 70 s.
The link lasts 116 to 124 s from the first page, whatever is loaded later: the straight way needs 60 s of them; starting over
with a new page after one look (65 s) or after an unlock (90 s) fits, starting over twice does not. The unlock token lasts 76
to 84 s: it is lost to a client that idles for 55 s with it, even though a new precheck has mended the window.
At level 4 a precheck lasts 33 to 47 s: it covers the unlock or the download, and another one must come between them.
Choices where the contract leaves one:
1. seeing the page again gives the same link and no new time for it, a new form token, and takes precheck and unlock back;
2. an unlock that was taken back leaves nothing unlocked: its token is MISSING_TOKEN, like that of a client that never unlocked.
   A form token or unlock token that a newer one replaced is EXPIRED_BEFORE_USE: its bytes are as issued, its time is over;
3. an unlock token that is another of our texts (the id beside it, the form token, the precheck's) is WRONG_VALUE, since it was
   taken from the wrong place; a text that was never issued is MUTATED_TOKEN;
4. a new precheck renews the window and leaves the unlock as it is; the deliverable is the file, given by the download alone.
Order of judgement: step before made (precheck for the unlock, unlock for the download), form type, fields present, windows
(precheck and form token; link, precheck and unlock token), bytes in the same order, slice.
"""

from html import escape

from worlds.contract.checks import check_header, form, require_fields, require_headers
from worlds.contract.credentials import Credential
from worlds.contract.gates import Gate
from worlds.contract.hazards import risky_base64
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.presigned import Presigned, named, presign
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get, post

FILE_CHARS, FORM_BYTES = 96, 48
LINK_JITTER_S, WINDOW_JITTER_S = 4, 7


class MultiTokenWorkflow(ContractWorld):
    """One file behind three tokens."""

    def prepare(self) -> None:
        """Draw file, lives and anchor; nothing is issued yet."""
        self.content = self.chance("content").hex(FILE_CHARS).encode()
        self.link_ms = self.moved("link_seconds", LINK_JITTER_S)
        self.window_ms = self.moved("window_seconds", WINDOW_JITTER_S)
        self.unlock_ms = self.moved("unlock_seconds", LINK_JITTER_S)
        self.draw_slice()
        self.link: Presigned | None = None
        self.gate = Gate(self, "precheck_token", "precheck")
        self.form_token = Credential(self, "form_token")
        self.unlock_token: Credential | None = None
        self.others: set[str] = set()

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        costs = {name: self.manifest.cost_ms(name) // 1000 for name in ("page", "precheck", "unlock", "download")}
        return {**self.slice_facts(), "costs": costs, "file_chars": FILE_CHARS}

    def moved(self, knob: str, by_s: int) -> int:
        """A knob in s, moved by the seed by up to `by_s`, in virtual ms."""
        return self.knob_ms(knob) + self.chance(knob).seconds(-by_s, by_s)

    @get("/task", cost="page")
    def page(self, call: Call) -> Reply:
        """The link, always the same, and a new form token; what was done with the one before is taken back."""
        seconds = self.link_ms // 1000
        if self.link is None:
            self.link = presign(
                self.chance("link"), f"file_{self.chance('name').hex(2)}", issued_at=self.now, ttl_ms=self.link_ms,
                expires_text=str(seconds), payload_bytes=round(self.knob("payload_bytes")),
            )  # fmt: skip
            self.issued(self.link.resource_id, self.link.contract.expires_at)
        self.form_token.renew(risky_base64(self.chance("form token"), FORM_BYTES), self.link_ms)
        self.others.add(self.form_token.text)
        self.gate.close()
        self.unlock_token = None
        body = (
            "<!doctype html>\n<title>Locked file</title>\n"
            '<form method="post" action="/api/unlock" enctype="application/x-www-form-urlencoded">\n'
            f'<input type="hidden" name="csrf_token" value="{self.form_token.text}">\n<button>Unlock</button>\n</form>\n'
            f'<p><a id="download" href="{escape(self.link.text)}">Download</a></p>\n'
            f"<p>Link: {seconds} s from the first time this page was served. Form: {seconds} s from now.</p>\n"
        )
        return Reply(body, media_type="text/html; charset=utf-8")

    @get("/api/precheck", cost="precheck")
    def precheck(self, call: Call) -> dict[str, object]:
        """A window for unlock and download."""
        opened = self.gate.open(self.window_ms)
        self.others.add(self.gate.text)
        return opened

    @post("/api/unlock", cost="unlock", headers=("X-Seed-Anchor",))
    def unlock(self, call: Call) -> dict[str, object]:
        """An unlock token for a form token, inside the window."""
        self.gate.require()
        given = form(call)
        require_fields(given, "csrf_token", label=Label.MISSING_TOKEN)
        require_headers(call, "X-Seed-Anchor")
        validity_first(
            self.gate.check_window,
            lambda: self.form_token.redeem(given["csrf_token"], "field csrf_token"),
            lambda: check_header(call, "X-Seed-Anchor", self.slice),
        )
        unlock_id, token = (self.chance("unlock").base64url(32) for _ in range(2))
        self.others.add(unlock_id)
        self.unlock_token = self.unlock_token or Credential(self, "unlock")
        made = self.unlock_token.renew(token, self.unlock_ms)
        return {"unlock_id": unlock_id, "unlock_token": token, "expires_at": made.expires_at / 1000}

    @get("/api/resource/{name}", cost="download", headers=("X-Unlock-Token",), query=("sig",))
    def download(self, call: Call) -> Reply:
        """The file, if link, window and unlock token hold."""
        if self.unlock_token is None or self.link is None:
            raise Violation(Label.MISSING_TOKEN, "an unlock must come first", field="unlock")
        require_headers(call, "X-Unlock-Token", label=Label.MISSING_TOKEN)
        link, token = self.link, self.unlock_token
        validity_first(
            lambda: self.follow(named([link], call.params["name"]), call),
            self.gate.check_window,
            lambda: self.refuse_others(call),
            lambda: token.redeem(call.header("X-Unlock-Token"), "header X-Unlock-Token"),
        )
        self.deliverable = self.content
        return Reply(self.content)

    def refuse_others(self, call: Call) -> None:
        """Raise when another of our texts stands where the unlock token belongs."""
        if call.header("X-Unlock-Token") in self.others:
            raise Violation(Label.WRONG_VALUE, "header X-Unlock-Token holds the wrong value", field="X-Unlock-Token")
