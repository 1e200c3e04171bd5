"""Clients that go wrong in one place each, with the label that place must earn."""

from collections.abc import Callable
from functools import partial

import httpx
from solve import Wait, play
from timing import INSTANT, Client, held, told_at, told_within


def acquire(api: httpx.Client, wait: Wait) -> None:
    """A client that asks for a lock which it holds."""
    api.post("/lock").raise_for_status()


def lapse_and_acquire(api: httpx.Client, wait: Wait) -> None:
    """A client that lets its lease run out and helps itself to another."""
    wait(25)
    api.post("/lock").raise_for_status()


def undo_first(api: httpx.Client, wait: Wait) -> None:
    """A client that undoes a step which was done."""
    api.post("/work/undo/1", json={"undo_token": "none"}).raise_for_status()


def next_alone(seconds: dict[str, float], number: int, sealed: int) -> float:
    """A client that looks no further than the next step."""
    return seconds[str(number)]


def next_if_renewable(seconds: dict[str, float], number: int, sealed: int) -> float:
    """A client that looks no further either, and leaves the renewal out where there is none."""
    return 0 if number == sealed + 1 else seconds[str(number)]


def without(name: str) -> Callable[[dict[str, str]], dict[str, str]]:
    """A request that lacks one header or field."""
    return lambda given: {field: value for field, value in given.items() if field != name}


def flipped(token: str) -> str:
    """A token with its first digit changed."""
    return f"{int(token[0], 16) ^ 1:x}{token[1:]}"


def mangled(headers: dict[str, str]) -> dict[str, str]:
    """A step whose lock token was copied wrong."""
    return {**headers, "X-Lock-Token": flipped(headers["X-Lock-Token"])}


def predicted(headers: dict[str, str]) -> dict[str, str]:
    """A client that counts fencing tokens by itself."""
    return {**headers, "X-Fencing-Token": str(int(headers["X-Fencing-Token"]) + 1)}


