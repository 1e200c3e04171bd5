"""Whether a group talks about what everybody knows anyway: two indices, each beside what it would be by chance.

1. SIB = (p_s - p_u) / (p_s + p_u): p_s the share of shared facts mentioned at least once, p_u of private ones; -1 to 1.
2. A fact that h seats hold surfaces with chance 1 - (1 - p)^h if each holder mentions it with chance p. The null is SIB of
   these chances at the p for which as many facts surface as did: sampling alone favours what many hold (specification, 1.4).
3. Repetition bias = share of shared ones among all mentions of shared and private facts, minus the mean over seats of the
   shared ones' share of its hand. Noise counts on neither side.

Both kinds must be detected alike: by cues and cites where every fact has cues, else by cites alone, if there are any.
"""

from __future__ import annotations

from collections.abc import Sequence

from validators.hidden_profile.history import Replay
from validators.hidden_profile.knowledge import Knowledge, holders

DIGITS = 9
"""Decimals of a fitted figure, so that no machine's last bit shows."""

_HALVINGS = 60


def biases(replay: Replay, known: Knowledge) -> dict[str, float | None]:
    """Both indices; None where nothing was mentioned, where it would not show, or where one kind of facts does not exist."""
    opening = replay.opening
    cued = all(fact.cues for fact in opening.scenario.facts if fact.scope != "noise")
    turns = known.told if cued else tuple(turn.cites for turn in replay.turns)
    shared, private = opening.scenario.of_scope("shared"), opening.scenario.of_scope("private")
    mentions = [sum(fact in kind for told in turns for fact in told) for kind in (shared, private)]
    if not sum(mentions) or not shared or not private:
        return dict.fromkeys(("sib", "sib_null", "sib_excess", "repetition"))
    once = {fact for told in turns for fact in told}
    seen = [sum(fact in once for fact in kind) for kind in (shared, private)]
    sib = _index(seen[0] / len(shared), seen[1] / len(private))
    held = [[len(holders(opening, fact)) for fact in kind] for kind in (shared, private)]
    null = _null(held[0], held[1], sum(seen))
    parts = [sum(fact in shared for fact in hand) / sum(f in shared or f in private for f in hand) for hand in opening.hands]
    repetition = mentions[0] / sum(mentions) - sum(parts) / len(parts)
    figures = {"sib": sib, "sib_null": null, "sib_excess": sib - null, "repetition": repetition}
    # a zero has no sign that anybody should see
    return {name: round(figure, DIGITS) + 0.0 for name, figure in figures.items()}


def _index(shared: float, private: float) -> float:
    return (shared - private) / (shared + private)


def _null(shared: Sequence[int], private: Sequence[int], seen: int) -> float:
    """SIB where each holder mentions a fact with the one chance at which `seen` facts are expected to surface."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _expected([*shared, *private], middle) < seen else (low, middle)
    return _index(_expected(shared, high) / len(shared), _expected(private, high) / len(private))


def _expected(held: Sequence[int], chance: float) -> float:
    """How many facts surface, by how many seats hold each."""
    missed = [1.0]
    for _ in range(max(held)):
        missed.append(missed[-1] * (1 - chance))
    return sum(1 - missed[count] for count in held)
