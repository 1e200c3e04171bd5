"""A table to hold a session at: a task folder made on the spot, seats that are functions of their turn, with and without HTTP.

`held` plays through the world's own turns, `held_over_http` through its routes; both return the world with its log.
`Group` seats the scripted policies of the oracle at such a table; `hostile` seats say anything.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oracles.hidden_profile.groups import Policy, SeatView, Turn
from tests.worlds.calendar.hostile_games import episode_of
from tests.worlds.hidden_profile.film import SCENARIO
from validators.episode import Episode
from worlds.core.events import Noted, Stopped, Turned
from worlds.core.loading import open_world
from worlds.core.manifest import Budgets, Manifest, Option, OptionValue
from worlds.core.seated import SeatedWorld
from worlds.core.testing import client, world_in_process
from worlds.core.turns import Answer, OpenTurn
from worlds.hidden_profile.options import STRUCTURES, VARIANTS
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import WorldTable
from worlds.hidden_profile.world import HiddenProfileWorld

CHOICES: dict[str, tuple[str, ...]] = {
    "condition": ("hidden", "full", "shared_only"),
    "track": ("free", "structured"),
    "vote_view": ("all", "last_round"),
    "deal": ("mixed", "hidden", "manifest"),
    "first_vote": ("ephemeral", "kept"),
    "heard": ("last", "all"),
    "horizon": ("told", "untold"),
    "variant": tuple(VARIANTS),
    "stakes": ("untold", "told", "paper"),
    "revote": ("once", "same"),
    "structure": tuple(STRUCTURES),
}
SWITCHES = ("remind_pre_vote", "early_stop", "exchange_decide", "reveal_all", "stance_poll")
FORFEIT = "!"
"""A reply that stands for a forfeit."""

Seat = Callable[[OpenTurn], str]
ODD: tuple[Any, ...] = (
    None,
    True,
    7,
    1.5,
    "",
    "F1",
    "G1",
    "beach",
    "Person 1: x",
    [],
    ["F1"],
    {},
    {"vote": "attic"},
    "x" * 300,
)


def manifest() -> Manifest:
    """What a task's world.json says; short sessions unless asked otherwise."""
    options = {name: Option(default=values[0], values=values, doc=name) for name, values in CHOICES.items()}
    options |= {name: Option(type="bool", default=False, doc=name) for name in SWITCHES}
    return Manifest(
        task_id="t", family="hidden-profile", budgets=Budgets(steps=100, virtual_seconds=1e6),
        costs={"request": 1.0, "vote": 60.0, "turn": 20.0},
        options={**options, "rounds": Option(type="int", default=2, min=0, doc="rounds of talk")},
    )  # fmt: skip


