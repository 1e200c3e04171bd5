"""Who plays, as data, and what it left: specs, identities, budgets, reports. What is live is in `harness.live_agent`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from harness.causes import CauseName
from harness.prices import Price
from harness.records import SeatResult, Tokens, VariantRef
from harness.teams import Holder, PlannedTeam, SeatTeam, Variant
from worlds.core.models import Lenient, Strict

TIMEOUT_S = 300.0
PATIENCE_S = 600.0
"""How long models are waited for, where nobody said how long."""


class SeatSpec(Holder):
    """Who holds one seat of a game, as data."""

    seat: Annotated[int, Field(ge=0)]


class AgentSpec(Strict):
    """Who plays, as data: what a plan freezes, and what a live agent is made from where it is used.

    No secret stands here: API keys come from the environment of whoever plays.
    """

    kind: Literal["oracle", "nop", "violation", "scripted", "llm", "seats", "replay"] = "oracle"
    name: str = ""
    """Of a violation, the wrong client; of a replay, the folder of its run.

    Of `seats`, the policy at every seat that `seats` does not name, `human` or `team`.
    """

    model: str | None = None
    interface: Literal["shell", "tool"] = "shell"
    protocol: Literal["tools", "text"] = "tools"
    api_base: str | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = None
    context: Annotated[int, Field(ge=1)] | None = None
    """Tokens of the models' context, where somebody said so: prompts that do not fit are not sent."""

    timeout_s: Annotated[float, Field(gt=0)] = TIMEOUT_S
    """Real seconds that one model call may be silent. Like patience it shapes no answer, and so it may differ on a resume."""

    patience_s: Annotated[float, Field(ge=0)] = PATIENCE_S
    """Real seconds in which a failing model call is repeated."""

    prices: dict[str, Price] = {}
    """Of models, as somebody typed them; they count before LiteLLM's own."""

    actions: tuple[dict[str, Any], ...] = ()
    """What a scripted agent does, in order."""

    seats: tuple[SeatSpec, ...] = ()
    """Seats that somebody else holds than the model or policy named above."""

    rotate: bool = False
    """Whether the line-up moves on by one seat with each attempt."""

    team: SeatTeam | None = None
    """Who holds all seats between them, where no one model or policy does."""

    variant: Variant | None = None
    """What is appended to the rules of every seat that `seat_variants` does not name."""

    seat_variants: dict[int, Variant] = {}

    @property
    def holders(self) -> tuple[Holder, ...]:
        """Everybody who holds a seat by name."""
        return (*self.seats, *(self.team.members if self.team else ()))

    @property
    def title(self) -> str:
        """What `--agent` calls it."""
        named = {"violation": f"violation:{self.name}", "seats": self.name, "replay": f"replay:{Path(self.name).name}"}
        return named.get(self.kind, self.kind)

    @property
    def models(self) -> list[str]:
        """The models that it plays with, each once, as LiteLLM names them."""
        return list(
            dict.fromkeys(name for name in (self.model, *(one.name for one in self.holders if one.kind == "model")) if name)
        )

    @property
    def is_human(self) -> bool:
        """Whether people play wherever nobody else is named."""
        return self.kind == "seats" and self.name == "human"

    @property
    def has_people(self) -> bool:
        """Whether any person plays."""
        return self.is_human or any(one.kind == "human" for one in self.holders)

    @property
    def has_variants(self) -> bool:
        """Whether any seat is told more than its rules."""
        return self.variant is not None or bool(self.seat_variants)

    def variant_at(self, seat: int) -> Variant | None:
        """What is appended to the rules of a seat, or None."""
        return self.seat_variants.get(seat, self.variant)


class AgentIdentity(Lenient):
    """Who an agent says it is: what of it belongs to the frozen plan.

    What an agent does not say is in no file, and what another version said of it is kept, so that a resume sees both.
    """

    model_config = ConfigDict(extra="allow")

    name: str = ""
    actions: tuple[dict[str, Any], ...] = ()
    """What a scripted agent does."""

    model: str | None = None
    api_base: str | None = None
    """Without user, password and query."""

    requested: dict[str, Any] | None = None
    """Parameters that models are asked with; None where no model plays."""

    context: int | None = None
    """Tokens of the models' context, where somebody said so."""

    interface: str | None = None
    protocol: str | None = None
    prompt_digest: str | None = None
    seats: tuple[SeatSpec, ...] = ()
    """Of a game: the seats that somebody else holds."""

    rotate: bool = False
    team: PlannedTeam | None = None
    variant: VariantRef | None = None
    """Of a game: what is appended to the rules of every seat that `seat_variants` does not name."""

    seat_variants: dict[int, VariantRef] = {}

    @model_serializer(mode="wrap")
    def _said(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in dumped(self).items() if name in self.model_fields_set}

    def conditions(self) -> dict[str, Any]:
        """What a trajectory says of its agent, besides name and model."""
        return {key: value for key, value in self.model_dump(exclude={"name", "model"}).items() if value is not None}


