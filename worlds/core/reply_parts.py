"""The parts of a model's reply: JSON values that stand by themselves, broken JSON, thinking, and the prose between them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

MAX_DEPTH = 64
"""Levels of nesting of a value; the parser of logs gives up at about 200."""

_TAG = r"think|thinking|thoughts?|reasoning|scratchpad|seed:think"
_THINKING = re.compile(
    rf"<(?P<tag>{_TAG})>|\[(?P<square>THINK)\]|◁(?P<triangle>think)▷|<\|begin_of_(?P<bar>thought|thinking)\|>"
    r"|(?P<channel><\|channel\|>\s*analysis\b[^<]*<\|message\|>)|\A\s*(?P<bare>analysis)(?-i:(?=\W|[A-Z]))",
    re.IGNORECASE,
)
_CLOSINGS = {
    "tag": "</{}>", "square": r"\[/{}\]", "triangle": "◁/{}▷", "bar": r"<\|end_of_{}\|>",
    "channel": r"<\|end\|>|(?=<\|start\|>|<\|channel\|>)", "bare": "assistantfinal",
}  # fmt: skip
"""Group of `_THINKING` -> the pattern of the tag that closes what it matched."""

_CLOSING = re.compile(rf"</(?:{_TAG})>|\[/THINK\]|◁/think▷|<\|end_of_\w+\|>", re.IGNORECASE)
_MARK = re.compile(r"<\|start\|>\w*|<\|channel\|>[\w ]*|<\|\w+\|>")
"""Special tokens of chat templates, with the role or channel that they name."""

_IN_STRING = r'"(?=(?:\\n|\s)*+(?:[{\[](?:\\n|\s)*+)++\\")'
_STOP = re.compile(rf"[{{\[<◁]|{_IN_STRING}|\A\s*analysis", re.IGNORECASE)
_JSON = re.compile(r"""\{\s*["}]|\[\s*["{\[\]\-0-9tfnNI]|\"""")
"""How an object, a list or a string begins."""

CUT_OFF, MIXED = "cut off", "mixed"
"""Values of broken text that nothing closes. Mixed text may go on with what is no part of it, or ends within a number."""

_FENCE = re.compile(r"```[\w-]*\s*\Z")
_JSON_MARK = re.compile(r"[\[\]{}\"']")
_WORD = re.compile(r"\S")
_STRIDE = 4096
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_RUN = re.compile(rf"[\[{{]{{{MAX_DEPTH + 1},}}")
"""More opening brackets than a value may have."""

_END = re.compile(r"[\s`]*\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Span(NamedTuple):
    """A stretch of a reply, with the JSON value that it is, if it is one."""

    start: int
    end: int
    value: Any = None


class Repeated(dict[str, Any]):
    """An object in which a key stands twice with different values. As everywhere in JSON the last value counts."""

    first: dict[str, Any]
    """The same object where the first value counts."""


@dataclass
class Parts:
    """The parts of one reply."""

    text: str
    values: list[Span] = field(default_factory=list)
    broken: list[Span] = field(default_factory=list)
    """Text that begins like an answer and is not JSON."""

    left_out: list[Span] = field(default_factory=list)
    """Thinking and special tokens."""

    is_exhausted: bool = False
    """True if the search was given up, for too many brackets that are not JSON."""

    rest: tuple[int, str] = (0, "")
    """A place, and the text from there on. An error of the decoder counts lines from the beginning of what it is given."""

    def decode(self, start: int) -> tuple[Any, int]:
        """Return the JSON value that begins here, and its end; raises ValueError or RecursionError."""
        if not self.rest[1] or start - self.rest[0] > _STRIDE:
            self.rest = start, self.text[start:]
        base, text = self.rest
        value, end = _DECODER.raw_decode(text, start - base)
        return value, base + end

    @property
    def unclosed(self) -> Span | None:
        """The first broken text that nothing closes."""
        return next((one for one in self.broken if one.value), None)

    @property
    def prose(self) -> str:
        """The reply without thinking and values."""
        return without(self.text, [*self.values, *self.left_out])


def split_reply(text: str, begins: re.Pattern[str] | None = None, key: re.Pattern[str] | None = None) -> Parts:
    """Return the parts of a reply. Text is broken JSON if `begins` matches it and `key`, if given, is in it."""
    parts, position, unclosed, effort = Parts(text), 0, None, 8 * len(text) + 65_536
    endless: set[str] = set()
    """Kinds of tags that nothing closes from here on."""

    while stop := _STOP.search(text, position):
        start = stop.start()
        if (tag := _THINKING.match(text, start)) and (end := _thought_end(text, tag, endless)) is not None:
            parts.left_out.append(Span(start, end))
            position = end
        elif tag and not tag["bare"]:
            unclosed, position = start if unclosed is None else unclosed, tag.end()
        elif closing := _CLOSING.match(text, start):
            if _WORD.search(text, closing.end()):
                parts.values, parts.broken, parts.left_out, unclosed = [], [], [Span(0, closing.end())], None
            else:
                parts.left_out.append(Span(*closing.span()))
            position = closing.end()
        elif mark := _MARK.match(text, start):
            parts.left_out.append(Span(*mark.span()))
            position = mark.end()
        else:
            position, cost = _read_at(parts, start, begins, key)
            effort -= cost
            if effort < 0:
                parts.is_exhausted = True
                break
    if unclosed is not None:
        _leave_out_rest(parts, unclosed)
    return parts


def load(text: str) -> Any:
    """Return the value that a text is as JSON; None for anything else, and for what a log cannot hold."""
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return _clean(value, text) if is_loggable(value) and not text[end:].strip(" \t\r\n") else None


def is_loggable(value: Any) -> bool:
    """Return True if a log can hold a value: nested at most 64 levels deep, every number finite."""
    level, depth = [value], MAX_DEPTH
    while level and depth:
        if any(isinstance(one, float) and not isfinite(one) for one in level):
            return False
        level = [inner for one in level for inner in _children(one)]
        depth -= 1
    return not level


def with_whole_characters(value: Any) -> Any:
    """Return a value with U+FFFD for every half of a surrogate pair, which no log can hold."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {with_whole_characters(key): with_whole_characters(inner) for key, inner in value.items()}
    return [with_whole_characters(inner) for inner in value] if isinstance(value, list) else value


def without(text: str, spans: Iterable[Span]) -> str:
    """Return a text without these stretches of it."""
    kept, position = [], 0
    for span in sorted(spans):
        kept.append(text[position : span.start])
        position = max(position, span.end)
    return "".join([*kept, text[position:]])


def _read_at(parts: Parts, start: int, begins: re.Pattern[str] | None, key: re.Pattern[str] | None) -> tuple[int, int]:
    """Read what begins at a bracket or quote; returns where to go on, and how many characters were read in vain."""
    text = parts.text
    if run := _RUN.match(text, start):
        return run.end() - MAX_DEPTH, run.end() - MAX_DEPTH - start
    value, end, error = _decoded(parts, start)
    if value is not None:
        parts.values.append(Span(start, end, value))
        return end, 0
    if begins is None or not begins.match(text, start):
        return start + 1, error
    closed = _balanced(text, start)
    cost = error + (closed or len(text)) - start
    if key is None or key.search(text, start, closed or len(text)):
        if closed:
            parts.broken.append(Span(start, closed))
            return closed, cost
        if not parts.unclosed:
            parts.broken.append(_cut_off(text, start, start + error - 1))
    return start + 1, cost


def _cut_off(text: str, start: int, error: int) -> Span:
    """Return JSON that nothing closes, which is not JSON from `error` on; it must not be mixed up with what follows it."""
    fence = text.find("```", start) if _FENCE.search(text[max(0, start - 40) : start]) else -1
    end = len(text[: len(text) if fence < 0 else fence].rstrip())
    if error < end and not _JSON_MARK.search(text, error, end):
        end = len(text[:error].rstrip())
    return Span(start, end, MIXED if error < end or text[end - 1].isdigit() else CUT_OFF)


def _decoded(parts: Parts, start: int) -> tuple[Any, int, int]:
    """Return the object or list that begins here, be it in a string, and its end; else the characters read in vain."""
    text = parts.text
    if not _JSON.match(text, start):
        return None, start, 1
    try:
        value, end = parts.decode(start)
    except json.JSONDecodeError as error:
        read = len(error.doc) if error.msg.startswith("Unterminated") else error.pos
        return None, start, parts.rest[0] + read - start + 1
    except (ValueError, RecursionError):
        return None, start, len(text) - start
    if isinstance(value, str):
        value = load(value)
    readable = isinstance(value, dict | list) and is_loggable(value)
    return (_clean(value, text), end, 0) if readable else (None, start, end - start)


def _thought_end(text: str, tag: re.Match[str], endless: set[str]) -> int | None:
    kind = str(tag.lastgroup)
    pattern = _CLOSINGS[kind].format(re.escape(tag[kind].lower()))
    closing = None if pattern in endless else re.compile(pattern, re.IGNORECASE).search(text, tag.end())
    if closing is None:
        endless.add(pattern)
    return closing.end() if closing else None


def _leave_out_rest(parts: Parts, start: int) -> None:
    """Leave out thinking that is not closed; an answer in it counts only where the reply ends with it."""
    inside = [value for value in parts.values if value.start > start]
    if inside and _END.match(parts.text, inside[-1].end):
        parts.left_out.append(Span(start, inside[0].start))
        return
    parts.values = [value for value in parts.values if value.start < start]
    parts.broken = [one for one in parts.broken if one.start < start]
    parts.left_out.append(Span(start, len(parts.text)))


def _balanced(text: str, start: int) -> int | None:
    """Return where the bracket at `start` is closed; brackets in strings do not count. None if it is not closed."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth == 0:
            return token.end()
    return None


def _clean(value: Any, text: str) -> Any:
    return with_whole_characters(value) if "\\ud" in text or "\\uD" in text else value


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    last = dict(pairs)
    if len(last) == len(pairs) or (first := dict(reversed(pairs))) == last:
        return last
    repeated = Repeated(last)
    repeated.first = first
    return repeated


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
