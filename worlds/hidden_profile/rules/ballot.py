"""Which option a text names: its id, its label, or both in either order, whatever case and punctuation they come in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from worlds.hidden_profile.rules.frame import Frame
from worlds.hidden_profile.rules.hearing import fold

_DECODER = json.JSONDecoder()
_PUNCTUATION = re.compile(r"[^\w']+|(?<!\w)'|'(?!\w)|\*+|(?<!\w)_+|_+(?!\w)")


def unvotable(frame: Frame) -> Iterator[str]:
    """What a vote may say for an option - its id, its label, or both - and would be read as another one, or as none."""
    for choice in frame.options:
        for text in (choice.id, choice.label, f"[{choice.id}] {choice.label}"):
            if (read := option_of(frame, text)) != choice.id:
                yield f"a vote for {text!r} would be read as one for {read}"


def option_of(frame: Frame, text: str) -> str | None:
    """The option that a text names, or None: `hatch`, `(hatch)`, `**The cellar hatch**`, `hatch: The cellar hatch`."""
    wanted = _plain(text)
    for choice in frame.options:
        name, label = _plain(choice.id), _plain(choice.label)
        if wanted in {name, label, f"{name} {label}", f"{label} {name}"}:
            return choice.id
    return None


def field(given: Mapping[str, Any], name: str) -> Any:
    """The field of a reply by its name in any case; None where there is none, or where two of them differ."""
    values = [value for key, value in given.items() if key.strip().casefold() == name]
    return values[0] if values and all(value == values[0] for value in values) else None


def contradicts_itself(frame: Frame, reply: str) -> bool:
    """Whether a reply holds several ballots, whole JSON objects with a vote, that do not name one and the same option."""
    votes = [field(one, "vote") for one in _objects(reply)]
    named = [option_of(frame, vote) if isinstance(vote, str) else None for vote in votes if vote is not None]
    return len(set(named)) > 1


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that stand in a text one after the other; what is broken is passed over."""
    start = text.find("{")
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def _plain(text: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", fold(text)).split())
