"""Proactive content negotiation: choice of a media type by the Accept header (RFC 9110 section 12.5.1).

1. Accept is a list of media ranges, each with a weight q from 0 to 1 (section 12.4.2), by default 1.
2. The most specific range that matches a type gives its weight: a type with parameters, a type, type/*, */*.
3. A type with weight 0 or without a matching range is not acceptable. Of the others, the type with the highest weight is
chosen; the one offered first wins a tie.
4. A missing or empty Accept means */*. A range that cannot be parsed is ignored.
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
    """A media type or range: lower-case type and subtype, parameters by lower-case name, and a weight."""

    kind: str
    subtype: str
    parameters: frozenset[tuple[str, str]]
    weight: float = 1.0

    @property
    def named(self) -> bool:
        """True if the range names one type without a wildcard."""
        return self.subtype != "*"

    @property
    def specificity(self) -> int:
        """Specificity of the range; a higher number is more specific."""
        return (self.kind != "*") + self.named + len(self.parameters)

    def matches(self, media_type: MediaRange) -> bool:
        """Return True if a media type lies in this range."""
        return (
            self.kind in ("*", media_type.kind)
            and self.subtype in ("*", media_type.subtype)
            and self.parameters <= media_type.parameters
        )


@dataclass(frozen=True)
class MediaChoice:
    """The chosen media type, its weight, and whether a range named it without a wildcard."""

    media_type: str
    weight: float
    named: bool


def accepted(request: WireRequest) -> str:
    """Return the Accept lines of a request joined into one (RFC 9110 section 5.3); "" if there are none."""
    return ", ".join(value for name, value in request.headers if name.lower() == "accept")


def choose(accept: str, offers: Sequence[str]) -> MediaChoice | None:
    """Return the media type to answer in, or None if no offer is acceptable."""
    acceptable = [judged for offer in offers if (judged := weigh_offer(accept, offer)).weight > 0]
    return max(acceptable, key=lambda judged: judged.weight, default=None)


def weigh_offer(accept: str, offer: str) -> MediaChoice:
    """Return the weight of one media type in an Accept header; raises ValueError if the offer is not a media type."""
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
    """Parse a media range; None if it is invalid. Parameters after the weight are ignored."""
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
