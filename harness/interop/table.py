"""A table of one model: a conversation of its own at each seat of a game, and one record of all they said.

What somebody else's runner needs of a game, without its runner: `harness.interop.harbor` is the one for Harbor.
"""

from __future__ import annotations

from typing import Any

from harness.agent import Budget, Report
from harness.agents.llm.completion import shortened
from harness.agents.llm.model import ModelClient
from harness.agents.seating.game import SeatedGame
from harness.agents.seating.holders import SeatReply
from harness.agents.seating.model import ModelSeat
from harness.agents.trajectory import Trajectory
from harness.interop.container import ContainerGame
from worlds.core.turns import OpenTurn


class ModelTable:
    """One game, with a model at every seat."""

    def __init__(
        self, client: ModelClient, host: ContainerGame, budget: Budget, instruction: str, name: str, session: str
    ) -> None:
        """`name` is what the agent is called in its record, `session` what the episode is."""
        self.report = Report(agent=name, model=client.name)
        self._client, self._host, self._session = client, host, session
        self._game = SeatedGame(host, budget, self.report)
        self._whole = self._begun(name)
        self._whole.user(instruction)

    @property
    def has_begun(self) -> bool:
        """Whether anybody sits here."""
        return bool(self._game.seats)

    def play(self) -> None:
        """Until the game is over or a budget is used up; raises ProviderFailure, WorldFailure and Cancelled."""
        for row in self._game.session()["seats"]:
            number, rules = int(row["seat"]), str(row["system"])
            trajectory = self._begun(f"seat {number}")
            trajectory.system(rules)
            self._whole.seat(trajectory)
            self._game.seats[number] = _RecordedSeat(number, self._client, rules, trajectory, whole=self._whole)
        self._game.play()

    def record(self) -> dict[str, Any]:
        """The game as ATIF, as far as it got: each reply in order, and each seat's conversation as a trajectory inside."""
        return self._whole.to_dict(extra={"provider_wait_s": round(self._game.waited_s, 3)})

    def told(self) -> dict[str, Any]:
        """What else there is to say of the game: who sat where, at what cost, and why it was left, if it was."""
        seats = [
            seat.result().model_dump(include={"seat", "tokens", "cost_usd", "latency_s"}) for seat in self._game.seats.values()
        ]
        forfeits = [{"seat": seat, "cause": why, "count": count} for (seat, why), count in sorted(self.report.forfeits.items())]
        disturbed = dict(self.report.disturbed)
        told = {"turns": self.report.tool_calls, "stopped_by": self._host.stopped, "seats": seats}
        return {**told, "disturbed": disturbed, "forfeits": forfeits}

    def _begun(self, name: str) -> Trajectory:
        return Trajectory(self._session, f"{self._session}-{name.replace(' ', '-')}", name, self._client.name)


class _RecordedSeat(ModelSeat):
    """A model at a seat whose replies stand in the record of the whole game too."""

    def __init__(self, *seat: Any, whole: Trajectory) -> None:
        super().__init__(*seat)
        self._whole = whole

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Write it down in both; its tokens stand with the seat."""
        super().keep(turn, reply)
        told = {"seat": turn.seat, "turn": turn.id, "phase": turn.phase, "round": turn.round}
        self._whole.agent(f"seat {turn.seat}: {shortened(reply.text)}", llm_call_count=1, extra=told)
