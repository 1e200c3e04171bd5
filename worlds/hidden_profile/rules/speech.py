"""What a reply in talk says, and how a message looks to the others: indented, with cited points in their own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worlds.core.replies import AnswerShape, Mend, ReadAnswer, read_answer, without_thinking
from worlds.hidden_profile.rules.scenario import Scenario

_KEYS = ("text", "cites", "stance")
NOT_READ = "Of your last reply "


def read_message(reply: str, mend: Mend | None = None) -> ReadAnswer:
    """Return the message on the structured track that a reply is: an object with `text`, `cites` or `stance`."""
    return read_answer(reply, _MESSAGE, mend)


def spoken_text(reply: str) -> str:
    """Return what others hear of a reply in prose: all but thinking."""
    return without_thinking(reply).strip()


def notice(reply: str, problem: str) -> str:
    """Return the line with which a seat's next turn begins if its reply was not read as a whole; empty if it was.

    `problem` is why its JSON was not read.
    """
    if problem:
        return f"{NOT_READ}the text was heard as it stands, and no cites and no stance were read: {problem}.\n\n"
    return f"{NOT_READ}nothing was heard: it is all thinking.\n\n" if reply.strip() and not spoken_text(reply) else ""


def indented(text: str) -> str:
    """A message on the lines that it is shown on; those after the first are indented, whatever ends a line."""
    return "\n    ".join(text.splitlines())


def publish(scenario: Scenario, public: dict[str, str], cites: Sequence[str]) -> str:
    """What follows a message that cites facts: a public handle for each, with its words when it is first cited.

    `public` maps handles to facts, and is given those that are new.
    """
    named = {fact: handle for handle, fact in public.items()}
    told: list[str] = []
    for fact in cites:
        if fact in named:
            told.append(named[fact])
            continue
        named[fact] = f"G{len(public) + 1}"
        public[named[fact]] = fact
        told.append(f'{named[fact]}: "{scenario.by_id[fact].text}"')
    return f" [cites {'; '.join(told)}]" if told else ""


def _message(value: Any) -> Sequence[dict[str, Any]]:
    return [value] if isinstance(value, dict) and any(key in value for key in _KEYS) else []


_MESSAGE = AnswerShape(
    'one JSON object with "text"', _message, key="|".join(_KEYS),
    single=lambda value: [value] if isinstance(value, dict) else [],
)  # fmt: skip
