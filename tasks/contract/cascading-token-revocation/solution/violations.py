"""Clients that go wrong in one place each, with the label that place must earn.

Which tokens a download ends differs by seed; every seed comes back to a branch whose token has ended.
"""

from functools import partial
from typing import Any

import httpx
from solve import ROOT, Holder, Wait, play, read_tree
from timing import INSTANT, held, told_at


def ignore(holder: Holder, ended: list[str]) -> None:
    """A client that goes on with tokens that have ended."""


def renew_all(holder: Holder, ended: list[str]) -> None:
    """A client that refreshes at once all that has ended, needed or not, branches first: the time is not there."""
    for other in ended:
        holder.ask(other, "refresh")


def refresh_unused(holder: Holder, ended: list[str]) -> None:
    """A client that refreshes branches that have ended and goes on with the old tokens."""
    for branch in [other for other in ended if holder.parent[other] == ROOT]:
        old = holder.tokens[branch]
        holder.ask(branch, "refresh")
        holder.tokens[branch] = old
    holder.ended.clear()


def derive_anew(holder: Holder, ended: list[str]) -> None:
    """A client that derives anew where it should refresh."""
    for other in ended:
        holder.tokens.pop(other)


def refresh_branch(holder: Holder, name: str) -> None:
    """A client that refreshes a branch to be safe, and so loses what lies below."""
    holder.ask(holder.parent[name], "refresh")


def refresh_once(what: str, holder: Holder, name: str) -> None:
    """A client that refreshes a branch or its resource before the first download, and keeps the old token of the resource."""
    if len(holder.tokens) == len((ROOT, holder.parent[name], name)):
        old = holder.tokens[name]
        holder.ask(holder.parent[name] if what == "branch" else name, "refresh")
        holder.tokens[name] = old


def branch_for_root(holder: Holder, ended: list[str]) -> None:
    """A client that refreshes a branch when all is downloaded, and completes with that token."""
    holder.ended.update(ended)
    if all(name in holder.tokens for name in holder.parent):
        branch = next(iter(holder.parent))
        holder.ask(branch, "refresh")
        holder.tokens[ROOT] = holder.tokens[branch]


def derive_again(holder: Holder, name: str) -> None:
    """A client that derives a token which it has."""
    holder.ask(name)


def refreshed_first(holder: Holder, name: str) -> None:
    """A client that refreshes a token which was never derived."""
    other = next(n for n in holder.parent if n not in holder.tokens and holder.parent[n] in holder.tokens)
    holder.ask(other, "refresh")


def another(holder: Holder, name: str, done: list[str]) -> str:
    """A client that confuses its tokens: the owner of one that is alive, but for another resource."""
    other = next(n for n, above in holder.parent.items() if above != ROOT and n != name)
    holder.need(other)
    return other


def newest_first(names: list[str], receipts: list[str], part: str) -> str:
    """A proof with the receipts the other way round."""
    return "".join([*reversed(receipts), part])


def by_the_alphabet(resources: list[str]) -> list[str]:
    """The order of names, and the last one again."""
    return [*sorted(resources), max(resources)]


def without(field: str, final: dict[str, Any]) -> dict[str, Any]:
    """A completion that lacks one field."""
    return {name: value for name, value in final.items() if name != field}


def spaced(token: str) -> str:
    """A client that form-decodes tokens: + becomes a space."""
    return token.replace("+", " ")


