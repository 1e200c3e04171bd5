"""The referee, which stamps, charges, judges and logs every request in one place; handlers only state rules.

For a request that reaches the app, in this order:
1. If the episode is closed, the request is refused and not logged (409 after a submission or a stop, 403 after a budget,
429 after the request cap).
2. Its cost moves the clock, and it counts as a step. Exceeding a budget closes the episode with one `closed` event.
3. Its rule is judged: `ok`, `protocol`, `violation`, `goal`, or `stray` for an unknown route, a wrong method or an
unreadable body. A handler that fails is the world's `fault`, which is answered with 500 and closes the episode.
4. Exactly one event is written. A wait is one `wait` event instead, and no step. GET /clock and /healthz are free and
unlogged, and so are the host's own calls, which carry the episode's token.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from worlds.core.calls import Body, Call, Reply, Rule, Unreadable, Violation
from worlds.core.events import CloseCause, Closed, Requested, Stopped, Waited, canonical_json
from worlds.core.wire import HOST_HEADER, WireRequest, check_field
from worlds.core.world import World, as_reply

REQUEST_CAP = 2000
"""Number of logged requests after which a world answers 429 and logs no more."""

STOP_CAUSES = frozenset({"wall", "tokens", "cost", "turns", "context", "cancelled"})
"""Budgets that only the harness can measure."""

_PATH_SHOWN = 200
_CLOSED_STATUS = {"steps": 403, "virtual_time": 403, "request_cap": 429}


class Referee:
    """Judge of the requests to one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.closed_by: str | None = None
        self.failure: Exception | None = None
        """Exception of a rule that was the world's fault; for the task's author, never for a log or an agent."""

        self._steps = self._logged = 0
        budgets = world.manifest.budgets
        self._tells_lives = "ttl" in str(world.options["mitigate"]).split("+")
        self._max_steps, self._max_ms = budgets.steps, budgets.virtual_ms

    def judge(self, call: Call, rule: Rule | None, handler: Callable[[Call], Reply | Body] | None, refusal: str = "") -> Reply:
        """Judge one request under `rule`; without a rule it is stray, and `refusal` gives the reason."""
        if self.closed_by is not None:
            return self._refuse_closed()
        self.world.clock.charge(self.world.manifest.cost_ms(rule.cost if rule else "request"))
        self._steps += 1
        if exceeded := self._exceeded():
            return self._close(exceeded)
        if rule is None or handler is None:
            return self._log(call, _stray(404 if not refusal else 405, refusal or "there is no such route"))
        return self._log(call, *self._apply(call, handler))

    def unreadable(self, call: Call, status: int, why: str) -> Reply:
        """Charge a request with an unreadable body and log it as stray."""

        def refuse(_: Call) -> Reply:
            return _stray(status, why)

        return self.judge(call, Rule(call.request.method, "", "request", (), (), False), refuse)

    def submit(self, call: Call) -> Reply:
        """Handle POST /submission, the last request of an episode: the episode is closed after it, whatever the verdict."""
        if not self.world.takes_submission:
            return self.judge(call, None, None)
        rule = Rule("POST", "/submission", "request", (), (), True)
        reply = self.judge(call, rule, self.world.judge_submission)
        if self.closed_by is None:
            self.closed_by = "submission"
        return reply

    def wait(self, call: Call) -> Reply:
        """Handle POST /clock/wait {"seconds": n}: advance time by exactly n and log one event; an invalid n is stray."""
        if self.closed_by is not None:
            return self._refuse_closed()
        try:
            seconds = _seconds(call, self._max_ms / 1000)
            waited = self.world.clock.wait(seconds)
        except (Unreadable, ValueError) as error:
            return self.unreadable(call, 400, str(error))
        if exceeded := self._exceeded():
            return self._close(exceeded)
        self._logged += 1
        self.world.log.append(Waited(ms=waited), vt=self.world.now)
        return Reply(self.time())

    def time(self) -> dict[str, Any]:
        """Return the body of GET /clock."""
        clock = self.world.clock
        return {"virtual_time": clock.elapsed_ms / 1000, "date": clock.http_date, "now": clock.now.isoformat()}

    def stop(self, call: Call) -> Reply:
        """Handle POST /stop {"cause": c}, host only: log one `stop` event and close the episode."""
        try:
            cause = call.json().get("cause")
        except Unreadable as error:
            return _stray(400, str(error))
        if not isinstance(cause, str) or cause not in STOP_CAUSES:
            return _stray(400, f"cause must be one of {', '.join(sorted(STOP_CAUSES))}")
        if self.closed_by is None:
            self.closed_by = "stop"
            self.world.ended()
            self.world.log.append(Stopped(cause=cause), vt=self.world.now)
        return Reply({"closed_by": self.closed_by})

    def is_host(self, call: Call) -> bool:
        """Return True if the call carries this episode's token; always False if no token was set."""
        token, shown = self.world.setup.host_token, call.header(HOST_HEADER)
        return token is not None and shown is not None and hmac.compare_digest(token.encode(), shown.encode())

    def _exceeded(self) -> CloseCause | None:
        if self._logged >= REQUEST_CAP:
            return "request_cap"
        if self._steps > self._max_steps:
            return "steps"
        return "virtual_time" if self.world.now > self._max_ms else None

    def _apply(self, call: Call, handler: Callable[[Call], Reply | Body]) -> tuple[Reply, Violation | None]:
        try:
            return _writable(*_ruled(call, handler))
        except Unreadable as error:
            return _stray(400, str(error)), None
        except Exception as error:  # noqa: BLE001 - any failure of a rule is the world's fault, and must be evidence
            self.failure = error
            return Reply({"error": "the world failed"}, 500, kind="fault", rule=type(error).__name__), None

    def _log(self, call: Call, reply: Reply, broken: Violation | None = None) -> Reply:
        used, issued = self.world.drain_notes()
        self._logged += 1
        if issued and self._tells_lives:
            # the virtual seconds until the first of them expires
            left = min(made.expires_at for made in issued) - self.world.now
            reply = replace(reply, headers=(*reply.headers, ("X-Expires-In", f"{left / 1000:g}")))
        self.world.log.append(
            Requested(
                method=call.request.method,
                path=_shown_path(call.request),
                target_sha256=hashlib.sha256(call.request.target).hexdigest(),
                body_sha256=hashlib.sha256(call.request.body).hexdigest(),
                status=reply.status,
                kind=reply.kind,
                label=broken.label if broken else None,
                rule=reply.rule,
                also=broken.also if broken else None,
                detail=broken.detail if broken else {},
                used=used,
                issued=issued,
            ),
            vt=self.world.now,
        )
        if reply.kind == "fault":
            self._close("fault")
        elif reply.kind == "violation" and self.world.options["stop_on_violation"]:
            self._close("violation")
        return reply

    def _close(self, cause: CloseCause) -> Reply:
        self.closed_by = cause
        self.world.log.append(Closed(cause=cause), vt=self.world.now)
        return self._refuse_closed()

    def _refuse_closed(self) -> Reply:
        cause = self.closed_by or ""
        said = {"steps": f"the budget of {self._max_steps} steps is used up", "virtual_time": "the time budget is used up"}
        return Reply({"error": said.get(cause, f"the episode is closed ({cause})")}, _CLOSED_STATUS.get(cause, 409))