@dataclass
class Usage:
    """Tokens and money of the model calls of one episode; `cost_usd` is None where there is no price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    kept_calls: int = 0
    """Of these calls, those whose answers were known from earlier ones and cost nothing."""

    kept_usd: float = 0.0
    """What those had cost; no part of `cost_usd`, and counted by budgets."""

    estimated: bool = False
    """Whether any count was made locally because the provider reported none."""

    def tokens(self) -> Tokens:
        """The tokens, as a record has them."""
        return Tokens(
            calls=self.calls, prompt=self.prompt_tokens, cached=self.cached_tokens, completion=self.completion_tokens,
            reasoning=self.reasoning_tokens, estimated=self.estimated, kept=self.kept_calls,
        )  # fmt: skip


@dataclass
class Report:
    """What an agent did; filled in as it happens."""

    agent: str
    model: str | None = None
    interface: str | None = None
    prompt_digest: str | None = None
    tool_calls: int = 0
    requested: dict[str, Any] = field(default_factory=dict)
    """Model parameters as asked for."""

    effective: dict[str, Any] = field(default_factory=dict)
    """Model parameters as sent, refused ones left out."""

    usage: Usage = field(default_factory=Usage)
    seats: list[SeatResult] = field(default_factory=list)
    """Of a game: who held each seat, and what that cost."""

    stopped_by: str | None = None
    """The harness budget that ran out: wall, tokens, cost, turns, or context where the conversation outgrew the model."""

    ended_by: CauseName | None = None
    """The row of `harness.causes.CAUSES` that ended the episode, where that is not a budget."""

    disturbed: Counter[CauseName] = field(default_factory=Counter)
    """How often each row disturbed the episode without ending it."""

    forfeits: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Of a game: turns that were given up, by seat and cause."""

    failed: str | None = None
    """How the agent itself failed (a client that raised), in one clause."""

    trajectory: dict[str, Any] | None = None
    """ATIF-v1.8, as a plain dict."""

    log: list[str] = field(default_factory=list)
    """Lines of agent.log."""


WALL_S = 600.0
"""Real seconds of an episode that one agent plays, where nobody said how many."""


@dataclass(frozen=True)
class Budget:
    """What the harness counts for one episode."""

    wall_s: float | None = None
    """Real seconds; where nobody said how many, `seconds` has them."""

    turns: int = 120
    tokens: int | None = None
    cost_usd: float | None = None

    def seconds(self, *, game: bool) -> float:
        """Real seconds that an episode may take: those that were said, else 600, and any number where seats play a game.

        A game is bounded by its turns and by the time-out of each call. How many calls it takes is its own affair, so a limit
        in real time would cut slow models short, and grade them for it.
        """
        if self.wall_s is not None:
            return self.wall_s
        return math.inf if game else WALL_S

    def used_up(
        self, usage: Usage, *, turns: int, seconds: float, game: bool, models: str, say_once: Callable[[str], None]
    ) -> str | None:
        """The budget that forbids another query of a model, or None; `pod.stop` takes its name.

        `turns`: of the seat that had most; `seconds`: without those in which a provider kept everybody waiting; `game`: whether
        seats play. `say_once` is told where `models` have no price to count.
        """
        if self.cost_usd is not None and usage.calls and usage.cost_usd is None:
            say_once(f"{models} has no known price, so its budget of cost cannot hold")
        spent = {
            "turns": turns >= self.turns,
            "tokens": self.tokens is not None and usage.prompt_tokens + usage.completion_tokens >= self.tokens,
            "cost": self.cost_usd is not None and (usage.cost_usd or 0.0) + usage.kept_usd >= self.cost_usd,
            "wall": seconds >= self.seconds(game=game),
        }
        return next((cause for cause, over in spent.items() if over), None)
