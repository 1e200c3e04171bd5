"""Which option a text names: its id, its label, or both in either order, whatever case and punctuation they come in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from worlds.hidden_profile.rules.frame import Frame
from worlds.hidden_profile.rules.hearing import fold

_DECODER = json.JSONDecoder(object_pairs_hook=list)
_BROKEN = re.compile(r"""\{\s*(?P<mark>["']?)vote(?P=mark)\s*:\s*["']?(?P<vote>[^"',{}\n]+)""", re.IGNORECASE)
"""How an object begins that is a ballot to a reader who mends quotes and commas."""

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


def contradicts_itself(frame: Frame, said: str) -> bool:
    """Whether what was said, thoughts left out, holds several votes that do not name one and the same option.

    A vote is a field of an object that stands by itself, whole or so broken that it only begins like a ballot.
    """
    votes = [value for fields in _objects(said) for key, value in fields if key.strip().casefold() == "vote"]
    named = [option_of(frame, vote) if isinstance(vote, str) else None for vote in votes if vote is not None]
    return len(set(named)) > 1


def _objects(text: str) -> Iterator[Sequence[tuple[str, Any]]]:
    """The fields of the objects that stand in a text one after the other, a name that comes twice twice."""
    start = text.find("{")
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            broken = _BROKEN.match(text, start)
            value, end = [("vote", broken["vote"])] if broken else [], start + 1
        yield value
        start = text.find("{", end)


def _plain(text: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", fold(text)).split())
