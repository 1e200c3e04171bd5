"""The two kinds of episodes as whoever drives them meets them: a conversation with tools, and a table of seats.

Both are what models of `harness run` play (`ToolConversation`, `SeatedGame`); here nobody is asked, and answers are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from harness.agent import Budget, Report, Usage
from harness.agents.llm.agent import Speech, ToolConversation, prompt_digest
from harness.agents.llm.completion import Completion
from harness.agents.llm.interface import Interface
from harness.agents.seating.game import SeatedGame
from harness.agents.seating.holders import Forfeit, SeatReply
from harness.agents.seating.policy import PolicySeat, check_playable, seat_players
from harness.agents.seating.talk import SeatTalk
from harness.agents.trajectory import Trajectory, scripted_trajectory
from harness.env.turns import SeatTurn
from harness.errors import UsageError
from harness.pod import Pod
from harness.records import SeatResult
from harness.registry import Task
from worlds.core.turns import NO_REPLY_CAUSES, OpenTurn

NAME = "episode"
"""What the player of a driven episode is called in its record."""


class Driven(Protocol):
    """An episode that is played from outside."""

    seats: int
    turns: tuple[SeatTurn, ...]
    """What is open; none once the episode is over."""

    def submit(self, turn: str, said: Completion) -> None:
        """Hand in the answer to an open turn."""
        ...

    def forfeit(self, turn: str, cause: str) -> None:
        """Give an open turn up; raises UsageError where turns cannot be given up, or not for this cause."""
        ...

    def stop(self, cause: str) -> None:
        """End the episode where it stands."""
        ...

    def save(self) -> None:
        """Put what happened in the report."""
        ...


class DrivenConversation:
    """A task of one agent, by tool calls."""

    seats = 1

    def __init__(
        self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, *, protocol: str, handles: bool
    ) -> None:
        interface, speech = Interface("tool", handles=handles), Speech(protocol)
        # tool calls are handed in, so no server can fail to parse them
        speech.has_called = True
        name = f"{task.task_id}-s{seed}"
        trajectory = Trajectory(name, f"{name}-{NAME}", NAME, tools=interface.tools, extra={"interface": interface.name})
        report.interface, report.prompt_digest = interface.name, prompt_digest(interface, speech)
        self._talk = ToolConversation(interface, speech, task, pod, budget, report, trajectory)
        self._told = 0
        self.turns = self._next()

    def submit(self, turn: str, said: Completion) -> None:
        """Carry out what the model asks for."""
        self._told = len(self._talk.messages) + 1
        over = self._talk.hear(said)
        self.turns = () if over else self._next()

    def forfeit(self, turn: str, cause: str) -> None:
        """There is nobody else to play on."""
        raise UsageError("only turns of games can be given up", hint=f"episode.stop({cause!r})")

    def stop(self, cause: str) -> None:
        """A budget that the driver counts is used up."""
        self._talk.stop(cause)
        self.turns = ()

    def save(self) -> None:
        """The trajectory."""
        self._talk.save()

    def _next(self) -> tuple[SeatTurn, ...]:
        """The next query, or none where a budget forbids it."""
        cause = self._talk.used_up(NAME, lambda line: None)
        if cause is not None:
            self._talk.stop(cause)
            return ()
        messages = tuple(self._talk.messages)
        text = "\n\n".join(str(message["content"]) for message in messages[self._told :] if message["role"] != "system")
        return (SeatTurn(str(self._talk.turns + 1), 0, text, messages, self._talk.offered),)


class DrivenTable:
    """A game, with a conversation at every seat that no policy holds."""

    def __init__(self, task: Task, pod: Pod, budget: Budget, report: Report, policies: Mapping[int, str]) -> None:
        """`policies`: by seat, the family's player that holds it."""
        self._report, self._instruction = report, pod.instruction
        report.interface = "seats"
        self._game = SeatedGame(pod, budget, report)
        session, known = self._game.session(), seat_players(task.family)
        for row in session["seats"]:
            seat, name = row["seat"], policies.get(row["seat"])
            self._game.seats[seat] = (
                PolicySeat(seat, name, known[name](task, seat, session)) if name else SubmittedSeat(seat, str(row["system"]))
            )
        self.seats = len(self._game.seats)
        self._open: dict[str, OpenTurn] = {}
        self._left: Sequence[OpenTurn] = self._game.open()
        self.turns: tuple[SeatTurn, ...] = ()
        self._offer()

    def submit(self, turn: str, said: Completion) -> None:
        """Hand in what a seat says."""
        self._answer(turn, SeatReply(said.text, said))

    def forfeit(self, turn: str, cause: str) -> None:
        """The seat says nothing, and the game goes on."""
        if cause not in NO_REPLY_CAUSES:
            raise UsageError(f"a turn is given up as {', '.join(sorted(NO_REPLY_CAUSES))}, not as {cause!r}")
        self._answer(turn, Forfeit(cause, "by whoever drives the episode"))

    def stop(self, cause: str) -> None:
        """A budget that the driver counts is used up."""
        self._game.stop(cause)
        self.turns = ()

    def save(self) -> None:
        """Who sat where."""
        self._report.seats = [seat.result() for seat in self._game.seats.values()]
        did = f"{self.seats} seats, {self._report.tool_calls} turns"
        self._report.trajectory = scripted_trajectory(NAME, self._instruction, did)

    def _answer(self, turn: str, reply: SeatReply | Forfeit) -> None:
        self._left = self._game.answer(self._open.pop(turn), reply)
        self.turns = tuple(one for one in self.turns if one.id != turn)
        if not self.turns:
            self._offer()

    def _offer(self) -> None:
        """Ask what is open together, as the loop of `harness run` does: its budgets are looked at before each such round."""
        while not self.turns and self._left and not self._game.is_stopped(self._left):
            asked = []
            for turn in self._left:
                holder = self._game.seats[turn.seat]
                if isinstance(holder, SubmittedSeat):
                    self._open[turn.id] = turn
                    asked.append(holder.asked(turn))
                else:
                    self._left = self._game.answer(turn, holder.ask(turn))
            self.turns = tuple(asked)


