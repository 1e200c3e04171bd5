"""Clients that go wrong in one place each, with the label that place must earn.

By seed one key comes or two, after steps 1 to 3; whoever keeps one that was replaced runs out of grace before the last step.
"""

from email.utils import parsedate_to_datetime
from functools import partial

import httpx
from solve import Keys, Wait, last_step, play, request_seconds, starting
from timing import INSTANT


def first(keys: Keys) -> str:
    """A client that never looks at headers."""
    return keys[0]


def one_behind(keys: Keys) -> str:
    """A client that takes up a new key only when the next one comes."""
    return keys[max(len(keys) - 2, 0)]


def replaced(keys: Keys) -> str:
    """The key that the newest one replaced, as soon as there is one."""
    return keys[-2] if len(keys) > 1 else keys[-1]


def once_replaced(mangled: str, keys: Keys) -> str:
    """A client that loses half of its key, but only of one that was replaced."""
    return mangled[: len(mangled) // 2] if len(keys) > 1 else mangled


def stale_proof(part: str, keys: Keys) -> str:
    """A proof by who has seen no other key than the first."""
    return f"{part}:{keys[0][-8:]}:{keys[0][-8:]}"


def swapped_proof(part: str, keys: Keys) -> str:
    """A proof with the newest key before the first."""
    return f"{part}:{keys[-1][-8:]}:{keys[0][-8:]}"


def whole_proof(part: str, keys: Keys) -> str:
    """A proof with whole keys."""
    return f"{part}:{keys[0]}:{keys[-1]}"


def to_sunset(answer: httpx.Response, spare: float = 0) -> float:
    """How long to wait for a request of 5 s to be judged so long before the end of grace, or in that very moment."""
    ends, now = (parsedate_to_datetime(answer.headers[name]) for name in ("Sunset", "Date"))
    return (ends - now).total_seconds() - 5 - spare


def one_more_use(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that uses the first key once more in the last instant of its grace."""
    counts = [1]

    def choose(keys: Keys) -> str:
        counts.append(len(keys))
        return keys[0] if counts[-2:] == [1, 2] else keys[-1]

    play(api, instruction, wait, choose=choose, linger=partial(to_sunset, spare=INSTANT))


def ended_and_unproved(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client whose last step has the first key, long over, and no proof."""
    left = list(range(last_step(instruction)))

    def choose(keys: Keys) -> str:
        return keys[-1] if left.pop() else keys[0]

    play(api, instruction, wait, choose=choose, proof=lambda part, keys: None)


def to_the_start(instruction: str, answer: httpx.Response) -> float:
    """How long to wait for the next request to be judged as a new key starts to work."""
    return max(0, starting(answer) - float(answer.headers["X-Virtual-Time"]) - request_seconds(instruction))


def hasty(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that takes up a new key an instant before its time; refused, or where no key has a time, it hands in nothing."""

    def early(answer: httpx.Response) -> float:
        if "Activation" not in answer.headers:
            raise LookupError
        return to_the_start(instruction, answer) - INSTANT

    try:
        play(api, instruction, wait, linger=early, ahead=2 * INSTANT)
    except (LookupError, httpx.HTTPStatusError):
        api.post("/submission", content=b"")


def as_it_starts(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that takes up a new key at the very moment at which it starts to work."""
    play(api, instruction, wait, linger=partial(to_the_start, instruction))


VIOLATIONS = {
    # these two in the turn of level 4 (each third client), where a key has a time
    "new_key_an_instant_early": ("WRONG_VALUE", hasty),
    "ignored_header": ("EXPIRED_BEFORE_USE", partial(play, choose=first)),
    "one_key_behind": ("EXPIRED_BEFORE_USE", partial(play, choose=one_behind)),
    "new_key_as_it_starts": ("SUCCESS", as_it_starts),
    "late_with_old_key": ("EXPIRED_BEFORE_USE", partial(play, choose=replaced, linger=lambda answer: 10)),
    "old_key_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, choose=replaced, linger=to_sunset)),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, choose=replaced, linger=lambda answer: 10, mangle=once_replaced)),
    "old_key_in_the_last_instant": ("SUCCESS", one_more_use),
    "no_key": ("MISSING_TOKEN", partial(play, mangle=lambda key, keys: None)),
    "no_key_at_the_end": (
        "MISSING_TOKEN",
        partial(play, plan=lambda steps: steps[-1:], mangle=lambda key, keys: None),
    ),
    "quoted_key": ("MUTATED_TOKEN", partial(play, mangle=lambda key, keys: f'"{key}"')),
    "clipped_key": ("MUTATED_TOKEN", partial(play, mangle=lambda key, keys: key[:20])),
    "clipped_new_key": ("MUTATED_TOKEN", partial(play, mangle=once_replaced)),
    "bearer_key": ("MUTATED_TOKEN", partial(play, mangle=lambda key, keys: f"Bearer {key}")),
    "upper_case_key": ("MUTATED_TOKEN", partial(play, mangle=lambda key, keys: key.upper())),
    "escaped_return": ("MUTATED_TOKEN", partial(play, mangle=lambda key, keys: f"{key}%0D")),
    "visible_key": ("WRONG_VALUE", partial(play, mangle=lambda key, keys: f"{key[:12]}...")),
    "proof_with_first_key": ("WRONG_VALUE", partial(play, proof=stale_proof)),
    "proof_in_other_order": ("WRONG_VALUE", partial(play, proof=swapped_proof)),
    "proof_with_whole_keys": ("WRONG_VALUE", partial(play, proof=whole_proof)),
    "shifted_slice": ("WRONG_VALUE", partial(play, shift=1)),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, proof=lambda part, keys: None)),
    "ended_and_unproved": ("MISSING_CONSTRAINT", ended_and_unproved),
    "skipped_step": ("MISSING_CONSTRAINT", partial(play, plan=lambda steps: [*steps[:2], *steps[3:]])),
    "straight_to_the_end": ("MISSING_CONSTRAINT", partial(play, plan=lambda steps: steps[-1:])),
    "repeated_step": ("VERSION_CONFLICT", partial(play, plan=lambda steps: [steps[0], *steps])),
    "stopped_early": ("WRONG_VALUE", partial(play, plan=lambda steps: steps[:-1])),
    "key_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda receipt, keys: keys[-1])),
}

CELLS = {"validity": "late_with_old_key", "integrity": "quoted_key", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
