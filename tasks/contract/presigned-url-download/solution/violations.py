"""Clients that go wrong in one place each, with the label that place must earn."""

from collections.abc import Callable
from functools import partial
from urllib.parse import unquote

from solve import Link, play
from timing import INSTANT

TOKEN, LINK = 0, 1
PRECHECK, DOWNLOAD = 5, 8
"""Seconds that these requests take, as the instruction says."""


def decoded(target: str) -> str:
    """A client that percent-decodes the slashes of the query before it sends it."""
    return target.replace("%2F", "/")


def lingering(seconds: float) -> Callable[[int, float, float], float]:
    """A wait before the first download."""
    return lambda place, token, link: seconds if place == 0 else 0


def idle_at(where: int, window: int, spare: float, *, renewed: int | None = None) -> partial[None]:
    """A client that waits before one download until a window, 0 the token's and 1 the link's, has `spare` seconds left."""
    return partial(play, idle=lambda place, *left: left[window] - spare if place == where else 0, renewed=renewed)


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
    "late_link": ("EXPIRED_BEFORE_USE", partial(play, idle=lingering(95))),
    "late_by_far": ("EXPIRED_BEFORE_USE", partial(play, idle=lingering(130))),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, idle=lingering(33), order=longest_first)),
    "token_on_the_dot": ("EXPIRED_BEFORE_USE", idle_at(2, TOKEN, DOWNLOAD)),
    "first_link_on_the_dot": ("EXPIRED_BEFORE_USE", idle_at(0, LINK, DOWNLOAD)),
    "second_link_on_the_dot": ("EXPIRED_BEFORE_USE", idle_at(1, LINK, DOWNLOAD)),
    "third_link_on_the_dot": ("EXPIRED_BEFORE_USE", idle_at(2, LINK, PRECHECK + DOWNLOAD, renewed=2)),
    "token_in_the_last_instant": ("SUCCESS", idle_at(2, TOKEN, DOWNLOAD + INSTANT)),
    "first_in_the_last_instant": (
        "SUCCESS",
        partial(play, idle=lambda place, *left: min(left) - DOWNLOAD - INSTANT if place == 0 else 0),
    ),
    "second_link_in_the_last_instant": ("SUCCESS", idle_at(1, LINK, PRECHECK + DOWNLOAD + INSTANT, renewed=1)),
    "third_link_in_the_last_instant": ("SUCCESS", idle_at(2, LINK, PRECHECK + DOWNLOAD + INSTANT, renewed=2)),
    "decoded_link": ("MUTATED_TOKEN", partial(play, mangle=decoded)),
    "fully_decoded_link": ("MUTATED_TOKEN", partial(play, mangle=lambda target: unquote(target).replace("\n", ""))),
    "clipped_link": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target[:200])),
    "wrapped_link": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target[:76] + "%0A" + target[76:])),
    "resorted_link": ("SIGNATURE_MISMATCH", partial(play, mangle=resorted)),
    "visible_link": ("WRONG_VALUE", partial(play, mangle=lambda target: target[:80] + "...")),
    "late_and_decoded": ("EXPIRED_BEFORE_USE", partial(play, idle=lingering(95), mangle=decoded)),
    "stale_proof": ("WRONG_VALUE", partial(play, again=True, order=longest_first)),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "other_anchor_beside_the_proof": (
        "WRONG_VALUE",
        partial(play, headers=lambda _, proof: {"X-Seed-Anchor": "0", "X-Contract-Proof": proof}),
    ),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, headers=lambda part, proof: {"X-Contract-Proof": proof})),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, headers=lambda part, proof: {"X-Seed-Anchor": part})),
    "nothing_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda *parts: b"")),
    "one_part_short": ("WRONG_VALUE", partial(play, hand_in=lambda first, second, third: first + second)),
    "parts_backwards": ("WRONG_VALUE", partial(play, hand_in=lambda first, second, third: third + second + first)),
    "stripped_file": ("WRONG_VALUE", partial(play, hand_in=lambda *parts: b"".join(parts).rstrip())),
    "file_with_a_line_more": ("WRONG_VALUE", partial(play, hand_in=lambda *parts: b"".join(parts) + b"\n")),
    "first_part_clipped": ("WRONG_VALUE", partial(play, hand_in=lambda *parts: b"".join(parts)[1:])),
}

CELLS = {"validity": "late_link", "integrity": "decoded_link", "both": "late_and_decoded"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
