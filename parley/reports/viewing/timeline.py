"""An episode drawn in virtual time: a lane for the world's requests, for each artifact's window, and for each seat of a game.

This module computes positions only; a template draws them. A game has two tables: `grid` with the replies by phase and seat,
and `heard` with one row per text addressed to others. A seat saw such a text if a later text to this seat contains it verbatim.
Equal texts of several speakers share a row, because a copy does not show which of them it repeats.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

from parley.reports.reading import Act, Conversation, Lifetime, Moment, RecordedEpisode, Utterance, lifetimes
from worlds.core.models import Strict

LONGEST = 6_000
"""Maximum number of characters of a text that is shown whole."""

_HEAD, _TAIL = 4_000, 1_500
LONGEST_GIST = 240
"""Maximum number of characters of a text in a table cell."""


class CutText(Strict):
    """A text for a page: all of it, or its two ends with the number of characters left out between them."""

    head: str
    left_out: int = 0
    tail: str = ""

    @property
    def lines(self) -> int:
        """Number of displayed lines."""
        return self.head.count("\n") + self.tail.count("\n") + 1


def cut_text(text: str, most: int = LONGEST) -> CutText:
    """Return a text, without its middle if it is longer than `most` characters."""
    if len(text) <= most:
        return CutText(head=text)
    head, tail = most * _HEAD // LONGEST, most * _TAIL // LONGEST
    return CutText(head=text[:head], left_out=len(text) - head - tail, tail=text[-tail:])


def gist(text: str) -> str:
    """Return a reply in one line: JSON without its brackets, truncated if it is long."""
    told = text
    if text.lstrip().startswith(("{", "[")) and len(text) < LONGEST:
        try:
            told = _plain(json.loads(text))
        except (ValueError, RecursionError):
            told = text
    told = " ".join(told[: 4 * LONGEST_GIST].split())
    return told if len(told) <= LONGEST_GIST else told[: LONGEST_GIST - 1] + "…"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {told}" for name, inner in value.items() if (told := _plain(inner)))
    if isinstance(value, list):
        return " | ".join(filter(None, map(_plain, value)))
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


_FIRST, _LAST, _AROUND = 150, 50, 20
"""Entries of a conversation that are shown: at its beginning, at its end, and on each side of the breach."""

_MOST_USES = 40
"""Maximum number of tool calls shown of one entry."""

_COUNTS = (("prompt_tokens", "in"), ("completion_tokens", "out"))


class ShownUse(Strict):
    """A tool call and its result."""

    tool: str
    arguments: CutText
    answer: CutText | None = None


class TalkEntry(Strict):
    """An entry of a conversation."""

    speaker: Literal["system", "user", "agent"]
    text: CutText
    reasoning: CutText | None = None
    uses: tuple[ShownUse, ...] = ()
    uses_left_out: int = 0
    feedback: tuple[CutText, ...] = ()
    moment: Moment | None = None
    forfeit: str | None = None
    usage: str = ""
    is_instruction: bool = False
    is_breach: bool = False
    gap: int = 0
    """Number of entries left out before this one."""


class Talk(Strict):
    """A conversation for a page."""

    name: str
    seat: int | None = None
    model: str | None = None
    entries: tuple[TalkEntry, ...]
    total: int


def talk(one: Conversation, episode: RecordedEpisode, broken: Collection[int]) -> Talk:
    """Return a conversation for a page; `broken` has the numbers in the log of the turns that failed the episode.

    Of a conversation too long for a page, the beginning, the end and the entries around the breach are shown, and each gap has
    the number of entries left out. The whole conversation is in trajectory.json, which the page links.
    """
    said = one.utterances
    at = [number for number, entry in enumerate(said) if entry.moment is not None and entry.moment.seq in broken]
    entries, before = [], -1
    for number in _kept(len(said), at):
        entries.append(_entry(said[number], episode, broken, number - before - 1))
        before = number
    return Talk(name=one.name, seat=one.seat, model=one.model, entries=tuple(entries), total=len(said))


def _kept(total: int, at: Sequence[int]) -> Iterator[int]:
    for number in range(total):
        is_near = any(abs(number - place) <= _AROUND for place in at)
        if number < _FIRST or number >= total - _LAST or is_near:
            yield number


def _entry(said: Utterance, episode: RecordedEpisode, broken: Collection[int], gap: int) -> TalkEntry:
    usage = said.usage or {}
    counted = [f"{usage[name]} {way}" for name, way in _COUNTS if isinstance(usage.get(name), int)]
    return TalkEntry(
        speaker=said.speaker,
        text=cut_text(said.text),
        reasoning=cut_text(said.reasoning) if said.reasoning else None,
        uses=tuple(
            ShownUse(
                tool=use.tool,
                arguments=cut_text(use.arguments),
                answer=cut_text(use.answer) if use.answer is not None else None,
            )
            for use in said.tools[:_MOST_USES]
        ),
        uses_left_out=max(0, len(said.tools) - _MOST_USES),
        feedback=tuple(map(cut_text, said.feedback[:_MOST_USES])),
        moment=said.moment,
        forfeit=said.forfeit,
        usage=f"{', '.join(counted)} tokens" if counted else "",
        is_instruction=said.speaker == "user" and said.text == episode.instruction,
        is_breach=said.moment is not None and said.moment.seq in broken and said.speaker == "agent",
        gap=gap,
    )


def seated(episode: RecordedEpisode) -> Sequence[Conversation]:
    """Return the conversations of a game's seats."""
    return [one for one in episode.conversations if one.seat is not None]


