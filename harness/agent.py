"""Agents as data, before and after an episode: specs, identities, budgets, reports. Live agents are in `harness.live_agent`."""

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
from harness.secrets import public_address
from harness.teams import Holder, PlannedTeam, SeatTeam, Variant
from worlds.core.models import Lenient, Strict

TIMEOUT_S = 300.0
PATIENCE_S = 600.0
"""Default timeout of a model call, and default time for which a failing call is retried, in seconds."""

LOCAL = "local"
"""Model that the harness serves itself (`harness.agents.llm.local`)."""


class SeatSpec(Holder):
    """Player of one seat of a game, as data."""

    seat: Annotated[int, Field(ge=0)]


class AgentSpec(Strict):
    """Agent as data: frozen in the plan, and turned into a live agent where it plays.

    It contains no secrets: API keys come from the environment of the process that plays.
    """

    kind: Literal["oracle", "nop", "violation", "scripted", "llm", "seats", "replay", "plugin"] = "oracle"
    name: str = ""
    """Wrong client of a violation, folder of the run for a replay, or entry point of a plug-in.

    For `seats`, the policy at every seat that `seats` does not list, `human` or `team`.
    """

    model: str | None = None
    interface: Literal["shell", "tool"] = "shell"
    protocol: Literal["tools", "text"] = "tools"
    api_base: str | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = None
    context: Annotated[int, Field(ge=1)] | None = None
    """Context window in tokens, if set by the user. Prompts that do not fit are not sent."""

    timeout_s: Annotated[float, Field(gt=0)] = TIMEOUT_S
    """Timeout of one model call without output, in real seconds. Replies do not depend on it, so a resume may change it."""

    patience_s: Annotated[float, Field(ge=0)] = PATIENCE_S
    """Real seconds for which a failing model call is retried."""

    prices: dict[str, Price] = {}
    """Token prices by model, as set by the user. They take precedence over LiteLLM's."""

    actions: tuple[dict[str, Any], ...] = ()
    """Actions of a scripted agent, in order."""

    seats: tuple[SeatSpec, ...] = ()
    """Players of the seats that the model or policy named above does not play."""

    rotate: bool = False
    """True if the line-up moves by one seat with each attempt."""

    team: SeatTeam | None = None
    """Team that plays all seats, if no single model or policy does."""

    variant: Variant | None = None
    """Variant appended to the rules of every seat that `seat_variants` does not name."""

    seat_variants: dict[int, Variant] = {}

    @property
    def holders(self) -> tuple[Holder, ...]:
        """Players that are assigned to a seat by name."""
        return (*self.seats, *(self.team.members if self.team else ()))

    @property
    def usual(self) -> Holder:
        """Player of every seat that is not assigned by name."""
        if self.kind == "llm":
            return Holder(kind="model", name=self.model or "")
        return Holder(kind="human") if self.is_human else Holder(kind="policy", name=self.name)

    @property
    def others(self) -> tuple[SeatSpec, ...]:
        """Seats that are assigned to another player than the usual one."""
        return tuple(one for one in self.seats if (one.kind, one.name) != (self.usual.kind, self.usual.name))

    @property
    def title(self) -> str:
        """Name of the agent as typed after `--agent`."""
        named = {
            "violation": f"violation:{self.name}",
            "seats": self.name,
            "replay": f"replay:{Path(self.name).name}",
            "plugin": self.name,
        }
        return named.get(self.kind, self.kind)

    @property
    def models(self) -> list[str]:
        """Models of this agent without duplicates, by their LiteLLM names."""
        names = (self.model, *(one.name for one in self.holders if one.kind == "model"))
        return list(dict.fromkeys(name for name in names if name))

    @property
    def is_human(self) -> bool:
        """True if people play all seats that are not assigned otherwise."""
        return self.kind == "seats" and self.name == "human"

    @property
    def has_people(self) -> bool:
        """True if a person plays at least one seat."""
        return self.is_human or any(one.kind == "human" for one in self.holders)

    @property
    def has_variants(self) -> bool:
        """True if a variant is appended to the rules of any seat."""
        return self.variant is not None or bool(self.seat_variants)

    def variant_at(self, seat: int) -> Variant | None:
        """Return the variant appended to the rules of a seat, or None."""
        return self.seat_variants.get(seat, self.variant)

    def identity(self, prompt_digest: str | None = None) -> AgentIdentity:
        """Return the part of the agent that belongs to the frozen plan, without API keys.

        `prompt_digest` is the digest of the prompts of the model's interface (`harness.agents.llm.interface`).
        """
        if self.kind == "scripted":
            return AgentIdentity(name=self.title, actions=self.actions)
        if self.kind not in {"llm", "seats"}:
            return AgentIdentity(name=self.title)
        told: dict[str, Any] = self._asked(self.models[0 if self.kind == "llm" else -1]) if self.models else {}
        if self.kind == "llm":
            how = {"interface": self.interface, "protocol": self.protocol, "prompt_digest": prompt_digest}
            told |= {"model": self.model, **how}
        told |= {"seats": self.others, **({"rotate": True} if self.rotate else {})} if self.others else {}
        told |= {"team": self.team.planned} if self.team else {}
        told |= {"variant": self.variant.ref} if self.variant else {}
        seats = {seat: variant.ref for seat, variant in sorted(self.seat_variants.items())}
        told |= {"seat_variants": seats} if seats else {}
        return AgentIdentity(name=self.title, **told)

    def _asked(self, model: str) -> dict[str, Any]:
        """Return the address and the parameters with which a model is called."""
        given = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        requested = {name: value for name, value in given.items() if value is not None}
        base = None if model == LOCAL else self.api_base and public_address(self.api_base)
        return {"api_base": base, "requested": requested, **({} if self.context is None else {"context": self.context})}


