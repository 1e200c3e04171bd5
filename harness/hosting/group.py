"""A group of people at a game: a desk for the seats, a room for the chat, and the doors through which pages come in.

1. Threads of the game wait here (`ask`, `heard`) for what pages hand in (`answer`, `speak`, `leave`); one lock guards it all.
2. A turn is answered once and by its own seat. One that nobody answers within the patience is forfeited as `timeout`; until
   that person is seen again, later turns are forfeited at once: one who went home costs the others one wait, not twenty.
3. A message of the chat says how many its sender had sent before, so one that is posted twice is taken once.
4. The chat takes what arrives before its time is up, by this host's clock. What was taken is shown once the game has it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from harness.agents.people.sitting import Late, Sitter
from harness.hosting.places import NotTaken, PagePlace, Shown, Stage
from harness.printable import printable
from worlds.core.turns import OpenTurn

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
