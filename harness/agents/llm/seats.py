"""Models at the seats of a game: one conversation a seat, each begun by its own rules and fed with its own turns.

1. Turns that are open together are asked together, in parallel; the order in which answers come never shows.
2. A turn that only measures is answered from the conversation and leaves no trace in it.
3. A seat whose conversation grew too long for its model forfeits its turn, and so does one whose reply cannot be read or is
   longer than a world takes; a budget that runs out stops the game, which is judged as far as it got. A provider that fails
   leaves the episode ungraded.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.agents.base import Budget, Report, Usage
from harness.agents.llm.budgets import used_up
from harness.agents.llm.completion import Completion, add_usage
from harness.agents.llm.model import ModelClient
from harness.agents.llm.parallel import side_by_side
from harness.agents.llm.provider import ContextFull, Unreadable
from harness.agents.trajectory import Trajectory
from harness.agents.turns import Turn, TurnClient, is_too_long
from harness.errors import UsageError
from harness.runtimes.base import Pod
from worlds.core.errors import ParleyError

NOT_TAKEN = "[This reply was longer than can be taken, and was not.]"
"""What a seat's conversation keeps of a reply that forfeited its turn."""


@dataclass
class Seat:
    """One seat: its model, its conversation, and the record of both."""

    client: ModelClient
    trajectory: Trajectory
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0

    def begin(self, system: str) -> None:
        """Its rules come first."""
        self.messages.append({"role": "system", "content": system})
        self.trajectory.system(system)

    def ask(self, turn: Turn) -> Completion:
        """The model's answer to a turn; raises ContextFull, ProviderFailure, Cancelled."""
        return self.client.complete([*self.messages, {"role": "user", "content": turn["text"]}], ())

    def keep(self, turn: Turn, said: Completion) -> None:
        """Write the answer down, and into the conversation where the turn belongs there."""
        self.calls += 1
        self.trajectory.user(turn["text"])
        self.trajectory.agent(
            said.text, metrics=said.usage, reasoning=said.reasoning,
            extra={"finish_reason": said.finish_reason, "phase": turn["phase"], "ephemeral": turn["ephemeral"]},
        )  # fmt: skip
        if not turn["ephemeral"]:
            # what the world never took would only fill the model's context, turn after turn
            kept = {"role": "assistant", "content": NOT_TAKEN} if is_too_long(said.text) else said.message
            self.messages += [{"role": "user", "content": turn["text"]}, kept]


class SeatedGame:
    """One game played by models."""

    def __init__(self, pod: Pod, budget: Budget, report: Report, begin: Callable[[str, str | None], Trajectory]) -> None:
        self._pod, self._budget, self._report, self._begin = pod, budget, report, begin
        self._game = TurnClient(pod)
        self._seats: dict[int, Seat] = {}
        self._started, self._waited_s = time.monotonic(), 0.0

    def sit(self, clients: Callable[[int], ModelClient]) -> None:
        """Put a model at every seat, with that seat's rules."""
        session = self._game.session()
        for row in session["seats"]:
            client = clients(row["seat"])
            seat = Seat(client, self._begin(f"seat {row['seat']}", client.settings.name))
            seat.begin(row["system"])
            self._seats[row["seat"]] = seat
        rules = "\n".join(row["system"] for row in session["seats"])
        self._report.prompt_digest = hashlib.sha256(rules.encode()).hexdigest()

    def play(self) -> None:
        """Answer every turn until the game is over or a budget is used up."""
        turns = self._game.open()
        while turns:
            if cause := self._used_up():
                self._report.stopped_by = cause
                self._report.log.append(f"stopped: the budget of {cause} is used up")
                self._pod.stop(cause)
                return
            turns = self._answered(turns)

    def trajectory(self, instruction: str) -> dict[str, Any]:
        """All conversations, each as a trajectory of its own inside the game's."""
        whole = self._begin("game", None)
        whole.user(instruction)
        for seat in self._seats.values():
            whole.seat(seat.trajectory)
        return whole.to_dict(extra={"provider_wait_s": round(self._waited_s, 3)})

    def _answered(self, turns: list[Turn]) -> list[Turn]:
        """Ask for all open turns, answer them, and return what is open next."""
        left, waited_s = turns, 0.0
        for turn, said in zip(turns, side_by_side(self._ask, turns), strict=True):
            left = self._answer(turn, said)
            waited_s = max(waited_s, said.waited_s if isinstance(said, Completion) else 0.0)
        # The seats waited at the same time, so the game waited as long as the one that waited longest.
        self._waited_s += waited_s
        return left

    def _ask(self, turn: Turn) -> Completion | ParleyError:
        try:
            return self._seats[turn["seat"]].ask(turn)
        except (ContextFull, Unreadable) as error:
            return error

    def _answer(self, turn: Turn, said: Completion | ParleyError) -> list[Turn]:
        if isinstance(said, ParleyError):
            cause = "budget" if isinstance(said, ContextFull) else "malformed"
            self._report.log.append(f"turn {turn['id']}, seat {turn['seat']}: forfeited as {cause}, {said}")
            return self._game.forfeit(turn["id"], cause)
        self._seats[turn["seat"]].keep(turn, said)
        self._report.tool_calls += 1
        add_usage(self._report.usage, said.usage)
        self._report.log.append(f"turn {turn['id']}, seat {turn['seat']}, {turn['phase']}: {_tokens(said.usage)}")
        if is_too_long(said.text):
            self._report.log.append(
                f"turn {turn['id']}, seat {turn['seat']}: forfeited as malformed, {len(said.text)} characters"
            )
        return self._game.answer(turn["id"], said.text)

    def _used_up(self) -> str | None:
        clients = {seat.client.settings.name: seat.client for seat in self._seats.values()}
        return used_up(
            self._budget, self._report.usage, turns=max((seat.calls for seat in self._seats.values()), default=0),
            seconds=time.monotonic() - self._started - self._waited_s,
            models=" or ".join(clients), say_once=next(iter(clients.values())).say_once,
        )  # fmt: skip


def seat_models(text: Sequence[str]) -> Mapping[int, str]:
    """Seat -> model, from `0=gpt-5` and the like; raises UsageError for anything else."""
    found: dict[int, str] = {}
    for part in text:
        seat, equals, model = part.partition("=")
        if not equals or not seat.isdecimal() or not model:
            raise UsageError(f"a seat's model must look like 0=gpt-5, not {part!r}")
        found[int(seat)] = model
    return found


def _tokens(usage: Usage) -> str:
    return f"tokens {usage.prompt_tokens} in ({usage.cached_tokens} cached), {usage.completion_tokens} out"
