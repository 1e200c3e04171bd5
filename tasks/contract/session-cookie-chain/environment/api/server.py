"""A session is what its cookies say now: take each one as the last answer set it, and return it where its Path says.

Ten steps between start and completion, held together by cookies (RFC 6265bis). The session cookie is replaced after three of
the first nine steps, by seed and unannounced; its value holds + / and =. A second cookie has nothing to do with the session, is
in double quotes, which belong to the value, and must be returned all the same. A third one, the pass, comes with one step and
goes to one later step alone, by its Path. The Cookie header is read strictly (section 4.2.1, see `worlds.contract.cookies`),
and what a browser would send or keep back by itself is demanded of the client: RFC 6265bis asks nothing of the kind of a
server.
A request takes 5 s, and a session is over after 14 or 15 s without a served one: one stray or refused request is borne, at
10 s, and two are not, at 15 s. The pass is honoured for 18 to 20 s. It is due two or three steps on, at 10 or 15 s: one look
at the session on the way fits in the first case and not in the second, since 20 s is too late; two fit in none. Done right
away all takes 12 requests, 60 s of 120; with a look before every request the pass is lost on any seed.
At higher levels the pass counts only from some time after it was set, and the step that needs it would come too early: it takes
a wait, and on some seeds a look to keep the session alive meanwhile, and the pass must not be kept for a second too long.
Choices where the contract leaves one:
1. a jar that keeps values as they are solves it (curl's, Python's http.cookiejar), also on real time: Expires lies far ahead,
   there is no Max-Age, and when the pass is honoured stands in the body (`honoured_from`, `honoured_seconds`);
2. a replaced session cookie is EXPIRED_BEFORE_USE, not a mutation: rotation ended its window. There is no grace;
3. no session cookie is MISSING_TOKEN, another one missing MISSING_CONSTRAINT; a cookie that was never set, or is sent to a path
   that is not its own, is WRONG_VALUE. A header that is no cookie-string is unreadable and breaks nothing;
4. steps are taken in order, once each: ahead is MISSING_CONSTRAINT, again VERSION_CONFLICT, and so is a second start;
5. a refused request does not keep the session alive, a look does; requests outside /api have no cookies to carry;
6. the deliverable is `receipt`, drawn from the seed and given out by the completion alone.
Order of judgement: session started, cookies present, turn, windows, bytes, values and absent headers.
"""

from collections.abc import Callable, Mapping
from functools import partial

from worlds.contract.checks import check_header
from worlds.contract.cookies import cookie_pairs, path_matches, set_cookie
from worlds.contract.credentials import Credential
from worlds.contract.hazards import risky_base64
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.rows import Row
from worlds.contract.windows import drawn_ms
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get, post

STEPS, TAIL, RECEIPT_CHARS = 10, 8, 48
ALWAYS_MS = 1_000_000_000
"""The life of a cookie that outlasts every budget."""

STEP, COMPLETE, LOOK = "/api/workflow/step", "/api/workflow/complete", "/api/session"
SESSION = "session"
SECOND, PASS = ("region", "variant", "theme"), ("pass", "ticket", "slip")
"""Names of the cookie that matters to nobody, and of the one that a single step needs."""


