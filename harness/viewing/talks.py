"""Conversations as a page shows them: entries with cut texts, one conversation a seat, each with what that seat was told alone.

Of a conversation with more entries than a page can hold, the beginning, the end and what lies around the breach are shown, and
each gap says how many entries it stands for. The whole of it is in trajectory.json, which the page links.

Long texts as a page shows them: the beginning and the end, with the number of characters between, and short ones whole. A
model's reply may have 50 MB. What is cut stands whole in a file of the episode, which the page links.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

from harness.reading import Conversation, Moment, RecordedEpisode, Utterance
from worlds.core.models import Strict

LONGEST = 6_000
"""Characters of a text that is shown whole."""

_HEAD, _TAIL = 4_000, 1_500
LONGEST_GIST = 240
"""Characters of a text in a cell of a table."""


class CutText(Strict):
    """A text for a page: all of it, or its two ends with the number of characters that are left out between them."""

    head: str
    left_out: int = 0
    tail: str = ""

    @property
    def lines(self) -> int:
        """Lines as they are shown."""
        return self.head.count("\n") + self.tail.count("\n") + 1


def cut_text(text: str, most: int = LONGEST) -> CutText:
    """A text, without its middle where it is longer than `most` characters."""
    if len(text) <= most:
        return CutText(head=text)
    head, tail = most * _HEAD // LONGEST, most * _TAIL // LONGEST
    return CutText(head=text[:head], left_out=len(text) - head - tail, tail=text[-tail:])


def gist(text: str) -> str:
    """A reply in a line: of JSON what it says without its brackets, cut at the end where it is long."""
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
"""Tool calls of one entry."""

_COUNTS = (("prompt_tokens", "in"), ("completion_tokens", "out"))


class ShownUse(Strict):
    """A tool call, and what came back."""

    tool: str
    arguments: CutText
    answer: CutText | None = None


class TalkEntry(Strict):
    """One entry of a conversation."""

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
    """How many entries before this one are not shown."""


class Talk(Strict):
    """One conversation."""

    name: str
    seat: int | None = None
    model: str | None = None
    entries: tuple[TalkEntry, ...]
    total: int


def talk(one: Conversation, episode: RecordedEpisode, broken: Collection[int]) -> Talk:
    """Return a conversation for a page; `broken` has the numbers in the log of the turns that failed the episode."""
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
        usage=_usage(said.usage),
        is_instruction=said.speaker == "user" and said.text == episode.instruction,
        is_breach=said.moment is not None and said.moment.seq in broken and said.speaker == "agent",
        gap=gap,
    )


def _usage(usage: dict[str, Any] | None) -> str:
    """Tokens of the call in a few words, as far as the trajectory has them."""
    told = [f"{usage[name]} {way}" for name, way in _COUNTS if isinstance(usage.get(name), int)] if usage else []
    return ", ".join(told) + " tokens" if told else ""


def seated(episode: RecordedEpisode) -> Sequence[Conversation]:
    """The conversations of a game's seats."""
    return [one for one in episode.conversations if one.seat is not None]
