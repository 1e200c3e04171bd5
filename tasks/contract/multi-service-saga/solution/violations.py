"""Clients that go wrong in one place each, with the label that place must earn.

On some seeds no step fails. There, a client that undoes wrongly undoes though nothing failed, which earns the same label.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
from solve import Wait, first_nonce, play, read_steps
from timing import INSTANT, Client, held, told_at

Tokens = dict[str, str]


def swapped(tokens: Tokens) -> Tokens:
    """A client that takes each token for that of the next service."""
    values = list(tokens.values())
    return dict(zip(tokens, values[1:] + values[:1], strict=True))


def wrong_about_the_failed_step(done: list[str], last: str, failed: bool) -> list[str]:
    """A client that leaves the failed step out though it gave a token, and undoes it though it gave none."""
    return done[-2::-1] if last == done[-1] else [last, *done[::-1]]


def each(change: Any) -> Any:
    """The same change to every token."""
    return lambda tokens: {service: change(token) for service, token in tokens.items()}


def without(field: str, final: dict[str, Any]) -> dict[str, Any]:
    """A completion that lacks one field."""
    return {name: value for name, value in final.items() if name != field}


def shown(change: Callable[[list[str]], list[str]], final: dict[str, Any]) -> dict[str, Any]:
    """A completion with other tokens than the right ones, which were shown at every undo."""
    return {**final, "tokens": change(final["tokens"])}


def last_clipped(tokens: list[str]) -> list[str]:
    """All tokens, the last one cut."""
    return [*tokens[:-1], tokens[-1][:16]]


def other_word(tokens: list[str], receipts: list[str], part: str, failed: bool) -> str:
    """A proof that says the opposite of what happened."""
    return "".join([*tokens, *receipts, part, "COMMITTED" if failed else "COMPENSATED"])


def newest_first(tokens: list[str], receipts: list[str], part: str, failed: bool) -> str:
    """A proof over the tokens in the order of undoing."""
    return "".join([*tokens[::-1], *receipts, part, "COMPENSATED" if failed else "COMMITTED"])


def by_lines(tokens: list[str], receipts: list[str], part: str, failed: bool) -> str:
    """A proof over lines."""
    return "\n".join([*tokens, *receipts, part, "COMPENSATED" if failed else "COMMITTED"])


def bare(path: str, client: Client) -> Client:
    """A client whose request to this path has lost its nonce."""

    def without_nonce(api: httpx.Client, instruction: str, wait: Wait) -> None:
        def before(request: httpx.Request) -> None:
            if request.url.path == path:
                request.headers.pop("X-Saga-Nonce")

        api.event_hooks = {"request": [before]}
        client(api, instruction, wait)

    return without_nonce


def stale_at_the_second_step(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that carries the nonce of its first step once more, and keeps up from then on."""
    sent: list[str] = []

    def before(request: httpx.Request) -> None:
        sent.append(request.headers.get("X-Saga-Nonce", ""))
        if len(sent) == 2:
            request.headers["X-Saga-Nonce"] = sent[0]

    api.event_hooks = {"request": [before]}
    play(api, instruction, wait)


