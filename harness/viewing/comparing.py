"""Two episodes of one task beside each other, from the first thing that differs.

Requests are compared with requests, and what was said with what was said: entry by entry, in order. Equal ones at the beginning
are folded into their number. After the first difference entries stand beside each other by their place only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from harness.reading import Act, Lifetime, RecordedEpisode, Utterance, breach_told, lifetimes, rule_told
from harness.viewing.talks import CutText, cut_text
from worlds.core.models import Strict

_MOST_ROWS = 40
"""Rows that are shown from the first difference on."""

_BEFORE, _LONGEST = 200, 1_200
"""Characters that are shown before the first difference inside a text, and of a text at most."""


class Side(Strict):
    """One entry of one episode."""

    title: str
    same: str
    """The end of what both begin with."""

    rest: CutText
    """All that follows."""

    is_violation: bool = False


class ComparedRow(Strict):
    """What stands at one place in both; None where one has ended."""

    number: int
    left: Side | None
    right: Side | None
    is_different: bool


class Track(Strict):
    """One kind of entry, of both episodes."""

    title: str
    equal: int
    """How many entries at the beginning are equal."""

    prefix: tuple[str, ...]
    """Their titles."""

    rows: tuple[ComparedRow, ...]
    left_out: int = 0
    totals: tuple[int, int]
    """Entries of each."""


class ShownFact(Strict):
    """A figure of both episodes."""

    name: str
    left: str
    right: str


_Step = tuple[str, str, bool]
"""Title, text, and whether a rule broke there."""


def tracks(left: RecordedEpisode, right: RecordedEpisode) -> tuple[Track, ...]:
    """What can be compared of two episodes: requests to the world, and what was told and said."""
    pairs = (("Requests to the world", _requests), ("What was told and said", _talk))
    return tuple(track for title, steps in pairs if (track := _track(title, steps, left, right)))


def facts(left: RecordedEpisode, right: RecordedEpisode) -> tuple[ShownFact, ...]:
    """The figures of both, those that differ and those that say what was played."""
    shown: tuple[tuple[str, Callable[[RecordedEpisode], str]], ...] = (
        ("outcome", lambda one: one.result.outcome),
        ("why", breach_told),
        ("reward", lambda one: "" if one.result.reward is None else f"{one.result.reward:g}"),
        ("run", lambda one: one.result.run),
        ("agent", lambda one: one.result.model or one.result.agent),
        ("options", lambda one: ", ".join(f"{name}={value}" for name, value in one.result.options.items())),
        ("seed", lambda one: str(one.result.seed)),
        ("steps", lambda one: str(one.result.steps)),
        ("virtual time", lambda one: f"{one.result.virtual_time_elapsed:g} s"),
        ("stopped by", lambda one: one.result.stopped),
        ("model calls", lambda one: str(one.result.tokens.calls)),
    )
    made = (ShownFact(name=name, left=of(left), right=of(right)) for name, of in shown)
    return tuple(fact for fact in made if fact.left or fact.right)


def _track(
    title: str, steps: Callable[[RecordedEpisode], Sequence[_Step]], left: RecordedEpisode, right: RecordedEpisode
) -> Track | None:
    mine, theirs = steps(left), steps(right)
    if not mine and not theirs:
        return None
    longest = max(len(mine), len(theirs))
    both = min(len(mine), len(theirs))
    equal = next((n for n in range(both) if mine[n] != theirs[n]), both)
    rows = [_row(number, mine, theirs) for number in range(equal, min(longest, equal + _MOST_ROWS))]
    return Track(
        title=title, equal=equal, prefix=tuple(step[0] for step in mine[: min(equal, _MOST_ROWS)]), rows=tuple(rows),
        left_out=longest - equal - len(rows), totals=(len(mine), len(theirs)),
    )  # fmt: skip


def _row(number: int, mine: Sequence[_Step], theirs: Sequence[_Step]) -> ComparedRow:
    left, right = (steps[number] if number < len(steps) else None for steps in (mine, theirs))
    shared = _shared(left[1], right[1]) if left and right else 0
    return ComparedRow(number=number + 1, left=_side(left, shared), right=_side(right, shared), is_different=left != right)


def _shared(left: str, right: str) -> int:
    """How many characters two texts begin with alike."""
    most = min(len(left), len(right))
    return bisect_left(range(1, most + 1), True, key=lambda size: left[:size] != right[:size])


def _side(step: _Step | None, shared: int) -> Side | None:
    if step is None:
        return None
    title, text, is_violation = step
    same = text[max(0, shared - _BEFORE) : shared]
    before = "… " if shared > _BEFORE else ""
    return Side(title=title, same=before + same, rest=cut_text(text[shared:], _LONGEST), is_violation=is_violation)


def _requests(episode: RecordedEpisode) -> list[_Step]:
    lives = lifetimes(episode)
    return [_request(act, lives) for act in episode.acts]


def _request(act: Act, lives: Sequence[Lifetime]) -> _Step:
    rule = rule_told(act.rule, act, lives) if act.rule else None
    judged = " ".join(str(part) for part in (act.status, act.kind, act.label, rule) if part is not None)
    return act.told, f"at {act.at:g} s {judged}", act.kind == "violation"


def _talk(episode: RecordedEpisode) -> list[_Step]:
    """What was told and said: in a game the turns of all seats in the order of the log, else the longest conversation."""
    seats = [(one.name, said) for one in episode.conversations if one.seat is not None for said in one.utterances]
    if seats:
        # replies follow what was asked: a stable sort leaves both at one moment in their order
        ordered = sorted(seats, key=lambda pair: pair[1].moment.seq if pair[1].moment else -1)
        return [_said(said, name) for name, said in ordered]
    longest = max(episode.conversations, key=lambda one: len(one.utterances), default=None)
    return [_said(said, said.speaker) for said in longest.utterances] if longest else []


def _said(said: Utterance, name: str) -> _Step:
    spoken = {"system": "rules", "user": "was told", "agent": "said"}[said.speaker]
    place = f", round {said.moment.round}, {said.moment.phase}" if said.moment else ""
    parts = [said.text, *(f"-> {use.tool} {use.arguments}\n<- {use.answer or 'nothing'}" for use in said.tools)]
    title = f"{name} {spoken}" if said.moment or said.speaker == "system" else spoken
    return title + place, "\n".join([*filter(None, parts), *said.feedback]), False
