"""The routes of one hosted game: pages and their state by GET, and one POST route for everything that people do.

1. A link has a token, and a token is one person's. Without one there is nothing to see, and nothing says that there is a game.
2. A POST must carry the Origin of this very address, so no other site can make a browser write here. Every request must carry
   its Host, so no name that another site points here can read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.hosting.actions import Actions
from harness.hosting.forms import form_of
from harness.hosting.group import PageGroup
from harness.hosting.pages import HEADERS, STATIC, page, refused, static
from harness.hosting.places import NotTaken, PagePlace

LONGEST_BODY = 400_000
"""Bytes of a form: a reply of 50,000 characters, most of them escaped."""

_Handler = Callable[[Request], Awaitable[Response]]


class PageRoutes:
    """Answers the requests of one group's browsers."""

    def __init__(self, group: PageGroup, title: str, family: str, hosts: frozenset[str]) -> None:
        """`hosts`: what the Host of a request may be."""
        self._group, self._title, self._family, self._hosts = group, title, family, hosts
        self._actions = Actions(group, family)

    def app(self) -> Starlette:
        """All of them."""
        return Starlette(
            routes=[
                Route("/t/{token}", self._guarded(self._read), methods=["GET"]),
                Route("/t/{token}", self._guarded(self._write), methods=["POST"]),
                Route("/t/{token}/state", self._guarded(self._state), methods=["GET"]),
                *(Route(f"/{name}", self._guarded(self._file), methods=["GET"]) for name in STATIC),
            ]
        )

    def _guarded(self, handler: _Handler) -> _Handler:
        async def answered(request: Request) -> Response:
            if request.headers.get("host") not in self._hosts:
                return _html(421, refused("This address is not served here."))
            try:
                return await handler(request)
            except NotTaken as error:
                return _html(error.status, refused(str(error)))

        return answered

    async def _read(self, request: Request) -> Response:
        return _html(200, self._page(self._place(request)))

    async def _state(self, request: Request) -> Response:
        shown = self._group.shown(self._place(request))
        seen = request.query_params.get("seen", "0")
        since = int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 10 else 0
        now = {"version": shown.version, "messages": shown.messages[since:], "left_s": shown.left_s, "said": shown.said}
        return JSONResponse(now, headers=HEADERS)

    async def _write(self, request: Request) -> Response:
        place = self._place(request)
        if request.headers.get("origin") not in {f"http://{host}" for host in self._hosts}:
            raise NotTaken(403, "What another site sends is not taken.")
        fields = _fields(await _body(request))
        here = f"/t/{place.token}"
        try:
            self._actions.do(place, fields)
        except NotTaken as error:
            if error.status != 422:
                return _html(error.status, refused(str(error), here))
            return _html(422, self._page(place, wrong=str(error), typed=fields.get("text", "")))
        return Response("", 303, headers={**HEADERS, "Location": here})

    async def _file(self, request: Request) -> Response:
        name = request.url.path.removeprefix("/")
        return Response(static(name), headers=HEADERS, media_type=STATIC[name])

    def _place(self, request: Request) -> PagePlace:
        return self._group.place(request.path_params["token"])

    def _page(self, place: PagePlace, *, wrong: str = "", typed: str = "") -> str:
        shown = self._group.shown(place)
        form = form_of(self._family, shown.turn) if shown.turn else None
        return page(self._title, shown, form, wrong=wrong, typed=typed)


def _html(status: int, text: str) -> Response:
    return Response(text, status, headers=HEADERS, media_type="text/html")


async def _body(request: Request) -> bytes:
    """The body of a request; raises NotTaken for one that is too long."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST_BODY:
            raise NotTaken(413, "That is longer than can be taken.")
    return body


def _fields(body: bytes) -> Mapping[str, str]:
    """The fields of a form, each once, with lines ended as everywhere else; raises NotTaken for what is no form."""
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=20, encoding="utf-8", errors="replace")
    except ValueError:
        raise NotTaken(400, "That is no form.") from None
    return {name: values[0].replace("\r\n", "\n") for name, values in fields.items()}
