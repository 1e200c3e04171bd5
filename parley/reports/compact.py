"""Compact in-memory results, so that 100,000 fit at once (about 1/40 of a parsed result).

1. The measures of a verdict are most of a result. Their lists and dicts are stored as packed bytes, and unpacked on each
access; numbers and strings are stored unchanged.
2. Parts that many episodes share, such as options and parameters, are one object for all of them.
3. A compact result is a `Result` like any other: equal to the original, and serialized in the same way.
"""

from __future__ import annotations

import marshal
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel

from harness.records import Result, SeatResult, Tokens

_LONG = 400
"""Size in bytes from which a packed part is compressed too."""

_COMPRESSED = 0x78
"""First byte of zlib data, which no list or dict of `marshal` begins with."""

_MOST_KNOWN = 4096
_NO_TOKENS = Tokens()
_SHARED = ("options", "parameters", "images", "failure_detail", "disturbed")

Model = TypeVar("Model", bound=BaseModel)


class PackedMeasures(Mapping[str, Any]):
    """Measures of one episode, unpacked on access. The unpacked values are read-only."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: Sequence[Any]) -> None:
        """Store the values; `places` maps each name to its index and may be shared with other episodes."""
        self._places, self._values = places, tuple(map(_packed, values))

    def __getitem__(self, name: str) -> Any:
        value = self._values[self._places[name]]
        return _unpacked(value) if isinstance(value, bytes) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


def kept(results: Iterable[Result]) -> Iterator[Result]:
    """Return compact copies of these results."""
    return map(MeasurePacker().keep, results)


class MeasurePacker:
    """Converter to compact results, which shares the common parts of all results that it has seen."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], dict[str, int]] = {}
        self._known: dict[bytes, dict[str, Any]] = {}

    def keep(self, result: Result) -> Result:
        """Return a compact copy of a result."""
        names = tuple(result.metrics)
        places = self._places.setdefault(names, {name: place for place, name in enumerate(names)})
        return _with(
            result,
            metrics=PackedMeasures(places, tuple(result.metrics.values())) if names else {},
            tokens=_lean(result.tokens),
            timings=_with(result.timings),
            syscalls=sys.intern(result.syscalls),
            seats=tuple(map(self._seat, result.seats)),
            **{name: self._shared(getattr(result, name)) for name in _SHARED},
        )

    def _seat(self, seat: SeatResult) -> SeatResult:
        return _with(seat, tokens=_lean(seat.tokens), effective=self._shared(seat.effective))

    def _shared(self, value: dict[str, Any]) -> dict[str, Any]:
        data = marshal.dumps(value)
        # do not look up parts that turned out to differ between episodes
        return self._known.setdefault(data, value) if len(self._known) < _MOST_KNOWN else self._known.get(data, value)


def _lean(tokens: Tokens) -> Tokens:
    return _NO_TOKENS if tokens == _NO_TOKENS else _with(tokens)


def _with(model: Model, **changed: Any) -> Model:
    """Return a copy of a model with some values changed. It shares the set of field names with all others of its class."""
    return model.model_construct(_every_field(type(model)), **{**model.__dict__, **changed})


@cache
def _every_field(model: type[BaseModel]) -> set[str]:
    return set(model.model_fields)


def _packed(value: Any) -> Any:
    if not isinstance(value, dict | list | tuple):
        return value
    data = marshal.dumps(value)
    return data if len(data) < _LONG else zlib.compress(data, 1)


@lru_cache(maxsize=1)
def _unpacked(data: bytes) -> Any:
    return marshal.loads(zlib.decompress(data) if data[0] == _COMPRESSED else data)  # noqa: S302 - packed here, not read