def stale_when_the_steps_are_over(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that carries its first nonce once more in what follows the last step: an undo, or the completion."""
    first: list[str] = []
    over: list[bool] = []

    def before(request: httpx.Request) -> None:
        first.append(request.headers.get("X-Saga-Nonce", ""))
        if over.count(True) == 1 and over[-1]:
            request.headers["X-Saga-Nonce"] = first[0]

    def after(answer: httpx.Response) -> None:
        over.append(b"deadline" in answer.read())

    api.event_hooks = {"request": [before], "response": [after]}
    play(api, instruction, wait)


def mistaken_in_a_path(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that looks for the action of one service at another, where there is none, and then goes on rightly."""
    (first, path, _), (second, _, _) = read_steps(instruction)[:2]
    if api.post(path.replace(first, second), headers={"X-Saga-Nonce": first_nonce(instruction)}).is_error:
        play(api, instruction, wait)


def called_on(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that calls the last step of all when the steps are over, be it for the first time, and then goes on rightly."""
    last = read_steps(instruction)[-1][1]
    over: list[bool] = []

    def after(answer: httpx.Response) -> None:
        if b"deadline" in answer.read() and not over:
            over.append(True)
            api.post(last, headers={"X-Saga-Nonce": answer.json()["nonce"]})

    api.event_hooks = {"response": [after]}
    play(api, instruction, wait)


def looked_and_compared(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that goes on only if the status tells the steps that it has called, and that nothing is undone yet."""
    service_of = {path: service for service, path, _ in read_steps(instruction)}
    called: list[str] = []

    def check(answer: httpx.Response) -> None:
        answer.read()
        if answer.request.url.path == "/saga/status" and answer.json() != {"called": called, "undone": []}:
            raise LookupError(answer.text)
        if answer.request.url.path in service_of:
            called.append(service_of[answer.request.url.path])

    api.event_hooks = {"response": [check]}
    play(api, instruction, wait, detours=1)


def completed_twice(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that sends its completion once more before it hands in."""
    sent: list[httpx.Request] = []

    def before(request: httpx.Request) -> None:
        sent.append(request)
        if request.url.path == "/submission":
            last = sent[-2]
            api.post("/saga/complete", content=last.content, headers={"X-Saga-Nonce": last.headers["X-Saga-Nonce"]})

    api.event_hooks = {"request": [before]}
    play(api, instruction, wait)


VIOLATIONS = {
    "undone_in_step_order": ("COMPENSATION_FAILURE", partial(play, undo=lambda done, last, failed: done)),
    "half_undone": ("COMPENSATION_FAILURE", partial(play, undo=lambda done, last, failed: done[:0:-1])),
    "undone_twice": ("COMPENSATION_FAILURE", partial(play, undo=lambda done, last, failed: [done[-1]] * 2)),
    "wrong_about_the_failed_step": ("COMPENSATION_FAILURE", partial(play, undo=wrong_about_the_failed_step)),
    "undone_though_nothing_failed": ("COMPENSATION_FAILURE", partial(play, eager=True)),
    "repeated_last_step": ("COMPENSATION_FAILURE", partial(play, repeat=True)),
    "called_on_after_the_end": ("COMPENSATION_FAILURE", called_on),
    "looked_and_compared": ("SUCCESS", looked_and_compared),
    "completed_early": ("COMPENSATION_FAILURE", partial(play, plan=lambda steps: steps[:1])),
    "completed_early_without_nonce": (
        "MISSING_CONSTRAINT",
        bare("/saga/complete", partial(play, plan=lambda steps: steps[:1])),
    ),
    "completed_twice": ("COMPENSATION_FAILURE", completed_twice),
    "skipped_step_without_nonce": (
        "MISSING_CONSTRAINT",
        partial(play, plan=lambda steps: steps[1:], carry=lambda nonce, first: {}),
    ),
    "skipped_step": ("VERSION_CONFLICT", partial(play, plan=lambda steps: steps[1:])),
    "swapped_token": ("MUTATED_TOKEN", partial(play, show=swapped)),
    "clipped_token": ("MUTATED_TOKEN", partial(play, show=each(lambda token: token[:16]))),
    "visible_token": ("WRONG_VALUE", partial(play, show=each(lambda token: token[:8] + "..."))),
    "no_token": ("MISSING_TOKEN", partial(play, show=lambda tokens: {})),
    "late": ("EXPIRED_BEFORE_USE", partial(play, linger=16)),
    "on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=13)),
    "two_detours": ("EXPIRED_BEFORE_USE", partial(play, detours=2, linger=10)),
    "late_and_swapped": ("EXPIRED_BEFORE_USE", partial(play, linger=16, show=swapped)),
    "no_nonce": ("MISSING_CONSTRAINT", partial(play, carry=lambda nonce, first: {})),
    "first_nonce_again": ("WRONG_VALUE", partial(play, carry=lambda nonce, first: {"X-Saga-Nonce": first})),
    "stale_at_the_second_step": ("WRONG_VALUE", stale_at_the_second_step),
    "stale_when_the_steps_are_over": ("WRONG_VALUE", stale_when_the_steps_are_over),
    "mistaken_in_a_path": ("SUCCESS", mistaken_in_a_path),
    "looked_without_nonce": ("MISSING_CONSTRAINT", partial(play, detours=1, look=lambda nonce, first: {})),
    "looked_with_first_nonce": ("WRONG_VALUE", partial(play, detours=1, look=lambda nonce, first: {"X-Saga-Nonce": first})),
    "looked_once": ("SUCCESS", partial(play, detours=1)),
    "completed_with_swapped_tokens": ("MUTATED_TOKEN", partial(play, edit=partial(shown, lambda tokens: tokens[::-1]))),
    "completed_with_a_clipped_token": ("MUTATED_TOKEN", partial(play, edit=partial(shown, last_clipped))),
    "completed_a_token_short": ("MISSING_TOKEN", partial(play, edit=partial(shown, lambda tokens: tokens[:-1]))),
    "completed_with_a_token_more": ("WRONG_VALUE", partial(play, edit=partial(shown, lambda tokens: [*tokens, tokens[0]]))),
    "completed_without_tokens": ("MISSING_TOKEN", partial(play, edit=partial(shown, lambda tokens: []))),
    "other_word": ("WRONG_HASH", partial(play, text=other_word)),
    "proof_newest_first": ("WRONG_HASH", partial(play, text=newest_first)),
    "proof_by_lines": ("WRONG_HASH", partial(play, text=by_lines)),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "proof"))),
    "late_without_anchor": (
        "MISSING_CONSTRAINT",
        held(partial(play, edit=partial(without, "anchor")), "/saga/complete", told_at("deadline"), 2),
    ),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "anchor"))),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "token_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda confirmation, tokens: tokens[-1])),
    "completion_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/saga/complete", told_at("deadline"), 2)),
    "completion_in_the_last_instant": ("SUCCESS", held(play, "/saga/complete", told_at("deadline"), 2, INSTANT)),
}

CELLS = {"validity": "late", "integrity": "swapped_token", "both": "late_and_swapped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
