"""Clients that go wrong in one place each, with the label that place must earn."""

import hashlib
from functools import partial

import httpx
from solve import Wait, chain, joined, play
from timing import INSTANT, answered_at, held, told_at


def swapped(tokens: list[str], separator: str, seed: str) -> str:
    """A client that mixes up the first two tokens."""
    return joined([tokens[1], tokens[0], *tokens[2:]], separator, seed)


def newest_first(tokens: list[str], separator: str, seed: str) -> str:
    """A client that puts the tokens in the wrong order."""
    return joined(tokens[::-1], separator, seed)


def without_last(tokens: list[str], separator: str, seed: str) -> str:
    """A client that drops a token."""
    return joined(tokens[:-1], separator, seed)


def separated(tokens: list[str], separator: str, seed: str) -> str:
    """A client that puts the separator between all parts."""
    return separator.join([*tokens, seed])


def by_lines(tokens: list[str], separator: str, seed: str) -> str:
    """A client that joins by lines."""
    return "\n".join([*tokens, separator + seed])


def echoed(tokens: list[str], separator: str, seed: str) -> str:
    """A text that a shell passed on: `echo` adds a newline."""
    return joined(tokens, separator, seed) + "\n"


def decoded(tokens: list[str], separator: str, seed: str) -> bytes:
    """A client that takes the tokens for the bytes that they spell."""
    return bytes.fromhex("".join(tokens)) + separator.encode() + seed.encode()


def nested(tokens: list[str], separator: str, seed: str) -> str:
    """A client that hashes step by step, as other chains do."""
    digest = ""
    for token in tokens:
        digest = hashlib.sha256((digest + token).encode()).hexdigest()
    return digest + separator + seed


def short_seed(tokens: list[str], separator: str, seed: str) -> str:
    """A client that takes a part of the seed string for the whole."""
    return joined(tokens, separator, seed[:64])


def two_steps(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that takes two steps, and stops."""
    for number in (1, 2):
        api.get(f"/api/chain/{number}").raise_for_status()


def astray(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that tries a step which is not there, before it starts."""
    api.get("/api/chain/0")
    play(api, instruction, wait)


def with_the_first_tokens(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that keeps the tokens it was given first; where none is replaced, it drops one."""
    play(api, instruction, wait, renewed=lambda told: [], text=joined if "revised" in instruction else without_last)


def one_detour(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that fetches a step again, and hashes the token that it had; where tokens are replaced, it does not."""
    play(api, instruction, wait, again=lambda length: [] if "revised" in instruction else [2])


def opened_again(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that lets the chain run out after its first step, and begins anew."""
    answer = api.get("/api/chain/1").raise_for_status()
    wait(answer.json()["deadline"] - answered_at(answer))
    play(api, instruction, wait)


def sent_twice(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that sends the first request which replaces a token twice, and hands in nothing, unless it is replaced again."""
    for number in range(1, chain(instruction)[0] + 1):
        path = f"/api/chain/{number}"
        if "revised" in api.get(path).text and "revised" in api.get(path).text:
            return
    api.post("/submission", content=b"")


VIOLATIONS = {
    "astray_at_first": ("SUCCESS", astray),
    "swapped_tokens": ("WRONG_HASH", partial(play, text=swapped)),
    "newest_first": ("WRONG_HASH", partial(play, text=newest_first)),
    "dropped_token": ("WRONG_HASH", partial(play, text=without_last)),
    "no_separator": ("WRONG_HASH", partial(play, text=lambda tokens, separator, seed: joined(tokens, "", seed))),
    "separated_everywhere": ("WRONG_HASH", partial(play, text=separated)),
    "by_lines": ("WRONG_HASH", partial(play, text=by_lines)),
    "echoed": ("WRONG_HASH", partial(play, text=echoed)),
    "decoded_tokens": ("WRONG_HASH", partial(play, text=decoded)),
    "nested_hash": ("WRONG_HASH", partial(play, text=nested)),
    "short_seed": ("WRONG_HASH", partial(play, text=short_seed)),
    "upper_case": ("WRONG_HASH", partial(play, shown=str.upper)),
    "clipped_hash": ("WRONG_HASH", partial(play, shown=lambda digest: digest[:32])),
    "no_auth": ("MISSING_TOKEN", partial(play, shown=lambda digest: None)),
    "skipped_step": ("MISSING_CONSTRAINT", partial(play, steps=lambda length: [1, 3])),
    "step_ahead": ("MISSING_CONSTRAINT", partial(play, steps=lambda length: [1, 3, 2, *range(4, length + 1)])),
    "download_first": ("MISSING_CONSTRAINT", partial(play, steps=lambda length: [1])),
    "one_step_short": ("MISSING_CONSTRAINT", partial(play, steps=lambda length: list(range(1, length)))),
    "no_slice": ("MISSING_CONSTRAINT", partial(play, without="X-Seed-Anchor")),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, without="X-Chain-Proof")),
    "three_detours": ("EXPIRED_BEFORE_USE", partial(play, again=lambda length: [1, 2, 3])),
    "collected_again": ("EXPIRED_BEFORE_USE", partial(play, again=lambda length: list(range(1, length + 1)))),
    "late": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda left: left + 5)),
    "on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda left: left - 10)),
    "late_and_swapped": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda left: left + 5, text=swapped)),
    "shifted_slice": ("WRONG_VALUE", partial(play, shift=1)),
    "proof_of_the_first_token": ("WRONG_VALUE", partial(play, proof=lambda part, t, h: f"{part}:{t[0][-8:]}:{h[:8]}")),
    "proof_of_the_tail": ("WRONG_VALUE", partial(play, proof=lambda part, t, h: f"{part}:{t[-1][-8:]}:{h[-8:]}")),
    "proof_without_hash": ("WRONG_VALUE", partial(play, proof=lambda part, t, h: f"{part}:{t[-1][-8:]}")),
    "token_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda content, tokens: tokens[-1].encode())),
    "step_on_the_dot": ("EXPIRED_BEFORE_USE", held(two_steps, "/api/chain/2", told_at("deadline"), 10)),
    "download_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/download", told_at("deadline"), 10)),
    "download_in_the_last_instant": ("SUCCESS", held(play, "/api/download", told_at("deadline"), 10, INSTANT)),
    "first_tokens_kept": ("WRONG_HASH", with_the_first_tokens),
    "one_detour": ("SUCCESS", one_detour),
    "opened_again": ("EXPIRED_BEFORE_USE", opened_again),
    # in the turn of level 4 (each third client), where tokens are replaced
    "sent_twice": ("WRONG_VALUE", sent_twice),
}

CELLS = {"validity": "late", "integrity": "swapped_tokens", "both": "late_and_swapped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""

MUTATED = {"linewrap": "WRONG_HASH"}
"""What the target carries is a digest that the client made."""
