"""The flow of the byte-exact tasks, on a small world: one link, one precheck, and of several failures the right one told."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest

from harness.agents.solutions import players
from harness.registry import read_task
from validators.contract import assess
from validators.episode import Episode
from worlds.contract.prechecked import PrecheckedDownload
from worlds.contract.presigned import Presigned
from worlds.core.events import EventLog, Requested
from worlds.core.manifest import Budgets, Knob, Manifest
from worlds.core.testing import InProcess, client, world_in_process
from worlds.core.wire import API_URL
from worlds.core.world import WorldSetup

LINK_S, WINDOW_S = 9, 6
"""Below 10 s a window has the length that its knob says."""

MANIFEST = Manifest(
    task_id="tiny",
    family="contract",
    category="integrity",
    budgets=Budgets(steps=50, virtual_seconds=1000),
    costs={"request": 1.0, "page": 1.0, "precheck": 1.0, "download": 1.0},
    knobs={
        "link_seconds": Knob(default=LINK_S, min=1, max=900, doc="life of the link"),
        "window_seconds": Knob(default=WINDOW_S, min=1, max=900, doc="life of a token"),
    },
)


class Tiny(PrecheckedDownload):
    """A short link, and a page that is nothing else."""

    def payload_bytes(self) -> int:
        """A few."""
        return 31

    def show_page(self, link: Presigned) -> str:
        """The link."""
        return API_URL + link.text


class Client:
    """A client of the small world that knows the world's secrets, for brevity."""

    def __init__(self, folder: Path, overrides: dict[str, float]) -> None:
        (folder / "instruction.md.j2").write_text("{{ anchor }} {{ file_chars }} {{ download_seconds }}", encoding="utf-8")
        self.world = Tiny(WorldSetup(MANIFEST, overrides=overrides, folder=folder), EventLog())
        self.api: httpx.Client = client(InProcess(self.world))

    def page(self) -> str:
        """The link."""
        return self.api.get("/task").text

    def precheck(self) -> str:
        """A token."""
        return str(self.api.get("/api/precheck").json()["precheck_token"])

    def wait(self, seconds: float) -> None:
        """Virtual seconds."""
        self.api.post("/clock/wait", json={"seconds": seconds})

    def download(self, link: str, token: str, *, anchor: str | None = None, without: str = "") -> httpx.Response:
        """The download with both headers, or one less."""
        part = self.world.slice if anchor is None else anchor
        headers = {"X-Seed-Anchor": part, "X-Contract-Proof": f"{self.world.slice}:{token[-8:]}"}
        return self.api.get(link, headers={name: value for name, value in headers.items() if name != without})

    def last(self) -> Requested:
        """The last request as it was judged."""
        event = self.world.log.events[-1]
        assert isinstance(event, Requested)
        return event

    def told(self) -> tuple[str | None, str | None]:
        """Label of the last request, and what failed beside it."""
        return self.last().label, self.last().also


Open = Callable[..., Client]


@pytest.fixture
def tiny(tmp_path: Path) -> Open:
    """Opens the small world."""
    return lambda **overrides: Client(tmp_path, overrides)


def mangled(link: str) -> str:
    """Another last character."""
    return link[:-1] + ("A" if link[-1] != "A" else "B")


def test_the_right_way(tiny: Open) -> None:
    """Page, precheck, download, submission: the file is one line without an end, and it is the goal."""
    play = tiny()
    answer = play.download(play.page(), play.precheck())

    assert ("ok", {play.world.resource_id, "precheck_token"}) == (play.last().kind, set(play.last().used))
    assert (128, False) == (len(answer.text), "\n" in answer.text)
    play.api.post("/submission", content=answer.content)
    assert play.last().kind == "goal"


def test_link_is_issued_once(tiny: Open) -> None:
    """The page shows the same bytes again, and gives no new time."""
    play = tiny(window_seconds=900)
    first = play.page()
    play.wait(LINK_S - 3)

    assert first == play.page()
    play.download(first, play.precheck())
    assert play.told() == ("EXPIRED_BEFORE_USE", None)
    assert [1, 0] == [len(e.issued) for e in play.world.log.events if isinstance(e, Requested) and e.path == "/task"]


def test_both_clocks_tell_the_end(tiny: Open) -> None:
    """The date on a page and `expires` in a link say the same instant, in whole seconds, rounded down."""
    play = tiny()
    play.wait(0.75)
    play.page()
    ends = play.world.link.contract.expires_at

    assert ends == 1750 + LINK_S * 1000
    date = parsedate_to_datetime(play.world.date_at(ends))
    assert (date - play.world.clock.epoch).total_seconds() == 1 + LINK_S
    assert f"&expires={int(date.timestamp())}&" in play.world.link.text