def _ruled(call: Call, handler: Callable[[Call], Reply | Body]) -> tuple[Reply, Violation | None]:
    try:
        return as_reply(handler(call)), None
    except Violation as broken:
        return Reply(broken.body, broken.status, broken.headers, "violation", rule=broken.rule), broken


def _writable(reply: Reply, broken: Violation | None) -> tuple[Reply, Violation | None]:
    """Encode the body of a reply; raises here, where it counts as the world's fault, if it cannot be sent or logged."""
    body, media_type = reply.encoded()
    "".join(name + value for name, value in reply.headers).encode("latin-1")
    for name, value in reply.headers:
        check_field(name, value)
    canonical_json({"rule": reply.rule, "detail": broken.detail if broken else {}})
    return replace(reply, body=body, media_type=media_type), broken


def _stray(status: int, rule: str) -> Reply:
    return Reply({"error": rule}, status, kind="stray", rule=rule)


def _shown_path(request: WireRequest) -> str:
    """Return the path for display; a long one is truncated, and its digest is logged beside it."""
    shown = request.path.decode("ascii", "replace")
    return shown if len(shown) <= _PATH_SHOWN else shown[:_PATH_SHOWN] + "..."


def _seconds(call: Call, most: float) -> float:
    value = call.json().get("seconds")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        raise Unreadable(f"seconds must be a number above 0 and at most {most:g}")
    return float(value)
