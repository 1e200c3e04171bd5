"""Game loop: each open turn is given to the player of its seat, until no turn is open.

1. Turns that are open at the same time are sent concurrently to models and to people at web pages, and one by one to others.
Answers are submitted in the order of the turns, so response times do not affect the log. The exception is a free discussion
(`chat`).
2. A seat may forfeit a turn, with a cause: its conversation is longer than its model's context (`context`), or its reply cannot
be parsed or exceeds the limit (`malformed`). If a seat's first turn does not fit into the context, the set-up is at fault,
because the model has not failed at anything yet.
3. An exhausted budget stops the game, which is graded up to that point. A failing provider leaves the episode ungraded.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from harness.agent import Budget, Report
from harness.agents.llm.completion import add_usage, told_tokens
from harness.agents.llm.parallel import side_by_side
from harness.agents.llm.wire_log import keep_wire
from harness.agents.seats.chat import Chat
from harness.agents.seats.holders import Forfeit, SeatHolder, SeatReply
from harness.agents.turns import GameHost, TurnClient, is_too_long
from harness.errors import SetupFault, UsageError
from harness.log_context import say
from worlds.core.turns import OpenTurn

MOST_TURNS = 1_000_000
"""Limit for all seats together, far beyond any game of ours, to stop a world that never ends."""

Until = Callable[[Sequence[OpenTurn]], bool]
"""Callback that returns True if the host ends the game when these turns are open."""


class SeatedGame:
    """Game with the players of its seats."""

    def __init__(self, pod: GameHost, budget: Budget, report: Report) -> None:
        self.seats: dict[int, SeatHolder] = {}
        """Player of each seat, filled in by the caller before the game."""

        self.waited_s = 0.0
        """Real seconds that the game spent waiting for providers and people."""

        self._pod, self._budget, self._report = pod, budget, report
        self._game, self._started = TurnClient(pod), time.monotonic()
        self.chat: Chat | None = None
        """Free discussion of people, set by the caller if the game has one."""

        self._asked_for = 0
        self._begun: set[int] = set()
        """Seats that have had a turn."""

        self._turns: Counter[int] = Counter()
        """Number of turns that the model of each seat answered, for the budget; turns that only measure do not count."""

    def session(self) -> dict[str, Any]:
        """Return the seats with their rules, and the information that is public to all seats."""
        return self._game.session()

    def play(self, until: Until | None = None) -> None:
        """Answer every turn until the game is over, `until` returns True, or a budget is used up."""
        turns = self.open()
        while turns and not (until and until(turns)) and not self.is_stopped(turns):
            turns = self._talked(turns) if turns[0].free else self._answered(turns)

    def open(self) -> Sequence[OpenTurn]:
        """Return the turns that are open now."""
        return self._game.open()

    def is_stopped(self, turns: Sequence[OpenTurn]) -> bool:
        """Stop the game if a budget forbids asking these turns together, and return True in this case."""
        cause = self._used_up()
        if cause is not None:
            self.stop(cause)
            return True
        self._asked_for += len(turns)
        return False

    def stop(self, cause: str) -> None:
        """End the game immediately, because a budget is used up."""
        self._report.stopped_by = cause
        self._report.log.append(f"stopped: the budget of {cause} is used up")
        self._pod.stop(cause)

    def _talked(self, turns: Sequence[OpenTurn]) -> Sequence[OpenTurn]:
        if self.chat is None:
            raise UsageError("none of the players supports free discussion", hint="harness host TASK")
        started = time.monotonic()
        try:
            return self.chat.hold(turns, self.seats, self.answer)
        finally:
            self.waited_s += time.monotonic() - started

    def _answered(self, turns: Sequence[OpenTurn]) -> Sequence[OpenTurn]:
        """Ask all open turns, answer them, and return the turns open next."""
        left, waited_s, people_s = turns, 0.0, 0.0
        for turn, reply in zip(turns, self._asked(turns), strict=True):
            left = self.answer(turn, reply)
            if isinstance(reply, SeatReply) and reply.completion is not None:
                waited_s = max(waited_s, reply.completion.waited_s)
            # people at web pages answer at the same time, people at one terminal one after the other
            people_s = max(people_s, reply.waited_s) if self.seats[turn.seat].beside else people_s + reply.waited_s
        # The seats waited at the same time, so the game waited as long as the slowest seat.
        self.waited_s += max(waited_s, people_s)
        return left

    def _asked(self, turns: Sequence[OpenTurn]) -> Iterator[SeatReply | Forfeit]:
        """Return the reply to each turn, in order; starts no thread if all players only compute."""

        def ask(turn: OpenTurn) -> SeatReply | Forfeit:
            return self.seats[turn.seat].ask(turn)

        beside = side_by_side(ask, [turn for turn in turns if self.seats[turn.seat].beside])
        return (next(beside) if self.seats[turn.seat].beside else ask(turn) for turn in turns)

    def answer(self, turn: OpenTurn, reply: SeatReply | Forfeit) -> Sequence[OpenTurn]:
        """Submit and record one reply, and return the turns open next."""
        if isinstance(reply, Forfeit):
            self._forfeited(turn, reply.cause, reply.why)
            self._begun.add(turn.seat)
            return self._game.forfeit(turn.id, reply.cause)
        self._begun.add(turn.seat)
        text, completion = reply.text, reply.completion
        self.seats[turn.seat].keep(turn, reply)
        self._report.tool_calls += 1
        self._turns[turn.seat] += completion is not None and not turn.ephemeral
        if completion is not None:
            add_usage(self._report.usage, completion.usage)
            if completion.lost_reasoning:
                self._report.disturbed["reasoning_dropped"] += 1
            self._report.log.append(f"turn {turn.id}, seat {turn.seat}, {turn.phase}: tokens {told_tokens(completion.usage)}")
        left_out = completion.left_out if completion else 0
        if left_out or is_too_long(text):
            self._forfeited(turn, "malformed", f"{len(text) + left_out} characters")
            return self._game.forfeit(turn.id, "malformed")
        return self._game.answer(turn.id, text)

    def _forfeited(self, turn: OpenTurn, cause: str, why: str) -> None:
        """Record a forfeit; raises SetupFault for a context that is too small for a seat's first turn."""
        if cause == "context" and turn.seat not in self._begun:
            where = f"the first turn of seat {turn.seat} does not fit: {why}"
            raise SetupFault(where, "context_too_small", hint="a model or a server with a larger context")
        self._report.forfeits[turn.seat, cause] += 1
        self._report.log.append(f"turn {turn.id}, seat {turn.seat}: forfeited as {cause}, {why}")
        keep_wire()

    def _used_up(self) -> str | None:
        if self._asked_for >= MOST_TURNS:
            return "turns"
        clients = {seat.client.name: seat.client for seat in self.seats.values() if seat.client is not None}
        return self._budget.used_up(
            self._report.usage, turns=max(self._turns.values(), default=0),
            seconds=time.monotonic() - self._started - self.waited_s, game=True,
            models=" or ".join(clients), say_once=next((client.say_once for client in clients.values()), say),
        )  # fmt: skip
