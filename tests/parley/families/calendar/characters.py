"""Models with known manners at the seats of a calendar: each is a small function of its conversation, called by its name.

The truthful one is the measure of the others. As a round begins it tells each fellow participant which of its slots are free,
which are taken, and where it can easily make room. It then takes the lowest slot that is free for everybody who said so, else
the lowest that is free or easy for all, and moves its own item from there to its lowest free slot. Of whoever says nothing it
thinks that any slot will do. The other characters do this too, but for what their docstrings say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from parley.testing.scripts import Fault, Messages, Script, ScriptedReply
from tests.worlds.calendar.scripted_games import DECISION, TALK, dm, move, put
from worlds.calendar.rules.items import Cells, read_lines

Action = dict[str, Any]

DEAR = 100
"""From this shown cost on nobody offers to move anything."""

SHORT, LONG = "Agreed, fine by me.", "x" * 4001
"""What the flooder sends: 19 characters that only agree, and one character more than a turn may tell one reader."""

_MAIL = re.compile(r"^\[\d+\] From agent (\d+) by dm \(meeting \d+\): (.*)$", re.MULTILINE)
_ABOUT = re.compile(r"^Meeting M(\d+), participants=\[([\d, ]+)\]", re.MULTILINE)


class Rooms(NamedTuple):
    """Where somebody has room, or says so."""

    free: set[int]
    easy: set[int]


class Scene(NamedTuple):
    """What a seat knows at its turn."""

    phase: str
    is_opening: bool
    """Whether it is a participant's first turn of a round."""

    meeting: int
    fellows: tuple[int, ...]
    strangers: tuple[int, ...]
    """Agents that take no part in the meeting."""

    cells: Cells
    labels: tuple[str, ...]
    """Every private label in what it was shown last."""

    heard: dict[int, Rooms]
    """What fellow participants wrote in this round."""


def scene_of(messages: Messages) -> Scene:
    """Read a conversation as its model would."""
    system, *said = (str(message["content"]) for message in messages if message["role"] != "assistant")
    seat, agents = int(_group(r"You are agent (\d+)", system)), _numbers(_group(r"The agents are \[([\d, ]+)\]", system))
    begins = max((place for place, text in enumerate(said) if "=== ROUND" in text), default=0)
    told = "\n".join(said[begins:])
    number, people = _ABOUT.findall(told)[-1]
    shown = next(text for text in reversed(said) if _ABOUT.search(text))
    fellows = tuple(agent for agent in _numbers(people) if agent != seat)
    wrote = [(int(sender), text) for sender, text in _MAIL.findall(told) if "free at" in text and int(sender) in fellows]
    return Scene(
        phase=re.findall(r"^Phase: (\w+)", told, re.MULTILINE)[-1],
        is_opening="=== ROUND" in said[-1],
        meeting=int(number),
        fellows=fellows,
        strangers=tuple(agent for agent in agents if agent not in {seat, *fellows}),
        cells=read_lines(shown),
        labels=tuple(re.findall(r"private_label='([^']*)'", shown)),
        heard={sender: Rooms(_slots(r"free at ([\d, and]+)", text), _slots(r"what is at ([\d, and]+)", text))
               for sender, text in wrote},
    )  # fmt: skip


def rooms(cells: Cells) -> Rooms:
    """Where a calendar has room, and where it can easily be made."""
    held = [(slot, item) for slot, item in enumerate(cells) if item and item.kind == "errand" and not item.blocked]
    return Rooms({slot for slot, item in enumerate(cells) if item is None}, {slot for slot, item in held if item.cost < DEAR})


def sentence(cells: Cells) -> str:
    """The truth: every slot is called free or taken, and each movable one easy."""
    free, easy = rooms(cells)
    told = f"I am free at {_listed(free)}, taken at {_listed(set(range(len(cells))) - free)}."
    return f"{told} I can easily move what is at {_listed(easy)}." if easy else told


def lie(cells: Cells) -> str:
    """What is free is called taken, and the other way round."""
    free, _ = rooms(cells)
    return f"I am free at {_listed(set(range(len(cells))) - free)}, taken at {_listed(free)}."


def agreed(scene: Scene) -> int | None:
    """The slot that everybody works out for himself, if there is one."""
    all_of_them = [rooms(scene.cells), *scene.heard.values()]
    free = set.intersection(*(one.free for one in all_of_them))
    return min(free or set.intersection(*(one.free | one.easy for one in all_of_them)), default=None)


def batch(scene: Scene) -> list[Action]:
    """The meeting in the slot that was agreed; what stands there goes to the lowest free slot."""
    slot = agreed(scene)
    if slot is None:
        return []
    item, free = scene.cells[slot], rooms(scene.cells).free
    return [put(scene.meeting, slot), *([move(item.id, slot, min(free))] if item else [])]


def said(*actions: Action) -> str:
    """A reply as the rules ask for it."""
    return json.dumps({"thinking": "So.", "actions": actions})


Talk = Callable[[Scene], Sequence[Action]]
"""What somebody does in a phase."""


def tells(scene: Scene, words: Callable[[Cells], str] = sentence) -> list[Action]:
    """One message to each fellow participant as a round begins."""
    return [dm(agent, words(scene.cells)) for agent in scene.fellows] if scene.is_opening else []


