"""Base class of worlds: one episode's server, with secrets drawn from the seed, rules as marked methods, and one log.

A task subclasses `World` (through its family's base), draws the instance in `prepare`, provides the variables of its
instruction in `facts`, and marks its rules with `get`/`post`/`put`. The referee (`worlds.core.referee`) does the rest: it
stamps, charges, judges and logs every request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from worlds.core.calls import Body, Call, Reply, Rule
from worlds.core.chance import PUBLISHED_KEY, Chance, key_digest
from worlds.core.clock import EPOCH_SPAN_S, VirtualClock, epoch_at
from worlds.core.errors import WorldError
from worlds.core.events import EventLog, Issued, Opened
from worlds.core.manifest import Manifest, OptionValue

BUDGET_NOTE = (
    "You have {steps} requests and {seconds} seconds; `GET /clock` and waits are no requests. The submission can be made once, "
    "and is the last request. Every rule counts from the first request on: one that was broken is not made good by a later one."
)
"""Paragraph on the budgets of an agent and on strict success (paper, section 3.2); it precedes TIME_NOTE."""

TIME_NOTE = (
    "Time here is virtual. It moves by what each request costs, and by waiting on purpose: "
    '`POST /clock/wait {"seconds": n}`, n above 0. Where PARLEY_VIRTUAL_TIME=1 is set, `sleep` and Python\'s `time.sleep` ask '
    "for that wait by themselves. Nothing else moves it: not retry options of tools, timeouts, `asyncio.sleep` or `read -t`. "
    "`GET /clock` is free and returns the time in seconds as `virtual_time`; every response carries the same number in "
    "`X-Virtual-Time`, and the date in `Date`."
)
"""Last paragraph of every instruction (DESIGN section 4)."""


@dataclass(frozen=True)
class WorldSetup:
    """Inputs that determine one episode of a world."""

    manifest: Manifest
    seed: int = 0
    key: str = PUBLISHED_KEY
    overrides: Mapping[str, OptionValue] = field(default_factory=dict)
    host_token: str | None = None
    folder: Path = Path()
    open_turns: bool = False
    """True if a game accepts turns from any caller although there is a host."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Overrides of the family's texts, by file name."""


class World:
    """One episode: clock, chance, options, log, and the rules that a subclass adds."""

    template: ClassVar[str] = "instruction.md.j2"
    takes_submission: ClassVar[bool] = True
    """True if POST /submission ends the episode; a game ends with its last turn instead."""

    turn_handlers: ClassVar[Mapping[str, Callable[[Any, Call], Reply]]] = MappingProxyType({})
    """Handlers of the Turn protocol by name, called with the referee; empty for a world without seats (`core.seated`)."""

    def __init__(self, setup: WorldSetup, log: EventLog) -> None:
        self.setup, self.log = setup, log
        self.manifest = setup.manifest.at_chosen_level(setup.overrides)
        self.options = setup.manifest.resolve(setup.overrides)
        self.chance = Chance(setup.key, setup.manifest.task_id, setup.seed)
        self.clock = VirtualClock(epoch_at(self.chance("epoch").below(EPOCH_SPAN_S)))
        self._issued: list[Issued] = []
        self._used: list[str] = []
        self.prepare()
        self._check_names()
        self.instruction = "\n\n".join((self.render_instruction().rstrip(), *self.closing_notes())) + "\n"
        self.log.append(self._opened(), vt=0)

    def prepare(self) -> None:
        """Draw the instance: every secret, order and payload, from `self.chance`."""
        raise NotImplementedError

    def facts(self) -> Mapping[str, Any]:
        """Return the variables of the instruction's template."""
        raise NotImplementedError

    def judge_submission(self, call: Call) -> Reply:
        """Return the goal as a Reply of kind goal, or raise a Violation."""
        raise NotImplementedError

    def ended(self) -> None:
        """Log any remaining events after the harness has ended the episode."""

    @property
    def now(self) -> int:
        """Virtual ms since the episode began."""
        return self.clock.elapsed_ms

    def knob(self, name: str) -> float:
        """Return the value of a knob."""
        return float(self.options[name])

    def issued(self, artifact: str, expires_at: int, issued_at: int | None = None) -> None:
        """Record in this request's event that an artifact was handed out; times are in virtual ms."""
        issued_at = self.now if issued_at is None else issued_at
        self._issued.append(Issued(artifact=artifact, issued_at=issued_at, expires_at=expires_at))

    def used(self, artifact: str) -> None:
        """Record in this request's event that it used an artifact."""
        self._used.append(artifact)

    def drain_notes(self) -> tuple[tuple[str, ...], tuple[Issued, ...]]:
        """Return and clear the notes of `used` and `issued`; the referee puts them in the event."""
        notes = tuple(self._used), tuple(self._issued)
        self._used, self._issued = [], []
        return notes

    def rules(self) -> Iterator[tuple[Rule, Any]]:
        """Return an iterator over declared rules with their bound handlers, in order of definition."""
        return ((rule, getattr(self, name)) for rule, name in rules_of(type(self)))

    def template_folder(self) -> Path:
        """Return the folder of the instruction's template: the task's folder."""
        return self.setup.folder

    def render_instruction(self) -> str:
        """Render the instruction without its closing notes; raises WorldError if the template cannot be rendered."""
        path = self.template_folder() / self.template
        try:
            return _compiled(path.read_text(encoding="utf-8")).render(**self.facts())
        except (OSError, TemplateError) as error:
            raise WorldError(f"{path}: the instruction cannot be rendered: {error}") from None

    def closing_notes(self) -> tuple[str, ...]:
        """Return the closing paragraphs of the instruction: budgets, then time."""
        budgets = self.manifest.budgets
        return BUDGET_NOTE.format(steps=budgets.steps, seconds=f"{budgets.virtual_seconds:g}"), TIME_NOTE

    def _check_names(self) -> None:
        for rule, name in rules_of(type(self)):
            if name in vars(self):
                raise WorldError(f"{name} handles {rule.method} {rule.path}, so no attribute may have that name")

    def _opened(self) -> Opened:
        budgets = self.manifest.budgets
        return Opened(
            task_id=self.manifest.task_id,
            family=self.manifest.family,
            category=self.manifest.category,
            seed=self.setup.seed,
            epoch=self.clock.epoch.isoformat(),
            key_digest=key_digest(self.setup.key),
            options=dict(self.options),
            budgets={"steps": budgets.steps, "virtual_ms": budgets.virtual_ms},
            instruction=self.instruction,
        )


def rules_of(cls: type[World]) -> Iterator[tuple[Rule, str]]:
    """Yield each rule that a World class declares or inherits, with its method's name, in order of definition."""
    seen: set[str] = set()
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            if hasattr(member, "__rule__") and name not in seen:
                seen.add(name)
                yield getattr(getattr(cls, name), "__rule__", member.__rule__), name


@lru_cache(maxsize=256)
def _compiled(text: str) -> Template:
    # an instruction is Markdown for a model, not HTML for a browser
    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True).from_string(text)


def as_reply(result: Reply | Body) -> Reply:
    """Convert a handler's result to a Reply."""
    return result if isinstance(result, Reply) else Reply(result)