class SessionCookieChain(ContractWorld):
    """One session: a start, ten steps, a completion."""

    pass_from: int
    """From when on the pass counts (virtual ms), once it was given."""

    def prepare(self) -> None:
        """Draw rotations, names, the steps that give and need the pass, and anchor."""
        draw = self.chance("workflow")
        self.rotations = draw.sample(range(1, STEPS), round(self.knob("rotations")))
        self.second, self.pass_name = draw.choice(SECOND), draw.choice(PASS)
        self.given_after = draw.choice(range(1, STEPS)[:-2])
        self.needed_by = self.given_after + draw.between(2, 3)
        self.idle_ms, self.pass_ms = drawn_ms(self, "idle_seconds"), drawn_ms(self, "pass_seconds")
        self.receipt = self.chance("receipt").hex(RECEIPT_CHARS)
        self.draw_slice()
        self.cookies: dict[str, Credential] = {}
        self.paths: dict[str, str] = {}
        self.row = Row(STEPS)

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            **self.slice_facts(), "steps": STEPS, "receipt_chars": RECEIPT_CHARS, "tail": TAIL,
            "request_seconds": self.manifest.cost_ms("request") // 1000, "idle_seconds": self.idle_ms // 1000,
        }  # fmt: skip

    @post("/api/session/start")
    def start(self, call: Call) -> Reply:
        """The session, and the first two cookies."""
        if self.cookies:
            raise Violation(Label.VERSION_CONFLICT, "a session was started before", status=409)
        draw = self.chance(self.second)
        quoted = f'"{draw.choice(("north", "south", "blue", "plain"))}={draw.hex(6)}/{draw.hex(6)}"'
        return Reply({"steps": STEPS}, headers=(self.new_session(), self.new_cookie(self.second, quoted, ALWAYS_MS)))

    @get(f"{STEP}/{{number}}", headers=("Cookie",))
    def step(self, call: Call) -> Reply:
        """The next step; some replace the session cookie, one gives the pass."""
        number = self.row.number(call.params["number"])
        judged = self.cookies_of(call, f"{STEP}/{number}")
        self.row.check_turn(number)
        validity_first(*judged)
        self.row.taken = number
        told: dict[str, object] = {"step": number}
        headers = [self.new_session()] if number in self.rotations else []
        if not headers:
            self.cookies[SESSION].extend(self.idle_ms)
        if number == self.given_after:
            told["honoured_from"] = {self.pass_name: round(self.knob("pass_opens_seconds"))}
            told["honoured_seconds"] = {self.pass_name: self.pass_ms // 1000}
            self.pass_from = self.now + self.knob_ms("pass_opens_seconds")
            text = self.chance("pass").base64url(18)
            headers.append(self.new_cookie(self.pass_name, text, self.pass_ms, f"{STEP}/{self.needed_by}"))
        return Reply(told, headers=tuple(headers))

    @get(LOOK, headers=("Cookie",))
    def look(self, call: Call) -> Mapping[str, object]:
        """How far the session is, and how long its cookies are honoured; it costs what a step costs."""
        validity_first(*self.cookies_of(call, LOOK))
        self.cookies[SESSION].extend(self.idle_ms)
        limited = {name: cookie.generations[-1].contract for name, cookie in self.cookies.items() if name != self.second}
        left = {name: (made.expires_at - self.now) / 1000 for name, made in limited.items()}
        return {"steps_taken": self.row.taken, "seconds_left": left}

    @post(COMPLETE, headers=("Cookie", "X-Seed-Anchor", "X-Seed-Proof"))
    def complete(self, call: Call) -> Mapping[str, object]:
        """The receipt, once all steps are taken."""
        judged, part = self.cookies_of(call, COMPLETE), self.slice
        self.row.require(STEPS)
        proof = f"{part}:{self.cookies[SESSION].text.partition('.')[0][-TAIL:]}"
        validity_first(
            *judged,
            lambda: check_header(call, "X-Seed-Anchor", part),
            lambda: check_header(call, "X-Seed-Proof", proof),
        )
        self.deliverable = self.receipt.encode()
        return {"receipt": self.receipt}

    def cookies_of(self, call: Call, path: str) -> list[Callable[[], object]]:
        """The checks of a request's cookies; raises at once for one that is missing."""
        pairs = cookie_pairs(call)
        if not self.cookies:
            raise Violation(Label.MISSING_CONSTRAINT, "a session must be started first", field=SESSION)
        due = [name for name in self.cookies if path_matches(path, self.paths[name])]
        for name in due:
            if name not in {given for given, value in pairs if value}:
                label = Label.MISSING_TOKEN if name == SESSION else Label.MISSING_CONSTRAINT
                raise Violation(label, f"cookie {name} is missing", field=name)
        return [partial(self.check_cookie, due, name, value) for name, value in pairs]

    def check_cookie(self, due: list[str], name: str, value: str) -> None:
        """Raise unless this cookie belongs to the request and is as the last answer set it."""
        if name not in due:
            raise Violation(Label.WRONG_VALUE, "a cookie does not belong to this request", field="Cookie")
        made = self.cookies[name].redeem(value, f"cookie {name}")
        if name == self.pass_name and self.now < self.pass_from:
            raise made.contract.expired(self.now, rule=f"cookie {name} does not count yet")

    def new_session(self) -> tuple[str, str]:
        """A new value for the session cookie, as the header that sets it."""
        value = f"{self.chance('session-id').hex(32)}.{risky_base64(self.chance('session-key'), 32)}"
        return self.new_cookie(SESSION, value, self.idle_ms)

    def new_cookie(self, name: str, value: str, life_ms: int, path: str = "/") -> tuple[str, str]:
        """Issue a cookie for `life_ms` (virtual ms), and return the header that sets it."""
        self.paths[name] = path
        self.cookies.setdefault(name, Credential(self, name)).renew(value, life_ms)
        return set_cookie(name, value, path)
