"""Clients that go wrong in one place each, with the label that place must earn.

The cookies that a jar would send are edited on their way; the pass is the third cookie, and goes with one request alone.
"""

from collections.abc import Callable
from functools import partial
from urllib.parse import quote

from solve import Pairs, play

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


VIOLATIONS = {
    "first_session_kept": ("EXPIRED_BEFORE_USE", partial(play, edit=first_session)),
    "old_beside_new": ("EXPIRED_BEFORE_USE", partial(play, edit=old_and_new)),
    "idle": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda number, pairs: 65 if number == 1 else 0)),
    "idle_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda number, pairs: 10 if number == -1 else 0)),
    "idle_and_clipped": (
        "EXPIRED_BEFORE_USE",
        partial(play, linger=lambda number, pairs: 10 if number == 0 else 0, edit=changed("session", lambda value: value[:40])),
    ),
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
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, without="X-Seed-Anchor")),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, without="X-Seed-Proof")),
    "id_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda receipt, ids: ids[-1])),
}

CELLS = {"validity": "idle", "integrity": "clipped_session", "both": "idle_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