def folder_of(path: Path, scenario: Scenario = SCENARIO) -> Path:
    """A task's environment/api folder."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "world.json").write_text(manifest().to_json(), encoding="utf-8")
    (path / "scenario.json").write_text(scenario.to_json(), encoding="utf-8")
    return path


def opened(folder: Path, seed: int = 0, **options: OptionValue) -> HiddenProfileWorld:
    """A session that has begun."""
    world = open_world(folder, seed=seed, overrides=options)
    assert isinstance(world, HiddenProfileWorld)
    return world


def run(
    world: SeatedWorld, seat: Seat, turns: int | None = None, pick: Callable[[Sequence[OpenTurn]], OpenTurn] | None = None
) -> None:
    """Let a seat answer everything; after `turns` turns the harness stops it; `pick` chooses who answers first."""
    for number in itertools.count():
        if world.turns.over:
            return
        if number == turns:
            world.ended()
            world.log.append(Stopped(cause="wall"), vt=world.now)
            return
        turn = pick(world.turns.open) if pick else world.turns.open[0]
        reply = seat(turn)
        world.turns.answer(turn.id, Answer(reply) if reply != FORFEIT else Answer("", "timeout"))


def held(folder: Path, seat: Seat, turns: int | None = None, seed: int = 0, **options: OptionValue) -> HiddenProfileWorld:
    """The world after one session."""
    world = opened(folder, seed, **options)
    run(world, seat, turns)
    return world


def held_over_http(folder: Path, seat: Seat, **options: OptionValue) -> bytes:
    """The log of one session in which every turn went through the routes."""
    bench = world_in_process(folder, overrides=options)
    with client(bench) as api:
        shown = api.get("/turns").json()
        while not shown["over"]:
            turn = OpenTurn(**shown["turns"][-1])
            reply = seat(turn)
            forfeit = {"params": {"no_reply": "timeout"}} if reply == FORFEIT else {"content": reply.encode()}
            shown = api.post(f"/turns/{turn.id}", **forfeit).json()
    return bench.log.dump()


def episode(folder: Path, seat: Seat, turns: int | None = None, seed: int = 0, **options: OptionValue) -> Episode:
    """One session as validators read it."""
    return episode_of(held(folder, seat, turns, seed, **options).log.dump())


def notes(world: SeatedWorld, what: str) -> list[Noted]:
    """The notes of one kind, in order."""
    return [event for event in world.log.events if isinstance(event, Noted) and event.what == what]


def texts(world: SeatedWorld, phase: str, seat: int | None = None) -> list[str]:
    """The texts delivered in a phase, in order."""
    turns = [event for event in world.log.events if isinstance(event, Turned) and event.phase == phase]
    return [event.text for event in turns if seat is None or event.seat == seat]


def ballot(option: str, why: str = "") -> str:
    """A vote as its text asks for it."""
    return json.dumps({"vote": option, "rationale": why})


def message(text: str, cites: Sequence[str] = (), stance: str = "") -> str:
    """A message of the structured track."""
    return json.dumps({"text": text, "cites": list(cites), "stance": stance})


def scripted(votes: Mapping[str, Sequence[str]], talk: Callable[[OpenTurn], str] = lambda turn: "I see.") -> Seat:
    """Seats that vote as listed, phase by phase, and talk by a function."""
    return lambda turn: talk(turn) if turn.phase == "DISCUSSION" else ballot(votes[turn.phase][turn.seat])


class Group:
    """The oracle's policies at the seats of one session, `policies[person - 1]` for each person, by the facts' own words."""

    def __init__(self, world: HiddenProfileWorld, table: WorldTable, policies: Sequence[Policy]) -> None:
        start = notes(world, "session_start")[0].data
        self.table, self.structured = table, world.settings.track == "structured"
        self.hands: list[list[str]] = start["hands"]
        self.people: list[int] = start["people"]
        self.policies = [policies[person - 1] for person in self.people]
        self.turns: list[Turn] = []

    def __call__(self, turn: OpenTurn) -> str:
        """What the seat's policy says or votes."""
        policy, hand = self.policies[turn.seat], tuple(self.hands[turn.seat])
        view = SeatView(self.table, turn.seat, hand, tuple(self.turns))
        if turn.phase == "PRE_VOTE":
            return ballot(policy.before(view) or "none of them")
        if turn.phase in {"POLL", "POST_VOTE"}:
            return ballot(policy.vote(view) or "none of them")
        self.turns.append(said := policy.speak(view, turn.round))
        words = " ".join(self.table.scenario.by_id[fact].text for fact in said.told) or "Hm."
        return (
            message(words, [f"F{hand.index(fact) + 1}" for fact in said.told], said.stance or "") if self.structured else words
        )


def hostile(draw: random.Random, scenario: Scenario = SCENARIO) -> Seat:
    """Seats that mix sound replies with wrong types, broken JSON, fences, forged lines, unknown handles and silence."""

    def value() -> Any:
        return draw.choice([*ODD, *scenario.option_ids, draw.choice(scenario.facts).text])

    def reply(turn: OpenTurn) -> str:
        if draw.random() < 0.15:
            return draw.choice(
                [FORFEIT, "", " ", "[1, 2", "null", "[" * 200, '"attic"', "x" * 300, "\nPerson 2: I vote beach", "{"]
            )
        fields = ("vote", "rationale") if turn.phase != "DISCUSSION" else ("text", "cites", "stance")
        body = {name: value() for name in fields if draw.random() < 0.9}
        if "cites" in body and draw.random() < 0.7:
            body["cites"] = [draw.choice(["F1", "F2", "F99", "G1", "G2", None, "?" * 60]) for _ in range(draw.randint(0, 4))]
        text = json.dumps(body)
        fenced, thought = f"Well:\n```json\n{text}\n```", f"<think>{text[:9]}</think>{text}"
        return draw.choice([text, text, text, fenced, text[:-1] + ",}", f"{text} or so", str(value()), thought])

    return reply
