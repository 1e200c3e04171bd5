"""Turns of a world with several seats: the world asks, seats answer, and the speed of a seat has no effect.

1. A game is a generator that yields a barrier, which is a set of asks that are open together, and receives the answers.
2. Answers are staged. A refused answer is asked for again at once, with the reason, while the other seats still think.
3. A barrier closes when every seat has an accepted answer. Its turns are logged in (seat, attempt) order, and the game goes
on. So arrival order, latency and concurrency leave no trace.
4. In free discussion the first answer closes its barrier: only that turn is logged, and the others are withdrawn. Arrival
order matters there, so only a host with a clock can run it (`harness host`). A slow seat may still answer a withdrawn turn
if it has said nothing since. Such a turn is logged as it was asked, so its name and text show what the seat had read.
5. A turn is answered once. An answer to a turn that is not open changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from worlds.core.events import Turned
from worlds.core.models import Strict

NO_REPLY_CAUSES = frozenset({"timeout", "provider", "budget", "malformed", "declined", "context"})
"""Causes for which a seat may forfeit a turn; only the host can report them, because a world has no wall clock.

`declined`: the seat's holder does not answer, for example a program that cannot answer this kind of turn, or a person who left.
`context`: the seat's conversation is longer than its model's context.
"""


class Answer(NamedTuple):
    """The raw reply of a seat; a forfeit has an empty text and a cause."""

    text: str
    no_reply: str | None = None
    late: int = 0
    """In free discussion, the number of barriers that others closed since the turn was opened."""


Answers = Mapping[int, Sequence[Answer]]
"""Seat -> all attempts of the barrier in order; the last one counts."""


class Ask(NamedTuple):
    """One question to one seat. `refuse` reads all its attempts so far and returns the text of a retry, or None."""

    seat: int
    phase: str
    round: int
    text: str
    ephemeral: bool = False
    """True if the turn is only a measurement: it is logged, but not part of the seat's conversation."""

    refuse: Callable[[Sequence[Answer]], str | None] = lambda _: None
    free: bool = False
    """True in free discussion, in which the first answer closes the barrier; never mixed with other asks."""


Game = Generator[Sequence[Ask], Answers, None]
"""A game as a generator; a barrier must not be empty, and asks each seat once."""


class OpenTurn(Strict):
    """A turn that waits for its answer, as its seat receives it."""

    id: str
    seat: int
    phase: str
    round: int
    attempt: int
    text: str
    ephemeral: bool
    free: bool | None = None
    """Set in free discussion: the first answer to any of the open turns withdraws the others."""


class OpenTurns(Strict):
    """Response of GET /turns and POST /turns/{id}."""

    accepted: bool | None = None
    """True if the answered turn was open; None if no turn was answered."""

    turns: tuple[OpenTurn, ...]
    over: bool


class _Withdrawn(NamedTuple):
    """A turn of a free discussion that was withdrawn because another seat answered."""

    barrier: int
    turn: OpenTurn


class TurnTable:
    """The open turns of one game; `log` receives each finished one."""

    def __init__(self, game: Game, log: Callable[[Turned], object]) -> None:
        self._game, self._log = game, log
        self._asks: dict[int, Ask] = {}
        self._staged: dict[int, list[tuple[OpenTurn, Answer]]] = {}
        self._open: dict[str, OpenTurn] = {}
        self._withdrawn: dict[str, _Withdrawn] = {}
        """Turn id -> withdrawn turn that its seat may still answer."""

        self._barrier = 0
        self.over = False
        self._offer(None)

    @property
    def open(self) -> list[OpenTurn]:
        """The open turns, sorted by seat."""
        return sorted(self._open.values(), key=attrgetter("seat")) if len(self._open) > 1 else [*self._open.values()]

    def seat_of(self, turn: str) -> int | None:
        """Return the seat of a turn that can be answered, by the turn's id; None for any other turn."""
        if turn in self._withdrawn:
            return self._withdrawn[turn].turn.seat
        asked = self._open.get(turn)
        return asked.seat if asked else None

    def answer(self, turn: str, answer: Answer) -> bool:
        """Accept one answer; return False, without any change, if the turn is not open."""
        if turn in self._withdrawn:
            opened, asked = self._withdrawn[turn]
            self._open = {name: one for name, one in self._open.items() if one.seat != asked.seat}
            answer = answer._replace(late=self._barrier - opened)
        elif turn in self._open:
            asked = self._open.pop(turn)
        else:
            return False
        staged = self._staged.setdefault(asked.seat, [])
        # before `refuse` is asked, which may fail: what made it fail is evidence
        staged.append((asked, answer))
        again = self._asks[asked.seat].refuse([given for _, given in staged])
        if again is not None:
            self._ask(asked.seat, again, asked.attempt + 1)
        elif not self._open or self._asks[asked.seat].free:
            self._withdrawn |= {name: _Withdrawn(self._barrier, one) for name, one in self._open.items()}
            self._withdrawn = {name: one for name, one in self._withdrawn.items() if one.turn.seat != asked.seat}
            self._open.clear()
            self._close()
        return True

    def abandon(self) -> None:
        """End the game now: log the staged answers and close all turns."""
        self._write()
        self._open.clear()
        self._withdrawn.clear()
        self._game.close()
        self.over = True

    def _close(self) -> None:
        answers = {seat: [given for _, given in staged] for seat, staged in self._staged.items()}
        self._write()
        self._offer(answers)

    def _write(self) -> None:
        staged, self._staged = self._staged, {}
        for seat in sorted(staged):
            for turn, answer in staged[seat]:
                self._log(
                    Turned(
                        turn=turn.id,
                        seat=seat,
                        phase=turn.phase,
                        round=turn.round,
                        attempt=turn.attempt,
                        text=turn.text,
                        ephemeral=turn.ephemeral,
                        reply=answer.text,
                        no_reply=answer.no_reply,
                    )
                )

    def _offer(self, answers: Answers | None) -> None:
        try:
            asks = next(self._game) if answers is None else self._game.send(answers)
        except StopIteration:
            self.over = True
            self._withdrawn.clear()
            return
        self._barrier += 1
        self._asks = {ask.seat: ask for ask in asks}
        talking = {ask.seat for ask in asks if ask.free}
        self._withdrawn = {name: one for name, one in self._withdrawn.items() if one.turn.seat in talking}
        assert asks, "a barrier may not be empty"
        assert len(self._asks) == len(asks), "a barrier asks each seat once"
        for ask in asks:
            self._ask(ask.seat, ask.text, 1)

    def _ask(self, seat: int, text: str, attempt: int) -> None:
        ask, name = self._asks[seat], f"{self._barrier}-{seat}-{attempt}"
        self._open[name] = OpenTurn(
            id=name, seat=seat, phase=ask.phase, round=ask.round, attempt=attempt, text=text, ephemeral=ask.ephemeral,
            free=ask.free or None,
        )  # fmt: skip
