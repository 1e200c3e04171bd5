"""Awkward requests: each careless way of writing a canonical form comes to another text."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.contract.awkward import Pairs, draw_headers, draw_path, draw_query, draw_text
from worlds.contract.signing import canonical_parameters, canonical_request
from worlds.core.chance import Stream
from worlds.core.wire import check_sendable, request

each_seed = given(st.integers(0, 10**6))


def stream(seed: int) -> Stream:
    """The stream of a seed."""
    return Stream("key", "task", seed, "awkward")


def encoded(pairs: Pairs, encode: Callable[[str], str] = lambda text: quote(text, safe="")) -> list[tuple[str, str]]:
    """Parameters encoded, in their order."""
    return [(encode(name), encode(value)) for name, value in pairs]


def joined(pairs: list[tuple[str, str]]) -> str:
    """Parameters as a query."""
    return "&".join("=".join(pair) for pair in pairs)


@each_seed
@pytest.mark.parametrize(
    "careless",
    [
        lambda pairs: joined(encoded(pairs)),
        lambda pairs: joined(encoded(sorted(pairs))),
        lambda pairs: joined(sorted(encoded(pairs), key="=".join)),
        lambda pairs: joined(sorted(encoded(pairs), key=lambda pair: (pair[0].lower(), pair[1]))),
        lambda pairs: joined(sorted(encoded(pairs, quote))),
        lambda pairs: joined(sorted(encoded(pairs, quote_plus))),
        lambda pairs: joined(sorted(encoded(dict(pairs).items()))),
        lambda pairs: joined(sorted(encoded([pair for pair in pairs if pair[1]]))),
    ],
    ids=["unsorted", "sorted first", "sorted joined", "sorted without case", "slash", "plus", "once a name", "no empty"],
)
def test_careless_queries_differ(careless: Callable[[Pairs], str], seed: int) -> None:
    """No shortcut gives the canonical query."""
    pairs = draw_query(stream(seed))

    assert canonical_parameters(pairs) != careless(pairs)
    assert canonical_parameters(pairs) == joined(sorted(encoded(pairs)))


@each_seed
def test_careless_header_lines_differ(seed: int) -> None:
    """Neither inner spaces nor the order of lines come right by themselves."""
    headers = draw_headers(stream(seed))
    form = canonical_request(request("GET", "/", headers=headers), [name for name, _ in headers]).split("\n")
    lines = form[form.index("") + 1 : -3]

    assert sorted(lines) != lines
    assert not {f"{name.lower()}:{value}" for name, value in headers if name.startswith("X-")} & set(lines)


def test_header_lines_stand_in_any_order() -> None:
    """Which header comes first is drawn."""
    assert {"Content-Type"} < {draw_headers(stream(seed))[0][0] for seed in range(9)}


@each_seed
def test_paths_and_bodies(seed: int) -> None:
    """A path that decoding and encoding change, and a body that is not ASCII and ends in no white space."""
    path, text = draw_path(stream(seed), "/api/x"), draw_text(stream(seed))
    check_sendable(request("PUT", path, headers=draw_headers(stream(seed)), body=text))

    assert unquote(path) != path != quote(path)
    assert path.count("/") == unquote(path).count("/") == 3
    assert not text.isascii()
    assert text == text.strip()
