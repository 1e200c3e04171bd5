"""Turns: a world with several seats asks, seats answer, and nobody's speed ever shows.

1. A game is a generator that yields a barrier - the asks that are open together - and is sent what each seat answered.
2. Answers are staged. One that its ask refuses is asked again at once, with the reason, while the other seats still think.
3. When every seat has an answer that stands, the barrier closes: its turns are logged in (seat, attempt) order, and only then
   does the game go on. So arrival order, latency and concurrency leave no trace.
4. In a free talk the first answer closes its barrier: it alone is logged, the other turns are withdrawn, and the game goes on.
   There the order in which answers arrive is the game itself, so only a host with a clock can play it (`harness host`).
   Who thinks for long may answer a turn that was withdrawn meanwhile, if it has said nothing since: it is logged as it was
   asked, so its name and text say what its seat had read.
5. A turn is answered once. An answer to a turn that is not open changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from worlds.core.events import Turned
from worlds.core.models import Strict

NO_REPLY_CAUSES = frozenset({"timeout", "provider", "budget", "malformed", "declined", "context"})
"""Why a seat may forfeit a turn; only the host can say so, since a world has no wall clock.

`declined`: the seat's holder does not answer: a program without an answer to this kind of turn, or a person who left.
`context`: the seat's conversation is longer than its model's context.
"""


class Answer(NamedTuple):
    """What a seat replied, raw; a forfeit has no text and a cause."""

    text: str
    no_reply: str | None = None
    late: int = 0
    """In a free talk, how many barriers were closed by others since the turn was opened."""


Answers = Mapping[int, Sequence[Answer]]
"""By seat, every attempt of the barrier in order; the last one stands."""


def _stands(_: Sequence[Answer]) -> str | None:
    return None


class Ask(NamedTuple):
    """One question to one seat. `refuse` reads all its attempts so far and returns the text of a retry, or None."""

    seat: int
    phase: str
    round: int
    text: str
    ephemeral: bool = False
    """Whether this measures only: logged, but no part of the seat's conversation."""

    refuse: Callable[[Sequence[Answer]], str | None] = _stands
    free: bool = False
    """Whether this is a free talk, in which the first answer closes the barrier; never beside asks that are not."""


Game = Generator[Sequence[Ask], Answers, None]
"""A game as a script; a barrier may not be empty, and asks each seat once."""


class OpenTurn(Strict):
    """A turn that waits for its answer, as its seat gets it."""

    id: str
    seat: int
    phase: str
    round: int
    attempt: int
    text: str
    ephemeral: bool
    free: bool | None = None
    """Set in a free talk: the first answer to any of the turns that are open withdraws the others."""


class OpenTurns(Strict):
    """What GET /turns and POST /turns/{id} answer."""

    accepted: bool | None = None
    """Whether the turn that was answered was open; None where none was."""

    turns: tuple[OpenTurn, ...]
    over: bool


_by_seat = attrgetter("seat")


class _Withdrawn(NamedTuple):
    """A turn of a free talk that an answer of somebody else withdrew."""

    barrier: int
    turn: OpenTurn


class TurnTable:
    """The open turns of one game; `log` gets each finished one."""

    def __init__(self, game: Game, log: Callable[[Turned], object]) -> None:
        self._game, self._log = game, log
        self._asks: dict[int, Ask] = {}
        self._staged: dict[int, list[tuple[OpenTurn, Answer]]] = {}
        self._open: dict[str, OpenTurn] = {}
        self._withdrawn: dict[str, _Withdrawn] = {}
        """By id, those whose seats may still answer them."""

        self._barrier = 0
        self.over = False
        self._offer(None)

    @property
    def open(self) -> list[OpenTurn]:
        """What is open now, by seat."""
        return sorted(self._open.values(), key=_by_seat) if len(self._open) > 1 else [*self._open.values()]

    def seat_of(self, turn: str) -> int | None:
        """Who is asked, by the id of a turn that can be answered; None for any other."""
        if turn in self._withdrawn:
            return self._withdrawn[turn].turn.seat
        asked = self._open.get(turn)
        return asked.seat if asked else None

    def answer(self, turn: str, answer: Answer) -> bool:
        """Take one answer; False, and nothing changes, for a turn that is not open."""
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
        """End the game where it stands: what was answered is logged, nothing is asked any more."""
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
        """Let the game go on to its next barrier, or to its end."""
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
