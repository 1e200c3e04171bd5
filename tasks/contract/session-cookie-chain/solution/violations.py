"""Clients that go wrong in one place each, with the label that place must earn.

The cookies that a jar would send are edited on their way; the pass is the third cookie, and goes with one request alone.
"""

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import quote

import httpx
from solve import Pairs, Wait, play, told
from timing import INSTANT, Answers, Client, answered_at, held

Change = Callable[[str], str]


def changed(name: str, change: Change) -> Callable[[Pairs, Pairs], Pairs]:
    """The same change to one cookie, whenever it is sent."""
    return lambda pairs, seen: [(n, change(value) if n == name else value) for n, value in pairs]


def to_second(change: Change) -> Callable[[Pairs, Pairs], Pairs]:
    """The same change to every cookie but the session's."""
    return lambda pairs, seen: [(n, value if n == "session" else change(value)) for n, value in pairs]


def first_session(pairs: Pairs, seen: Pairs) -> Pairs:
    """A client that copied the session cookie once."""
    return [(name, dict(reversed(seen))[name] if name == "session" else value) for name, value in pairs]


def old_and_new(pairs: Pairs, seen: Pairs) -> Pairs:
    """A client that adds a new session cookie to the old ones."""
    return [pair for pair in dict.fromkeys([*seen, *pairs]) if pair in pairs or pair[0] == "session"]


def passes_on(pairs: Pairs, seen: Pairs) -> Pairs:
    """A client that knows no paths: what was once sent is sent with every later request."""
    return [*pairs, *(pair for pair in dict.fromkeys(seen) if pair[0] not in {name for name, _ in pairs})]


def without_pass(pairs: Pairs, seen: Pairs) -> Pairs:
    """A client that missed the cookie with a path of its own."""
    return [pair for pair in pairs if pair[0] in ("session", seen[0][0], seen[1][0])]


def with_attributes(pairs: Pairs, seen: Pairs) -> Pairs:
    """A client that returns the whole Set-Cookie."""
    return [*pairs, ("Path", "/")]


def before_pass(looks: int, number: int, pairs: Pairs) -> int:
    """So many looks before the request that needs the pass."""
    return looks if len(pairs) > 2 else 0


def idle_until(spare: float, client: Client = play) -> Client:
    """A client that completes so many seconds before the session is over."""

    def idle(api: httpx.Client, instruction: str, wait: Wait) -> None:
        seconds = told(instruction, "is over once")
        end = lambda answers: answered_at(answers[-1]) + seconds  # noqa: E731
        held(client, "/api/workflow/complete", end, 5, spare)(api, instruction, wait)

    return idle


def without(name: str, headers: dict[str, str]) -> dict[str, str]:
    """A completion that lacks one header."""
    return {given: value for given, value in headers.items() if given != name}


def counted(receipt: str, ids: list[str]) -> str:
    """The receipt, if the session cookie was replaced three times, with a new id each time."""
    return receipt if len(set(ids)) == len(["none at first", "of the start", 1, 2, 3]) else "not so often"


