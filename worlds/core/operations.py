"""Adapter that turns the path operations of a FastAPI app in server.py into rules of the World class beside it.

1. `adopt_app` makes one rule of every path operation. Its handler calls the app through ASGI and converts the result for the
referee: a response, an HTTPException as a planned refusal, a Violation unchanged. A request that fails FastAPI's own
validation is stray; the message is one clause that names the rule and never the value.
2. The app runs in an event loop per request, in which nothing can wait for real time.
3. Parts that would never run or never see a request are rejected on loading: middleware, start-up handlers, mounts, websockets.
FastAPI is imported by the server.py that uses it; this module does not import it earlier.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import unquote

from worlds.core.calls import Call, Reply, Rule, Unreadable, Violation, json_value, protocol
from worlds.core.errors import RealWait, WorldError
from worlds.core.routes import common_routes, path_pattern
from worlds.core.world import World


def run_coroutine(serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine to completion; raises its exceptions, RealWait for a timer, and WorldError if it cancels itself."""
    import asyncio  # noqa: PLC0415 - 30 ms of every start, paid by who has asynchronous worlds

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        _run_here(serve)
        return
    with ThreadPoolExecutor(1) as beside:
        beside.submit(_run_here, serve).result()


def _run_here(serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    from asyncio import CancelledError, Runner  # noqa: PLC0415 - as above

    with Runner(loop_factory=_loop_class()) as runner:
        try:
            runner.run(serve())
        except CancelledError:
            # no Exception, so it would end more than the request
            raise WorldError("a path operation cancelled its own request") from None


@cache
def _loop_class() -> Callable[[], Any]:
    from asyncio import SelectorEventLoop  # noqa: PLC0415 - as above

    class Timeless(SelectorEventLoop):
        """Event loop without timers."""

        def call_at(self, *_: Any, **__: Any) -> Any:  # type: ignore[override] # whatever it is given
            """Raise RealWait, since every wait for real time ends up here."""
            raise RealWait("a path operation waits for real time; a world has a clock of its own")

    return Timeless


COST = "x-parley-cost"
"""Key of `openapi_extra` that names a path operation's cost."""

_ADOPTED = "__operations__"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Operation(NamedTuple):
    """One path operation: its place, the function behind it, and whether it reads a body."""

    method: str
    path: str
    endpoint: Callable[..., Any]
    cost: str
    reads_body: bool


def find_app(module: ModuleType) -> Any | None:
    """Return the FastAPI app that a module calls `app`, or one around its APIRouter `router`; None if there is neither."""
    fastapi = sys.modules.get("fastapi")
    if fastapi is None:
        return None
    app, router = vars(module).get("app"), vars(module).get("router")
    if isinstance(app, fastapi.FastAPI):
        return app
    if not isinstance(router, fastapi.APIRouter):
        return None
    around = fastapi.FastAPI()
    around.include_router(router)
    return around


def adopted_app(cls: type[World]) -> Any | None:
    """Return the app that a World class adopted, or None."""
    return getattr(cls, _ADOPTED, None)


def adopt_app(cls: type[World], app: Any) -> None:
    """Turn an app's path operations into rules; raises WorldError for parts that a world would never run."""
    for why in _refusals(app):
        raise WorldError(why)
    for operation in _operations(app):
        # a name that no attribute can have
        setattr(cls, f"{operation.method} {operation.path}", _handler(app, operation))
    setattr(cls, _ADOPTED, app)
    _let_through(app)


def _operations(app: Any) -> Iterator[Operation]:
    """Yield every path operation of an app and its included routers; raises WorldError for any other kind of route."""
    from fastapi.routing import APIRoute, iter_route_contexts  # noqa: PLC0415 - 0.2 s, paid by who has such a world

    pages = {app.openapi_url, app.docs_url, app.redoc_url, app.swagger_ui_oauth2_redirect_url}
    for route in iter_route_contexts(app.routes):
        if isinstance(route.original_route, APIRoute):
            cost = (route.openapi_extra or {}).get(COST, "request")
            for method in sorted(route.methods or ()):
                _stands_aside(method, str(route.path))
                yield Operation(method, str(route.path), route.endpoint, cost, route.body_field is not None)  # type: ignore[arg-type] # an APIRoute has one
        elif route.path not in pages:
            raise WorldError(f"{type(route.original_route).__name__} {route.path} is no path operation, so no rule")


def _stands_aside(method: str, path: str) -> None:
    """Raise WorldError for an operation that would shadow a route that every world has."""
    for route in (route for table in common_routes() for route in table):
        if route.rule.method == method and path_pattern(path).match(route.rule.path):
            raise WorldError(f"{method} {path} stands before {method} {route.rule.path}, which every world has")


def _refusals(app: Any) -> Iterator[str]:
    """Yield the reasons to reject an app: parts that would never run, or never see a request."""
    if app.user_middleware:
        yield "the app has middleware, which would not see requests that match no operation; use a dependency"
    if app.router.on_startup or app.router.on_shutdown:
        yield "the app has something to do at its start or end, which a world never does; draw the instance in prepare()"
    for kind in app.exception_handlers:
        caught = isinstance(kind, type) and kind is not Exception and issubclass(Violation, kind)
        if caught or kind in (Violation, Unreadable):
            yield f"the app handles {kind.__name__}, which is the referee's to judge"


def _let_through(app: Any) -> None:
    """Make FastAPI raise the errors that it would answer itself; custom handlers stay in place."""
    from fastapi import exception_handlers as standard  # noqa: PLC0415 - as above

    async def raised(_: Any, error: Exception) -> Any:
        raise error

    own = {standard.http_exception_handler, standard.request_validation_exception_handler}
    for kind, handler in list(app.exception_handlers.items()):
        if handler in own:
            app.exception_handlers[kind] = raised


def _handler(app: Any, operation: Operation) -> Callable[[World, Call], Reply]:
    @wraps(operation.endpoint)
    def answered(world: World, call: Call) -> Reply:
        if operation.reads_body and call.body:
            _check_body(call)
        return _asked(app, world, call)

    rule = Rule(operation.method, operation.path, operation.cost, (), (), operation.reads_body)
    answered.__rule__ = rule  # type: ignore[attr-defined]
    return answered


def _check_body(call: Call) -> None:
    """Raise Unreadable for JSON that FastAPI would accept, but that could not be logged or sent back."""
    kind = (call.header("Content-Type") or "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        json_value(call.body)


def _asked(app: Any, world: World, call: Call) -> Reply:
    from fastapi.exceptions import HTTPException, RequestValidationError  # noqa: PLC0415 - as above

    said: list[Mapping[str, Any]] = []
    body = [{"type": "http.request", "body": call.body, "more_body": False}]

    async def receive() -> Mapping[str, Any]:
        return body.pop() if body else {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        said.append(message)

    try:
        run_coroutine(lambda: app(_scope(world, call), receive, send))
    except RequestValidationError as invalid:
        why = _named(invalid.errors())
        return Reply({"error": why}, 422, kind="stray", rule=why)
    except HTTPException as planned:
        told = planned.detail if isinstance(planned.detail, str) else json.dumps(planned.detail, default=str)
        return protocol(planned.status_code, told, headers=tuple((planned.headers or {}).items()))
    return _reply(said)


def _scope(world: World, call: Call) -> dict[str, Any]:
    """Build the ASGI scope of a call; it does not reveal where the world runs."""
    request = call.request
    # a header that was sent twice is one value, as in any other world
    names = dict.fromkeys(name.lower() for name, _ in request.headers)
    return {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "scheme": "http",
        "method": request.method, "path": unquote(request.path.decode("latin-1")), "raw_path": request.path,
        "query_string": request.query, "root_path": "", "client": None, "server": ("api", 8080),
        "headers": [(name.encode("latin-1"), (request.header(name) or "").encode("latin-1")) for name in names],
        "state": {"episode": world},
    }  # fmt: skip


def _reply(said: Sequence[Mapping[str, Any]]) -> Reply:
    """Build a reply from ASGI messages; an error status becomes a planned refusal."""
    start = next(message for message in said if message["type"] == "http.response.start")
    body = b"".join(message.get("body", b"") for message in said if message["type"] == "http.response.body")
    headers = [(bytes(name).decode("latin-1").lower(), bytes(value).decode("latin-1")) for name, value in start["headers"]]
    media_type = next((value for name, value in headers if name == "content-type"), None)
    kept = tuple((name, value) for name, value in headers if name not in ("content-type", "content-length"))
    if start["status"] < 400:
        return Reply(body, start["status"], kept, media_type=media_type)
    return Reply(body, start["status"], kept, "protocol", media_type, rule=f"answered with {start['status']}")


def _named(errors: Sequence[Any]) -> str:
    """Describe the first validation error; library messages change between versions and may repeat the value."""
    error = errors[0]
    place, *inner = map(str, error["loc"])
    if error["type"] == "json_invalid":
        return "the body must be JSON"
    # a key that the caller made up may hold anything
    name = " ".join((place, *(".".join(inner),) * all(map(_NAME.fullmatch, inner)))).strip()
    return f"{name} is missing" if error["type"] == "missing" else f"{name} is not as declared ({error['type']})"
