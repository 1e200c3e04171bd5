"""Clients that go wrong in one place each, with the label that place must earn."""

from functools import partial
from typing import Any
from urllib.parse import quote

from solve import TOKEN, Document, play


def strong(tag: str) -> str:
    """A client that makes the tag strong."""
    return tag.removeprefix("W/")


def unquoted(tag: str) -> str:
    """A client that keeps only what stands between the quotes."""
    return strong(tag).strip('"')


def matching(change: Any) -> Any:
    """The last tag, changed, in If-Match."""
    return lambda tags: {"If-Match": change(tags[-1])}


def shown(change: Any) -> Any:
    """The last token, changed."""
    return lambda tokens: {TOKEN: change(tokens[-1])}


def as_text(document: Document, state: str) -> Document:
    """A client that writes numbers as strings."""
    return {**{name: str(value) for name, value in document.items()}, "state": state}


def only_the_change(document: Document, state: str) -> Document:
    """A client that takes PUT for PATCH."""
    return {"state": state}


VIOLATIONS = {
    "straight_on": ("VERSION_CONFLICT", partial(play, hasty=True)),
    "first_tag_again": ("VERSION_CONFLICT", partial(play, match=lambda tags: {"If-Match": tags[0]})),
    "late_write": ("VERSION_CONFLICT", partial(play, linger=("write", 20))),
    "unconditional_write": ("MISSING_CONSTRAINT", partial(play, match=lambda tags: {})),
    "any_version": ("MISSING_CONSTRAINT", partial(play, match=lambda tags: {"If-Match": "*"})),
    "strong_if_none_match": ("MUTATED_TOKEN", partial(play, condition=strong)),
    "unquoted_if_none_match": ("MUTATED_TOKEN", partial(play, condition=unquoted)),
    "single_quoted_if_none_match": ("MUTATED_TOKEN", partial(play, condition=lambda tag: f"'{unquoted(tag)}'")),
    "strong_if_match": ("MUTATED_TOKEN", partial(play, match=matching(strong))),
    "unquoted_if_match": ("MUTATED_TOKEN", partial(play, match=matching(unquoted))),
    "encoded_if_match": ("MUTATED_TOKEN", partial(play, match=matching(lambda tag: f'W/"{quote(unquoted(tag), safe="")}"'))),
    "clipped_if_match": ("MUTATED_TOKEN", partial(play, match=matching(lambda tag: tag[:20]))),
    "old_document": ("WRONG_VALUE", partial(play, based_on=lambda documents: documents[0])),
    "unchanged_document": ("WRONG_VALUE", partial(play, edit=lambda document, state: document)),
    "only_the_change": ("WRONG_VALUE", partial(play, edit=only_the_change)),
    "numbers_as_text": ("WRONG_VALUE", partial(play, edit=as_text)),
    "not_written": ("MISSING_CONSTRAINT", partial(play, write=False)),
    "no_token": ("MISSING_TOKEN", partial(play, show=lambda tokens: {})),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, linger=("confirm", 9))),
    "token_for_the_first_version": ("EXPIRED_BEFORE_USE", partial(play, early=True)),
    "token_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=("confirm", 6))),
    "replaced_token": ("EXPIRED_BEFORE_USE", partial(play, checks=2, show=lambda tokens: {TOKEN: tokens[0]})),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, linger=("confirm", 9), show=shown(lambda token: token[:16]))),
    "clipped_token": ("MUTATED_TOKEN", partial(play, show=shown(lambda token: token[:16]))),
    "encoded_token": ("MUTATED_TOKEN", partial(play, show=shown(lambda token: "".join(f"%{ord(c):02X}" for c in token)))),
    "visible_token": ("WRONG_VALUE", partial(play, show=shown(lambda token: token[:8] + "..."))),
    "quoted_token": ("MUTATED_TOKEN", partial(play, show=shown(lambda token: f'"{token}"'))),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, anchor=lambda part: {})),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "token_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda confirmation, tokens: tokens[-1])),
    "echoed_confirmation": ("WRONG_VALUE", partial(play, hand_in=lambda confirmation, tokens: confirmation + "\n")),
}

CELLS = {"validity": "late_token", "integrity": "clipped_token", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
