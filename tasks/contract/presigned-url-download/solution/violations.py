"""Clients that go wrong in one place each, with the label that place must earn."""

from functools import partial
from urllib.parse import unquote

from solve import Link, play


def decoded(target: str) -> str:
    """A client that percent-decodes the slashes of the query before it sends it."""
    return target.replace("%2F", "/")


def longest_first(links: list[Link]) -> list[Link]:
    """The part with most time first: what else is wrong shows before any link runs out."""
    return sorted(links, key=lambda link: -link[2])


def resorted(target: str) -> str:
    """Middleware that sorts query parameters from last to first."""
    path, _, query = target.partition("?")
    return path + "?" + "&".join(sorted(query.split("&"), reverse=True))


VIOLATIONS = {
    "no_precheck": ("MISSING_CONSTRAINT", partial(play, precheck=False)),
    "listed_order": ("EXPIRED_BEFORE_USE", partial(play, order=list)),
    "late_link": ("EXPIRED_BEFORE_USE", partial(play, linger=95)),
    "late_by_far": ("EXPIRED_BEFORE_USE", partial(play, linger=130)),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, linger=33, order=longest_first)),
    "decoded_link": ("MUTATED_TOKEN", partial(play, mangle=decoded)),
    "fully_decoded_link": ("MUTATED_TOKEN", partial(play, mangle=lambda target: unquote(target).replace("\n", ""))),
    "clipped_link": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target[:200])),
    "wrapped_link": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target[:76] + "%0A" + target[76:])),
    "resorted_link": ("SIGNATURE_MISMATCH", partial(play, mangle=resorted)),
    "visible_link": ("WRONG_VALUE", partial(play, mangle=lambda target: target[:80] + "...")),
    "late_and_decoded": ("EXPIRED_BEFORE_USE", partial(play, linger=95, mangle=decoded)),
    "stale_proof": ("WRONG_VALUE", partial(play, again=True, order=longest_first)),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, headers=lambda part, proof: {"X-Contract-Proof": proof})),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, headers=lambda part, proof: {"X-Seed-Anchor": part})),
}

CELLS = {"validity": "late_link", "integrity": "decoded_link", "both": "late_and_decoded"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
