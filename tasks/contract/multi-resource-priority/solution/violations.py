"""Clients that go wrong in one place each, with the label that place must earn."""

from collections.abc import Callable
from functools import partial

from solve import Contents, Link, headers_for, play, urgent_first


def decoded(target: str) -> str:
    """A client that percent-decodes the slashes of the query before it sends it."""
    return target.replace("%2F", "/")


def resorted(target: str) -> str:
    """Middleware that sorts query parameters."""
    path, _, query = target.partition("?")
    return path + "?" + "&".join(sorted(query.split("&")))


def as_text(links: list[Link]) -> list[Link]:
    """The times sorted as they are written, offsets and all."""
    return sorted(links, key=lambda link: link.until)


def second_first(links: list[Link]) -> list[Link]:
    """Nearly right: the first two the other way round."""
    first, second, *rest = urgent_first(links)
    return [second, first, *rest]


def last_two_swapped(links: list[Link]) -> list[Link]:
    """Right until the end, where it still matters."""
    *before, last, other = urgent_first(links)
    return [*before, other, last]


def without(header: str) -> partial[None]:
    """A client that leaves one header out."""
    return partial(play, headers=lambda *facts: {name: text for name, text in headers_for(*facts).items() if name != header})


def token_sent(change: Callable[[str], str]) -> partial[None]:
    """A client that alters the flow token where it sends it."""
    return partial(play, headers=lambda part, token, *names: headers_for(part, token, *names) | {"X-Flow-Token": change(token)})


def proof(text: Callable[[str, str, str, str], str]) -> partial[None]:
    """A client that puts the proof together in its own way."""
    return partial(play, headers=lambda *facts: headers_for(*facts) | {"X-Contract-Proof": text(*facts)})


def as_fetched(links: list[Link], got: Contents) -> bytes:
    """The files in the order in which they came."""
    return b"".join(got.values())


VIOLATIONS = {
    "listed_order": ("EXPIRED_BEFORE_USE", partial(play, order=list)),
    "sorted_as_text": ("EXPIRED_BEFORE_USE", partial(play, order=as_text)),
    "longest_first": ("EXPIRED_BEFORE_USE", partial(play, order=lambda links: urgent_first(links)[::-1])),
    "second_first": ("EXPIRED_BEFORE_USE", partial(play, order=second_first)),
    "last_two_swapped": ("EXPIRED_BEFORE_USE", partial(play, order=last_two_swapped)),
    "fetched_twice": ("EXPIRED_BEFORE_USE", partial(play, order=lambda links: [urgent_first(links)[0], *urgent_first(links)])),
    "late": ("EXPIRED_BEFORE_USE", partial(play, linger=("downloads", 16))),
    "late_second": ("EXPIRED_BEFORE_USE", partial(play, linger=("second", 16))),
    "late_session": ("EXPIRED_BEFORE_USE", partial(play, linger=("page", 50))),
    "late_by_reload": ("EXPIRED_BEFORE_USE", partial(play, page_first=True, linger=("page", 16))),
    "late_and_decoded": ("EXPIRED_BEFORE_USE", partial(play, linger=("downloads", 16), mangle=decoded)),
    "decoded_link": ("MUTATED_TOKEN", partial(play, mangle=decoded)),
    "clipped_link": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target[:200])),
    "entities_kept": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target.replace("&", "&amp;"))),
    "clipped_token": ("MUTATED_TOKEN", token_sent(lambda token: token[:16])),
    "tail_as_token": ("MUTATED_TOKEN", token_sent(lambda token: token[-8:])),
    "resorted_link": ("SIGNATURE_MISMATCH", partial(play, mangle=resorted)),
    "visible_token": ("WRONG_VALUE", token_sent(lambda token: token[:8] + "...")),
    "one_proof_for_all": ("WRONG_VALUE", proof(lambda part, token, name, first: f"{part}:{token[-8:]}:{first}")),
    "proof_without_name": ("WRONG_VALUE", proof(lambda part, token, name, first: f"{part}:{token[-8:]}")),
    "proof_with_head": ("WRONG_VALUE", proof(lambda part, token, name, first: f"{part}:{token[:8]}:{name}")),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "joined_as_fetched": ("WRONG_VALUE", partial(play, join=as_fetched)),
    "joined_by_lines": ("WRONG_VALUE", partial(play, join=lambda links, got: b"\n".join(got[link.name] for link in links))),
    "one_file_short": (
        "WRONG_VALUE", partial(play, order=lambda links: urgent_first(links)[:-1], join=as_fetched),
    ),
    "no_session": ("MISSING_CONSTRAINT", partial(play, session=False)),
    "no_anchor": ("MISSING_CONSTRAINT", without("X-Seed-Anchor")),
    "no_proof": ("MISSING_CONSTRAINT", without("X-Contract-Proof")),
    "no_token": ("MISSING_TOKEN", without("X-Flow-Token")),
}  # fmt: skip

CELLS = {"validity": "late", "integrity": "decoded_link", "both": "late_and_decoded"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
