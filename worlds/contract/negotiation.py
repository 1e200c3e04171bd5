"""Proactive negotiation: which of the media types on offer an Accept header asks for (RFC 9110 section 12.5.1).

1. An Accept is a list of media ranges, each with a weight q from 0 to 1 (section 12.4.2), which is 1 unless given.
2. The most specific range that matches a type gives its weight: a type with parameters, a type, type/*, */*.
3. A type with weight 0, or without a matching range, is not acceptable; of the others the one with most weight is chosen, and
   of equals the one offered first.
4. No Accept, or an empty one, is */*. A range that can't be read is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from worlds.core.wire import WireRequest

# a quoted string that does not end takes all the rest, once: no input is read twice
_QUOTED = r'"(?:[^"\\]|\\.)*+"?'
_ELEMENTS, _PARTS = re.compile(rf'(?:[^,"]|{_QUOTED})++'), re.compile(rf'(?:[^;"]|{_QUOTED})++')
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}")
_PARAMETER = re.compile(rf'({_TOKEN})=({_TOKEN}|"(?:[^"\\]|\\.)*")')
_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


@dataclass(frozen=True)
class MediaRange:
    """A media type, or a range of them: lower-case type and subtype, parameters by lower-case name, and a weight."""

    kind: str
    subtype: str
    parameters: frozenset[tuple[str, str]]
    weight: float = 1.0

    @property
    def named(self) -> bool:
        """Whether it names one type, and no wildcard."""
        return self.subtype != "*"

    @property
    def specificity(self) -> int:
        """How closely it says what it means: more is closer."""
        return (self.kind != "*") + self.named + len(self.parameters)

    def matches(self, media_type: MediaRange) -> bool:
        """Whether a media type lies in this range."""
        return (
            self.kind in ("*", media_type.kind)
            and self.subtype in ("*", media_type.subtype)
            and self.parameters <= media_type.parameters
        )


@dataclass(frozen=True)
class MediaChoice:
    """What was chosen, its weight, and whether a range named it rather than a wildcard."""

    media_type: str
    weight: float
    named: bool


def accepted(request: WireRequest) -> str:
    """The Accept lines of a request as one (RFC 9110 section 5.3); "" without any."""
    return ", ".join(value for name, value in request.headers if name.lower() == "accept")


def choose(accept: str, offers: Sequence[str]) -> MediaChoice | None:
    """The media type to answer in, or None when no offer is acceptable."""
    acceptable = [judged for offer in offers if (judged := judge(accept, offer)).weight > 0]
    return max(acceptable, key=lambda judged: judged.weight, default=None)


def judge(accept: str, offer: str) -> MediaChoice:
    """How an Accept weighs one media type; raises ValueError for an offer that is no media type."""
    media_type = _read(offer)
    if media_type is None or not media_type.named:
        raise ValueError(f"an offer must be a media type, not {offer!r}")
    matching = [given for given in _ranges(accept) if given.matches(media_type)]
    best = max(matching, key=lambda given: given.specificity, default=None)
    return MediaChoice(offer, best.weight, best.named) if best else MediaChoice(offer, 0.0, named=False)


def _ranges(accept: str) -> Iterator[MediaRange]:
    for element in _ELEMENTS.findall(accept) if accept.strip() else ("*/*",):
        given = _read(element)
        if given is not None:
            yield given


def _read(text: str) -> MediaRange | None:
    """A media range; None for what is none. What follows a weight is no parameter of the type."""
    media_type, *parts = [part.strip() for part in _PARTS.findall(text)] or [""]
    kind, _, subtype = media_type.lower().partition("/")
    if not _TYPE.fullmatch(media_type) or (kind == "*" and subtype != "*"):
        return None
    parameters: set[tuple[str, str]] = set()
    for part in parts:
        match = _PARAMETER.fullmatch(part)
        if match is None:
            return None
        name, value = match[1].lower(), _unquoted(match[2])
        if name == "q":
            return MediaRange(kind, subtype, frozenset(parameters), float(value)) if _WEIGHT.fullmatch(value) else None
        parameters.add((name, value))
    return MediaRange(kind, subtype, frozenset(parameters))


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
