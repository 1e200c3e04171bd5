"""Clients that go wrong in one place each, with the label that place must earn."""

from functools import partial
from urllib.parse import unquote

import httpx
from solve import play, precheck_first, proofs
from timing import INSTANT, Answers, Client, Wait, dated, held, told_at


def lines(target: str, width: int) -> list[str]:
    """The target in pieces of one length, the last one shorter."""
    return [target[start : start + width] for start in range(0, len(target), width)]


def wrapped(target: str) -> str:
    """A client that breaks the link into lines of 76 characters."""
    return "%0A".join(lines(target, 76))


def spaced(target: str) -> str:
    """A client that breaks it and joins the lines with spaces."""
    return "%20".join(lines(target, 120))


def skipping(target: str) -> str:
    """A model that loses its place while copying and leaves out a stretch."""
    return target[:500] + target[560:]


def stuttering(target: str) -> str:
    """A model that copies one stretch twice."""
    return target[:500] + target[440:]


def mistyped(target: str) -> str:
    """A model that gets the case of one letter wrong."""
    place = next(at for at in range(400, len(target)) if target[at].isalpha() and "%" not in target[at - 2 : at])
    return target[:place] + target[place].swapcase() + target[place + 1 :]


def resorted(target: str) -> str:
    """Middleware that sorts query parameters by name."""
    path, _, query = target.partition("?")
    return path + "?" + "&".join(sorted(query.split("&")))


def in_turn(page_first: Client, token_first: Client) -> Client:
    """One of two clients, by what the instruction gives to reckon."""

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        (token_first if precheck_first(instruction) else page_first)(api, instruction, wait)

    return client


def download_at(spare: float) -> Client:
    """A client whose download is judged so long before its token ends, while the link still lives."""
    page_first = held(play, "/api/resource/.*", told_at("deadline"), 2, spare)
    return in_turn(page_first, held(play, "/task", told_at("deadline"), 4, spare))


def dated_first(answers: Answers) -> float:
    """The virtual second at which the link ends, as the first look at the page tells it."""
    first = next(place for place, answer in enumerate(answers, 1) if answer.request.url.path == "/task")
    return dated(answers[:first])


def link_at(spare: float, looks: int = 1) -> Client:
    """A client whose download is judged so long before its link ends, while the token still lives."""
    looking = partial(play, looks=looks)
    page_first = held(looking, "/api/precheck", dated_first, 4, spare)
    return in_turn(page_first, held(looking, "/api/resource/.*", dated_first, 2, spare))


VIOLATIONS = {
    "clipped_at_8000": ("MUTATED_TOKEN", partial(play, carry=lambda target: target[:8000])),
    "clipped_at_4096": ("MUTATED_TOKEN", partial(play, carry=lambda target: target[:4096])),
    "wrapped_at_76": ("MUTATED_TOKEN", partial(play, carry=wrapped)),
    "wrapped_and_joined": ("MUTATED_TOKEN", partial(play, carry=spaced)),
    "decoded": ("MUTATED_TOKEN", partial(play, carry=lambda target: target.replace("%2F", "/").replace("%2B", "+"))),
    "fully_decoded": ("MUTATED_TOKEN", partial(play, carry=unquote)),
    "skipped_a_stretch": ("MUTATED_TOKEN", partial(play, carry=skipping)),
    "repeated_a_stretch": ("MUTATED_TOKEN", partial(play, carry=stuttering)),
    "mistyped_a_letter": ("MUTATED_TOKEN", partial(play, carry=mistyped)),
    "abbreviated": ("WRONG_VALUE", partial(play, carry=lambda target: target[:300] + "..." + target[-60:])),
    "resorted": ("SIGNATURE_MISMATCH", partial(play, carry=resorted)),
    "no_precheck": ("MISSING_CONSTRAINT", partial(play, prechecks=0)),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, headers=lambda part, token: {"X-Seed-Anchor": part})),
    "no_anchor": (
        "MISSING_CONSTRAINT",
        partial(play, headers=lambda part, token: {"X-Contract-Proof": proofs(part, token)["X-Contract-Proof"]}),
    ),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, pauses=(0, 110))),
    "late_link": ("EXPIRED_BEFORE_USE", in_turn(partial(play, pauses=(240, 0)), held(play, "/api/resource/.*", dated, -238))),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, pauses=(0, 110), carry=lambda target: target[:4096])),
    "stale_proof": ("WRONG_VALUE", partial(play, prechecks=2, use=0)),
    "whole_token": ("WRONG_VALUE", partial(play, headers=lambda part, token: {**proofs(part, token), "X-Seed-Anchor": token})),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "echoed_file": ("WRONG_VALUE", partial(play, hand_in=lambda file: file + "\n")),
    "download_on_the_dot": ("EXPIRED_BEFORE_USE", download_at(0)),
    "download_in_the_last_instant": ("SUCCESS", download_at(INSTANT)),
    "first_sight_used": ("SUCCESS", partial(play, looks=2, seen=0)),
    "link_on_the_dot_after_two_looks": ("EXPIRED_BEFORE_USE", link_at(0, looks=2)),
    "link_on_the_dot": ("EXPIRED_BEFORE_USE", link_at(0)),
    "link_in_the_last_instant": ("SUCCESS", link_at(INSTANT)),
}

CELLS = {"validity": "late_token", "integrity": "clipped_at_4096", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
