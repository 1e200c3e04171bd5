"""Announced downtime is to be planned around: start only what ends before the next window (RFC 9110 section 15.6.4).

The service is down in three or four windows, which its status announces from the first answer on: [0, W), W of 60 to 120 s by
seed, one or two of 9 to 14 s, and a last one that outlasts the budget of 300 s. Of the gaps between them one lasts 54 to 70 s,
the others 17 to 20 s: the long one is the second of two or three, or the third, by seed. A report takes 35 s, in all of which
the service must be up; one that touches a window is answered 503, and that is a violation, for the status says when the
service is up. To an HTTP client a 503 is no fault of its own: the rule is the task's.
The arithmetic: who waits as told by the first status has a token at W + 1 s and a report at W + 36 s, inside or past a window
that starts by W + 20 s. Who keeps that token, which lives 45 s, can have the report at W + 61 s at the earliest. Who waits for
the end of all maintenance gets nothing any more. Who compares gaps comes at the start of the long one, by 188 s, needs 36 s
there, and has 17 s to spare before the next window, 10 s before the token ends: none for who idles for 10 s before each
request. No text tells windows, only the status. At higher levels the short gaps grow to 35 s, in which a report just does not
fit, the long one shrinks to 39 s, and a token to 36 s: a second lost between status and report is too much. And the second
window is announced too late for as long as the first one lasts: who plans with that and does not look again runs into it. Who
looks again in every gap has no requests left for the report.
Choices where the contract leaves one:
1. the service must be up at every moment from the sending of a request to its answer, both included;
2. a status while the service is down gives no token, so at least one must be asked when it is up: that is the step to take;
3. every token lives to its own end, whatever comes after it: asking for the status never breaks anything;
4. a service that is down judges nothing else, so SCHEDULED_UNAVAILABLE comes first; a second 503 is no other label.
Order of judgement for a report: service up, a token given out, token (there, window, bytes), anchor slice.
"""

from worlds.contract.checks import check_header
from worlds.contract.credentials import Credential
from worlds.contract.labels import Label
from worlds.contract.quotas import whole_seconds
from worlds.contract.world import ContractWorld, compact
from worlds.core.calls import Call, Reply, Violation, get
from worlds.core.chance import Stream

SECOND = 1000
"""In virtual ms."""

DOWN_S = (9, 14)
"""Range of a middle window, in seconds."""

ORDERS = (("short", "long"), ("short", "short", "long"), ("short", "long", "short"))
"""Gaps between the windows, one of which fits."""

LAST_S = (60, 600)
"""Range of how long after the budget the last window ends, in seconds."""

SITES = ("Aarhus", "Bilbao", "Gdansk", "Izmir", "Leuven", "Porto", "Tartu", "Zadar")


class ScheduledMaintenance(ContractWorld):
    """One report in the one gap of downtime that is long enough."""

    def prepare(self) -> None:
        """Draw windows, report and slice; the first token comes with the first status of a service that is up."""
        draw, least = self.chance("windows"), round(self.knob("downtime_seconds"))
        start, end = 0, least + draw.between(0, least)
        self.windows = [(start, end)]
        gaps = {name: (round(self.knob(f"{name}_seconds")), round(self.knob(f"{name}_spread"))) for name in ("short", "long")}
        for gap in ["short"] * round(self.knob("more_gaps")) + list(self.chance("order").choice(ORDERS)):
            least, spread = gaps[gap]
            start = end + draw.between(least, least + spread)
            end = start + draw.between(*DOWN_S)
            self.windows.append((start, end))
        *kept, (start, _) = self.windows
        self.windows = [*kept, (start, round(self.manifest.budgets.virtual_seconds) + draw.between(*LAST_S))]
        first, (second, until), *others = self.windows
        self.announced = [first, (second + round(self.knob("shift_seconds")), until), *others]
        self.content = compact(draw_report(self.chance("report")))
        self.draw_slice()
        self.token = Credential(self, "status_token")

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        seconds = {f"{name}_seconds": self.manifest.cost_ms(name) // 1000 for name in ("report", "request")}
        return {**self.slice_facts(), **seconds}

    @get("/api/status")
    def status(self, call: Call) -> dict[str, object]:
        """Whether the service is up, all windows, and either how long to wait or a new token."""
        (_, first_end), *_ = self.windows
        windows = self.announced if self.now < first_end * SECOND else self.windows
        planned = [{"start": start, "end": end} for start, end in windows]
        if (up_at := self.down_until(self.now)) is not None:
            return {"available": False, "retry_after": whole_seconds(up_at - self.now), "maintenance": planned}
        life_ms = self.knob_ms("token_seconds")
        made = self.token.renew(self.chance("token").base64(25), life_ms, grace_ms=life_ms)
        told = {"status_token": self.token.text, "expires_at": made.expires_at / 1000}
        return {"available": True, "maintenance": planned, **told}

    @get("/api/report", cost="report", headers=("X-Status-Token", "X-Seed-Anchor"))
    def report(self, call: Call) -> Reply:
        """The report, if the service is up for as long as it takes, and token and slice hold."""
        if (up_at := self.down_until(self.now - self.manifest.cost_ms("report"))) is not None:
            rule = "maintenance overlaps the time that this request takes"
            raise Violation(Label.SCHEDULED_UNAVAILABLE, rule, status=503, up_at_s=up_at / 1000)
        if self.token.current is None:
            raise Violation(Label.MISSING_CONSTRAINT, "a status of the service that is up must come first", field="status")
        self.token.redeem(call.header("X-Status-Token"), "header X-Status-Token")
        check_header(call, "X-Seed-Anchor", self.slice)
        self.deliverable = self.content
        return Reply(self.content, media_type="application/json")

    def down_until(self, since: int) -> int | None:
        """The end (virtual ms) of the last window that the time from `since` to now touches, or None."""
        touched = [end * SECOND for start, end in self.windows if since < end * SECOND and start * SECOND <= self.now]
        return touched[-1] if touched else None


def draw_report(draw: Stream) -> dict[str, object]:
    """A report that nobody can guess."""
    rows = [{"site": site, "hours": draw.between(10, 99), "faults": draw.between(0, 9)} for site in draw.sample(SITES, 3)]
    return {"report": f"R-{draw.between(1000, 9999)}", "rows": rows, "receipt": draw.hex(48)}
