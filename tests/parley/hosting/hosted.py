"""A game that a host holds for people who are HTTP clients here: real pages, the real run, its real record."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from harness.agent import AgentSpec, SeatSpec
from harness.cli.progress import plainly
from harness.paths import ROOT
from harness.records import Result
from harness.registry import read_task
from harness.runs.plan import task_refs
from harness.runs.request import RunRequest
from harness.runs.session import Person, RunSession
from parley.hosting.group import PageGroup
from parley.hosting.server import PageHost, hold, maker, people_at
from worlds.core.chance import PUBLISHED_KEY, key_digest

PATIENT_S = 60.0
"""Real seconds after which a test gives up."""


class HandClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self._now_s

    def passes(self, seconds: float) -> None:
        """Move it on."""
        self._now_s += seconds


class Somebody:
    """A person at a page, without JavaScript."""

    def __init__(self, link: str, seat: int = -1) -> None:
        self.link, self.seat = link, seat
        self._client = httpx.Client(headers={"Origin": link.partition("/t/")[0]}, timeout=PATIENT_S)

    def close(self) -> None:
        """Leave the page."""
        self._client.close()

    def page(self) -> str:
        """What the page shows."""
        return self._client.get(self.link).raise_for_status().text

    def post(self, headers: dict[str, str] | None = None, **fields: str) -> httpx.Response:
        """Send a form."""
        return self._client.post(self.link, data=fields, headers=headers)

    def until(self, words: str) -> str:
        """The page once it shows these words."""
        end = time.monotonic() + PATIENT_S
        while words not in (page := self.page()):
            assert time.monotonic() < end, f"the page never showed {words!r}: {page}"
            time.sleep(0.02)
        return page

    def vote(self, label: str, why: str = "because") -> httpx.Response:
        """Choose an option once there is a vote."""
        page = self.until("Your choice")
        (turn,) = re.findall(r'name="turn" value="([^"]+)"', page)
        (value,) = re.findall(rf'value="([^"]+)" required> {re.escape(label)}<', page)
        return self.post(do="choose", turn=turn, choice=value, text=why)

    def say(self, text: str) -> httpx.Response:
        """Say something in the chat once it is open."""
        page = self.until('name="said"')
        (said,) = re.findall(r'name="said" value="(\d+)"', page)
        return self.post(do="say", said=said, text=text)


class Held:
    """A hosted game and what came of it."""

    def __init__(self, host: PageHost, session: RunSession, clock: HandClock, linger_s: float) -> None:
        self.host, self.session, self.clock, self._linger_s = host, session, clock, linger_s
        self.lines: list[str] = []
        self._results: Sequence[Result] = ()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._hold, daemon=True)

    def begin(self) -> None:
        """Serve, and wait for people."""
        self._thread.start()

    def result(self) -> Result:
        """The episode, once it is over."""
        self._thread.join(PATIENT_S)
        assert not self._thread.is_alive(), "the game never ended"
        if self._error is not None:
            raise self._error
        (result,) = self._results
        return result

    def _hold(self) -> None:
        try:
            self._results = hold(self.host, self.session, self.lines.append, linger_s=self._linger_s)
        except BaseException as error:  # noqa: BLE001 - raised where the test waits
            self._error = error


@contextmanager
def hosted(
    folder: Path,
    task: str,
    seats: Sequence[SeatSpec] = (),
    options: dict[str, str] | None = None,
    *,
    patience_s: float = 600.0,
    pace_s: float = 0.0,
    api_base: str | None = None,
    runtime: str = "inprocess",
    linger_s: float = 0.5,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[Held, list[Somebody]]]:
    """A game that waits for its people, by a clock that stands still; everybody's hands and what came of it."""
    family, name = task.split("/")
    here = read_task(ROOT / "tasks" / family / name)
    spec = AgentSpec(kind="seats", name="human", seats=tuple(seats), api_base=api_base)
    chosen = options or {}
    request = RunRequest(
        tasks=task_refs([here]), seeds=(0,), attempts=1, agents=(spec,), key_digest=key_digest(PUBLISHED_KEY),
        options={key: (value,) for key, value in chosen.items()}, runtime=runtime, workers=1,
    )  # fmt: skip
    clock = HandClock()
    group = PageGroup(people_at(spec, here, chosen), patience_s=patience_s, say=say, clock=clock)
    session = RunSession(request, [here], PUBLISHED_KEY, folder, Person(say, plainly), make=maker(group, pace_s))
    session.check(resumed=False)
    held = Held(PageHost(group, "A game", here.family), session, clock, linger_s)
    held.begin()
    people = [Somebody(held.host.link(place), place.seat) for place in group.places]
    try:
        yield held, people
    finally:
        for one in people:
            one.close()