@pytest.mark.parametrize(("seconds", "label"), [(WINDOW_S - 1.001, None), (WINDOW_S - 1, "EXPIRED_BEFORE_USE")])
def test_window_of_the_precheck(tiny: Open, seconds: float, label: str | None) -> None:
    """The token counts until its last instant, which is too late; the download's own second counts."""
    play = tiny(link_seconds=900)
    link, token = play.page(), play.precheck()
    play.wait(seconds)
    play.download(link, token)

    assert (label, None) == play.told()


def test_newest_token_counts(tiny: Open) -> None:
    """A second precheck ends the first."""
    play = tiny()
    link, first, second = play.page(), play.precheck(), play.precheck()
    play.download(link, first)

    assert play.told() == ("WRONG_VALUE", None)
    play.download(link, second)
    assert play.told() == (None, None)


@pytest.mark.parametrize("name", ["X-Seed-Anchor", "X-Contract-Proof"])
def test_missing_header_comes_before_time_and_bytes(tiny: Open, name: str) -> None:
    """An absent header is told first, also to a late client with a broken link."""
    play = tiny()
    link, token = play.page(), play.precheck()
    play.wait(LINK_S)
    play.download(mangled(link), token, without=name)

    assert play.told() == ("MISSING_CONSTRAINT", None)


def test_precheck_comes_before_all(tiny: Open) -> None:
    """Without a precheck nothing else is judged."""
    play = tiny()
    play.download(mangled(play.page()), "", without="X-Seed-Anchor")

    assert play.told() == ("MISSING_CONSTRAINT", None)
    assert play.last().rule == "a precheck must come first"


@pytest.mark.parametrize(
    ("knobs", "link", "anchor", "told"),
    [
        ({}, mangled, None, ("EXPIRED_BEFORE_USE", "MUTATED_TOKEN")),
        ({"link_seconds": 900}, mangled, None, ("EXPIRED_BEFORE_USE", "MUTATED_TOKEN")),
        ({"window_seconds": 900}, mangled, None, ("EXPIRED_BEFORE_USE", "MUTATED_TOKEN")),
        ({"link_seconds": 900}, str, "x" * 24, ("EXPIRED_BEFORE_USE", "WRONG_VALUE")),
        ({"link_seconds": 900}, lambda link: link.replace("file_", "life_"), None, ("EXPIRED_BEFORE_USE", "MUTATED_TOKEN")),
        ({"link_seconds": 900, "window_seconds": 900}, mangled, "x" * 24, ("MUTATED_TOKEN", None)),
        ({"link_seconds": 900, "window_seconds": 900}, str, "x" * 24, ("WRONG_VALUE", None)),
    ],
)
def test_validity_first(
    tiny: Open, knobs: dict[str, float], link: Callable[[str], str], anchor: str | None, told: tuple[str, str | None]
) -> None:
    """Either window that is over is told before wrong bytes and wrong values, and these beside it."""
    play = tiny(**knobs)
    shown, token = play.page(), play.precheck()
    play.wait(LINK_S)
    play.download(link(shown), token, anchor=anchor)

    assert told == play.told()


def test_nothing_is_there_before_the_page(tiny: Open) -> None:
    """A link that was never issued is no link, even with the right id."""
    play = tiny()
    play.download(f"/api/resource/{play.world.resource_id}?sig=x", play.precheck())

    assert play.told() == ("MUTATED_TOKEN", None)


@pytest.mark.parametrize(
    ("name", "tier", "characters"),
    [
        ("long-token-handling", tier, length)
        for tier, length in (("1k", 1000), ("4k", 4000), ("8k", 8000), ("9k", 9000), ("14k", 14000))
    ]
    + [("extreme-url-length", tier, length) for tier, length in (("2k", 2000), ("6k", 6000), ("8k", 8000), ("12k", 12000))],
)
def test_tiers(root: Path, name: str, tier: str, characters: int) -> None:
    """At each tier the oracle succeeds, and the link has about the length that the tier names."""
    task = read_task(root / "tasks" / "contract" / name)
    pod = world_in_process(task.world_folder, overrides={"tier": tier})
    world = pod.world
    players(task)["solve"][1](client(pod), world.instruction, world.clock.wait)

    assert assess(Episode(tuple(world.log.events))).success
    assert abs(len(world.link.text) - characters) < characters / 10
