"""Agent for games: plays each seat with a policy, a model or a person, as its spec says.

An `AgentSpec` is enough to create it. People use the terminal unless the caller provides another desk. An agent of a model or
of people also plays tasks without seats, through that model's interface or at the terminal.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from harness.agent import AgentSpec, Budget, Report, SeatSpec
from harness.agents.llm.agent import LlmAgent, LlmConfig
from harness.agents.llm.meter import Meter
from harness.agents.llm.model import ModelClient
from harness.agents.llm.response_cache import ConversationPlace, ResponseCache
from harness.agents.seats.chat import PACE_S, Chat
from harness.agents.seats.game import SeatedGame
from harness.agents.seats.holders import PolicySeat, SeatHolder
from harness.agents.seats.lineup import check_playable, line_up, seat_players
from harness.agents.seats.model import ModelSeat, weigher_of
from harness.agents.seats.people import PeopleDesk, PersonSeat, SeatedPerson
from harness.agents.trajectory import Trajectory, scripted_trajectory
from harness.errors import HarnessError, UsageError
from harness.live_agent import Agent
from harness.log_context import to_stderr
from harness.plugins import optional
from harness.pod import Pod
from harness.registry import Task

INTERFACE = "seats"
"""Interface of seats in games, whatever interface their models use in other tasks."""


class SeatAgent(Agent):
    """Agent that plays games with the line-up of its spec."""

    def __init__(
        self,
        spec: AgentSpec,
        *,
        config: LlmConfig | None = None,
        handles: bool = False,
        meter: Meter | None = None,
        say: Callable[[str], None] = to_stderr,
        replies: ResponseCache | None = None,
        desk: PeopleDesk | None = None,
        pace_s: float = PACE_S,
        talk: str = "",
    ) -> None:
        """Create the agent; `config` adds model settings that the other arguments lack, such as an API key.

        `replies` is the cache of model replies. `desk` is the place where people answer, by default the terminal. `pace_s` is
        the number of real seconds between the messages of a program in a free discussion. `talk` is the world option, if it is
        set.
        """
        self.spec, self._replies = spec, replies
        self.name = spec.name if spec.kind == "seats" else "llm"
        config = config or LlmConfig.of(spec, handles=handles, meter=meter)
        self._desk: PeopleDesk | None = desk or (optional("terminal")() if spec.has_people else None)
        self._pace_s, self._talk = pace_s, talk
        model = LlmAgent(config, say=say, replies=replies) if spec.kind == "llm" else None
        self._alone: Agent | None = model or (self._desk.alone if self._desk and spec.is_human else None)
        self._clients = {model.client.settings.name: model.client} if model else {}
        for name in dict.fromkeys(one.name for one in spec.holders if one.kind == "model"):
            self._clients.setdefault(name, ModelClient(config.settings(name), say=say))
        self.only_computes = spec.kind == "seats" and all(one.kind == "policy" for one in spec.holders)
        """True if a policy plays every seat."""

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Return True if the agent's interface needs `main`, and False for a game; raises UsageError if it cannot play."""
        if not task.is_seated:
            extra = "a line-up" if self.spec.seats else "a prompt variant" if self.spec.has_variants else ""
            if self._alone is None or extra:
                who = extra if self._alone else f"the seat player {self.name!r}"
                raise UsageError(f"{task.task_id} has no seats for {who}", hint=f"harness show {task.task_id}")
            return self._alone.needs_main(task, runtime)
        if self._talk == "chat" and (self._desk is None or self._desk.chat is None):
            hint = "harness host TASK, or without talk=chat"
            raise UsageError("talk=chat needs people on web pages", hint=hint)
        known, seated = seat_players(task.family), self._line_up(task)
        if self.spec.has_variants:
            optional("check variants")(self.spec, task, len(seated))
        if any(one.kind == "policy" and one.name in known for one in seated):
            check_playable(task)
        for one in seated:
            if one.kind == "policy" and one.name not in known:
                hint = f"harness run {task.task_id} --agent {next(iter(known), 'oracle')}"
                raise UsageError(f"{task.task_id} has no seat player {one.name!r}; it has {', '.join(known)}", hint=hint)
            if one.kind == "replay":
                optional("check recording")(one.name, task.task_id)
        return False

    def _line_up(self, task: Task) -> tuple[SeatSpec, ...]:
        seats = len(self.spec.team.members) if self.spec.team else task.parley.seats if task.parley else 1
        try:
            return line_up(self.spec, seats, task=task.task_id)
        except UsageError as wrong:
            raise UsageError(f"{task.task_id}: {wrong}", hint="leave it out") from None

    def check(self) -> None:
        """Raise UsageError for an unknown provider, a missing key, or people without a terminal; determine the parameters."""
        for client in self._clients.values():
            client.check()
        if self._desk is not None and self.spec.has_people:
            self._desk.check()

    def probe(self, *, tools: bool) -> None:
        """Make one small call to each model, or two to one that will use tool calls if `tools` is true.

        Raises ProviderLost for a model that cannot be reached, and SetupFault for one that does not see the tools.
        """
        alone = self._alone
        by_tools = alone.client if tools and isinstance(alone, LlmAgent) and alone.speech.name == "tools" else None
        for client in self._clients.values():
            client.probe(tools=client is by_tools)

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Play one episode; raises ProviderFailure, and any exception of the pod."""
        if self._alone is not None and not task.is_seated:
            self._alone.play(task, seed, pod, budget, report, attempt)
            return
        with self._desk.held if self._desk else nullcontext():
            self._play(SeatedGame(pod, budget, report), task, seed, pod, report, attempt)

    def _play(self, game: SeatedGame, task: Task, seed: int, pod: Pod, report: Report, attempt: int) -> None:
        try:
            self._sit(game, task, seed, report, attempt)
            game.play()
        except HarnessError as failure:
            report.log.append(f"ended: {failure}")
            raise
        finally:
            report.seats = [holder.result() for holder in game.seats.values()]
            report.trajectory = self._trajectory(game, task, seed, pod, report)

    def _sit(self, game: SeatedGame, task: Task, seed: int, report: Report, attempt: int) -> None:
        """Create the player of every seat, with the rules of the seat."""
        session = game.session()
        rows = session["seats"]
        for row, who in zip(rows, line_up(self.spec, len(rows), attempt, task.task_id), strict=True):
            trajectory = None
            if self._clients or self.spec.has_people:
                trajectory = self._begin(task, seed, f"seat {row['seat']}", who.name if who.kind == "model" else None)
                trajectory.system(self._rules(row))
            place = ConversationPlace(task.task_id, seed, attempt, row["seat"])
            game.seats[row["seat"]] = self._holder(who, row, session, task, trajectory, place)
        public = session["public"]
        if public.get("talk") == "chat" and self._desk and self._desk.chat is not None:
            game.chat = Chat(self._desk.chat, int(public["minutes"]), self._pace_s)
        if self._clients:
            rules = "\n".join(map(self._rules, rows))
            report.prompt_digest = hashlib.sha256(rules.encode()).hexdigest()

    def _rules(self, row: Mapping[str, Any]) -> str:
        """Return the first message to a seat: the rules of the seat, followed by its prompt variant."""
        variant, rules = self.spec.variant_at(row["seat"]), str(row["system"])
        return rules if variant is None else variant.after(rules)

    def _holder(
        self, who: SeatSpec, row: Mapping[str, Any], session: Mapping[str, Any], task: Task, trajectory: Trajectory | None,
        place: ConversationPlace,
    ) -> SeatHolder:  # fmt: skip
        if who.kind == "model":
            client, variant = self._clients[who.name], self.spec.variant_at(who.seat)
            asked = self._replies.conversation(client, place) if self._replies else client
            weigher = weigher_of(task.family, session)
            return ModelSeat(who.seat, client, self._rules(row), trajectory, variant.ref if variant else None, weigher, asked)
        if who.kind == "human" and self._desk is not None:
            return PersonSeat(SeatedPerson(who.seat, who.name, str(row["system"])), self._desk, trajectory)
        if who.kind == "replay":
            recorded: SeatHolder = optional("recorded seat")(who.seat, who.name, trajectory)
            return recorded
        return PolicySeat(who.seat, who.name, seat_players(task.family)[who.name](task, who.seat, session), trajectory)

    def _trajectory(self, game: SeatedGame, task: Task, seed: int, pod: Pod, report: Report) -> dict[str, Any]:
        """Return the game's trajectory with each conversation nested in it; for policies alone, a single step."""
        if not (self._clients or self.spec.has_people):
            names = Counter(seat.name for seat in report.seats)
            held = ", ".join(f"{name} at {count} seats" for name, count in names.items())
            return scripted_trajectory(self.name, pod.instruction, f"{held or 'nobody sat down'}, {report.tool_calls} turns")
        report.model, report.interface = self.spec.model, INTERFACE
        for client in list(self._clients.values())[:1]:
            report.requested, report.effective = dict(client.requested), client.effective
        whole = self._begin(task, seed, "game", self.spec.model)
        whole.user(pod.instruction)
        for seat in game.seats.values():
            if seat.trajectory is not None:
                whole.seat(seat.trajectory)
        return whole.to_dict(extra={"provider_wait_s": round(game.waited_s, 3)})

    def _begin(self, task: Task, seed: int, name: str, model: str | None) -> Trajectory:
        session = f"{task.task_id}-s{seed}"
        said = self.spec.identity().conditions()
        # the protocol in a model's settings applies only to tasks without seats
        said.pop("protocol", None)
        return Trajectory(session, f"{session}-{name}", name, model, extra={**said, "interface": INTERFACE})
