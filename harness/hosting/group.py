"""A group of people at a game: a desk for the seats, a room for the chat, and the doors through which pages come in.

1. Threads of the game wait here (`ask`, `heard`) for what pages hand in (`answer`, `speak`, `leave`); one lock guards it all.
2. A turn is answered once and by its own seat. One that nobody answers within the patience is forfeited as `timeout`; until
   that person is seen again, later turns are forfeited at once: one who went home costs the others one wait, not twenty.
3. A message of the chat says how many its sender had sent before, so one that is posted twice is taken once.
4. The chat takes what arrives before its time is up, by this host's clock. What was taken is shown once the game has it.

A turn as a form: a family may offer choices to click where a model has to write JSON.

A family's part `people` has `form(turn)`, which gives a `Form` or None for a turn that is answered in words, and `HOSTED`, the
options that a hosted session has unless somebody sets them. What a person clicks becomes the text that a model would have
written, so the world reads, refuses and logs both alike.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.agents.people.sitting import Late, Sitter
from harness.modules import family_part_or_none
from harness.printable import printable
from worlds.core.turns import OpenTurn


@dataclass(frozen=True)
class Form:
    """One question with choices and a line of reasons."""

    text: str
    """What is asked, without how a program would have to write it."""

    choices: tuple[tuple[str, str], ...]
    """What is sent, and what is shown."""

    why: str
    """What the reasons are called."""

    reply: Callable[[str, str], str]
    """The reply that a choice and its reasons mean."""


def form_of(family: str, turn: OpenTurn) -> Form | None:
    """The form that a family has for a turn."""
    part = family_part_or_none(family, "people")
    form: Form | None = part.form(turn) if part else None
    return form


def hosted_options(family: str) -> Mapping[str, str]:
    """The options that a family's hosted sessions have unless somebody sets them."""
    part = family_part_or_none(family, "people")
    options: Mapping[str, str] = part.HOSTED if part else {}
    return options


Stage = Literal["lobby", "waiting", "turn", "chat", "over"]


