"""What serves a request: the rules of its World class, then the routes that every world has, by path and method.

1. Paths are matched as Starlette matches them: decoded, in order of declaration, the first whose method fits too.
2. Unknown paths and wrong methods are served as well: they go to the referee, who calls them stray.
3. `schema` describes the routes in OpenAPI, for fuzzers; no route serves it.
Both libraries are loaded by whoever needs them: a game's turns are told by their path, and a host only starts containers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from worlds.core import desk
from worlds.core.calls import Call, Reply, Rule
from worlds.core.referee import Referee
from worlds.core.world import World, rules_of

Serve = Callable[[Referee, Call], Reply]


class Found(NamedTuple):
    """What serves a request, and the parameters in its path."""

    serve: Serve
    params: Mapping[str, str]


class Route(NamedTuple):
    """One rule, ready to be matched."""

    rule: Rule
    serve: Serve
    path: re.Pattern[str]


def find(cls: type[World], method: str, path: str) -> Found:
    """What serves `method` on `path`, decoded, in worlds of this class; never nothing."""
    refusal = ""
    for route in routes(cls):
        if (found := route.path.match(path)) is None:
            continue
        if route.rule.method == method:
            return Found(route.serve, found.groupdict())
        refusal = "this route has another method"
    return Found(lambda referee, call: referee.judge(call, None, None, refusal), {})


def at_desk(method: str, path: str) -> Found | None:
    """The same for the routes of the Turn protocol, which need no table; None for any other."""
    if (method, path) in _DESK:
        return Found(_DESK[method, path], {})
    name = path.removeprefix("/turns/")
    return Found(desk.answer, {"turn": name}) if method == "POST" and name != path and name and "/" not in name else None


def routes(cls: type[World]) -> tuple[Route, ...]:
    """Every route of a World class, its own first."""
    return _routes(cls)  # type: ignore[arg-type]  # mypy reads the hash of an instance here


@lru_cache(maxsize=256)
def _routes(cls: type[World]) -> tuple[Route, ...]:
    declared = [(rule, _judged(rule, name)) for rule, name in rules_of(cls)]
    return tuple(Route(rule, serve, compiled(rule.path)) for rule, serve in (*declared, *_BUILTIN))


def compiled(path: str) -> re.Pattern[str]:
    """A declared path as a pattern; `{name:any}` is the rest whatever it holds, line feeds too, which `{name:path}` is not."""
    from starlette.routing import compile_path  # noqa: PLC0415 - 60 ms, paid by who routes

    pattern = compile_path(path.replace(":any}", ":path}"))[0]
    return re.compile(pattern.pattern, re.DOTALL) if ":any}" in path else pattern


def schema(cls: type[World]) -> dict[str, Any]:
    """The routes of a World class as an OpenAPI document."""
    from fastapi import FastAPI, Response  # noqa: PLC0415 - 0.2 s, paid by fuzzers

    def never() -> None:
        """Only described here."""

    app = FastAPI(title=cls.__name__)
    for rule, _, _ in routes(cls):
        path = rule.path.replace(":any}", ":path}")
        app.add_api_route(path, never, methods=[rule.method], response_class=Response, openapi_extra=_declared(rule))
    return app.openapi()


def _judged(rule: Rule, name: str) -> Serve:
    return lambda referee, call: referee.judge(call, rule, getattr(referee.world, name))


def _host_only(serve: Serve) -> Serve:
    """A host-only route: for anybody else it does not exist."""
    return lambda referee, call: serve(referee, call) if referee.is_host(call) else referee.judge(call, None, None)


def _plain(method: str, path: str) -> Rule:
    return Rule(method, path, "request", (), (), body=method == "POST")


_DESK: Mapping[tuple[str, str], Serve] = {("GET", "/session"): desk.session, ("GET", "/turns"): desk.turns}

_BUILTIN: tuple[tuple[Rule, Serve], ...] = (
    (_plain("GET", "/clock"), lambda referee, call: Reply(referee.time())),
    (_plain("GET", "/healthz"), lambda referee, call: Reply({"ok": True})),
    (_plain("POST", "/clock/wait"), Referee.wait),
    (_plain("POST", "/submission"), Referee.submit),
    (_plain("GET", "/session"), desk.session),
    (_plain("GET", "/turns"), desk.turns),
    (_plain("POST", "/turns/{turn}"), desk.answer),
    (_plain("GET", "/instruction"), _host_only(lambda referee, call: Reply(referee.world.instruction))),
    (_plain("POST", "/stop"), _host_only(Referee.stop)),
)


def _declared(rule: Rule) -> dict[str, Any]:
    """The OpenAPI operation for what a rule declares, so that fuzzers know what to vary."""
    named = [("path", name, True) for name in re.findall(r"{(\w+)", rule.path)]
    named += [("query", name, False) for name in rule.query] + [("header", name, False) for name in rule.headers]
    operation: dict[str, Any] = {
        "parameters": [{"in": where, "name": n, "required": need, "schema": {"type": "string"}} for where, n, need in named]
    }
    if rule.body:
        operation["requestBody"] = {"content": {"application/json": {"schema": {"type": "object"}}}}
    return operation