def clipped_look(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that looks at the session with a cookie that it cut, and does all else right."""

    def clip(request: httpx.Request) -> None:
        if request.url.path == "/api/session":
            request.headers["Cookie"] = re.sub(r"(session=[^;]{40})[^;]*", r"\1", request.headers["Cookie"])

    api.event_hooks = {"request": [clip], "response": []}
    play(api, instruction, wait, look=lambda number, pairs: number == 1)


looking_last = partial(play, look=lambda number, pairs: number == -1)
"""A client that looks at the session before it completes."""


def told_left(answers: Answers) -> float:
    """When the session is over, as the look before told."""
    left: float = answers[-1].json()["seconds_left"]["session"]
    return answered_at(answers[-1]) + left


def pass_until(spare: float, early: float = 0) -> Client:
    """A client that needs the pass so many seconds before that is honoured no more, or the session over; a look may delay it.

    With `early` it comes so many seconds before the pass counts, where that is not from the start.
    """

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        times: dict[str, float] = {}

        def note(answer: httpx.Response) -> None:
            answer.read()
            times["now"] = answered_at(answer)
            if answer.request.url.path.startswith("/api/"):
                times["over"] = times["now"] + told(instruction, "is over once")
            if honoured := answer.json().get("honoured_seconds"):
                times["end"] = times["now"] + sum(honoured.values())
                times["from"] = times["now"] + sum(answer.json()["honoured_from"].values())

        def lingers(pairs: Pairs) -> bool:
            return len(pairs) > 2 and not (early and times["now"] + 5 < times["from"])

        def look(number: int, pairs: Pairs) -> int:
            return int(lingers(pairs) and times["end"] - times["now"] > 10)

        def linger(number: int, pairs: Pairs) -> float:
            return round(min(times["end"], times["over"]) - times["now"] - 5 - spare, 3) if lingers(pairs) else 0

        api.event_hooks = {"request": [], "response": [note]}
        play(api, instruction, wait, look=look, linger=linger, spare=early)

    return client


def without_colon(headers: dict[str, str]) -> dict[str, str]:
    """A completion whose proof has nothing between its parts."""
    return {**headers, "X-Seed-Proof": headers["X-Seed-Proof"].replace(":", "")}


VIOLATIONS = {
    "first_session_kept": ("EXPIRED_BEFORE_USE", partial(play, edit=first_session)),
    "old_beside_new": ("EXPIRED_BEFORE_USE", partial(play, edit=old_and_new)),
    "idle": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda number, pairs: 65 if number == 1 else 0)),
    "idle_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda number, pairs: 10 if number == -1 else 0)),
    "idle_and_clipped": (
        "EXPIRED_BEFORE_USE",
        partial(play, linger=lambda number, pairs: 10 if number == 0 else 0, edit=changed("session", lambda value: value[:40])),
    ),
    "idle_until_it_is_over": ("EXPIRED_BEFORE_USE", idle_until(0)),
    "idle_until_the_last_instant": ("SUCCESS", idle_until(INSTANT)),
    "looked_and_idle_until_it_is_over": ("EXPIRED_BEFORE_USE", held(looking_last, "/api/workflow/complete", told_left, 5)),
    "looked_and_idle_until_the_last_instant": ("SUCCESS", held(looking_last, "/api/workflow/complete", told_left, 5, INSTANT)),
    "kept_alive_by_a_look": ("SUCCESS", idle_until(INSTANT, looking_last)),
    "pass_an_instant_early": ("EXPIRED_BEFORE_USE", pass_until(0, early=INSTANT)),
    "pass_as_it_ends": ("EXPIRED_BEFORE_USE", pass_until(0)),
    "pass_in_the_last_instant": ("SUCCESS", pass_until(INSTANT)),
    "clipped_in_a_look": ("MUTATED_TOKEN", clipped_look),
    "late_pass": ("EXPIRED_BEFORE_USE", partial(play, look=partial(before_pass, 2))),
    "looked_every_time": ("EXPIRED_BEFORE_USE", partial(play, look=lambda number, pairs: 1)),
    "clipped_session": ("MUTATED_TOKEN", partial(play, edit=changed("session", lambda value: value[:40]))),
    "cut_at_equals": ("MUTATED_TOKEN", partial(play, edit=changed("session", lambda value: value.partition("=")[0]))),
    "encoded_session": ("MUTATED_TOKEN", partial(play, edit=changed("session", lambda value: quote(value, safe="")))),
    "spaced_session": ("MUTATED_TOKEN", partial(play, edit=changed("session", lambda value: value.replace("+", " ")))),
    "quoted_session": ("MUTATED_TOKEN", partial(play, edit=changed("session", lambda value: f'"{value}"'))),
    "unquoted_second": ("MUTATED_TOKEN", partial(play, edit=to_second(lambda value: value.strip('"')))),
    "visible_session": ("WRONG_VALUE", partial(play, edit=changed("session", lambda value: value[:12] + "..."))),
    "no_cookies": ("MISSING_TOKEN", partial(play, edit=lambda pairs, seen: [])),
    "no_session": ("MISSING_TOKEN", partial(play, edit=lambda pairs, seen: [p for p in pairs if p[0] != "session"])),
    "session_alone": ("MISSING_CONSTRAINT", partial(play, edit=lambda pairs, seen: [p for p in pairs if p[0] == "session"])),
    "no_pass": ("MISSING_CONSTRAINT", partial(play, edit=without_pass)),
    "pass_sent_on": ("WRONG_VALUE", partial(play, edit=passes_on)),
    "attributes_returned": ("WRONG_VALUE", partial(play, edit=with_attributes)),
    "not_started": ("MISSING_CONSTRAINT", partial(play, starts=0)),
    "started_twice": ("VERSION_CONFLICT", partial(play, starts=2)),
    "skipped_step": ("MISSING_CONSTRAINT", partial(play, plan=lambda steps: [*steps[:3], *steps[4:]])),
    "completed_early": ("MISSING_CONSTRAINT", partial(play, plan=lambda steps: steps[:1])),
    "repeated_step": ("VERSION_CONFLICT", partial(play, plan=lambda steps: [steps[0], *steps])),
    "proof_of_first_id": ("WRONG_VALUE", partial(play, proof_of=lambda ids: ids[1])),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "other_anchor_beside_the_proof": ("WRONG_VALUE", partial(play, head=lambda headers: {**headers, "X-Seed-Anchor": "0"})),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, head=partial(without, "X-Seed-Anchor"))),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, head=partial(without, "X-Seed-Proof"))),
    "replacements_counted": ("SUCCESS", partial(play, hand_in=counted)),
    "id_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda receipt, ids: ids[-1])),
    "proof_of_the_head_of_the_id": ("WRONG_VALUE", partial(play, proof_of=lambda ids: ids[-1][:8])),
    "proof_without_colon": ("WRONG_VALUE", partial(play, head=without_colon)),
}

CELLS = {"validity": "idle", "integrity": "clipped_session", "both": "idle_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