class NotTaken(Exception):
    """What somebody sent cannot be taken; the message is theirs to read."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass
class PagePlace:
    """A seat for one person, opened by a token that only their link has."""

    seat: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)
    name: str = ""
    rules: str = ""
    joined: bool = False
    left: bool = False
    """Gone for good."""

    away: bool = False
    """Whether they let a turn go by and were not seen since."""

    over: bool = False
    saw_the_end: bool = False
    turn: OpenTurn | None = None
    reply: str | None = None
    done: set[str] = field(default_factory=set)
    """Ids of turns that this place has had, answered or not."""

    said: int = 0
    """Messages that they sent to the chat."""

    left_chat: bool = False

    @property
    def identity(self) -> str:
        """What the record calls them: the name that they gave, or an id of which nobody can tell who it was."""
        return self.name or f"anon-{hashlib.sha256(self.token.encode()).hexdigest()[:6]}"


@dataclass(frozen=True)
class Shown:
    """What one person is to see."""

    stage: Stage
    version: str
    """Changes whenever their page has to be another one; a new message in the chat does not change it."""

    seat: int
    name: str
    rules: str
    turn: OpenTurn | None
    messages: tuple[tuple[int, str], ...]
    """Seat and text of everything that was said in the chat."""

    left_s: int
    """Seconds for which the chat is still open."""

    said: int
    left_chat: bool
    joined: int
    places: int


LONGEST_NAME, LONGEST_MESSAGE, LONGEST_REPLY = 40, 4_000, 50_000
"""Characters."""

_LOOK_S = 0.1
"""Real seconds after which the clock is looked at again where nothing happens."""


class PageGroup:
    """Everybody who plays by a page."""

    beside = True

    def __init__(
        self,
        seats: Sequence[int],
        *,
        patience_s: float = 600.0,
        say: Callable[[str], None] = print,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` tells seconds, by which the chat closes and patience ends."""
        self.places = [PagePlace(seat) for seat in seats]
        self.patience_s, self._clock, self._say = patience_s, clock, say
        self._by_seat = {place.seat: place for place in self.places}
        self._by_token = {place.token: place for place in self.places}
        self._changed = threading.Condition()
        self._messages: list[tuple[int, str]] = []
        self._words: deque[tuple[int, str | None]] = deque()
        self._closes_at: float | None = None

    @property
    def chat(self) -> PageGroup:
        """They talk here."""
        return self

    # what the game asks

    def check(self) -> None:
        """People come by their links."""

    def gather(self) -> None:
        """Wait until everybody sat down."""
        with self._changed:
            while not all(place.joined for place in self.places):
                self._changed.wait(_LOOK_S)

    def sit(self, sitter: Sitter) -> None:
        """Keep a person's rules for their page, and give the game the name they chose."""
        with self._changed:
            place = self._by_seat[sitter.seat]
            place.rules, sitter.name = sitter.rules, place.identity

    def ask(self, sitter: Sitter, turn: OpenTurn) -> str | None:
        """What their page hands in; None where they left. Raises Late."""
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

    def done(self, sitter: Sitter) -> None:
        """Show them that it is over."""
        with self._changed:
            self._by_seat[sitter.seat].over = True

    def open(self, minutes: float) -> None:
        """Let everybody write, for so many minutes."""
        with self._changed:
            self._closes_at = self._clock() + minutes * 60
            for place in self.places:
                if place.left and not place.left_chat:
                    place.left_chat = True
                    self._words.append((place.seat, None))
        self._say(f"the chat is open for {minutes:g} minutes")

    def heard(self, wait_s: float) -> tuple[int, str | None] | None:
        """The next word of somebody."""
        with self._changed:
            if not self._words:
                self._changed.wait(wait_s)
            return self._words.popleft() if self._words else None

    @property
    def closed(self) -> bool:
        """Whether the time is up and all words were taken."""
        with self._changed:
            return not self._is_open() and not self._words

    def show(self, seat: int, text: str, *, is_last: bool) -> None:
        """Put a message where everybody reads it; after their last one a person's page takes no more."""
        with self._changed:
            self._messages.append((seat, text))
            if is_last and seat in self._by_seat:
                self._by_seat[seat].left_chat = True

    def close(self) -> None:
        """Nobody can write any more."""
        with self._changed:
            self._closes_at = None
            self._words.clear()

    def everybody_saw_the_end(self) -> bool:
        """Whether no page is left that still waits for something."""
        with self._changed:
            return all(place.saw_the_end or place.away or place.left for place in self.places)

    # what pages hand in

    def place(self, token: str) -> PagePlace:
        """Whose link this is; raises NotTaken."""
        place = self._by_token.get(token)
        if place is None:
            raise NotTaken(404, "There is nothing here. The link must be typed whole.")
        with self._changed:
            place.away = False
        return place

    def join(self, place: PagePlace, name: str) -> None:
        """Sit down, with a name or without; raises NotTaken for a name that is too long or taken."""
        called = printable(" ".join(name.split()))
        with self._changed:
            if place.joined:
                raise NotTaken(409, "You have sat down already.")
            if len(called) > LONGEST_NAME:
                raise NotTaken(422, f"A name has at most {LONGEST_NAME} characters.")
            if called and any(called == other.name for other in self.places):
                raise NotTaken(409, "Somebody else is called that already.")
            place.name, place.joined = called, True
            self._changed.notify_all()
        there = sum(one.joined for one in self.places)
        self._say(f"seat {place.seat} is taken by {place.identity} ({there} of {len(self.places)})")

    def answer(self, place: PagePlace, turn: str, text: str) -> None:
        """Answer the turn that is open for a place; raises NotTaken."""
        with self._changed:
            if place.turn is None or place.turn.id != turn or place.reply is not None:
                raise _not_open(place, turn)
            if len(text) > LONGEST_REPLY:
                raise NotTaken(422, f"A reply has at most {LONGEST_REPLY} characters, and this has {len(text)}.")
            place.reply = text
            self._changed.notify_all()

    def speak(self, place: PagePlace, said: str, text: str) -> None:
        """Say something in the chat; `said`: how many messages they had sent when they wrote this. Raises NotTaken."""
        with self._changed:
            if not self._is_open() or place.left_chat or place.left:
                raise NotTaken(409, "Too late: the chat is over for you.")
            if said != str(place.said):
                raise NotTaken(409, "That message was sent already.")
            if not text.strip():
                raise NotTaken(422, "Nothing was typed.")
            if len(text) > LONGEST_MESSAGE:
                raise NotTaken(422, f"A message has at most {LONGEST_MESSAGE} characters, and this has {len(text)}.")
            place.said += 1
            self._words.append((place.seat, text))
            self._changed.notify_all()

    def leave_chat(self, place: PagePlace) -> None:
        """Say that one has nothing more to say; raises NotTaken where there is no chat."""
        with self._changed:
            if not self._is_open() or place.left_chat:
                raise NotTaken(409, "Too late: the chat is over for you.")
            place.left_chat = True
            self._words.append((place.seat, None))
            self._changed.notify_all()

    def leave(self, place: PagePlace) -> None:
        """Leave the game for good."""
        with self._changed:
            place.left = True
            if self._is_open() and not place.left_chat:
                place.left_chat = True
                self._words.append((place.seat, None))
            self._changed.notify_all()
        self._say(f"seat {place.seat}, {place.identity}, left")

    def shown(self, place: PagePlace) -> Shown:
        """What their page shows now."""
        with self._changed:
            stage = self._stage(place)
            place.saw_the_end |= stage == "over"
            left_s = max(0.0, (self._closes_at or 0.0) - self._clock())
            turn = place.turn if stage == "turn" else None
            joined = sum(one.joined for one in self.places)
            version = f"{stage} {turn.id if turn else joined if stage == 'waiting' and not place.rules else ''}".strip()
            if place.left_chat:
                version += " left"
            return Shown(
                stage, version, place.seat, place.identity, place.rules, turn, tuple(self._messages), round(left_s),
                place.said, place.left_chat, joined, len(self.places),
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


def _not_open(place: PagePlace, turn: str) -> NotTaken:
    """Why a turn cannot be answered."""
    if turn not in place.done:
        return NotTaken(403, "That is not a turn of yours.")
    return NotTaken(409, "Too late: that turn was answered already, or its time was up.")
