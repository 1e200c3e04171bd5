"""The pages of a hosted game in a real Chromium: axe finds nothing, nothing is refused, nothing sticks out.

`make browser` gets what this needs and runs it; CI does.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.agent import SeatSpec
from tests.browser.chromium import opened, troubles
from tests.parley.hosting.hosted import Held, Somebody, hosted
from tests.parley.hosting.test_hosting import BAKERY, CHAT, POOLS, labels

IMAP = tuple(SeatSpec(seat=seat, kind="policy", name="imap") for seat in range(1, 5))


class Stages:
    """Games that stand still at every stage that a page has."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._games: list[tuple[Held, list[Somebody]]] = []

    def game(self, name: str, task: str, seats: tuple[SeatSpec, ...], options: dict[str, str]) -> list[Somebody]:
        """The people of one game, whose pages are served until all of them saw the end."""
        held, people = self._stack.enter_context(hosted(self._folder / name, task, seats, options, linger_s=60))
        self._games.append((held, people))
        return people

    def ended(self) -> None:
        """Everybody leaves, and every game ends."""
        for held, people in self._games:
            for one in people:
                one.post(do="join")
                one.post(do="leave")
            held.result()

    def pages(self) -> dict[str, str]:
        """The address of a page at each stage."""
        waits, comes = self.game("lobby", BAKERY, POOLS, CHAT)
        waits.post(do="join", name="Ada Lovelace")
        voted, votes = self.game("vote", BAKERY, POOLS, CHAT)
        for one in (voted, votes):
            one.post(do="join")
        voted.vote(labels(votes)[0])
        voted.until("The others are being asked")
        chats, silent, gone = self.game("chat", BAKERY, POOLS[1:], CHAT)
        for one in (chats, silent, gone):
            one.post(do="join", name=f"Somebody with a long name, at seat {one.seat}")
        gone.post(do="leave")
        option = labels(chats)[0]
        for one in (chats, silent):
            one.vote(option)
        for words in ("Good evening. " * 30, "https://example.org/" + "long" * 60, "First line\nsecond line", "<b>bold?</b>"):
            chats.say(words)
        silent.say("I have said what I know.")
        silent.post(do="finish")
        chats.until("I have said what I know.")
        knows, other = self.game("debrief", BAKERY, POOLS, CHAT)
        for one in (knows, other):
            one.post(do="join")
        for one in (knows, other):
            one.vote(option)
        for one in (knows, other):
            one.until('name="said"')
            one.post(do="finish")
        for one in (knows, other):
            one.vote(option)
        knows.until("Who held what")
        (plans,) = self.game("calendar", "calendar/uniform-01", IMAP, {})
        plans.post(do="join")
        plans.until("Your reply")
        return {
            "lobby": comes.link, "sat down": waits.link, "vote": votes.link, "voted": voted.link, "chat": chats.link,
            "left the chat": silent.link, "turn": plans.link, "over": gone.link,
            "debrief": knows.link,
        }  # fmt: skip


@pytest.mark.browser
def test_pages_of_a_hosted_game(tmp_path: Path) -> None:
    """A page at every stage, wide and light, narrow and dark; one without a sound link says so, and nothing else."""
    with ExitStack() as stack:
        stages = Stages(tmp_path, stack)
        pages = stages.pages()
        stranger = pages["lobby"].rpartition("/")[0] + "/nobody"
        told = opened([*pages.values(), stranger])
        stages.ended()

    refused = [one.pop("said") for one in told["seen"] if one["url"] == stranger]
    assert all("404" in said for (said,) in refused)
    assert troubles([{"said": [], **one} for one in told["seen"]]) == []
