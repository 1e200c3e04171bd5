"""HTTP server of one hosted game, on loopback unless another address is given; it runs in a thread during the game."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.agent import AgentSpec
from harness.agent_factory import Make, Options, Say
from harness.agents.llm.agent import LlmConfig
from harness.agents.llm.meter import Meter
from harness.agents.seats.agent import SeatAgent
from harness.agents.seats.chat import PACE_S
from harness.agents.seats.lineup import line_up
from harness.errors import RuntimeFailure, UsageError
from harness.live_agent import Agent
from harness.plugins import family_part_or_none
from harness.records import Result
from harness.registry import Task
from harness.runs.session import RunSession
from parley.hosting.group import Form, NotTaken, PageGroup, PagePlace, Shown, debrief_of, form_of
from parley.reports.reading.text import cell_text
from worlds.core.connections import guarded_server

FOLDER = Path(__file__).parent / "pages"
STATIC = {"style.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # do not send the secret link to other sites, but do send the Origin of forms
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def page(title: str, shown: Shown, form: Form | None, *, wrong: str = "", typed: str = "") -> str:
    """Render a person's page. `wrong` is the error of the last form, `typed` the text entered in it."""
    clock = f"{shown.left_s // 60}:{shown.left_s % 60:02d}"
    return _template("page.html.j2").render(
        title=title, shown=shown, form=form, wrong=wrong, typed=typed, rules=_shown(shown.rules), clock=clock
    )


def refused(why: str, back: str = "") -> str:
    """Render a page that shows only an error."""
    return _template("refused.html.j2").render(title="Not taken", why=why, back=back)


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["cell"] = cell_text
    return environment.get_template(name)


@cache
def _markdown() -> MarkdownIt:
    # keep line breaks, and render no links away from the page
    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table").disable(["link", "autolink", "image"])


def _shown(rules: str) -> Markup:
    """Render rules as escaped HTML. All headings become h3, one level below those of the page."""
    tokens = _markdown().parse(rules)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h3"
    return Markup(_markdown().renderer.render(tokens, _markdown().options, {}))  # noqa: S704 - escaped by the renderer


Fields = Mapping[str, str]


def act(group: PageGroup, family: str, place: PagePlace, fields: Fields) -> None:
    """Execute the action of a form. Raises NotTaken, with status 422 for input that the person can correct."""
    what, turn = fields.get("do", ""), fields.get("turn", "")
    if what != "join" and not place.joined:
        raise NotTaken(409, "Sit down first.")
    match what:
        case "join":
            group.join(place, fields.get("name", ""))
        case "say":
            group.speak(place, fields.get("said", ""), fields.get("text", ""))
        case "finish":
            group.leave_chat(place)
        case "leave":
            group.leave(place)
        case "pass":
            group.answer(place, turn, "")
        case "reply" | "choose":
            group.answer(place, turn, _reply(family, place, fields))
        case _:
            raise NotTaken(400, "Unknown action.")


def _reply(family: str, place: PagePlace, fields: Fields) -> str:
    """Return the text that a form sends: what was typed, or what a choice stands for. Raises NotTaken."""
    text, choice, asked = fields.get("text", ""), fields.get("choice", ""), place.turn
    chosen = fields.get("do") == "choose" and asked is not None and asked.id == fields.get("turn")
    # treat a choice for a closed turn, or one without choices, as a typed reply, which the group rejects
    if (form := form_of(family, asked if chosen else None)) is None:
        if not text.strip():
            raise NotTaken(422, "Nothing was typed.")
        return text
    if choice not in {value for value, _ in form.choices}:
        raise NotTaken(422, "Nothing was chosen.")
    return form.reply(choice, text.strip())


LONGEST_BODY = 400_000
"""Maximum bytes of a form: a reply of 50,000 characters, most of them escaped."""

_Handler = Callable[[Request], Awaitable[Response]]


class PageRoutes:
    """HTTP routes for the browsers of one group."""

    def __init__(self, group: PageGroup, title: str, family: str, hosts: frozenset[str]) -> None:
        """Prepare the routes; `hosts` are the accepted values of the Host header."""
        self._group, self._title, self._family, self._hosts = group, title, family, hosts

    def app(self) -> Starlette:
        """Return the application with all routes."""
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
                return _html(421, refused("This server does not serve this host name."))
            try:
                return await handler(request)
            except NotTaken as error:
                return _html(error.status, refused(str(error)))
            except ClientDisconnect:
                # the browser has disconnected and does not see this page
                return Response(status_code=400)

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
            raise NotTaken(403, "A form from another site is refused.")
        fields = _fields(await _body(request))
        here = f"/t/{place.token}"
        try:
            act(self._group, self._family, place, fields)
        except NotTaken as error:
            if error.status != 422:
                return _html(error.status, refused(str(error), here))
            return _html(422, self._page(place, wrong=str(error), typed=fields.get("text", "")))
        return Response("", 303, headers={**HEADERS, "Location": here})

    async def _file(self, request: Request) -> Response:
        name = request.url.path.removeprefix("/")
        return Response((FOLDER / name).read_bytes(), headers=HEADERS, media_type=STATIC[name])

    def _place(self, request: Request) -> PagePlace:
        return self._group.place(request.path_params["token"])

    def _page(self, place: PagePlace, *, wrong: str = "", typed: str = "") -> str:
        shown = self._group.shown(place)
        return page(self._title, shown, form_of(self._family, shown.turn), wrong=wrong, typed=typed)