WIDTH, LEFT, RIGHT = 960, 150, 24
"""Width of the drawing, and its margins for the names of lanes and for the end of the last mark, in drawing units."""

LANE, TOP, BOTTOM = 30, 12, 34
_MOST_MARKS, _MOST_LANES = 400, 24
_STEPS = (1, 2, 5, 10)


class TimeMark(Strict):
    """An event at one time or with a duration; `x` and `width` are in drawing units."""

    x: float
    width: float = 0.0
    kind: str
    """ok, protocol, violation, goal, stray, fault, wait, end, window, maybe, use, turn, measure or forfeit."""

    told: str
    """Text of its tooltip."""

    seq: int | None = None
    is_breach: bool = False
    is_cut: bool = False
    """True if it extends beyond the drawing."""


class Lane(Strict):
    """A row of the drawing."""

    name: str
    y: float
    seat: int | None = None
    marks: tuple[TimeMark, ...]
    left_out: int = 0


class Tick(Strict):
    """A time on the axis."""

    x: float
    told: str


class Timeline(Strict):
    """The whole drawing."""

    width: int = WIDTH
    height: float
    left: int = LEFT
    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    rounds: tuple[Tick, ...] = ()
    """Beginnings of the rounds of a game."""

    kinds: tuple[str, ...]
    """The kinds of marks in the drawing, for the legend."""

    is_cut: bool = False
    """True if a mark extends beyond the drawing."""


def timeline(episode: RecordedEpisode, broken: Collection[int]) -> Timeline | None:
    """Return the drawing, with a ring around each event whose log number is in `broken`; None for an episode without events."""
    moments = [said.moment.at for one in episode.conversations for said in one.utterances if said.moment]
    windows = [one.end for one in lifetimes(episode)]
    end = max([*moments, *(act.at for act in episode.acts), episode.result.virtual_time_elapsed], default=0.0)
    if not episode.acts and not moments:
        return None
    # the end of a window may be far after the end of the episode, and then is not shown
    scale = _Scale(max(end, min(max(windows, default=0.0), 1.5 * end), 1e-3))
    named = list(_lanes(episode, scale, broken))
    lanes = []
    for row, (name, seat, marks) in enumerate(named[:_MOST_LANES]):
        # as many marks as readers can distinguish, always including the breach
        step = len(marks) // _MOST_MARKS + 1
        drawn = tuple(mark for number, mark in enumerate(marks) if number % step == 0 or mark.is_breach)
        lanes.append(Lane(name=name, seat=seat, y=TOP + LANE * row, marks=drawn, left_out=len(marks) - len(drawn)))
    return Timeline(
        height=TOP + LANE * len(lanes) + BOTTOM,
        lanes=tuple(lanes),
        ticks=tuple(scale.ticks()),
        rounds=tuple(_rounds(episode, scale)),
        kinds=tuple(dict.fromkeys(mark.kind for lane in lanes for mark in lane.marks)),
        is_cut=any(mark.is_cut for lane in lanes for mark in lane.marks),
    )


class _Scale:
    """Scale from virtual seconds to drawing units."""

    def __init__(self, end: float) -> None:
        self.end = end

    def x(self, at: float) -> float:
        return round(LEFT + min(at / self.end, 1.0) * (WIDTH - LEFT - RIGHT), 1)

    def ticks(self) -> Iterator[Tick]:
        """Yield about eight round numbers."""
        power = 10.0 ** math.floor(math.log10(self.end / 8))
        step = next(factor * power for factor in _STEPS if factor * power >= self.end / 8)
        for number in range(int(self.end / step) + 1):
            yield Tick(x=self.x(number * step), told=f"{number * step:g} s")


