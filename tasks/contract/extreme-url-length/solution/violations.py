"""Clients that go wrong in one place each, with the label that place must earn."""

from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from html import escape

from solve import Link, live, play, read_links
from timing import INSTANT, Answers, answered_at, held, told_at


def first(links: list[Link], now: datetime) -> Link:
    """A client that takes the first link it meets."""
    return links[0]


def last(links: list[Link], now: datetime) -> Link:
    """A client that takes the newest entry for the last one."""
    return links[-1]


def handy(links: list[Link], now: datetime) -> Link:
    """A client that shies away from the longest address."""
    return min(links, key=lambda link: len(link.url))


def longest(links: list[Link], now: datetime) -> Link:
    """A client that takes the longest address for the real one."""
    return max(links, key=lambda link: len(link.url))


def by_its_parameter(links: list[Link], now: datetime) -> Link:
    """A client that goes by the time in the address, which is the one beside it."""
    told = {int(link.url.partition("expires=")[2].partition("&")[0]): link for link in links}
    assert list(told) == [int(link.until.timestamp()) for link in links]
    return told[max(told)]


def freshest_ended(links: list[Link], now: datetime) -> Link:
    """A client that takes a link which ended not long ago for one that works."""
    return max((link for link in links if link.until < now), key=lambda link: link.until)


def grafted(url: str) -> str:
    """A client that has the right address but another link's id."""
    return url.replace("/api/resource/file_", "/api/resource/copy_", 1)


def wrapped(url: str) -> str:
    """A client that breaks the address into lines of 76 characters."""
    return "%0A".join(url[start : start + 76] for start in range(0, len(url), 76))


def by_name(url: str) -> str:
    """Middleware that sorts query parameters."""
    path, _, query = url.partition("?")
    return f"{path}?{'&'.join(sorted(query.split('&')))}"


def link_end(answers: Answers) -> float:
    """The virtual second at which the live link ends."""
    page = next(answer for answer in answers if answer.request.url.path == "/task")
    now = parsedate_to_datetime(page.headers["Date"])
    return answered_at(page) + (live(read_links(page.text), now).until - now).total_seconds()


VIOLATIONS = {
    "first_link": ("EXPIRED_BEFORE_USE", partial(play, choose=first)),
    "last_link": ("EXPIRED_BEFORE_USE", partial(play, choose=last)),
    "shortest_link": ("EXPIRED_BEFORE_USE", partial(play, choose=handy)),
    "longest_link": ("EXPIRED_BEFORE_USE", partial(play, choose=longest)),
    "live_by_its_parameter": ("SUCCESS", partial(play, choose=by_its_parameter)),
    "freshest_ended_link": ("EXPIRED_BEFORE_USE", partial(play, choose=freshest_ended)),
    "ended_link_clipped": ("EXPIRED_BEFORE_USE", partial(play, choose=first, change=lambda url: url[:1000])),
    "clipped_at_8192": ("MUTATED_TOKEN", partial(play, change=lambda url: url[:8192])),
    "clipped_at_4096": ("MUTATED_TOKEN", partial(play, change=lambda url: url[:4096])),
    "clipped_by_one": ("MUTATED_TOKEN", partial(play, change=lambda url: url[:-1])),
    "wrapped_at_76": ("MUTATED_TOKEN", partial(play, change=wrapped)),
    "lower_case_escapes": ("MUTATED_TOKEN", partial(play, change=lambda url: url.replace("%2F", "%2f"))),
    "other_id": ("MUTATED_TOKEN", partial(play, change=grafted)),
    "abbreviated": ("WRONG_VALUE", partial(play, change=lambda url: url[:2000] + "..." + url[-200:])),
    "sorted_by_name": ("SIGNATURE_MISMATCH", partial(play, change=by_name)),
    "no_precheck": ("MISSING_CONSTRAINT", partial(play, prechecks=0)),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, leave_out="X-Contract-Proof")),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, leave_out="X-Seed-Anchor")),
    "stale_proof": ("WRONG_VALUE", partial(play, prechecks=2, used=0)),
    "renewed_proof": ("SUCCESS", partial(play, prechecks=2)),
    "references_kept": ("MUTATED_TOKEN", partial(play, change=escape)),
    "first_sight_used": ("SUCCESS", partial(play, looks=2, seen=0)),
    "link_on_the_dot_after_two_looks": ("EXPIRED_BEFORE_USE", held(partial(play, looks=2), "/api/precheck", link_end, 4)),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, linger=105)),
    "late_link": ("EXPIRED_BEFORE_USE", partial(play, dawdle=300)),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, linger=105, change=lambda url: url[:8192])),
    "head_of_token": ("WRONG_VALUE", partial(play, tail=lambda token: token[:8])),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=-1)),
    "quoted_file": ("WRONG_VALUE", partial(play, hand_in=lambda file: f'"{file}"')),
    "download_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/resource/.*", told_at("deadline"), 2)),
    "download_in_the_last_instant": ("SUCCESS", held(play, "/api/resource/.*", told_at("deadline"), 2, INSTANT)),
    "link_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/precheck", link_end, 4)),
    "link_in_the_last_instant": ("SUCCESS", held(play, "/api/precheck", link_end, 4, INSTANT)),
}

CELLS = {"validity": "first_link", "integrity": "clipped_at_8192", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