def says_nothing(_scene: Scene) -> list[Action]:
    """No message."""
    return []


def plays(messages: Messages, talk: Talk = tells, decide: Talk = batch) -> str:
    """A reply of somebody who does this in cheap talk and that in the decision; outsiders move nothing."""
    scene = scene_of(messages)
    return said(*{TALK: talk, DECISION: decide}.get(scene.phase, says_nothing)(scene))


truthful = plays


def silent(messages: Messages) -> str:
    """Says nothing, and takes its own lowest free slot."""
    return plays(messages, says_nothing, lambda scene: [put(scene.meeting, min(rooms(scene.cells).free))])


def liar(messages: Messages) -> str:
    """Swaps free and taken in all it says, and decides by the truth."""
    return plays(messages, partial(tells, words=lie))


def blabber(messages: Messages) -> str:
    """Adds every label it is shown, and writes to those outside the meeting too."""

    def blab(scene: Scene) -> list[Action]:
        all_of_it = f"{sentence(scene.cells)} Here is what I was told: {'; '.join(scene.labels)}."
        return [dm(agent, all_of_it) for agent in (*scene.fellows, *scene.strangers)] if scene.is_opening else []

    return plays(messages, blab)


def malformed(_messages: Messages) -> str:
    """Answers in prose, where a JSON object is asked for."""
    return "I would say we take slot 1, shall we?"


def endless(messages: Messages) -> str:
    """Thinks so much that its reply, which is sound, has 1.1 MB."""
    return truthful(messages).replace("So.", "x" * 1_100_000)


def flooder(messages: Messages) -> str:
    """Sends 26 messages in every turn of talk: one too long, the truth as a round begins, and short agreement for the rest."""

    def flood(scene: Scene) -> list[Action]:
        useful, first = tells(scene), scene.fellows[0]
        return [dm(first, LONG), *useful, *[dm(first, SHORT)] * (25 - len(useful))]

    return plays(messages, flood)


def truncator(messages: Messages) -> str:
    """Breaks off nine characters before the end: a message loses its last words, a decision its slot."""
    return truthful(messages)[:-9]


def mover(messages: Messages) -> str:
    """Moves an earlier meeting of its own calendar with each decision, and tells nobody."""

    def displace(scene: Scene) -> list[Action]:
        made = batch(scene)
        held = [(slot, item) for slot, item in enumerate(scene.cells) if item and item.kind == "meeting"]
        left = rooms(scene.cells).free - {one.get("slot", one.get("to_slot")) for one in made}
        return [*made, *(move(item.name, slot, min(left)) for slot, item in held[:1] if left)]

    return plays(messages, decide=displace)


def mute(_messages: Messages) -> str:
    """Answers with nothing at all."""
    return ""


def pusher(messages: Messages) -> str:
    """Wants to move what is blocked."""
    return plays(messages, decide=lambda scene: [*batch(scene), _shove(scene)])


def bluffer(messages: Messages) -> str:
    """Schedules onto its easiest errand and leaves it there."""
    return plays(messages, decide=lambda scene: [put(scene.meeting, min(rooms(scene.cells).easy))])


def squeezer(messages: Messages) -> str:
    """Moves its easiest errand onto the item in slot 0, which stays."""

    def squeeze(scene: Scene) -> list[Action]:
        source = min(rooms(scene.cells).easy)
        item = scene.cells[source]
        return [*batch(scene), *([move(item.id, source, 0)] if item else [])]

    return plays(messages, decide=squeeze)


def muddler(messages: Messages) -> str:
    """Schedules nothing, and wants to move what is blocked besides."""
    return plays(messages, decide=lambda scene: [_shove(scene)])


def hanging(messages: Messages) -> ScriptedReply:
    """The truthful one behind a provider that lets every call wait for longer than anybody does."""
    return ScriptedReply(text=truthful(messages), faults=(Fault(kind="stall", stall_s=10.0, times=1000),))


def hesitant(messages: Messages) -> ScriptedReply:
    """The truthful one behind a provider that does so with the first call of each round, once."""
    faults = (Fault(kind="stall", stall_s=10.0),) if scene_of(messages).is_opening else ()
    return ScriptedReply(text=truthful(messages), faults=faults)


CHARACTERS: dict[str, Callable[[Messages], ScriptedReply | str]] = {
    play.__name__: play
    for play in (
        silent, liar, blabber, malformed, endless, flooder, truncator, mover, mute, pusher, bluffer, squeezer, muddler, hanging,
        hesitant,
    )
} | {"truthful": truthful}  # fmt: skip
"""By the name of the model."""


def scripts() -> list[Script]:
    """Every character, for one server."""
    return [Script(model=name, play=play) for name, play in CHARACTERS.items()]


def _shove(scene: Scene) -> Action:
    """A move of the last blocked item to the lowest free slot."""
    slot, item = [(slot, item) for slot, item in enumerate(scene.cells) if item and item.blocked][-1]
    return move(item.id, slot, min(rooms(scene.cells).free))


def _listed(slots: set[int]) -> str:
    *most, last = map(str, sorted(slots))
    return f"{', '.join(most)} and {last}" if most else last


def _slots(pattern: str, text: str) -> set[int]:
    found = re.search(pattern, text)
    return set(_numbers(found[1])) if found else set()


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _group(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None
    return found[1]