def astray(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that tries names which are not there before it starts."""
    api.post("/token/renew", json={"token_id": next(iter(read_tree(instruction)))})
    api.post("/token/derive", json={"token_id": "elsewhere"})
    api.get("/resource/elsewhere")
    play(api, instruction, wait)


def as_listed(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that keeps to the list where any order will do, which takes too long; where it must, it derives all first."""
    free = "Any other order" in instruction
    play(api, instruction, wait, order=list, ahead=lambda resources: [] if free else resources)


def second_first(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that begins with the second resource of the list; where any order will do, it downloads the first one twice."""
    free = "Any other order" in instruction
    play(api, instruction, wait, order=lambda listed: listed[:1] * 2 if free else [listed[1], listed[0], *listed[2:]])


VIOLATIONS = {
    "astray_at_first": ("SUCCESS", astray),
    "all_derived_first": ("EXPIRED_BEFORE_USE", partial(play, order=list, ahead=lambda resources: resources)),
    "all_derived_for_good": ("EXPIRED_BEFORE_USE", partial(play, order=list, ahead=lambda resources: resources, after=ignore)),
    # in the turn of level 4 (each third client), where any order will do
    "as_listed": ("EXPIRED_BEFORE_USE", as_listed),
    "refreshed_unused": ("EXPIRED_BEFORE_USE", partial(play, order=list, after=refresh_unused)),
    "all_kept_fresh": ("EXPIRED_BEFORE_USE", partial(play, order=list, ahead=lambda resources: resources, after=renew_all)),
    "branch_refreshed": ("EXPIRED_BEFORE_USE", partial(play, before=refresh_branch)),
    "branch_refreshed_once": ("EXPIRED_BEFORE_USE", partial(play, before=partial(refresh_once, "branch"))),
    "resource_refreshed_unused": ("EXPIRED_BEFORE_USE", partial(play, before=partial(refresh_once, "resource"))),
    "completed_with_a_branch_token": ("WRONG_VALUE", partial(play, after=branch_for_root)),
    "late_download": ("EXPIRED_BEFORE_USE", partial(play, linger=("1", 44))),
    "late_completion": ("EXPIRED_BEFORE_USE", partial(play, linger=("complete", 30))),
    "paused": ("EXPIRED_BEFORE_USE", partial(play, linger=("6", 6))),
    "late_and_spaced": ("EXPIRED_BEFORE_USE", partial(play, linger=("1", 44), carry=spaced)),
    "clipped_token": ("MUTATED_TOKEN", partial(play, carry=lambda token: token[:16])),
    "spaced_token": ("MUTATED_TOKEN", partial(play, carry=spaced)),
    "unpadded_token": ("MUTATED_TOKEN", partial(play, carry=lambda token: token[:-1])),
    "visible_token": ("WRONG_VALUE", partial(play, carry=lambda token: f"{token[:8]}...")),
    "token_of_another": ("WRONG_VALUE", partial(play, shown=another)),
    "branch_token": ("WRONG_VALUE", partial(play, shown=lambda holder, name, done: holder.parent[name])),
    "root_token": ("WRONG_VALUE", partial(play, shown=lambda holder, name, done: ROOT)),
    "derived_under_root": ("WRONG_VALUE", partial(play, under=lambda name, parent: ROOT)),
    "no_bearer": ("MISSING_TOKEN", partial(play, carry=lambda token: None)),
    "no_nonce": ("MISSING_CONSTRAINT", partial(play, nonce=lambda nonces: None)),
    "first_nonce": ("WRONG_VALUE", partial(play, nonce=lambda nonces: nonces[0])),
    "second_root": ("VERSION_CONFLICT", partial(play, roots=2)),
    "derived_again": ("VERSION_CONFLICT", partial(play, before=derive_again)),
    "derived_anew": ("VERSION_CONFLICT", partial(play, order=list, after=derive_anew)),
    "refreshed_first": ("MISSING_CONSTRAINT", partial(play, before=refreshed_first, ahead=lambda resources: [])),
    "order_of_names": ("VERSION_CONFLICT", partial(play, order=by_the_alphabet)),
    "downloaded_twice": ("VERSION_CONFLICT", partial(play, order=lambda resources: [resources[0], *resources])),
    "five_of_six": ("MISSING_CONSTRAINT", partial(play, order=lambda resources: resources[:-1])),
    "proof_newest_first": ("WRONG_HASH", partial(play, proved=newest_first)),
    "proof_by_lines": ("WRONG_HASH", partial(play, proved=lambda names, receipts, part: "\n".join([*receipts, part]))),
    "proof_without_anchor": ("WRONG_HASH", partial(play, proved=lambda names, receipts, part: "".join(receipts))),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "proof"))),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "anchor"))),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "receipts_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda confirmation, receipts: "".join(receipts))),
    "completion_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/complete", told_at("expires_at"), 2)),
    "completion_in_the_last_instant": ("SUCCESS", held(play, "/complete", told_at("expires_at"), 2, INSTANT)),
    "never_refreshed": ("EXPIRED_BEFORE_USE", partial(play, order=list, after=ignore)),
    "second_first": ("VERSION_CONFLICT", second_first),
}

CELLS = {"validity": "late_download", "integrity": "spaced_token", "both": "late_and_spaced"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