class SubmittedSeat:
    """A seat whose answers are handed in."""

    client = None
    beside = False

    def __init__(self, seat: int, rules: str) -> None:
        self.usage = Usage()
        self._seat, self._talk = seat, SeatTalk(rules)

    @property
    def trajectory(self) -> Trajectory | None:
        """None: who drives an episode has the conversation already."""
        return self._talk.trajectory

    def asked(self, turn: OpenTurn) -> SeatTurn:
        """A turn with the conversation before it."""
        return SeatTurn(
            turn.id, self._seat, turn.text, self._talk.before(turn), (), turn.phase, turn.round, turn.attempt, turn.ephemeral
        )

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Nobody asks it: answers come by themselves."""
        raise AssertionError("a driven game has no loop that asks")

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Remember what was handed in."""
        assert reply.completion is not None, "what is handed in is a whole message"
        self._talk.keep(turn, reply.completion)

    def result(self) -> SeatResult:
        """Nobody by name."""
        return SeatResult(seat=self._seat, kind="policy", name=NAME)


def check_policies(task: Task, policies: Mapping[int, str]) -> None:
    """Raise UsageError for a policy that the task's family does not have, or a seat that the task does not have."""
    known, seats = seat_players(task.family), task.parley.seats if task.is_seated and task.parley else 0
    for seat, name in policies.items():
        if not 0 <= seat < seats:
            raise UsageError(f"{task.task_id} has no seat {seat} for {name!r}", hint=f"harness show {task.task_id}")
        if name not in known:
            raise UsageError(f"{task.task_id} has no seat player {name!r}; it has {', '.join(known)}")
    if policies:
        check_playable(task)
