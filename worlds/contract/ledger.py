"""Event-sourced ledger: a stream of entries, and of later events that correct or void them, folds into a balance.

There are four types of events, each with `seq` (increasing, not always by one), `id` (16 hex digits) and `type`:
1. `credit` and `debit` are entries with an `amount`; a credit adds to the balance, a debit subtracts from it.
2. `correction` adds its `delta` to the amount of the entry `of`; all corrections of an entry are cumulative.
3. `void` removes the entry `of` from the balance, with all its corrections, earlier or later ones.
A drawn stream contains cases that careless folds get wrong: an entry with several corrections, a corrected debit, and a voided
entry that is corrected. The signs of the corrections ensure that no such mistake cancels out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.core.chance import Stream

Event = dict[str, Any]

SIGNS = {"credit": 1, "debit": -1}
TYPES = (*SIGNS, "correction", "void")
OPENING = 6
"""Number of entries at the start, half of each sign, which later events can correct."""

BATCH = 3
"""Number of events in a batch: an entry, a correction and a void."""


@dataclass(frozen=True)
class Folded:
    """Result of a stream: the balance, the corrected amount of each entry (0 if voided), and the number of events by type."""

    balance: int
    amounts: Mapping[int, int]
    counts: Mapping[str, int]


def fold(events: Sequence[Event]) -> Folded:
    """Fold a stream from its first event on."""
    amounts: dict[int, int] = {}
    for event in events:
        if event["type"] in SIGNS:
            amounts[event["seq"]] = event["amount"]
        elif event["type"] == "correction":
            amounts[event["of"]] += event["delta"]
    for event in events:
        if event["type"] == "void":
            amounts[event["of"]] = 0
    balance = sum(SIGNS[event["type"]] * amounts[event["seq"]] for event in events if event["type"] in SIGNS)
    return Folded(balance, amounts, {kind: sum(event["type"] == kind for event in events) for kind in TYPES})


def draw_events(draw: Stream, count: int, batches: int) -> list[Event]:
    """Draw a stream of `count` events, at least 12, followed by `batches` batches."""
    if count < 2 * OPENING:
        raise ValueError(f"a stream begins with at least {2 * OPENING} events, not {count}")
    return _Writer(draw).write(count, batches)


def draw_challenge(draw: Stream, events: Sequence[Event], count: int = 4) -> list[int]:
    """Draw the sequence numbers of `count` entries in random order, at least two of which were corrected or voided."""
    touched = sorted({event["of"] for event in events if "of" in event})
    chosen = draw.sample(touched, 2)
    others = [event["seq"] for event in events if event["type"] in SIGNS and event["seq"] not in chosen]
    chosen += draw.sample(others, count - 2)
    draw.shuffle(chosen)
    return chosen


class _Writer:
    """Writer of a stream that tracks which entries later events may refer to."""

    def __init__(self, draw: Stream) -> None:
        self.draw = draw
        self.events: list[Event] = []
        self.free: list[int] = []
        """Entries that were neither corrected nor voided."""
        self.toward = draw.choice((1, -1))
        """Direction in which all effective corrections move the balance."""
        self.disputed: list[tuple[int, int]] = []
        """Entries to correct in turn, with the sign of their deltas: a credit, a debit, and one that is voided."""

    def write(self, count: int, batches: int) -> list[Event]:
        opening = [*SIGNS] * (OPENING // 2)
        self.draw.shuffle(opening)
        self._append(opening)
        self._dispute()
        later = ["correction"] * (count // 4) + ["void"] * (count // 10)
        later += [self.draw.choice(list(SIGNS)) for _ in range(count - OPENING - len(later))]
        self.draw.shuffle(later)
        self._append(later)
        for _ in range(batches):
            batch = [self.draw.choice(list(SIGNS)), *TYPES[2:]]
            self.draw.shuffle(batch)
            self._append(batch)
        return self.events

    def _dispute(self) -> None:
        for kind, sign in SIGNS.items():
            entry = self.draw.choice([event["seq"] for event in self.events if event["type"] == kind])
            self.disputed.append((entry, self.toward * sign))
            self.free.remove(entry)
        self.to_void = self.draw.choice(self.free)
        self.free.remove(self.to_void)
        self.disputed.append((self.to_void, self.draw.choice((1, -1))))

    def _append(self, kinds: Sequence[str]) -> None:
        for kind in kinds:
            seq = (self.events[-1]["seq"] if self.events else 0) + self.draw.between(1, 3)
            event = {"seq": seq, "id": self.draw.hex(16), "type": kind}
            self.events.append({**event, **self._content(kind, seq)})

    def _content(self, kind: str, seq: int) -> Event:
        if kind in SIGNS:
            self.free.append(seq)
            return {"amount": self.draw.between(1000, 99_999)}
        if kind == "void":
            return {"of": self._voidable()}
        entry, sign = self.disputed[0]
        self.disputed = [*self.disputed[1:], self.disputed[0]]
        return {"of": entry, "delta": sign * self.draw.between(1, 999)}

    def _voidable(self) -> int:
        entry, self.to_void = self.to_void, 0
        if not entry:
            entry = self.draw.choice(self.free)
            self.free.remove(entry)
        return entry
