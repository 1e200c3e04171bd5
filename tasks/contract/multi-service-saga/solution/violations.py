"""Clients that go wrong in one place each, with the label that place must earn.

On some seeds no step fails. There, a client that undoes wrongly undoes though nothing failed, which earns the same label.
"""

from functools import partial
from typing import Any

from solve import play

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


def other_word(tokens: list[str], receipts: list[str], part: str, failed: bool) -> str:
    """A proof that says the opposite of what happened."""
    return "".join([*tokens, *receipts, part, "COMMITTED" if failed else "COMPENSATED"])


def newest_first(tokens: list[str], receipts: list[str], part: str, failed: bool) -> str:
    """A proof over the tokens in the order of undoing."""
    return "".join([*tokens[::-1], *receipts, part, "COMPENSATED" if failed else "COMMITTED"])


def by_lines(tokens: list[str], receipts: list[str], part: str, failed: bool) -> str:
    """A proof over lines."""
    return "\n".join([*tokens, *receipts, part, "COMPENSATED" if failed else "COMMITTED"])


VIOLATIONS = {
    "undone_in_step_order": ("COMPENSATION_FAILURE", partial(play, undo=lambda done, last, failed: done)),
    "half_undone": ("COMPENSATION_FAILURE", partial(play, undo=lambda done, last, failed: done[:0:-1])),
    "undone_twice": ("COMPENSATION_FAILURE", partial(play, undo=lambda done, last, failed: [done[-1]] * 2)),
    "wrong_about_the_failed_step": ("COMPENSATION_FAILURE", partial(play, undo=wrong_about_the_failed_step)),
    "undone_though_nothing_failed": ("COMPENSATION_FAILURE", partial(play, eager=True)),
    "repeated_last_step": ("COMPENSATION_FAILURE", partial(play, repeat=True)),
    "completed_early": ("COMPENSATION_FAILURE", partial(play, plan=lambda steps: steps[:1])),
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
    "other_word": ("WRONG_HASH", partial(play, text=other_word)),
    "proof_newest_first": ("WRONG_HASH", partial(play, text=newest_first)),
    "proof_by_lines": ("WRONG_HASH", partial(play, text=by_lines)),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "anchor"))),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "token_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda confirmation, tokens: tokens[-1])),
}

CELLS = {"validity": "late", "integrity": "swapped_token", "both": "late_and_swapped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