def _lanes(
    episode: RecordedEpisode, scale: _Scale, broken: Collection[int]
) -> Iterator[tuple[str, int | None, list[TimeMark]]]:
    asked = [_act_mark(act, scale, broken) for act in episode.acts]
    if any(act.what in {"request", "wait"} for act in episode.acts):
        yield "requests", None, asked
    yield from _windows(lifetimes(episode), scale)
    for one in episode.conversations:
        if one.seat is not None:
            yield one.name, one.seat, list(_turns(one, scale, broken))
    if asked and not any(act.what in {"request", "wait"} for act in episode.acts):
        yield "world", None, asked


def _act_mark(act: Act, scale: _Scale, broken: Collection[int]) -> TimeMark:
    kind = "wait" if act.what == "wait" else "end" if act.what in {"closed", "stop"} else act.kind or "ok"
    begun = act.at - float(act.told.split()[1]) if act.what == "wait" else act.at
    told = f"{act.at:g} s: {act.told}" + (f", {act.label}: {act.rule}" if act.label else "")
    x = scale.x(max(begun, 0.0))
    return TimeMark(x=x, width=round(scale.x(act.at) - x, 1), kind=kind, told=told, seq=act.seq, is_breach=act.seq in broken)


def _windows(lives: Sequence[Lifetime], scale: _Scale) -> Iterator[tuple[str, None, list[TimeMark]]]:
    """Yield a lane for each artifact: a bar for each lifetime, and marks for its uses."""
    bars: dict[str, list[TimeMark]] = {}
    uses: dict[str, dict[float, TimeMark]] = {}
    for one in lives:
        told = f"{one.artifact}: from {one.begin:g} s until {one.end:g} s" + (f", {one.ended_by}" if one.ended_by else "")
        lane = bars.setdefault(one.artifact, [])
        if not one.is_certain:
            maybe = f"{one.artifact}: {one.ended_by}; the log does not show whether it still worked after that"
            lane.append(_bar("maybe", one.end, one.planned, maybe, one.seq, scale))
        lane.append(_bar("window", one.begin, one.end, told, one.seq, scale))
        for at in one.uses:
            used = TimeMark(x=scale.x(at), kind="use", told=f"{at:g} s: {one.artifact} used")
            uses.setdefault(one.artifact, {})[at] = used
    for artifact, marks in bars.items():
        yield artifact, None, [*marks, *uses.get(artifact, {}).values()]


def _bar(kind: str, begin: float, end: float, told: str, seq: int, scale: _Scale) -> TimeMark:
    x = scale.x(begin)
    width = max(2.0, round(scale.x(end) - x, 1))
    return TimeMark(x=x, width=width, kind=kind, told=told, seq=seq, is_cut=end > scale.end)


def _turns(one: Conversation, scale: _Scale, broken: Collection[int]) -> Iterator[TimeMark]:
    for said in one.utterances:
        if said.moment is not None and said.speaker == "agent":
            place = said.moment
            kind = "forfeit" if said.forfeit else "measure" if place.is_ephemeral else "turn"
            told = f"{place.at:g} s: {one.name}, round {place.round}, {place.phase}"
            told += f", forfeited as {said.forfeit}" if said.forfeit else ""
            yield TimeMark(x=scale.x(place.at), kind=kind, told=told, seq=place.seq, is_breach=place.seq in broken)


