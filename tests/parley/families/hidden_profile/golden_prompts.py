"""What each seat of a session is sent, call by call, written down so that a person can read it and a test can compare it.

A scripted group plays one session against the local server, through LiteLLM, as models of a run do. What stands here is what
arrived: roles, words, sampling parameters, in the order of the calls. A conversation that was sent before is not repeated; it
is named by its call.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import tomli

from harness.agent import AgentSpec, Budget
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.seats.agent import SeatAgent
from harness.cli.config import PRESETS
from harness.paths import ROOT
from harness.records import RunFolder
from harness.registry import read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Messages, Script

FOLDER = Path(__file__).with_name("golden")
TASK = "ferry-street-plate"
CRAFTED = "evacuation-noon"
PROTOCOLS = {
    "ours": TASK,
    "hidden-paper": TASK,
    "hidden-published-code": TASK,
    "hidden-study1": CRAFTED,
    "hidden-variants": CRAFTED,
}
"""Our own protocol and the presets of the paper -> the task of the session; the crafted one tells what a right choice earns."""

FIXED = {"rounds": "3", "condition": "hidden", "deal": "hidden"}
"""Three rounds show what the first, a middle one and the last are sent."""

VARIANT = "asymmetry"
"""The one of the instruction variants that is shown."""


Words = list[tuple[str, str]]
"""Role and text of each message."""


class Call(NamedTuple):
    """One request of a model, what it answered, and whether it was asked again."""

    messages: list[dict[str, Any]]
    asked: dict[str, Any]
    """The parameters beside the messages."""

    reply: str
    again: bool

    @property
    def person(self) -> int:
        """Whose it is, by the rules that it begins with."""
        return int(re.search(r"You are Person (\d+) of", self.messages[0]["content"])[1])  # type: ignore[index]


def scripted(messages: Messages, *, again: bool) -> str:
    """Tells a point of its own in each turn, and votes by its number; the third forgets its vote at first."""
    rules, asked = str(messages[0]["content"]), str(messages[-1]["content"])
    person = int(re.search(r"You are Person (\d+) of", rules)[1])  # type: ignore[index]
    options = re.findall(r"^- \[(\w+)\] ", asked, re.MULTILINE)
    if not options:
        spoken = sum(message["role"] == "assistant" and str(message["content"]).startswith("Turn") for message in messages)
        points = re.findall(r"^- (?!\[)(.+)$", rules, re.MULTILINE)
        return f"Turn {spoken + 1}. {points[(person + spoken) % len(points)]}"
    if person == 3 and not again:
        return "I cannot decide."
    return json.dumps({"vote": options[person % len(options)], "rationale": f"So thinks person {person}."})


def sent(protocol: str) -> str:
    """The golden text of a protocol: one session of it, played anew."""
    made, set_to = calls(protocol), ", ".join(f"{name}={value}" for name, value in options(protocol).items())
    parameters = sorted({json.dumps(call.asked, sort_keys=True) for call in made})
    first = [
        f"# What each seat is sent: {protocol}",
        "",
        f"{PROTOCOLS[protocol]}, seed 0, {set_to}.",
        f"Every call asks for {parameters}.",
    ]
    return "\n".join([*first, *_written(made)]) + "\n"


def _written(made: list[Call]) -> Iterator[str]:
    """The calls one after the other; what of a conversation was sent or answered before is named, not told again."""
    known: list[tuple[str, int, Words]] = []
    for number, call in enumerate(made, start=1):
        words = [(str(message["role"]), str(message["content"])) for message in call.messages]
        before = [(said, len(those)) for said, person, those in known if person == call.person and those == words[: len(those)]]
        said, length = max(before, key=lambda one: one[1], default=("", 0))
        yield from ("", f"## {number}. Person {call.person}", *([f"({said})"] if said else []))
        for role, text in words[length:]:
            yield from ("", f"[{role}]", text)
        yield from ("", "[answer]", call.reply)
        known += [(f"the rules of call {number}", call.person, words[:1])] if not length else []
        known.append((f"call {number}, with its answer", call.person, [*words, ("assistant", call.reply)]))


def options(protocol: str) -> dict[str, str]:
    """The options of the session: those of the preset, where there is one, and what is fixed here."""
    chosen = [] if protocol == "ours" else tomli.loads((PRESETS / f"{protocol}.toml").read_text(encoding="utf-8"))["set"]
    told = {**dict(one.split("=", 1) for one in chosen), **FIXED}
    return {name: VARIANT if name == "variant" else value for name, value in told.items()}


def calls(protocol: str) -> list[Call]:
    """Every call of one session, in the order in which they were made; votes that are asked together stand by person."""
    replies: dict[str, list[str]] = {}

    def play(messages: Messages) -> str:
        told = replies.setdefault(json.dumps(messages), [])
        told.append(scripted(messages, again=bool(told) or "Once more" in str(messages[-1]["content"])))
        return told[-1]

    with OpenAIServer(Script(match="You are Person", play=play)) as server, TemporaryDirectory() as folder:
        _played(protocol, server.url, Path(folder) / "run")
        asked, made = Counter[str](), []
        for one in server.requests:
            words = json.dumps(one.messages)
            again = asked[words] > 0 or "Once more" in one.messages[-1]["content"]
            parameters = {name: value for name, value in one.body.items() if name != "messages"}
            made.append(Call(one.messages, parameters, replies[words][asked[words]], again))
            asked[words] += 1
    return [call for _, group in groupby(made, key=_votes) for call in _in_order(list(group))]


def _votes(call: Call) -> bool:
    return '{"vote"' in call.messages[-1]["content"]


def _in_order(together: list[Call]) -> list[Call]:
    """Votes are asked together and arrive as they please: they stand by person, those asked once more at the end."""
    if not _votes(together[0]):
        return together
    return sorted(together, key=lambda call: (call.again, call.person))


def _played(protocol: str, address: str, folder: Path) -> None:
    temperature = 0.0 if protocol == "ours" else None
    spec = AgentSpec(kind="llm", model="openai/group", api_base=address, temperature=temperature)
    agent = SeatAgent(spec, config=replace(LlmConfig.of(spec), api_key="k"), say=lambda line: None)
    task = read_task(ROOT / "tasks" / "hidden-profile" / PROTOCOLS[protocol])
    plan = Plan("golden", [task], [0], 1, spec, Budget(turns=1000), overrides=options(protocol))
    cast, quiet = AgentPool(lambda *_: agent), lambda event: None
    (result,) = run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=quiet, cast=cast)
    if result.status != "graded":
        raise AssertionError(f"{protocol} was not played to its end: {result.error}")
