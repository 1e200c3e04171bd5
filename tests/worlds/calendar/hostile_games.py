"""Whole games for tests: a task folder made on the spot, played through the world's own turns by seats that do anything.

`hostile(draw)` is a seat that mixes sound play with wrong ids, clones, swaps, cycles, blocked items, values of every type,
broken JSON and silence; `play` returns the world after the game, with its log.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from validators.episode import Episode
from worlds.calendar.rules.items import Cells, iter_items, read_lines
from worlds.calendar.rules.scenario import Scenario
from worlds.core.events import GENESIS, Stopped, canonical_json, read_log
from worlds.core.loading import open_world
from worlds.core.manifest import Budgets, Manifest, Option, OptionValue
from worlds.core.seated import SeatedWorld
from worlds.core.turns import Answer, OpenTurn

CHOICES = {
    "failed_rounds": ("undo", "keep"),
    "outsiders": ("on_mail", "stay"),
    "blocked_attempts": ("retry", "doom"),
    "exhausted": ("others_commit", "rollback"),
    "voluntary": ("staged", "immediate"),
    "justification": ("required", "free"),
}
"""Every option that changes the rules, with its values."""

COMBINATIONS = [dict(zip(CHOICES, values, strict=True)) for values in itertools.product(*CHOICES.values())]
Seat = Callable[[OpenTurn], str]
_TOOLS = ("dm", "participant_groupchat", "all_groupchat", "schedule", "reschedule", "vote")
_ODD = (None, True, False, -1, 0, 1, 1.0, 10**30, 1e300, "", "1", "M1", "#1", [], {}, [[1]], "\u2028\r\n\x00", "a\nb")


def manifest() -> Manifest:
    """What a calendar task's world.json says."""
    choices = {
        name: Option(type="str", default="profile", values=("profile", *values), doc=name) for name, values in CHOICES.items()
    }
    free = {
        "profile": Option(type="str", default="text", values=("text", "paper"), doc="both"),
        "channels": Option(type="str", default="dm", doc="joined by +"),
        "turn_cap": Option(type="int", default=0, doc="sweeps"),
        "message_cap": Option(type="int", default=0, doc="messages"),
        "decision_retries": Option(type="int", default=3, doc="tries"),
        "strict_replies": Option(type="bool", default=False, doc="no repair"),
        "outcomes": Option(type="str", default="untold", values=("untold", "told"), doc="told at the next round"),
        "sd_model": Option(type="str", default="", doc="weights"),
    }
    return Manifest(
        task_id="t", family="calendar", budgets=Budgets(steps=100, virtual_seconds=1e6),
        costs={"request": 1.0, "sweep": 60.0, "decision": 60.0}, options={**choices, **free},
    )  # fmt: skip


MANIFEST = manifest().to_json()