def _rounds(episode: RecordedEpisode, scale: _Scale) -> Iterator[Tick]:
    begun: dict[int, float] = {}
    for one in episode.conversations:
        for said in one.utterances:
            if said.moment is not None and said.moment.round:
                begun[said.moment.round] = min(said.moment.at, begun.get(said.moment.round, said.moment.at))
    places = sorted(begun.items())
    every = max(1, len(places) // 20 + 1)
    for number, at in places[::every]:
        yield Tick(x=scale.x(at), told=f"round {number}")


_MOST_ROWS, _MOST_HEARD = 400, 300
_SPOKEN = frozenset({"text", "content", "message"})
"""The keys in a reply's JSON that contain text for others."""

_LONGEST_REPLY = 100_000


class GridTurn(Strict):
    """A reply in a cell."""

    seq: int
    told: str
    forfeit: str | None = None
    is_breach: bool = False


class GridRow(Strict):
    """A phase of a round."""

    round: int
    phase: str
    at: float
    cells: tuple[tuple[GridTurn, ...], ...]
    is_breach: bool = False
    """True if the resolution that failed the episode follows this phase."""


class Grid(Strict):
    """Table with a row per phase and a column per seat."""

    seats: tuple[str, ...]
    numbers: tuple[int, ...]
    rows: tuple[GridRow, ...]
    left_out: int = 0


class HeardRow(Strict):
    """A text. For each seat: `said` if this seat wrote it, the time at which the seat received it, or None."""

    text: str
    seats: tuple[str | None, ...]


class HeardTable(Strict):
    """Table of which seat saw which text."""

    seats: tuple[str, ...]
    numbers: tuple[int, ...]
    rows: tuple[HeardRow, ...]
    left_out: int = 0


def grid(seats: Sequence[Conversation], broken: Collection[int], resolved: int | None) -> Grid:
    """Return the replies of every seat, by round and phase.

    `broken` has the numbers in the log of the turns that failed the episode, `resolved` that of the resolution that did.
    """
    places: dict[tuple[int, str], float] = {}
    said: dict[tuple[int, str, int], list[GridTurn]] = {}
    before: set[tuple[int, str]] = set()
    for column, one in enumerate(seats):
        for entry in one.utterances:
            if entry.moment is not None and entry.speaker == "agent":
                place = (entry.moment.round, entry.moment.phase)
                places[place] = min(entry.moment.at, places.get(place, entry.moment.at))
                before |= {place} if resolved is not None and entry.moment.seq < resolved else set()
                seq = entry.moment.seq
                turn = GridTurn(seq=seq, told=gist(entry.text), forfeit=entry.forfeit, is_breach=seq in broken)
                said.setdefault((*place, column), []).append(turn)
    ordered = sorted(places, key=lambda place: places[place])
    last = next((place for place in reversed(ordered) if place in before), None)
    rows = [
        GridRow(
            round=number, phase=phase, at=places[number, phase],
            cells=tuple(tuple(said.get((number, phase, column), ())) for column in range(len(seats))),
            is_breach=(number, phase) == last,
        )
        for number, phase in ordered[:_MOST_ROWS]
    ]  # fmt: skip
    return Grid(seats=_names(seats), numbers=_numbers(seats), rows=tuple(rows), left_out=len(ordered) - len(rows))


def heard(seats: Sequence[Conversation]) -> HeardTable:
    """Return every text that was addressed to others, with the seats that received it and the times."""
    first: dict[str, int] = {}
    speakers: dict[str, set[int]] = {}
    for seq, column, text in sorted(_spoken(seats)):
        first.setdefault(text, seq)
        speakers.setdefault(text, set()).add(column)
    rows = [
        HeardRow(
            text=gist(text),
            seats=tuple(
                "said" if column in speakers[text] else _told(one, text, first[text]) for column, one in enumerate(seats)
            ),
        )
        for text in list(first)[:_MOST_HEARD]
    ]
    return HeardTable(seats=_names(seats), numbers=_numbers(seats), rows=tuple(rows), left_out=len(first) - len(rows))


def _spoken(seats: Sequence[Conversation]) -> Iterator[tuple[int, int, str]]:
    for column, one in enumerate(seats):
        for entry in one.utterances:
            if entry.moment is not None and entry.speaker == "agent" and not entry.moment.is_ephemeral and not entry.forfeit:
                for text in _addressed(entry.text):
                    yield entry.moment.seq, column, text


def _addressed(reply: str) -> list[str]:
    """Return the texts in a reply that are meant for others: those in its JSON, or the whole reply if it is not JSON."""
    body = reply.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not body.startswith("{") or len(body) > _LONGEST_REPLY:
        return [body] if body and len(body) <= _LONGEST_REPLY else []
    try:
        return list(_texts(json.loads(body)))
    except (ValueError, RecursionError):
        return [body]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in _SPOKEN and isinstance(inner, str) and inner.strip():
                yield inner.strip()
            else:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _told(one: Conversation, text: str, since: int) -> str | None:
    """Return the virtual time at which a seat first received a text; None if it never did."""
    for entry in one.utterances:
        if entry.speaker == "user" and entry.moment is not None and entry.moment.seq > since and text in entry.text:
            return f"{entry.moment.at:g} s"
    return None


def _names(seats: Sequence[Conversation]) -> tuple[str, ...]:
    return tuple(one.name for one in seats)


def _numbers(seats: Sequence[Conversation]) -> tuple[int, ...]:
    return tuple(one.seat if one.seat is not None else number for number, one in enumerate(seats))
