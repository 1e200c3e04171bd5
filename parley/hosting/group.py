"""Group of people in a hosted game: their seats, the chat, and the actions that they take on their pages.

1. The threads of the game call `ask` and `heard`, which wait for input from pages (`answer`, `speak`, `leave`). One lock guards
   all state.
2. Each turn accepts one answer, from its own seat. A turn that is not answered in time is forfeited as `timeout`. After that,
   the person's turns are forfeited immediately until their page sends a request, so an absent person delays the game once.
3. The chat accepts messages until its deadline, by this host's clock. A message appears on the pages once the game has received
   it.
4. The module `people` of a family may offer a `Form` with choices for a turn. The form turns a choice into the text that a
   model would have written, so the world treats people and models alike.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.agents.seats.people import Late, SeatedPerson
from harness.plugins import family_part_or_none
from harness.records import Result
from harness.sanitize import printable
from parley.reports.reading import Section, read_episode
from worlds.core.turns import OpenTurn


@dataclass(frozen=True)
class Form:
    """Question with choices, and a text field for reasons."""

    text: str
    """The question, without the instructions on the format of a model's reply."""

    choices: tuple[tuple[str, str], ...]
    """Pairs of the value that is sent and the text that is shown."""

    why: str
    """Label of the field for reasons."""

    reply: Callable[[str, str], str]
    """Function that turns a choice and its reasons into a reply."""


def form_of(family: str, turn: OpenTurn | None) -> Form | None:
    """Return the family's form for a turn, or None."""
    part = family_part_or_none(family, "people")
    form: Form | None = part.form(turn) if part and turn else None
    return form


def debrief_of(result: Result) -> tuple[Section, ...]:
    """Return what the family tells people about their game; empty if it tells nothing, or the game is ungraded."""
    part = family_part_or_none(result.family, "people")
    return tuple(part.debrief(read_episode(Path(result.path)))) if part and result.status == "graded" else ()


def hosted_options(family: str) -> Mapping[str, str]:
    """Return the default options of a family's hosted sessions."""
    part = family_part_or_none(family, "people")
    options: Mapping[str, str] = part.HOSTED if part else {}
    return options


Stage = Literal["lobby", "waiting", "turn", "chat", "over"]


class NotTaken(Exception):
    """Input from a page that is rejected. The message is shown to its sender."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass
class PagePlace:
    """A seat for one person, opened by the token in that person's link."""

    seat: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)
    name: str = ""
    rules: str = ""
    joined: bool = False
    left: bool = False
    """True if the person has left for good."""

    away: bool = False
    """True if the person missed a turn and their page has sent no request since."""

    over: bool = False
    saw_the_end: bool = False
    turn: OpenTurn | None = None
    reply: str | None = None
    done: set[str] = field(default_factory=set)
    """Ids of all turns of this place so far, including forfeited ones."""

    said: int = 0
    """Number of messages that the person has sent to the chat."""

    left_chat: bool = False

    @property
    def identity(self) -> str:
        """The person's name in the record: the name that they entered, or an anonymous id."""
        return self.name or f"anon-{hashlib.sha256(self.token.encode()).hexdigest()[:6]}"


@dataclass(frozen=True)
class Shown:
    """The content of one person's page."""

    stage: Stage
    version: str
    """Version of the page, which changes whenever the page must be rendered again, but not with new chat messages."""

    seat: int
    name: str
    rules: str
    turn: OpenTurn | None
    messages: tuple[tuple[int, str], ...]
    """Seat and text of every chat message."""

    left_s: int
    """Seconds until the chat closes."""

    said: int
    left_chat: bool
    joined: int
    places: int
    debrief: tuple[Section, ...] | None = None
    """What people learn about the game after its end; None until it has been evaluated."""


LONGEST_NAME, LONGEST_MESSAGE, LONGEST_REPLY = 40, 4_000, 50_000
"""Limits in characters."""

_LOOK_S = 0.1
"""Real seconds between checks of the clock while nothing happens."""


