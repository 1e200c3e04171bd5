"""A token has a life of its own: a client credentials grant whose token may be over before the work is (RFC 6749 section 4.4).

The client sends its credentials as a form (section 4.4.2), starts a job that takes 30 s, and fetches the result, each with a
bearer token (RFC 6750 section 2.1). The secret holds & = + and a literal %2B, so it must be encoded exactly once.
Every request costs 2 s. About half of the seeds give tokens 20 to 32 s to live, the others 45 to 120 s. The job can be started
2 s after the first token was issued at the earliest, and its result fetched 30 s later, when the token is 32 s old: on a short
seed it has ended, whatever the client does, and a second one is needed. On a long seed a client that goes straight ahead may
keep the first. `expires_in` tells which; to ask anew is always right. The result is kept for 9 or 10 s after the job: fetched
at once it is had 2 s after it, or 4 s with a token asked for in between; who idles for 10 s before each request comes at 12 s.
At level 4 no token outlives the job, of 60 s, and the result is kept for 3 s: a token that is asked for when the job is done is
2 s late for it, so it has to be asked for while the job runs.
Choices where the contract leaves one:
1. credentials count in the form only, as the instruction says. Here it differs from section 2.3.1, by which a server must take
   them in a Basic header, and the form is not recommended: the task is about one encoding, not about two ways;
2. a new token ends the one before (revocation: EXPIRED_BEFORE_USE), so that two of them must be kept apart. The RFC leaves that
   to the server. Refusals name the rule broken, not the error codes of section 5.2;
3. the job tells Retry-After when it is started, so asking for the result before that is BACKOFF_VIOLATION, the first time too;
   starting it again changes nothing and tells what is left. There is one job, and a result that was missed is gone: it has
   EXPIRED_BEFORE_USE;
4. tokens are base64 or base64url by seed, both of them b64token of RFC 6750;
5. the deliverable is the raw result, whose receipt is drawn from the seed and given out by it alone.
Order of judgement for the result: the windows of token and result, then token (there, bytes), job started, Retry-After, slice.
"""

from worlds.contract.checks import bearer, check_header, check_value, form, require_fields
from worlds.contract.credentials import Credential
from worlds.contract.gates import Gate
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.quotas import whole_seconds
from worlds.contract.windows import drawn_ms
from worlds.contract.world import ContractWorld, compact
from worlds.core.calls import Call, Reply, Violation, get, post
from worlds.core.chance import Stream

SHORT_S, LONG_S = (20, 32), 45
"""Range of a token's life on short seeds, and the shortest on long ones."""

REGIONS = ("north", "south", "east", "west", "centre", "coast")
RECEIPT_CHARS = 48


class BasicOauthToken(ContractWorld):
    """One client, one job, one result."""

    def prepare(self) -> None:
        """Draw credentials, the tokens' alphabet and life, the result and anchor."""
        life, rows = self.chance("life"), self.chance("rows")
        self.client_id = f"client-{self.chance('client').hex(10)}"
        self.secret = awkward(self.chance("secret"))
        self.alphabet = self.chance("alphabet").choice(("base64", "base64url"))
        self.life_s = life.between(*life.choice((SHORT_S, (LONG_S, round(self.knob("longest_seconds"))))))
        regions = rows.sample(REGIONS, rows.between(3, 5))
        counts = [{"region": name, "orders": rows.between(10, 9999)} for name in regions]
        self.result = compact({"rows": counts, "receipt": self.chance("receipt").hex(RECEIPT_CHARS)})
        self.draw_slice()
        self.token = Credential(self, "access_token")
        self.job, self.kept_ms = Gate(self, "result", "job"), drawn_ms(self, "result_seconds")

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            **self.slice_facts(), "client_id": self.client_id, "secret": self.secret,
            "request_seconds": self.manifest.cost_ms("request") // 1000, "job_seconds": f"{self.knob('job_seconds'):g}",
        }  # fmt: skip

    @post("/token")
    def grant(self, call: Call) -> Reply:
        """A new token for the right credentials."""
        given = form(call)
        require_fields(given, "grant_type", "client_id", "client_secret")
        check_value(given["grant_type"], "client_credentials", "field grant_type")
        check_value(given["client_id"], self.client_id, "field client_id")
        check_value(given["client_secret"], self.secret, "field client_secret")
        self.token.renew(self.new_token(), self.life_s * 1000)
        body = {"access_token": self.token.text, "token_type": "Bearer", "expires_in": self.life_s}
        return Reply(body, headers=(("Cache-Control", "no-store"),))

    @post("/api/job", headers=("Authorization",))
    def start(self, call: Call) -> Reply:
        """The job, started at the first call."""
        self.token.redeem(bearer(call), "the bearer token")
        if self.job.token is None:
            self.job.open(self.knob_ms("job_seconds") + self.kept_ms)
        told = {"result_expires_at": self.job.require().expires_at / 1000}
        return Reply(told, 202, headers=(("Retry-After", str(self.left())),))

    @get("/api/data", headers=("Authorization", "X-Seed-Anchor"))
    def data(self, call: Call) -> Reply:
        """The result, once the job is done."""
        validity_first(
            lambda: self.token.redeem(bearer(call), "the bearer token"),
            self.job.check_window,
            self.check_ready,
            lambda: check_header(call, "X-Seed-Anchor", self.slice),
        )
        self.deliverable = self.result
        return Reply(self.result, media_type="application/json")

    def left(self) -> int:
        """Whole seconds until the job is done."""
        return whole_seconds(max(0, self.job.require().expires_at - self.kept_ms - self.now))

    def check_ready(self) -> None:
        """Raise unless the job is done."""
        if left := self.left():
            rule, retry = "asked before Retry-After had passed", (("Retry-After", str(left)),)
            raise Violation(Label.BACKOFF_VIOLATION, rule, status=409, headers=retry, retry_after_s=left)

    def new_token(self) -> str:
        """A token in this seed's alphabet."""
        return str(getattr(self.chance("token"), self.alphabet)(round(self.knob("token_bytes"))))


def awkward(draw: Stream) -> str:
    """A secret with every character that a form gives a meaning, and what looks encoded already."""
    # digits at both ends and between the marks, so that no careless reading of it comes out right
    marks = ["&", "=", "+", "%2B"]
    draw.shuffle(marks)
    return "".join(f"{draw.hex(5)}{mark}" for mark in marks) + draw.hex(5)