class AgentIdentity(Lenient):
    """Part of an agent that belongs to the frozen plan.

    Fields that an agent does not set are not written. Fields that only other versions know are kept, so that a resume can
    compare them too.
    """

    model_config = ConfigDict(extra="allow")

    name: str = ""
    actions: tuple[dict[str, Any], ...] = ()
    """Actions of a scripted agent."""

    model: str | None = None
    api_base: str | None = None
    """API base without user, password and query."""

    requested: dict[str, Any] | None = None
    """Parameters requested from the models; None if no model plays."""

    context: int | None = None
    """Context window in tokens, if set by the user."""

    interface: str | None = None
    protocol: str | None = None
    prompt_digest: str | None = None
    seats: tuple[SeatSpec, ...] = ()
    """Players of the seats of a game that the agent's own model or policy does not play."""

    rotate: bool = False
    team: PlannedTeam | None = None
    variant: VariantRef | None = None
    """Variant appended to the rules of every seat of a game that `seat_variants` does not name."""

    seat_variants: dict[int, VariantRef] = {}

    @model_serializer(mode="wrap")
    def _said(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in dumped(self).items() if name in self.model_fields_set}

    def conditions(self) -> dict[str, Any]:
        """Return the identity as a trajectory records it, without name and model."""
        return {key: value for key, value in self.model_dump(exclude={"name", "model"}).items() if value is not None}


@dataclass
class Usage:
    """Tokens and cost of the model calls of one episode; `cost_usd` is None if there is no price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    kept_calls: int = 0
    """Number of calls answered from the cache, which cost nothing."""

    kept_usd: float = 0.0
    """Original cost of the cached calls. It is not part of `cost_usd`, but budgets count it."""

    estimated: bool = False
    """True if any token count was estimated locally because the provider reported none."""

    def tokens(self) -> Tokens:
        """Return the token counts in the form of a record."""
        return Tokens(
            calls=self.calls, prompt=self.prompt_tokens, cached=self.cached_tokens, completion=self.completion_tokens,
            reasoning=self.reasoning_tokens, estimated=self.estimated, kept=self.kept_calls,
        )  # fmt: skip


@dataclass
class Report:
    """Report of what an agent did, filled in during the episode."""

    agent: str
    model: str | None = None
    interface: str | None = None
    prompt_digest: str | None = None
    tool_calls: int = 0
    requested: dict[str, Any] = field(default_factory=dict)
    """Model parameters as requested."""

    effective: dict[str, Any] = field(default_factory=dict)
    """Model parameters as sent, without those that the model rejected."""

    usage: Usage = field(default_factory=Usage)
    seats: list[SeatResult] = field(default_factory=list)
    """Player and usage of each seat of a game."""

    stopped_by: str | None = None
    """Harness budget that ran out: wall, tokens, cost, turns, or context if the conversation outgrew the model's context."""

    ended_by: CauseName | None = None
    """Row of `harness.causes.CAUSES` that ended the episode, if it was not a budget."""

    disturbed: Counter[CauseName] = field(default_factory=Counter)
    """Number of times that each cause disturbed the episode without ending it."""

    forfeits: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Forfeited turns of a game by seat and cause."""

    failed: str | None = None
    """Failure of the agent itself (a client that raised), in one clause."""

    trajectory: dict[str, Any] | None = None
    """Trajectory in ATIF-v1.8, as a plain dict."""

    log: list[str] = field(default_factory=list)
    """Lines of agent.log."""


WALL_S = 600.0
"""Default time limit of a single-agent episode, in real seconds."""


@dataclass(frozen=True)
class Budget:
    """Budgets that the harness enforces for one episode."""

    wall_s: float | None = None
    """Time limit in real seconds; if None, `seconds` returns the default."""

    turns: int = 120
    tokens: int | None = None
    cost_usd: float | None = None

    def seconds(self, *, game: bool) -> float:
        """Return the time limit of an episode in real seconds: the configured one, else 600, or infinity for a game.

        A game is limited by its turns and by the timeout of each call instead. The number of calls in a turn is up to the
        agent, so a limit in real time would stop games of slow models early and lower their grades.
        """
        if self.wall_s is not None:
            return self.wall_s
        return math.inf if game else WALL_S

    def used_up(
        self, usage: Usage, *, turns: int, seconds: float, game: bool, models: str, say_once: Callable[[str], None]
    ) -> str | None:
        """Return the name of the exhausted budget that forbids another model call, as `pod.stop` takes it, or None.

        `turns` is the count of the seat with the most turns; `seconds` excludes the time spent waiting for a provider; `game`
        is true for a game with seats. Calls `say_once` if `models` have no known price, because the budget of cost cannot be
        enforced then.
        """
        if self.cost_usd is not None and usage.calls and usage.cost_usd is None:
            say_once(f"{models} has no known price, so the budget of cost cannot be enforced")
        spent = {
            "turns": turns >= self.turns,
            "tokens": self.tokens is not None and usage.prompt_tokens + usage.completion_tokens >= self.tokens,
            "cost": self.cost_usd is not None and (usage.cost_usd or 0.0) + usage.kept_usd >= self.cost_usd,
            "wall": seconds >= self.seconds(game=game),
        }
        return next((cause for cause, over in spent.items() if over), None)
