"""Addresses of the viewer and of the bundle with the same pages, resolved by one table of patterns.

1. An address names runs, tasks and attempts by their allowed characters. Any other address has no page, so nothing outside the
   folders of the runs can be reached. Each page has a `.json` beside it.
2. A file of an episode has one of a fixed list of names, is read without following links, and is served as plain text.
3. A bundle is written to a temporary folder and renamed, so an interruption leaves no partial bundle. An existing bundle is
   replaced; any other folder that is not empty is never written into.

The server is read-only, and binds to a loopback address alone. It refuses requests whose Host is not that address and port, so
that pages of other sites cannot read the data by DNS rebinding; responses forbid content sniffing, framing and caching.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError

from harness.atomic_write import make_folder, write_file, writing
from harness.errors import UsageError, quoted
from harness.limits import FILE_BYTES
from harness.records import Key
from harness.run_files import files_of
from parley.places import run_and_place
from parley.reports.reading import FILES, RecordedEpisode, read_episode
from parley.reports.reading.addresses import INDEX, episode_page, run_page, seed_name
from parley.reports.viewing.library import Library, Recorded, ShownRun
from parley.reports.viewing.pages import (
    GLOSSARY,
    HERE,
    POLICY,
    ComparePage,
    PageLink,
    compared_facts,
    episode_page_of,
    glossary,
    render,
    run_page_of,
    runs_page,
    seat_links,
    seat_page_of,
    tracks,
)
from parley.sharing.publishing import refuse_secrets_in
from worlds.core.connections import QUEUE, guarded_server
from worlds.core.models import Strict

PAGE_ROWS = 200
"""Episodes on one page of a run."""

OFFERED = (*FILES, "reward.json", "verifier.log")
"""The files of an episode that can be downloaded."""

_STATIC = {"style.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}

_RUN, _NAME, _NUMBER = r"[\w.=,+-]+", r"[\w.+-]+", r"(?:0|[1-9]\d{0,14})"
_TASK = r"[^/\\%?#\s]+"
_EPISODE = rf"(?P<run>{_RUN})/(?P<family>{_NAME})/(?P<task>{_TASK})/s(?P<seed>{_NUMBER})-a(?P<attempt>{_NUMBER})"
_BESIDE = rf"(?P<other>{_RUN})/s(?P<seed2>{_NUMBER})-a(?P<attempt2>{_NUMBER})"
_FORM = r"\.(?P<form>html|json)"
_ADDRESSES = tuple(
    (kind, re.compile(pattern, re.ASCII))
    for kind, pattern in (
        ("runs", rf"(?:index{_FORM})?"),
        ("glossary", rf"glossary{_FORM}"),
        ("static", rf"static/(?P<file>{'|'.join(map(re.escape, _STATIC))})"),
        ("run", rf"runs/(?P<run>{_RUN})/(?:index|page-(?P<number>\d{{1,6}})){_FORM}"),
        ("episode", rf"episodes/{_EPISODE}{_FORM}"),
        ("seat", rf"episodes/{_EPISODE}/seat-(?P<seat>\d{{1,6}}){_FORM}"),
        ("file", rf"episodes/{_EPISODE}/(?P<file>{'|'.join(map(re.escape, OFFERED))})\.txt"),
        ("compare", rf"compare/{_EPISODE}/{_BESIDE}{_FORM}"),
    )
)


_OTHER_SEED = "their tokens, times and texts differ from the first request on, whatever the agents do"


class Served(NamedTuple):
    """Response for an address."""

    media: str
    body: bytes
    is_whole: bool = True
    """False if a file of the run cannot be read, which the page reports."""


class UnreadablePage(Strict):
    """Page that reports an unreadable file."""

    title: str
    why: str


def _key(named: Mapping[str, str | None]) -> Key | None:
    """Return the key of the episode that an address names; None if no episode can have this name."""
    try:
        return Key.model_validate({name: named[name] for name in ("family", "seed", "attempt")} | {"task_id": named["task"]})
    except ValidationError:
        return None


class Site:
    """The pages of some runs."""

    def __init__(self, library: Library, *, is_bundle: bool = False) -> None:
        self._library = library
        self._is_bundle = is_bundle
        self._page_rows = 5 * PAGE_ROWS if is_bundle else PAGE_ROWS
        self._most_partners = 2 if is_bundle else 12

    def answer(self, path: str, query: Mapping[str, str] | None = None) -> Served | None:
        """Return the page or file at a path below the root; None if there is none."""
        for kind, pattern in _ADDRESSES:
            match = pattern.fullmatch(path)
            if match is not None:
                try:
                    return self._made(kind, path, match.groupdict(), query or {})
                except UsageError as error:
                    page = UnreadablePage(title="This cannot be read", why=str(error))
                    return self._page("refusal", path, match.groupdict().get("form", "html"), page)._replace(is_whole=False)
        return None

    def addresses(self) -> Iterator[str]:
        """Yield every address of a bundle, each page before its JSON."""
        yield from (f"static/{name}" for name in _STATIC)
        yield from _both(INDEX)
        yield from _both(GLOSSARY)
        for run in self._library.runs():
            pages = run_page_of(run, {}, number=1, size=self._page_rows).pages
            for link in pages:
                yield from _both(link.page)
            for key, _ in run.episodes:
                yield from self._of_episode(run, key)

    def _of_episode(self, run: ShownRun, key: Key) -> Iterator[str]:
        yield from _both(episode_page(run.name, key))
        yield from (link.page for link in self._files(run, key))
        for link in self._partners(run, key):
            yield from _both(link.page)
        try:
            episode = _read(run.folder(key))
        except UsageError:
            return
        for link in seat_links(run.name, key, episode):
            yield from _both(link.page)

    def _made(self, kind: str, path: str, named: Mapping[str, str | None], query: Mapping[str, str]) -> Served | None:
        form = named.get("form") or "html"
        if kind == "static":
            name = named["file"] or ""
            return Served(_STATIC[name], (HERE / "static" / name).read_bytes())
        if kind in {"glossary", "runs"}:
            return self._page(kind, path, form, glossary() if kind == "glossary" else runs_page(self._library.runs()))
        run = self._library.run(named["run"] or "")
        if run is None:
            return None
        if kind == "run":
            asked = named["number"] or query.get("page", "1")
            number = int(asked) if asked.isdecimal() and len(asked) < 7 else 1
            listed = run_page_of(run, query, number=number, size=self._page_rows)
            if self._is_bundle:
                # do not publish the path on the user's disk
                listed = listed.model_copy(update={"folder": run.name})
            return self._page("run", path, form, listed)
        key = _key(named)
        if key is None or key not in run.places:
            return None
        if kind == "file":
            return self._file(run, key, named["file"] or "")
        return self._of(kind, path, form, run, key, named)

    def _of(self, kind: str, path: str, form: str, run: ShownRun, key: Key, named: Mapping[str, str | None]) -> Served | None:
        """Return a page made from a whole episode; None if there is none."""
        episode = _read(run.folder(key))
        if self._is_bundle:
            # do not publish the path where it was recorded
            place = {"path": f"{run.name}/episodes/{key.name}"}
            episode = episode.model_copy(update={**place, "result": episode.result.model_copy(update=place)})
        if kind == "seat":
            seat = seat_page_of(run.name, key, episode, int(named["seat"] or 0))
            return self._page("seat", path, form, seat) if seat else None
        if kind == "compare":
            compared = self._compared(run, key, episode, named)
            return self._page("compare", path, form, compared) if compared else None
        page = episode_page_of(run, key, episode, files=self._files(run, key), partners=self._partners(run, key))
        return self._page("episode", path, form, page, episode)

    def _compared(
        self, run: ShownRun, key: Key, episode: RecordedEpisode, named: Mapping[str, str | None]
    ) -> ComparePage | None:
        other = self._library.run(named["other"] or "")
        beside = key.model_copy(update={"seed": int(named["seed2"] or 0), "attempt": int(named["attempt2"] or 0)})
        if other is None or beside not in other.places:
            return None
        second = _read(other.folder(beside))
        return ComparePage(
            run=run.name,
            doubt="" if key.seed == beside.seed else f"seed {key.seed} is compared with seed {beside.seed}: {_OTHER_SEED}",
            left=PageLink(page=episode_page(run.name, key), told=f"{run.name}, {seed_name(key)}"),
            right=PageLink(page=episode_page(other.name, beside), told=f"{other.name}, {seed_name(beside)}"),
            task=f"{key.family}/{key.task_id}",
            facts=compared_facts(episode, second),
            tracks=tracks(episode, second),
        )

    def _partners(self, run: ShownRun, key: Key) -> list[PageLink]:
        """Return links to comparisons with other episodes of the task: same seed first, then same run, then other outcomes."""
        mine = run.episodes[run.places[key]].result
        others = [
            (
                (
                    one.key.seed != key.seed,
                    other.name != run.name,
                    one.result.success == mine.success,
                    other.name,
                    one.key.name,
                ),
                one,
            )
            for other in self._library.runs()
            for one in other.by_task.get((key.family, key.task_id), ())
            if (other.name, one.key) != (run.name, key)
        ]
        near = sorted(others, key=itemgetter(0))[: self._most_partners]
        return [_partner(run.name, key, name, one) for (*_, name, _), one in near]

    def _files(self, run: ShownRun, key: Key) -> list[PageLink]:
        """Return links to the existing files of an episode."""
        folder = episode_page(run.name, key).removesuffix(".html")
        files = files_of(run.path)
        there = [name for name in OFFERED if files.has(f"episodes/{key.name}/{name}")]
        return [PageLink(page=f"{folder}/{name}.txt", told=name) for name in there]

    def _file(self, run: ShownRun, key: Key, name: str) -> Served | None:
        try:
            return Served("text/plain", files_of(run.path).read(f"episodes/{key.name}/{name}", FILE_BYTES))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"{run.folder(key) / name} cannot be read: {error.strerror}") from None

    def _page(self, template: str, path: str, form: str, page: BaseModel, document: BaseModel | None = None) -> Served:
        """Return a page or its JSON in ASCII, because untrusted text may hold characters that terminals interpret.

        Its JSON is the `document`, or else the page itself.
        """
        if form == "json":
            return Served("application/json", json.dumps((document or page).model_dump(mode="json"), indent=1).encode() + b"\n")
        return Served("text/html", render(template, page, depth=path.count("/"), is_bundle=self._is_bundle))


def _read(folder: Path) -> RecordedEpisode:
    """Return an episode from a small cache, because its page, its JSON and its seats are requested one after the other."""
    return _read_once(folder, (_stamp(run_and_place(folder)[0]), *(_stamp(folder / name) for name in FILES)))


@lru_cache(maxsize=2)
def _read_once(folder: Path, stamps: tuple[tuple[int, int, int], ...]) -> RecordedEpisode:  # noqa: ARG001 - part of what is remembered
    return read_episode(folder)


def _stamp(path: Path) -> tuple[int, int, int]:
    """Return a tuple that changes when a file does."""
    try:
        known = path.stat(follow_symlinks=False)
    except OSError:
        return 0, 0, 0
    return known.st_ino, known.st_size, known.st_mtime_ns


def _partner(run: str, key: Key, other: str, one: Recorded) -> PageLink:
    page = f"compare/{run}/{key.name}/{other}/{one.key.name.rpartition('/')[2]}.html"
    outcome = one.result.failure_label or "ungraded"
    elsewhere = " (another seed)" if one.key.seed != key.seed else ""
    return PageLink(page=page, told=f"{other}, {seed_name(one.key)}{elsewhere}: {outcome}")


def _both(page: str) -> tuple[str, str]:
    return page, page.removesuffix(".html") + ".json"


def first_page(library: Library, episode: Path | None) -> str:
    """Return the first page to open: the list of runs, the page of a single run, or that of a named episode."""
    names = library.names
    if episode is not None:
        family, task, attempt = episode.parts[-3:]
        return f"episodes/{next(iter(names))}/{family}/{task}/{attempt}.html"
    return run_page(next(iter(names))) if len(names) == 1 else INDEX


MARK = "bundle.txt"
"""File that identifies a bundle."""

_MARKED = b"Pages of recorded runs, written by `harness view --bundle`. This folder is replaced when they are written again.\n"


def write_bundle(library: Library, folder: Path, wrote: Callable[[int], None]) -> int:
    """Write all pages of some runs into a folder; return the number of pages that report an unreadable file.

    `wrote` is called with the number of files so far. Raises UsageError for a folder with other contents, and if a file cannot
    be written.
    """
    folder = folder.absolute()
    if folder.exists() and not (folder / MARK).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists and is not a bundle", hint=f"harness view RUNS --bundle {quoted(f'{folder}/view')}")
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    with writing(folder):
        shutil.rmtree(beside, ignore_errors=True)
        try:
            for run in library.runs():
                refuse_secrets_in(run.path)
            damaged = _filled(Site(library, is_bundle=True), beside, wrote)
            write_file(beside / MARK, _MARKED)
            if folder.exists():
                shutil.rmtree(folder)
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return damaged


def _filled(site: Site, folder: Path, wrote: Callable[[int], None]) -> int:
    """Write every page of a site into a folder, and return the number of pages that report an unreadable file."""
    make_folder(folder)
    damaged = 0
    for number, address in enumerate(site.addresses(), start=1):
        answer = site.answer(address)
        if answer is not None:
            place = folder / address
            make_folder(place.parent)
            write_file(place, answer.body)
            damaged += not answer.is_whole and address.endswith(".html")
        wrote(number)
    return damaged


PORT = 8642
"""Default port."""

_MOST_FIELDS = 40
_PLAIN = "text/plain"
_GRACE_S = 2


class PageServer:
    """Server of one site until it is closed."""

    def __init__(self, site: Site, host: str, port: int) -> None:
        """Listen on a port. Raises OSError if it is taken."""
        self._site = site
        self._socket = socket.create_server((host, port), backlog=QUEUE)
        self.host, self.port = self._socket.getsockname()[:2]
        self._hosts = {f"{name}:{self.port}".encode() for name in (self.host, "localhost")}
        # an interrupt does not wait for browsers that keep their connections open
        self._server = guarded_server(self._serve, date_header=False, timeout_graceful_shutdown=_GRACE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._socket.close()

    @property
    def url(self) -> str:
        """The address of the first page."""
        return f"http://{self.host}:{self.port}/"

    def serve_forever(self) -> None:
        """Answer requests until interrupted, or until `shutdown` is called from another thread."""
        self._server.run(sockets=[self._socket])

    def shutdown(self) -> None:
        """Make `serve_forever` return."""
        self._server.should_exit = True

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI request."""
        if scope["method"] not in {"GET", "HEAD"}:
            # the request's body is not read, so the connection cannot be reused
            more = {"Allow": "GET, HEAD", "Connection": "close"}
            await _answer(send, 405, Served(_PLAIN, b"Nothing can be written here.\n"), **more)
        elif dict(scope["headers"]).get(b"host") not in self._hosts:
            await _answer(send, 421, Served(_PLAIN, b"This server answers to its own address alone.\n"))
        else:
            page = await asyncio.to_thread(self._page, scope["path"], scope["query_string"])
            missing = Served(_PLAIN, b"There is no such page.\n")
            await _answer(send, 404 if page is None else 200 if page.is_whole else 422, page or missing)

    def _page(self, path: str, query: bytes) -> Served | None:
        try:
            fields = dict(parse_qsl(query.decode("latin-1"), max_num_fields=_MOST_FIELDS))
        except ValueError:
            fields = {}
        return self._site.answer(path.removeprefix("/"), fields)


async def _answer(send: Any, status: int, served: Served, **more: str) -> None:
    headers = {
        "Content-Type": f"{served.media}; charset=utf-8",
        "Content-Length": str(len(served.body)),
        "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        **more,
    }
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": served.body})


def open_server(site: Site, host: str = "127.0.0.1", port: int | None = None) -> PageServer:
    """Return a listening server, on the default port or any free one. Raises UsageError for a bad address or named port."""
    address = "127.0.0.1" if host == "localhost" else host
    try:
        is_ours = ipaddress.ip_address(address).is_loopback and ":" not in address
    except ValueError:
        is_ours = False
    if not is_ours:
        raise UsageError(
            f"{host} is not a loopback address, such as 127.0.0.1, and pages are served only to this machine",
            hint="harness view RUNS --bundle DIR, and publish DIR",
        )
    try:
        return PageServer(site, address, PORT if port is None else port)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return PageServer(site, address, 0)
        raise UsageError(f"cannot listen on port {port or PORT}: {error.strerror}", hint="harness view RUNS --port 0") from None
    except OverflowError:
        raise UsageError(f"{port} is not a port number", hint="harness view RUNS --port 0") from None
