"""Clients that go wrong in one place each, with the label that place must earn."""

import json
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from urllib.parse import quote

import httpx
from solve import Status, Wait, planned, play
from timing import INSTANT, held, told_at


def as_told(status: Status) -> float:
    """A client that waits for as long as the status says, and does not look at what is planned after that."""
    return status["retry_after"]


def until(place: str, offset: float, status: Status) -> float:
    """The wait until so long after the start or the end of the second window."""
    return status["maintenance"][1][place] + offset - status["now"]


def for_the_end(status: Status) -> float:
    """A client that waits until all maintenance is over, which the budget does not allow."""
    return status["maintenance"][-1]["end"] - status["now"]


def stubborn(pause: Callable[[Status], float], linger: Callable[[Status], float] = lambda status: 0) -> partial[None]:
    """A client that waits by some rule of its own, and does not plan again."""
    return partial(play, pause=pause, linger=linger, replan=lambda status: 0)


def last_gap(status: Status) -> tuple[float, float]:
    """When the last gap begins and ends in which a status and a report fit: of that, no plan changes."""
    windows = status["maintenance"]
    gaps = [(before["end"], after["start"]) for before, after in pairwise(windows)]
    return [gap for gap in gaps if gap[1] - gap[0] > status["busy"]][-1]


def before_the_next(seconds: float, status: Status) -> float:
    """A client that finds the right gap, and comes so long before it ends: a status and a report take 36 s."""
    return last_gap(status)[1] - status["now"] - seconds


def from_the_start(seconds: float, status: Status) -> float:
    """A client that finds the right gap, and asks so long before it begins."""
    return last_gap(status)[0] - status["now"] - seconds


def credulous(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that sticks to the first plan it was told; where gaps are so short that none changes, it comes late."""

    def linger(status: Status) -> float:
        windows = status["maintenance"]
        shortest = min(after["start"] - before["end"] for before, after in pairwise(windows))
        ahead = min(window["start"] for window in windows if window["start"] > status["now"])
        return ahead - status["now"] - 2 if shortest < 30 else 0

    stubborn(planned, linger)(api, instruction, wait)


def on_the_dot(status: Status) -> float:
    """The wait after which the report is answered in the very second in which the token ends."""
    return status["expires_at"] - status["now"] - (status["busy"] - 1)


def late(status: Status) -> float:
    """The wait after which the report is answered a second later, when the service is still up."""
    return on_the_dot(status) + 1


def agreed(status: Status) -> float:
    """A client that goes by a status only where its numbers agree: down from the start, and up again when it says."""
    first = status["maintenance"][0]
    if (first["start"], first["end"] - status["retry_after"]) != (0, status["now"]):
        raise LookupError(first)
    return from_the_start(0, status)


def earlier_token(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that asks for the status once more before its report, if its token lives on so long, and keeps to that token."""

    def once_more(status: Status) -> float:
        if status["expires_at"] - status["now"] > status["busy"]:
            api.get("/api/status")
        return 0

    play(api, instruction, wait, linger=once_more)


def until_available(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that waits as told for as long as the status says that the service is down, and then needs its token."""
    while not (told := api.get("/api/status").json())["available"]:
        wait(told["retry_after"])
    if told["status_token"]:
        play(api, instruction, wait)


def spaced(report: bytes, status: Status) -> bytes:
    """A report that a parser read and wrote again."""
    return json.dumps(json.loads(report)).encode()


VIOLATIONS = {
    "at_once": ("SCHEDULED_UNAVAILABLE", stubborn(lambda status: 0)),
    "guessed_wait": ("SCHEDULED_UNAVAILABLE", partial(play, pause=lambda status: 45, takes=0)),
    "a_little_early": ("SCHEDULED_UNAVAILABLE", stubborn(lambda status: as_told(status) - 2)),
    "waited_as_told": ("SCHEDULED_UNAVAILABLE", stubborn(as_told)),
    "credulous": ("SCHEDULED_UNAVAILABLE", credulous),
    "ran_into_the_second": ("SCHEDULED_UNAVAILABLE", stubborn(as_told, partial(until, "start", -2))),
    "in_the_second": ("SCHEDULED_UNAVAILABLE", stubborn(as_told, partial(until, "start", 1))),
    "a_second_too_early": ("SCHEDULED_UNAVAILABLE", stubborn(as_told, partial(until, "end", -1))),
    "late_in_the_gap": ("SCHEDULED_UNAVAILABLE", stubborn(partial(before_the_next, 15))),
    "reported_as_maintenance_begins": ("SCHEDULED_UNAVAILABLE", stubborn(partial(before_the_next, 36))),
    "reported_the_instant_before": ("SUCCESS", stubborn(partial(before_the_next, 36.001))),
    "asked_as_maintenance_ends": ("SUCCESS", stubborn(partial(from_the_start, 1))),
    "asked_the_instant_before": ("SCHEDULED_UNAVAILABLE", stubborn(partial(from_the_start, 1.001))),
    "planned_as_the_first_ends": ("SUCCESS", partial(play, pause=lambda status: as_told(status) - 1)),
    "agreed": ("SUCCESS", stubborn(agreed)),
    "asked_until_available": ("SUCCESS", until_available),
    "waited_for_the_end": ("OTHER", partial(play, pause=for_the_end)),
    "kept_token": ("EXPIRED_BEFORE_USE", stubborn(as_told, planned)),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, linger=late)),
    "token_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=on_the_dot)),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, linger=late, mangle=lambda token: token[:16])),
    "earlier_token": ("SUCCESS", earlier_token),
    "no_status": ("MISSING_CONSTRAINT", partial(play, pause=partial(from_the_start, 0), takes=0)),
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
    "token_as_it_ends": ("EXPIRED_BEFORE_USE", held(play, "/api/report", told_at("expires_at"), 35)),
    "token_in_the_last_instant": ("SUCCESS", held(play, "/api/report", told_at("expires_at"), 35, INSTANT)),
}

CELLS = {"validity": "late_token", "integrity": "clipped_token", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