class PageGroup:
    """All people who play through a page."""

    beside = True
    alone = None
    held: nullcontext[None] = nullcontext()

    def __init__(
        self,
        seats: Sequence[int],
        *,
        patience_s: float = 600.0,
        say: Callable[[str], None] = print,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the places. `clock` returns seconds and determines when the chat closes and patience ends."""
        self.places = [PagePlace(seat) for seat in seats]
        self.patience_s, self._clock, self._say = patience_s, clock, say
        self._by_seat = {place.seat: place for place in self.places}
        self._by_token = {place.token: place for place in self.places}
        self._changed = threading.Condition()
        self._messages: list[tuple[int, str]] = []
        self._words: deque[tuple[int, str | None]] = deque()
        self._closes_at: float | None = None
        self._debrief: tuple[Section, ...] | None = None

    @property
    def chat(self) -> PageGroup:
        """The chat, which the group itself implements."""
        return self

    # called by the game

    def check(self) -> None:
        """Do nothing, because people join through their links."""

    def gather(self) -> None:
        """Wait until every person has joined."""
        with self._changed:
            while not all(place.joined for place in self.places):
                self._changed.wait(_LOOK_S)

    def sit(self, sitter: SeatedPerson) -> None:
        """Store a person's rules for their page, and give the game their chosen name."""
        with self._changed:
            place = self._by_seat[sitter.seat]
            place.rules, sitter.name = sitter.rules, place.identity

    def ask(self, sitter: SeatedPerson, turn: OpenTurn) -> str | None:
        """Return the reply that the person sends from their page, or None if they left. Raises Late."""
        place = self._by_seat[sitter.seat]
        with self._changed:
            place.turn, place.reply = turn, None
            place.done.add(turn.id)
            until = self._clock() + self.patience_s
            while place.reply is None and not place.left and not place.away and self._clock() < until:
                self._changed.wait(_LOOK_S)
            place.turn, reply = None, place.reply
            if reply is not None or place.left:
                return reply
            if not place.away:
                self._say(f"{sitter.called} did not answer within {self.patience_s:g} s")
            place.away = True
            raise Late(f"no answer within {self.patience_s:g} s")

    def done(self, sitter: SeatedPerson) -> None:
        """Show the person that the game is over."""
        with self._changed:
            self._by_seat[sitter.seat].over = True

    def open(self, minutes: float) -> None:
        """Open the chat for this number of minutes."""
        with self._changed:
            self._closes_at = self._clock() + minutes * 60
            for place in self.places:
                if place.left:
                    self._leave_chat(place)
        self._say(f"the chat is open for {minutes:g} minutes")

    def heard(self, wait_s: float) -> tuple[int, str | None] | None:
        """Return the next chat message, waiting up to `wait_s` seconds, or None."""
        with self._changed:
            if not self._words:
                self._changed.wait(wait_s)
            return self._words.popleft() if self._words else None

    @property
    def closed(self) -> bool:
        """True if the chat's time is up and all messages were read."""
        with self._changed:
            return not self._is_open() and not self._words

    def show(self, seat: int, text: str, *, is_last: bool) -> None:
        """Show a message to the whole group. After a person's last message, their page accepts no more."""
        with self._changed:
            self._messages.append((seat, text))
            if is_last and seat in self._by_seat:
                self._by_seat[seat].left_chat = True

    def close(self) -> None:
        """Close the chat."""
        with self._changed:
            self._closes_at = None
            self._words.clear()

    def finish(self, debrief: tuple[Section, ...]) -> None:
        """Show the debrief on every page."""
        with self._changed:
            self._debrief = debrief

    def everybody_saw_the_end(self) -> bool:
        """Return True if every page that is still open shows the debrief."""
        with self._changed:
            return all(place.saw_the_end or place.away or place.left for place in self.places)

    # called by pages

    def place(self, token: str) -> PagePlace:
        """Return the place of a token and mark its person as present. Raises NotTaken for an unknown token."""
        place = self._by_token.get(token)
        if place is None:
            raise NotTaken(404, "Unknown link. Open the complete link that you received.")
        with self._changed:
            place.away = False
        return place

    def join(self, place: PagePlace, name: str) -> None:
        """Join with or without a name. Raises NotTaken for a name that is too long or already in use."""
        called = printable(" ".join(name.split()))
        with self._changed:
            if place.joined:
                raise NotTaken(409, "You have already joined.")
            if len(called) > LONGEST_NAME:
                raise NotTaken(422, f"A name has at most {LONGEST_NAME} characters.")
            if called and any(called == other.name for other in self.places):
                raise NotTaken(409, "Another person already uses this name.")
            place.name, place.joined = called, True
            self._changed.notify_all()
        there = sum(one.joined for one in self.places)
        self._say(f"seat {place.seat} is taken by {place.identity} ({there} of {len(self.places)})")

    def answer(self, place: PagePlace, turn: str, text: str) -> None:
        """Answer the open turn of a place. Raises NotTaken."""
        with self._changed:
            if turn not in place.done:
                raise NotTaken(403, "This turn belongs to another seat.")
            if place.turn is None or place.turn.id != turn or place.reply is not None:
                raise NotTaken(409, "Too late: this turn was already answered, or its time is over.")
            if len(text) > LONGEST_REPLY:
                raise NotTaken(422, f"A reply has at most {LONGEST_REPLY} characters, and this has {len(text)}.")
            place.reply = text
            self._changed.notify_all()

    def speak(self, place: PagePlace, said: str, text: str) -> None:
        """Send a chat message; `said` is the number of messages that this person sent before it. Raises NotTaken."""
        with self._changed:
            if not self._is_open() or place.left_chat or place.left:
                raise NotTaken(409, "Too late: the chat is closed for you.")
            if said != str(place.said):
                raise NotTaken(409, "This message was already sent.")
            if not text.strip():
                raise NotTaken(422, "Nothing was typed.")
            if len(text) > LONGEST_MESSAGE:
                raise NotTaken(422, f"A message has at most {LONGEST_MESSAGE} characters, and this has {len(text)}.")
            place.said += 1
            self._words.append((place.seat, text))
            self._changed.notify_all()

    def leave_chat(self, place: PagePlace) -> None:
        """Declare that the person has nothing more to say. Raises NotTaken if the chat is closed."""
        with self._changed:
            if not self._is_open() or place.left_chat:
                raise NotTaken(409, "Too late: the chat is closed for you.")
            self._leave_chat(place)
            self._changed.notify_all()

    def _leave_chat(self, place: PagePlace) -> None:
        if not place.left_chat:
            place.left_chat = True
            self._words.append((place.seat, None))

    def leave(self, place: PagePlace) -> None:
        """Leave the game for good."""
        with self._changed:
            place.left = True
            if self._is_open():
                self._leave_chat(place)
            self._changed.notify_all()
        self._say(f"seat {place.seat}, {place.identity}, left")

    def shown(self, place: PagePlace) -> Shown:
        """Return the current content of the person's page."""
        with self._changed:
            stage = self._stage(place)
            place.saw_the_end |= stage == "over" and self._debrief is not None
            left_s = max(0.0, (self._closes_at or 0.0) - self._clock())
            turn = place.turn if stage == "turn" else None
            joined = sum(one.joined for one in self.places)
            version = f"{stage} {turn.id if turn else joined if stage == 'waiting' and not place.rules else ''}".strip()
            if stage == "over":
                version += "" if self._debrief is None else " told"
            elif place.left_chat:
                version += " left"
            return Shown(
                stage, version, place.seat, place.identity, place.rules, turn, tuple(self._messages), round(left_s),
                place.said, place.left_chat, joined, len(self.places), self._debrief if stage == "over" else None,
            )  # fmt: skip

    def _stage(self, place: PagePlace) -> Stage:
        if place.over or place.left:
            return "over"
        if not place.joined:
            return "lobby"
        if self._closes_at is not None:
            return "chat"
        return "turn" if place.turn is not None and place.reply is None else "waiting"

    def _is_open(self) -> bool:
        return self._closes_at is not None and self._clock() < self._closes_at