def acquired_after_a_lapse(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that lets its first lease run out and begins anew, as if the lock were free."""
    wait(api.post("/lock").json()["lease_ttl"])
    play(api, instruction, wait)


def step_to_the_last(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that begins its first step so late that it ends as the lease does, or an instant before, and stops there."""
    first = api.get("/work/estimate").json()["seconds"]["1"]
    held = api.post("/lock").json()
    wait(held["lease_ttl"] - first - spare)
    headers = {"X-Lock-Token": held["lock_token"], "X-Fencing-Token": str(held["fencing_token"])}
    api.post("/work/step/1", headers=headers)


def renewed_once_more(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that renews at the end, too, where a plan without it has used up all renewals."""

    def before(request: httpx.Request) -> None:
        if request.url.path == "/work/complete":
            api.put("/lock/renew", json={"lock_token": request.headers["X-Lock-Token"]}).raise_for_status()

    api.event_hooks = {"request": [before]}
    play(api, instruction, wait)


def only_predicted(headers: dict[str, str]) -> dict[str, str]:
    """A wrong fencing token alone."""
    return without("X-Lock-Token")(predicted(headers))


def fenced_by_the_lost_lease(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that goes on with the fencing token of its lost lease."""
    carried: list[str] = []
    undone: list[str] = []

    def before(request: httpx.Request) -> None:
        if request.url.path.startswith("/work/undo"):
            undone.append(request.url.path)
        if "X-Fencing-Token" in request.headers:
            request.headers["X-Fencing-Token"] = carried[-1] if undone else request.headers["X-Fencing-Token"]
            carried.append(request.headers["X-Fencing-Token"])

    api.event_hooks = {"request": [before]}
    play(api, instruction, wait)


def at_the_end(header: str) -> Client:
    """A client whose completion lacks one header."""

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        def before(request: httpx.Request) -> None:
            if request.url.path == "/work/complete":
                request.headers.pop(header)

        api.event_hooks = {"request": [before]}
        play(api, instruction, wait)

    return client


def begun_again(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that, once it has undone a step, begins again with the first one."""
    undone: list[str] = []

    def before(request: httpx.Request) -> None:
        if request.url.path.startswith("/work/undo"):
            undone.append(request.url.path)
        elif undone and request.url.path.startswith("/work/step"):
            request.url = request.url.copy_with(path="/work/step/1")

    api.event_hooks = {"request": [before]}
    play(api, instruction, wait)


VIOLATIONS = {
    "never_renewed": ("EXPIRED_BEFORE_USE", partial(play, renew=lambda left, seconds, ttl: False)),
    "let_lapse": ("EXPIRED_BEFORE_USE", partial(play, pause=(1, 25))),
    "let_lapse_and_acquired": ("EXPIRED_BEFORE_USE", partial(play, meddle=lapse_and_acquire)),
    "late_completion": ("EXPIRED_BEFORE_USE", partial(play, pause=(5, 25))),
    "went_on_with_lost_lease": ("EXPIRED_BEFORE_USE", partial(play, recover=lambda step: [], acquires=False)),
    "undone_but_not_reacquired": ("EXPIRED_BEFORE_USE", partial(play, acquires=False)),
    "acquired_after_a_lapse": ("EXPIRED_BEFORE_USE", acquired_after_a_lapse),
    "late_undo": ("EXPIRED_BEFORE_USE", partial(play, undo_pause=8)),
    "step_on_the_dot": ("EXPIRED_BEFORE_USE", partial(step_to_the_last, 0)),
    "step_in_the_last_instant": ("OTHER", partial(step_to_the_last, INSTANT)),
    "late_and_mangled": ("EXPIRED_BEFORE_USE", partial(play, pause=(1, 25), headers=mangled)),
    "renewed_once_more": ("RATE_LIMITED", renewed_once_more),
    "renewed_before_every_step": ("RATE_LIMITED", partial(play, renew=lambda left, seconds, ttl: True)),
    "one_step_at_a_time": ("SCHEDULED_UNAVAILABLE", partial(play, due=next_alone)),
    "one_step_at_a_time_but_not_there": ("EXPIRED_BEFORE_USE", partial(play, due=next_if_renewable)),
    "not_undone": ("COMPENSATION_FAILURE", partial(play, recover=lambda step: [])),
    "undid_the_step_before": ("COMPENSATION_FAILURE", partial(play, recover=lambda step: [step - 1])),
    "undid_everything": ("COMPENSATION_FAILURE", partial(play, recover=lambda step: list(range(step, 0, -1)))),
    "undone_twice": ("COMPENSATION_FAILURE", partial(play, recover=lambda step: [step, step])),
    "undone_though_done": ("COMPENSATION_FAILURE", partial(play, meddle=undo_first)),
    "acquired_twice": ("VERSION_CONFLICT", partial(play, meddle=acquire)),
    "stale_fencing_token": ("VERSION_CONFLICT", partial(play, newest=False)),
    "predicted_fencing_token": ("VERSION_CONFLICT", partial(play, headers=predicted)),
    "swapped_steps": ("WRONG_VALUE", partial(play, plan=lambda steps: [1, 3, 2, 4])),
    "lost_step_not_repeated": ("WRONG_VALUE", partial(play, repeats=False)),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "receipt_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda proof, receipts: receipts[-1])),
    "completed_early": ("MISSING_CONSTRAINT", partial(play, plan=lambda steps: steps[:-1])),
    "no_digest": ("MISSING_CONSTRAINT", partial(play, edit=without("digest"))),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, edit=without("anchor"))),
    "late_without_digest": ("MISSING_CONSTRAINT", partial(play, pause=(5, 25), edit=without("digest"))),
    "late_without_fencing_token": (
        "MISSING_CONSTRAINT", partial(play, pause=(1, 25), headers=without("X-Fencing-Token")),
    ),
    "no_fencing_token": ("MISSING_CONSTRAINT", partial(play, headers=without("X-Fencing-Token"))),
    "no_token": ("MISSING_TOKEN", partial(play, headers=without("X-Lock-Token"))),
    "no_token_and_wrong_fencing_token": ("MISSING_TOKEN", partial(play, headers=only_predicted)),
    "no_undo_token": ("MISSING_TOKEN", partial(play, undo=lambda token: None)),
    "renewed_without_token": ("MISSING_TOKEN", partial(play, renews=lambda token: None)),
    "renewed_with_altered_token": ("MUTATED_TOKEN", partial(play, renews=flipped)),
    "mangled_token": ("MUTATED_TOKEN", partial(play, headers=mangled)),
    "clipped_undo_token": ("MUTATED_TOKEN", partial(play, undo=lambda token: token[:16])),
    "digest_without_undo": ("WRONG_HASH", partial(play, text=lambda receipts, undone, part: "".join([*receipts, part]))),
    "digest_as_it_happened": (
        "WRONG_HASH", partial(play, text=lambda receipts, undone, part: "".join([receipts[0], undone, *receipts[1:], part])),
    ),
    "digest_by_lines": ("WRONG_HASH", partial(play, text=lambda receipts, undone, part: "\n".join([*receipts, undone, part]))),
    "renewal_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/lock/renew", told_within("lease_ttl"), 1)),
    "renewal_in_the_last_instant": ("SUCCESS", held(play, "/lock/renew", told_at("expires_at"), 1, INSTANT)),
    "undo_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/work/undo/.*", told_at("undo_before"), 2)),
    "undo_in_the_last_instant": ("SUCCESS", held(play, "/work/undo/.*", told_at("undo_before"), 2, INSTANT)),
    "completion_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/work/complete", told_at("expires_at"), 1)),
    "completion_in_the_last_instant": ("SUCCESS", held(play, "/work/complete", told_at("expires_at"), 1, INSTANT)),
    "fencing_token_of_the_lost_lease": ("VERSION_CONFLICT", fenced_by_the_lost_lease),
    "no_token_at_the_end": ("MISSING_TOKEN", at_the_end("X-Lock-Token")),
    "no_fencing_token_at_the_end": ("MISSING_CONSTRAINT", at_the_end("X-Fencing-Token")),
    "step_done_again": ("WRONG_VALUE", partial(play, plan=lambda steps: [1, *steps])),
    "upper_case_digest": ("WRONG_HASH", partial(play, edit=lambda final: {**final, "digest": final["digest"].upper()})),
    "begun_again_after_the_undo": ("WRONG_VALUE", begun_again),
}  # fmt: skip

CELLS = {"validity": "let_lapse", "integrity": "mangled_token", "both": "late_and_mangled"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
