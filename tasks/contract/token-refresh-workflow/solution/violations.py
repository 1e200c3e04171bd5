"""Clients that go wrong in one place each, with the label that place must earn."""

import re
from functools import partial
from urllib.parse import quote

import httpx
from solve import STEPS, Bearer, Item, Wait, by_rule, play
from timing import INSTANT, Answers, Client, held, told_within

OPPOSITE = {"largest": "smallest", "smallest": "largest", "newest": "oldest", "oldest": "newest"}


def never(step: str, left: float, cost: float, generation: int) -> bool:
    """A client that believes its first token lasts."""
    return False


def at_the_start(step: str, left: float, cost: float, generation: int) -> bool:
    """A client that refreshes once, to have it done, before there is any need."""
    return step == "list"


def for_the_download(step: str, left: float, cost: float, generation: int) -> bool:
    """A client that refreshes where the text demands it, and does not look at the time."""
    return step == "download"


def when_sent(step: str, left: float, cost: float, generation: int) -> bool:
    """A client that asks whether the token lives now, not whether it outlives the request."""
    return left <= 0 or (step == "download" and generation == 0)


def page_again(desk: Bearer) -> None:
    """A client that loads the page once more in place of a refresh."""
    desk.take(desk.api.get("/task"))


def hasty(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that refreshes an instant too early, and goes no further; where it never can, it ends with its first token."""
    steps: list[str] = []

    def renew(desk: Bearer) -> None:
        if desk.opens > desk.at + 1:
            desk.refresh(INSTANT)
            raise InterruptedError
        desk.refresh()

    def bears(tokens: list[str]) -> str:
        steps.append(tokens[-1])
        return tokens[0 if len(steps) == len(STEPS) else -1]

    play(api, instruction, wait, renew=renew, bears=bears)


def counting(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that goes on as long as the page says that its token is the first one."""

    def check(answer: httpx.Response) -> None:
        answer.read()
        if answer.request.url.path == "/task" and answer.json()["generation"] != 0:
            raise LookupError

    api.event_hooks = {"request": [], "response": [check]}
    play(api, instruction, wait)


def first_listed(items: list[Item], rule: str, field: str, kind: str) -> str:
    """A client that takes what comes first."""
    return items[0]["id"]


def of_any_kind(items: list[Item], rule: str, field: str, kind: str) -> str:
    """A client that overlooks the kind."""
    return by_rule([{**item, "kind": kind} for item in items], rule, field, kind)


def other_end(items: list[Item], rule: str, field: str, kind: str) -> str:
    """A client that sorts the wrong way round."""
    return by_rule(items, OPPOSITE[rule], field, kind)


def grace_until(spare: float) -> Client:
    """A client that refreshes its first token so many seconds before that can be done no more."""

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        (grace,) = re.findall(r"answered before (\d+) more seconds", " ".join(instruction.split()))

        def end(answers: Answers) -> float:
            return told_within("expires_in")(answers) + float(grace)

        held(play, "/api/refresh", end, 1, spare)(api, instruction, wait)

    return client


def twice_with_one_token(desk: Bearer) -> None:
    """A client that refreshes twice with the same token."""
    desk.refresh()
    desk.take(desk.send("POST", "/api/refresh", desk.tokens[-2]))


VIOLATIONS = {
    "never_refreshed": ("EXPIRED_BEFORE_USE", partial(play, due=never)),
    "refreshed_at_the_start": ("EXPIRED_BEFORE_USE", partial(play, due=at_the_start)),
    "refreshed_for_the_download": ("EXPIRED_BEFORE_USE", partial(play, due=for_the_download)),
    "lived_when_sent": ("EXPIRED_BEFORE_USE", partial(play, due=when_sent)),
    "refreshed_after_401": ("EXPIRED_BEFORE_USE", partial(play, due=for_the_download, reactive=True)),
    "refreshed_too_late": ("EXPIRED_BEFORE_USE", partial(play, linger=("select", 90))),
    "page_again": ("EXPIRED_BEFORE_USE", partial(play, renew=page_again)),
    "hasty": ("EXPIRED_BEFORE_USE", hasty),
    "counting": ("SUCCESS", counting),
    "refreshed_away": ("EXPIRED_BEFORE_USE", partial(play, bears=lambda tokens: tokens[0])),
    "refreshed_late_and_clipped": (
        "EXPIRED_BEFORE_USE",
        partial(play, linger=("list", 100), due=lambda *_: True, mangle=lambda token: token[:24]),
    ),
    "never_refreshed_and_download": ("MISSING_CONSTRAINT", partial(play, due=never, steps=("download",))),
    "no_select": ("MISSING_CONSTRAINT", partial(play, steps=("list", "download"))),
    "no_list": ("MISSING_CONSTRAINT", partial(play, steps=("select",), choose=lambda *_: "0")),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, proof=lambda *_: None)),
    "no_token": ("MISSING_TOKEN", partial(play, scheme="")),
    "token_without_scheme": ("MISSING_TOKEN", partial(play, scheme="Token")),
    "clipped_token": ("MUTATED_TOKEN", partial(play, mangle=lambda token: token[:24])),
    "encoded_token": ("MUTATED_TOKEN", partial(play, mangle=lambda token: quote(token, safe=""))),
    "unpadded_token": ("MUTATED_TOKEN", partial(play, mangle=lambda token: token.rstrip("="))),
    "visible_token": ("WRONG_VALUE", partial(play, mangle=lambda token: token[:12] + "...")),
    "proof_of_the_first_token": ("WRONG_VALUE", partial(play, proof=lambda part, t, gen: f"{part}:{t[0][-8:]}:r{gen}")),
    "proof_of_generation_0": ("WRONG_VALUE", partial(play, proof=lambda part, t, gen: f"{part}:{t[-1][-8:]}:r0")),
    "proof_without_generation": ("WRONG_VALUE", partial(play, proof=lambda part, t, gen: f"{part}:{t[-1][-8:]}")),
    "shifted_slice": ("WRONG_VALUE", partial(play, shift=1)),
    "first_listed": ("WRONG_VALUE", partial(play, choose=first_listed)),
    "of_any_kind": ("WRONG_VALUE", partial(play, choose=of_any_kind)),
    "other_end": ("WRONG_VALUE", partial(play, choose=other_end)),
    "file_with_newline": ("WRONG_VALUE", partial(play, hand_in=lambda content: content + b"\n")),
    "list_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/list", told_within("expires_in"), 52)),
    "list_in_the_last_instant": ("SUCCESS", held(play, "/api/list", told_within("expires_in"), 52, INSTANT)),
    "select_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/select/.*", told_within("expires_in"), 52)),
    "select_in_the_last_instant": ("SUCCESS", held(play, "/api/select/.*", told_within("expires_in"), 52, INSTANT)),
    "grace_on_the_dot": ("EXPIRED_BEFORE_USE", grace_until(0)),
    "grace_in_the_last_instant": ("SUCCESS", grace_until(INSTANT)),
    "refreshed_twice_with_one_token": ("EXPIRED_BEFORE_USE", partial(play, renew=twice_with_one_token)),
    "download_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/download", told_within("expires_in"), 5)),
    "download_in_the_last_instant": ("SUCCESS", held(play, "/api/download", told_within("expires_in"), 5, INSTANT)),
}

CELLS = {"validity": "never_refreshed", "integrity": "clipped_token", "both": "refreshed_late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
