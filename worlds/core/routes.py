"""Routes of every world and the app of one episode, which passes the result of a handler through the referee.

1. Paths are matched as in Starlette: decoded, in order of declaration, the first whose method fits too.
2. Unknown paths and wrong methods are served as well: they go to the referee, which judges them as stray.
3. In process `find_handler` looks up a request; on a socket FastAPI's router does, in the same table (`worlds.core.served`).
4. Every response leaves through `_answer`, which stamps the virtual `Date` and `X-Virtual-Time`. A truncated or oversized
request is logged like any other; an answer to a turn is not logged as a request. Starlette is imported lazily: turns of a game
need no routing, and a host only starts containers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from worlds.core.calls import Call, Reply, Rule
from worlds.core.referee import Referee
from worlds.core.wire import MAX_BODY_BYTES, Headers, WireRequest, WireResponse
from worlds.core.world import World, rules_of

Serve = Callable[[Referee, Call], Reply]


class Found(NamedTuple):
    """The handler of a request, and the parameters in its path."""

    serve: Serve
    params: Mapping[str, str]


class Route(NamedTuple):
    """One compiled rule."""

    rule: Rule
    serve: Serve
    path: re.Pattern[str]
    name: str
    about: str
    """Description by its author."""


NOWHERE = Found(lambda referee, call: referee.judge(call, None, None), {})
"""Handler for an unknown path."""

MISUSED = Found(lambda referee, call: referee.judge(call, None, None, "this route has another method"), {})
"""Handler for a path whose routes have other methods."""

_known: WeakKeyDictionary[type[World], tuple[Route, ...]] = WeakKeyDictionary()
"""Routes by class, held weakly, because a class with path operations is created for every episode."""


def find_handler(cls: type[World], method: str, path: str) -> Found:
    """Return the handler of `method` on the decoded `path` for this class of worlds; never None."""
    otherwise = NOWHERE
    for route in routes(cls):
        if (match := route.path.match(path)) is None:
            continue
        if route.rule.method == method:
            return Found(route.serve, match.groupdict())
        otherwise = MISUSED
    return otherwise


def find_turn_route(method: str, path: str) -> Found | None:
    """Return the handler for a route of the Turn protocol, which needs no table; None for any other."""
    if method == "GET" and path in {"/session", "/turns"}:
        return Found(SESSION if path == "/session" else TURNS, {})
    name = path.removeprefix("/turns/")
    return Found(ANSWER, {"turn": name}) if method == "POST" and name != path and name and "/" not in name else None


def routes(cls: type[World]) -> tuple[Route, ...]:
    """Return every route of a World class: its own before the common ones; for a seated world, those of turns come first."""
    if cls not in _known:
        declared = [_declared(cls, rule, name) for rule, name in rules_of(cls)]
        turns, others = common_routes()
        _known[cls] = (*turns, *declared, *others) if cls.turn_handlers else (*declared, *others, *turns)
    return _known[cls]


@cache
def common_routes() -> tuple[tuple[Route, ...], tuple[Route, ...]]:
    """Return the routes that every world has: those of the Turn protocol, and the others."""
    turns, others = (
        tuple(
            Route(Rule(method, path, "request", (), (), method == "POST"), serve, path_pattern(path), name, about)
            for method, path, serve, name, about in table
        )
        for table in (_TURNS, _OTHERS)
    )
    return turns, others


def path_pattern(path: str) -> re.Pattern[str]:
    """Compile a declared path; `{name:any}` matches the rest including line feeds, unlike `{name:path}`."""
    from starlette.routing import compile_path  # noqa: PLC0415 - 60 ms, paid by who routes

    pattern = compile_path(starlette_path(path))[0]
    return re.compile(pattern.pattern, re.DOTALL) if ":any}" in path else pattern


def starlette_path(path: str) -> str:
    """Return a declared path with Starlette's own convertors."""
    return path.replace(":any}", ":path}")


def _declared(cls: type[World], rule: Rule, name: str) -> Route:
    def serve(referee: Referee, call: Call) -> Reply:
        return referee.judge(call, rule, getattr(referee.world, name))

    return Route(rule, serve, path_pattern(rule.path), name, getattr(cls, name).__doc__ or "")