def _html(status: int, text: str) -> Response:
    return Response(text, status, headers=HEADERS, media_type="text/html")


async def _body(request: Request) -> bytes:
    """Read the body of a request. Raises NotTaken if it is too long."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST_BODY:
            raise NotTaken(413, "The form is too long.")
    return body


def _fields(body: bytes) -> Mapping[str, str]:
    """Parse the fields of a form, one value each, with normalized line endings. Raises NotTaken if it is not a form."""
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=20, encoding="utf-8", errors="replace")
    except ValueError:
        raise NotTaken(400, "The request is not a form.") from None
    return {name: values[0].replace("\r\n", "\n") for name, values in fields.items()}


_NAMES = {"127.0.0.1": ("127.0.0.1", "localhost"), "::1": ("[::1]", "localhost")}
_EVERYWHERE = {"0.0.0.0", "::", ""}


class PageHost:
    """A server for the pages of a group."""

    def __init__(self, group: PageGroup, title: str, family: str, *, address: str = "127.0.0.1", port: int = 0) -> None:
        """Bind the port (0: any free one). Raises UsageError for an unusable address or port."""
        if address in _EVERYWHERE:
            raise UsageError(f"--bind {address} is not an address that a browser can open", hint="--bind 192.168.1.20")
        is_long = ":" in address
        try:
            self._socket = socket.create_server((address, port), family=socket.AF_INET6 if is_long else socket.AF_INET)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {address}, port {port}: {error.strerror}", hint="another --port, or 0"
            ) from None
        self.group = group
        self.port: int = self._socket.getsockname()[1]
        names = _NAMES.get(address, (f"[{address}]" if is_long else address,))
        self.url = f"http://{names[0]}:{self.port}"
        self._routes = PageRoutes(group, title, family, frozenset(f"{name}:{self.port}" for name in names))

    def link(self, place: PagePlace) -> str:
        """Return the link of one person."""
        return f"{self.url}/t/{place.token}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve requests within the context. Raises RuntimeFailure if the server does not stop."""
        server = guarded_server(self._routes.app())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [self._socket]}, name="pages", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join(5)
            self._socket.close()
        if thread.is_alive():
            raise RuntimeFailure("the server of the pages did not stop")


LINGER_S = 15.0
"""Real seconds for which pages are served after the game, to show the debrief."""


def people_at(spec: AgentSpec, task: Task, options: Mapping[str, str]) -> list[int]:
    """Return the seats that people hold in a task with these options. Raises UsageError if there are none."""
    if not task.is_seated or task.parley is None:
        raise UsageError(f"{task.task_id} is not a game for several people", hint=f"harness run {task.task_id} --agent human")
    known = family_part_or_none(task.family, "lineups")
    count = len(known.facts(task, options)) if known else task.parley.seats
    seats = [one.seat for one in line_up(spec, count) if one.kind == "human"]
    if not seats:
        raise UsageError("--seat leaves no seat for a person", hint="harness host TASK, with fewer --seat")
    return seats


def maker(group: PageGroup, pace_s: float = PACE_S) -> Make:
    """Return a factory of agents whose people play through the pages of a group."""

    def make(spec: AgentSpec, options: Options, say: Say, meter: Meter | None = None) -> Agent:
        config, talk = LlmConfig.of(spec, meter=meter), str(options.get("talk", ""))
        return SeatAgent(spec, config=config, say=say, desk=group, pace_s=pace_s, talk=talk)

    return make


def hold(host: PageHost, session: RunSession, say: Callable[[str], None], *, linger_s: float = LINGER_S) -> list[Result]:
    """Serve the pages, wait for the people, play, and return the results. Raises as `play` does, and Cancelled on interrupt."""
    with host.serving():
        for place in host.group.places:
            say(f"seat {place.seat}: {host.link(place)}")
        host.group.gather()
        results = session.play()
        host.group.finish(debrief_of(results[0]) if results else ())
        until = time.monotonic() + linger_s
        while time.monotonic() < until and not host.group.everybody_saw_the_end():
            time.sleep(0.1)
        return results
