"""The pages of one hosted game over HTTP: reading by GET, and one POST route for everything that people do.

1. A link has a token, and a token is one person's. Without one there is nothing to see, and nothing says whether a game is held.
2. A POST must carry the Origin of this very address, so no other site can make a browser write here. Every request must carry its
   Host, so no name that another site points here can read.
3. The address is loopback, unless a person typed another one.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs

from harness.errors import RuntimeFailure, UsageError
from harness.hosting.forms import form_of
from harness.hosting.group import Group
from harness.hosting.pages import HEADERS, STATIC, page, refused, static
from harness.hosting.places import Place, Refused

LONGEST_BODY = 400_000
"""Bytes of a form: a reply of 50,000 characters, each of them escaped."""

_LOOPBACK = {"127.0.0.1": ("127.0.0.1", "localhost"), "::1": ("[::1]", "localhost")}
_EVERYWHERE = {"0.0.0.0", "::", ""}  # noqa: S104 - refused below


class Host:
    """Serves a group its pages."""

    def __init__(self, group: Group, title: str, family: str, *, address: str = "127.0.0.1", port: int = 0) -> None:
        """Takes the port (0: any that is free); raises UsageError for an address or a port that cannot be had."""
        if address in _EVERYWHERE:
            raise UsageError(f"--bind {address} names no address that people could type", hint="--bind 192.168.1.20")
        self.group, self.title, self._family = group, title, family
        try:
            kind = socket.AF_INET6 if ":" in address else socket.AF_INET
            self._socket = socket.create_server((address, port), family=kind)
        except OSError as error:
            raise UsageError(f"{address}:{port} cannot be had: {error.strerror}", hint="another --port, or --port 0") from None
        self.port: int = self._socket.getsockname()[1]
        names = _LOOPBACK.get(address, (f"[{address}]" if ":" in address else address,))
        self._hosts = frozenset(f"{name}:{self.port}" for name in names)
        self.url = f"http://{names[0]}:{self.port}"

    def link(self, place: Place) -> str:
        """What one person types."""
        return f"{self.url}/t/{place.token}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Answer requests, on a thread, for the time of the context; raises RuntimeFailure if that does not begin."""
        import uvicorn

        config = uvicorn.Config(self._app(), log_level="error", access_log=False, lifespan="off", server_header=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [self._socket]}, name="pages", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join(5)
            self._socket.close()
            if thread.is_alive():
                raise RuntimeFailure("the pages are still being served")

    def _app(self) -> Any:
        from starlette.applications import Starlette
        from starlette.responses import Response
        from starlette.routing import Route

        def html(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
            return Response(text, status, headers={**HEADERS, **(headers or {})}, media_type="text/html")

        def guarded(handler: Any) -> Any:
            async def answered(request: Any) -> Response:
                if request.headers.get("host") not in self._hosts:
                    return html(421, refused("This address is not served here."))
                try:
                    return await handler(request)  # type: ignore[no-any-return]
                except Refused as error:
                    return html(error.status, refused(str(error)))

            return answered

        async def read(request: Any) -> Response:
            return html(200, self._page(self.group.place(request.path_params["token"])))

        async def state(request: Any) -> Response:
            from starlette.responses import JSONResponse

            shown = self.group.shown(self.group.place(request.path_params["token"]))
            seen = request.query_params.get("seen", "0")
            since = int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 10 else 0
            now = {"version": shown.version, "messages": shown.messages[since:], "left_s": shown.left_s, "said": shown.said}
            return JSONResponse(now, headers=HEADERS)

        async def write(request: Any) -> Response:
            place = self.group.place(request.path_params["token"])
            if request.headers.get("origin") not in {f"http://{host}" for host in self._hosts}:
                raise Refused(403, "What another site sends is not taken.")
            fields = _fields(await _body(request))
            here = f"/t/{place.token}"
            try:
                self._do(place, fields)
            except Refused as error:
                if error.status != 422:
                    return html(error.status, refused(str(error), here))
                return html(422, self._page(place, wrong=str(error), typed=fields.get("text", "")))
            return Response("", 303, headers={**HEADERS, "Location": here})

        async def file(request: Any) -> Response:
            name = request.url.path.removeprefix("/")
            return Response(static(name), headers=HEADERS, media_type=STATIC[name])

        routes = [
            Route("/t/{token}", guarded(read), methods=["GET"]),
            Route("/t/{token}", guarded(write), methods=["POST"]),
            Route("/t/{token}/state", guarded(state), methods=["GET"]),
            *(Route(f"/{name}", guarded(file), methods=["GET"]) for name in STATIC),
        ]
        return Starlette(routes=routes)

    def _page(self, place: Place, *, wrong: str = "", typed: str = "") -> str:
        shown = self.group.shown(place)
        form = form_of(self._family, shown.turn) if shown.turn else None
        return page(self.title, shown, form, wrong=wrong, typed=typed)

    def _do(self, place: Place, fields: dict[str, str]) -> None:
        """What a form asks for; raises Refused."""
        do, text, turn = fields.get("do", ""), fields.get("text", ""), fields.get("turn", "")
        if do == "join":
            self.group.join(place, fields.get("name", ""))
        elif not place.joined:
            raise Refused(409, "Sit down first.")
        elif do == "say":
            self.group.speak(place, fields.get("said", ""), text)
        elif do == "finish":
            self.group.leave_chat(place)
        elif do == "leave":
            self.group.leave(place)
        elif do == "pass":
            self.group.answer(place, turn, "")
        elif do == "reply":
            if not text.strip():
                raise Refused(422, "Nothing was typed.")
            self.group.answer(place, turn, text)
        elif do == "choose":
            self.group.answer(place, turn, self._chosen(place, turn, fields.get("choice", ""), text))
        else:
            raise Refused(400, "That is nothing that can be done here.")

    def _chosen(self, place: Place, turn: str, choice: str, why: str) -> str:
        """The reply that a click means."""
        asked = place.turn
        form = form_of(self._family, asked) if asked is not None and asked.id == turn else None
        if form is None:
            # whatever it says, the turn is not open: the group tells why
            return ""
        if choice not in {value for value, _ in form.choices}:
            raise Refused(422, "Nothing was chosen.")
        return form.reply(choice, why.strip())


async def _body(request: Any) -> bytes:
    """The body of a request; raises Refused for one that is too long."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST_BODY:
            raise Refused(413, "That is longer than can be taken.")
    return body


def _fields(body: bytes) -> dict[str, str]:
    """The fields of a form, each once, with lines ended as everywhere else; raises Refused for what is no form."""
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=20, encoding="utf-8", errors="replace")
    except ValueError:
        raise Refused(400, "That is no form.") from None
    return {name: values[0].replace("\r\n", "\n") for name, values in fields.items()}
