"""Which rows of a run are listed: one value for each column that has choices, as a form writes them into an address.

A choice that no row has lists nothing and is said so; a name that is no filter is passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import urlencode

from harness.viewing.rows import EpisodeRow
from worlds.core.models import Strict

FILTERS: dict[str, Callable[[EpisodeRow], str]] = {
    "family": lambda row: row.family,
    "task": lambda row: row.task,
    "label": lambda row: row.label,
    "status": lambda row: "success" if row.success else "failure" if row.status == "graded" else "ungraded",
    "model": lambda row: row.player,
    "stopped": lambda row: row.stopped_by or "nothing",
}
"""What each filter asks of a row; its name is that of the field of the form."""


class FilterChoice(Strict):
    """One value of a filter, and how many rows of the whole run have it."""

    value: str
    rows: int
    is_chosen: bool


class Facet(Strict):
    """One filter with what there is to choose from."""

    name: str
    choices: tuple[FilterChoice, ...]


def chosen(query: Mapping[str, str]) -> dict[str, str]:
    """The filters that an address names, with a value."""
    return {name: query[name] for name in FILTERS if query.get(name)}


def listed(rows: Sequence[EpisodeRow], filters: Mapping[str, str]) -> list[EpisodeRow]:
    """The rows that all filters let through."""
    asked = [(FILTERS[name], value) for name, value in filters.items()]
    return [row for row in rows if all(of(row) == value for of, value in asked)]


def facets(rows: Sequence[EpisodeRow], filters: Mapping[str, str]) -> tuple[Facet, ...]:
    """Every filter with its values, those of the most rows first; one with a single value is left out unless it is in use."""
    made = []
    for name, of in FILTERS.items():
        counted = Counter(map(of, rows))
        if name in filters:
            counted.setdefault(filters[name], 0)
        if len(counted) > 1 or name in filters:
            made.append(Facet(name=name, choices=tuple(_choices(counted, filters.get(name), by_rows=name != "task"))))
    return tuple(made)


def _choices(counted: Counter[str], chosen_value: str | None, *, by_rows: bool) -> Iterator[FilterChoice]:
    """The values of a filter, by rows or by name."""
    for value, rows in sorted(counted.items(), key=lambda one: (-one[1] if by_rows else 0, one[0])):
        yield FilterChoice(value=value, rows=rows, is_chosen=value == chosen_value)


def address(filters: Mapping[str, str], page: int) -> str:
    """The query string of one page of a filtered list."""
    return "?" + urlencode({**filters, "page": page})