def _host_only(serve: Serve) -> Serve:
    """Return a host-only handler; for other callers the route does not exist."""
    return lambda referee, call: serve(referee, call) if referee.is_host(call) else referee.judge(call, None, None)


def _instruction(referee: Referee, call: Call) -> Reply:
    """Return the instruction of this seed: to the host only if there is one, to any caller if not, as under Harbor."""
    alone = referee.world.setup.host_token is None
    return Reply(referee.world.instruction) if alone or referee.is_host(call) else referee.judge(call, None, None)


def _turn_handler(name: str) -> Serve:
    """Return the world's handler of the Turn protocol; for a world without seats the route does not exist."""

    def serve(referee: Referee, call: Call) -> Reply:
        handler = referee.world.turn_handlers.get(name)
        return handler(referee, call) if handler else referee.judge(call, None, None)

    return serve


SESSION, TURNS, ANSWER = map(_turn_handler, ("session", "turns", "answer"))

_Row = tuple[str, str, Serve, str, str]

_TURNS: tuple[_Row, ...] = (
    ("GET", "/session", SESSION, "session", "The seats that the caller holds, with their system prompts."),
    ("GET", "/turns", TURNS, "turns", "The open turns of these seats, and whether the game is over."),
    ("POST", "/turns/{turn}", ANSWER, "answer", "Answer an open turn; the body is the reply as it is."),
)

_OTHERS: tuple[_Row, ...] = (
    ("GET", "/clock", lambda referee, call: Reply(referee.time()), "clock", "What time it is; free."),
    ("GET", "/healthz", lambda referee, call: Reply({"ok": True}), "healthz", "Whether the world is up; free."),
    ("POST", "/clock/wait", Referee.wait, "wait", "Let so many virtual seconds pass; no step."),
    ("POST", "/submission", Referee.submit, "submit", "Hand in the result; the last act of an episode."),
    ("GET", "/instruction", _instruction, "instruction", "The instruction of this seed; the host's, where there is one."),
    ("POST", "/stop", _host_only(Referee.stop), "stop", "End the episode, for a cause that it names; the host's alone."),
)  # fmt: skip


class App:
    """The app of one episode, with its own referee; raises ManifestError if a rule's cost is not declared in task.toml."""

    def __init__(self, world: World) -> None:
        self.referee = Referee(world)
        self._seated = bool(world.turn_handlers)
        for rule, _ in world.rules():
            world.manifest.cost_ms(rule.cost)

    def answer(self, request: WireRequest) -> WireResponse:
        """Find the handler of a request and serve it."""
        method, path = request.method, unquote(request.path.decode("latin-1"))
        handler = (self._seated and find_turn_route(method, path)) or find_handler(type(self.referee.world), method, path)
        return self.serve(handler, request)

    def serve(self, handler: Found, request: WireRequest, *, whole: bool = True) -> WireResponse:
        """Serve a request with its handler; `whole` is False if the client disconnected before the end of the body."""
        if whole and len(request.body) <= MAX_BODY_BYTES:
            return _answer(self.referee, handler.serve(self.referee, Call(request, handler.params)))
        status, why = (413, f"the body is longer than {MAX_BODY_BYTES} bytes") if whole else (400, "the body ended early")
        if self._seated and handler.serve in (ANSWER, TURNS):
            # turns are no requests of the agent's
            return _answer(self.referee, Reply({"error": why}, status))
        return _answer(self.referee, self.referee.unreadable(Call(request._replace(body=b"")), status, why))


def _answer(referee: Referee, reply: Reply) -> WireResponse:
    body, media_type = reply.encoded()
    clock = referee.world.clock
    content: Headers = (("content-type", media_type), ("content-length", str(len(body))))
    if reply.status in (204, 304):
        # these have no body (RFC 9110 sections 15.3.5 and 15.4.5), and no server sends one
        body, content = b"", ()
    said = [(name.lower(), value) for name, value in reply.headers] if reply.headers else ()
    time = (("date", clock.http_date), ("x-virtual-time", clock.seconds_text))
    return WireResponse(reply.status, (*content, *said, *time), body)
