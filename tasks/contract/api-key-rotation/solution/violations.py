"""Clients that go wrong in one place each, with the label that place must earn.

By seed one key comes or two, after steps 1 to 3; whoever keeps one that was replaced runs out of grace before the last step.
"""

from functools import partial

from solve import Keys, play


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


VIOLATIONS = {
    "ignored_header": ("EXPIRED_BEFORE_USE", partial(play, choose=first)),
    "one_key_behind": ("EXPIRED_BEFORE_USE", partial(play, choose=one_behind)),
    "late_with_old_key": ("EXPIRED_BEFORE_USE", partial(play, choose=replaced, linger=10)),
    "old_key_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, choose=replaced, linger=7)),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, choose=replaced, linger=10, mangle=once_replaced)),
    "no_key": ("MISSING_TOKEN", partial(play, mangle=lambda key, keys: None)),
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
    "skipped_step": ("MISSING_CONSTRAINT", partial(play, plan=lambda steps: [*steps[:2], *steps[3:]])),
    "straight_to_the_end": ("MISSING_CONSTRAINT", partial(play, plan=lambda steps: steps[-1:])),
    "repeated_step": ("VERSION_CONFLICT", partial(play, plan=lambda steps: [steps[0], *steps])),
    "stopped_early": ("WRONG_VALUE", partial(play, plan=lambda steps: steps[:-1])),
    "key_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda receipt, keys: keys[-1])),
}

CELLS = {"validity": "late_with_old_key", "integrity": "quoted_key", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