def folder_of(path: Path, scenario: Scenario) -> Path:
    """A task's environment/api folder."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "world.json").write_text(MANIFEST, encoding="utf-8")
    (path / "scenario.json").write_text(scenario.to_json(), encoding="utf-8")
    return path


def play(folder: Path, seat: Seat, options: Mapping[str, OptionValue] | None = None, turns: int | None = None) -> SeatedWorld:
    """The world after one game; after `turns` turns the harness stops it."""
    world = open_world(folder, overrides=options)
    assert isinstance(world, SeatedWorld)
    for number in itertools.count():
        if world.turns.over:
            break
        if number == turns:
            world.ended()
            world.log.append(Stopped(cause="wall"), vt=world.now)
            break
        turn = world.turns.open[-1 if number % 3 else 0]
        reply = seat(turn)
        world.turns.answer(turn.id, Answer(reply) if reply != "!" else Answer("", "timeout"))
    return world


def episode_of(log: bytes) -> Episode:
    """A log as validators read it."""
    return Episode(tuple(read_log(log)))


def retold(log: bytes, change: Callable[[list[dict[str, Any]]], object]) -> Episode:
    """The log with its events changed by `change` and every hash made anew."""
    rows = [json.loads(line) for line in log.split(b"\n")[:-1]]
    change(rows)
    return episode_of(chained(rows))


def hostile(draw: random.Random, agents: int, sense: float = 0.6) -> Seat:
    """Seats that act soundly with probability `sense`, each time anew, and otherwise do anything."""
    calendars: dict[int, Cells] = {}
    meeting = [1]

    def reply(turn: OpenTurn) -> str:
        calendars[turn.seat] = read_lines(turn.text) or calendars.get(turn.seat, (None,))
        if found := re.search(r"Meeting M(\d+), participants", turn.text):
            meeting[0] = int(found[1])
        if draw.random() < 0.04:
            return draw.choice(
                ["!", "", "no JSON", "[" * 200 + "]" * 200, '{"actions": [1, 2', "null", '{"actions": {}}', "[NaN]"]
            )
        cells = calendars[turn.seat]
        if turn.phase == "CHEAP_TALK":
            actions = [_talk(draw, agents, sense) for _ in range(draw.choice([0, 0, 1, 2] * 10 + [25]))]
        else:
            actions = _batch(draw, cells, meeting[0], sense, schedule=turn.phase == "DECISION")
        return _written(draw, actions)

    return reply


def _talk(draw: random.Random, agents: int, sense: float) -> Any:
    if draw.random() < sense:
        return {
            "type": draw.choice(_TOOLS[:3]),
            "to": draw.randrange(agents),
            "content": draw.choice(["yes", "slot 1\nis free", "Ünï", "Round 1, meeting M1: not scheduled.", "long\n" * 500]),
        }
    return {"type": draw.choice([*_TOOLS, *_ODD]), "to": draw.choice(_ODD), "content": draw.choice(_ODD)}


def _batch(draw: random.Random, cells: Cells, meeting: int, sense: float, *, schedule: bool) -> list[Any]:
    actions: list[Any] = []
    slots, held = range(len(cells)), list(iter_items(cells))
    free = [slot for slot in slots if cells[slot] is None] or [0]
    moved = draw.sample(held, min(len(held), draw.choice([0, 0, 1, 2, 3])))
    targets = [slot for slot, _ in moved] + free
    draw.shuffle(targets)
    for (slot, item), target in zip(moved, targets, strict=False):
        name = draw.choice([item.id, item.name])
        actions.append({"type": "reschedule", "item_id": name, "from_slot": slot, "to_slot": target, "justification": "room"})
    if schedule:
        spare = [slot for slot in free if slot not in targets[: len(moved)]] or free
        actions.append({"type": "schedule", "meeting_id": draw.choice([meeting, f"M{meeting}"]), "slot": min(spare)})
    while draw.random() > sense:
        actions.append(draw.choice([*actions, None, 7, [], "x", {}]))
        broken = dict(draw.choice([one for one in actions if isinstance(one, dict)] or [{}]))
        broken[draw.choice(["type", "slot", "item_id", "from_slot", "to_slot", "meeting_id"])] = draw.choice([*_ODD, *slots])
        actions[draw.randrange(len(actions))] = broken
    draw.shuffle(actions)
    return actions


def _written(draw: random.Random, actions: list[Any]) -> str:
    text = json.dumps({"thinking": "", "actions": actions})
    style = draw.random()
    if style < 0.82:
        return text
    if style < 0.88:
        return json.dumps(actions)
    if style < 0.94:
        return f"Here:\n```json\n{text}\n```"
    return text[:-1] + ",}"


def chained(rows: list[dict[str, Any]]) -> bytes:
    """Rows as a log whose chain holds, so that `read_log` types them."""
    made: list[dict[str, Any]] = []
    for number, row in enumerate(rows):
        prev, before = (made[-1]["hash"], made[-1]["vt"]) if made else (GENESIS, 0)
        # an event that was put elsewhere takes the time of its new place
        made.append(_sealed({**row, "seq": number, "prev": prev, "vt": max(row["vt"], before)}))
    return b"".join(canonical_json(row) + b"\n" for row in made)


def _sealed(row: dict[str, Any]) -> dict[str, Any]:
    body = {key: value for key, value in row.items() if key != "hash"}
    return {**body, "hash": hashlib.sha256(canonical_json(body)).hexdigest()}
