"""Clients that go wrong in one place each, with the label that place must earn."""

import json
from functools import partial
from urllib.parse import quote

from solve import Status, planned, play


def as_told(status: Status) -> float:
    """A client that waits for as long as the status says, and does not look at what is planned after that."""
    return status["retry_after"]


def until(place: str, offset: float, status: Status) -> float:
    """The wait until so long after the start or the end of the second window."""
    return status["maintenance"][1][place] + offset - status["now"]


def for_the_end(status: Status) -> float:
    """A client that waits until all maintenance is over, which the budget does not allow."""
    return status["maintenance"][-1]["end"] - status["now"]


def late_in_the_gap(status: Status) -> float:
    """A client that finds the right gap, and comes when it is too late in it for a report."""
    fits = status["now"] + planned(status)
    return min(window["start"] for window in status["maintenance"] if window["start"] > fits) - status["now"] - 15


def on_the_dot(status: Status) -> float:
    """The wait after which the report is answered in the very second in which the token ends."""
    return status["expires_at"] - status["now"] - (status["busy"] - 1)


def spaced(report: bytes, status: Status) -> bytes:
    """A report that a parser read and wrote again."""
    return json.dumps(json.loads(report)).encode()


VIOLATIONS = {
    "at_once": ("SCHEDULED_UNAVAILABLE", partial(play, pause=lambda status: 0)),
    "guessed_wait": ("SCHEDULED_UNAVAILABLE", partial(play, pause=lambda status: 45, takes=0)),
    "a_little_early": ("SCHEDULED_UNAVAILABLE", partial(play, pause=lambda status: as_told(status) - 2)),
    "waited_as_told": ("SCHEDULED_UNAVAILABLE", partial(play, pause=as_told)),
    "ran_into_the_second": ("SCHEDULED_UNAVAILABLE", partial(play, pause=as_told, linger=partial(until, "start", -2))),
    "in_the_second": ("SCHEDULED_UNAVAILABLE", partial(play, pause=as_told, linger=partial(until, "start", 1))),
    "a_second_too_early": ("SCHEDULED_UNAVAILABLE", partial(play, pause=as_told, linger=partial(until, "end", -1))),
    "late_in_the_gap": ("SCHEDULED_UNAVAILABLE", partial(play, pause=late_in_the_gap)),
    "waited_for_the_end": ("OTHER", partial(play, pause=for_the_end)),
    "kept_token": ("EXPIRED_BEFORE_USE", partial(play, pause=as_told, linger=planned)),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda status: 30)),
    "token_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=on_the_dot)),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda status: 30, mangle=lambda token: token[:16])),
    "no_status": ("MISSING_CONSTRAINT", partial(play, takes=0)),
    "no_slice": ("MISSING_CONSTRAINT", partial(play, without="X-Seed-Anchor")),
    "no_token": ("MISSING_TOKEN", partial(play, without="X-Status-Token")),
    "clipped_token": ("MUTATED_TOKEN", partial(play, mangle=lambda token: token[:16])),
    "encoded_token": ("MUTATED_TOKEN", partial(play, mangle=lambda token: quote(token, safe=""))),
    "unpadded_token": ("MUTATED_TOKEN", partial(play, mangle=lambda token: token.rstrip("="))),
    "visible_token": ("WRONG_VALUE", partial(play, mangle=lambda token: token[:12] + "...")),
    "shifted_slice": ("WRONG_VALUE", partial(play, shift=1)),
    "parsed_report": ("WRONG_VALUE", partial(play, hand_in=spaced)),
    "report_with_newline": ("WRONG_VALUE", partial(play, hand_in=lambda report, status: report + b"\n")),
    "status_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda report, status: json.dumps(status).encode())),
}

CELLS = {"validity": "late_token", "integrity": "clipped_token", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
