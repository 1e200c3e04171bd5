"""Extraction of the structured answer from a model's reply; worlds, validators and the harness share this code.

1. Thinking is left out: closed blocks, and text before a closing tag without an opening tag. In an unclosed block an answer
counts only if the reply ends with it.
2. Every separate JSON object or list is a candidate: in a fence, in prose, or in a JSON string. It counts if it, or a value
inside it, has the shape that the caller expects.
3. Equal answers are one answer. Two different answers are refused; position gives no preference.
4. Text that begins like the answer and is not JSON is broken. It is repaired only if nothing else counts.

A reply is split into JSON values, broken JSON, thinking, and the prose between them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import Any, Literal, NamedTuple

MAX_DEPTH = 64
"""Maximum nesting of a value; the parser of logs fails at about 200."""

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
"""Group of `_THINKING` -> pattern of the closing tag."""

_CLOSING = re.compile(rf"</(?:{_TAG})>|\[/THINK\]|◁/think▷|<\|end_of_\w+\|>", re.IGNORECASE)
_MARK = re.compile(r"<\|start\|>\w*|<\|channel\|>[\w ]*|<\|\w+\|>")
"""Special tokens of chat templates, with the role or channel that they name."""

_IN_STRING = r'"(?=(?:\\n|\s)*+(?:[{\[](?:\\n|\s)*+)++\\")'
_STOP = re.compile(rf"[{{\[<◁]|{_IN_STRING}|\A\s*analysis", re.IGNORECASE)
_JSON = re.compile(r"""\{\s*["}]|\[\s*["{\[\]\-0-9tfnNI]|\"""")
"""Pattern of the beginning of an object, a list or a string."""

CUT_OFF, MIXED = "cut off", "mixed"
"""Values of broken text that is never closed. Mixed text may run into unrelated text, or ends within a number."""

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
    """A range of a reply, with its JSON value, if any."""

    start: int
    end: int
    value: Any = None


class Repeated(dict[str, Any]):
    """An object in which a key occurs twice with different values. As usual in JSON, the last value counts."""

    first: dict[str, Any]
    """This object with the first value of each key instead."""


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
    """True if the search was aborted because of too many brackets that are not JSON."""

    rest: tuple[int, str] = (0, "")
    """A position and the text from there on; it bounds the text in which the decoder counts lines for its errors."""

    def decode(self, start: int) -> tuple[Any, int]:
        """Return the JSON value that begins here, and its end; raises ValueError if invalid, RecursionError if too deep."""
        if not self.rest[1] or start - self.rest[0] > _STRIDE:
            self.rest = start, self.text[start:]
        base, text = self.rest
        value, end = _DECODER.raw_decode(text, start - base)
        return value, base + end

    @property
    def unclosed(self) -> Span | None:
        """The first broken text that is never closed."""
        return next((one for one in self.broken if one.value), None)

    @property
    def prose(self) -> str:
        """The reply without thinking and JSON values."""
        return remove_spans(self.text, [*self.values, *self.left_out])


def split_reply(text: str, begins: re.Pattern[str] | None = None, key: re.Pattern[str] | None = None) -> Parts:
    """Split a reply into its parts. Text is broken JSON if `begins` matches it and it contains `key`, if given."""
    parts, position, unclosed, effort = Parts(text), 0, None, 8 * len(text) + 65_536
    endless: set[str] = set()
    """Kinds of tags that are never closed from here on."""

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


def load_json(text: str) -> Any:
    """Parse a text as JSON; return None if it is invalid or cannot be logged."""
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


def replace_surrogates(value: Any) -> Any:
    """Replace each unpaired surrogate in a value, which no log can hold, by U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {replace_surrogates(key): replace_surrogates(inner) for key, inner in value.items()}
    return [replace_surrogates(inner) for inner in value] if isinstance(value, list) else value


def remove_spans(text: str, spans: Iterable[Span]) -> str:
    """Return a text without the given ranges."""
    kept, position = [], 0
    for span in sorted(spans):
        kept.append(text[position : span.start])
        position = max(position, span.end)
    return "".join([*kept, text[position:]])


def _read_at(parts: Parts, start: int, begins: re.Pattern[str] | None, key: re.Pattern[str] | None) -> tuple[int, int]:
    """Read the text at a bracket or quote; return the position to continue from and the number of characters wasted."""
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
    """Return the span of unclosed JSON that becomes invalid at `error`, without the unrelated text that follows it."""
    fence = text.find("```", start) if _FENCE.search(text[max(0, start - 40) : start]) else -1
    end = len(text[: len(text) if fence < 0 else fence].rstrip())
    if error < end and not _JSON_MARK.search(text, error, end):
        end = len(text[:error].rstrip())
    return Span(start, end, MIXED if error < end or text[end - 1].isdigit() else CUT_OFF)


def _decoded(parts: Parts, start: int) -> tuple[Any, int, int]:
    """Return the object or list that begins here, also inside a string, and its end; else the number of characters wasted."""
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
        value = load_json(value)
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
    """Leave out unclosed thinking; an answer inside it counts only if the reply ends with it."""
    inside = [value for value in parts.values if value.start > start]
    if inside and _END.match(parts.text, inside[-1].end):
        parts.left_out.append(Span(start, inside[0].start))
        return
    parts.values = [value for value in parts.values if value.start < start]
    parts.broken = [one for one in parts.broken if one.start < start]
    parts.left_out.append(Span(start, len(parts.text)))


def _balanced(text: str, start: int) -> int | None:
    """Return the end of the bracket at `start`, ignoring brackets in strings; None if it is never closed."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth == 0:
            return token.end()
    return None


def _clean(value: Any, text: str) -> Any:
    return replace_surrogates(value) if "\\ud" in text or "\\uD" in text else value


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


How = Literal["strict", "bare_list", "fenced", "extracted", "repaired", "failed"]
REPAIRABLE, OPENINGS = 64 * 1024, 256
"""Maximum length and number of opening brackets of a text to repair; repairing a longer one takes minutes."""

_BLANK = r"(?:\s|//[^\n]*+|/\*.*?\*/)*+"
OBJECT = rf"""\{{{_BLANK}(?:\\?["'“”]|\w+\s*:)"""
LIST = rf"\[{_BLANK}\{{"
"""Patterns of the beginning of an object and of a list of objects, valid JSON or not."""

PASS = "PASS"
"""Reply of a seat that says nothing in a chat; an empty reply means the same."""

_TOKEN_BEGINS = re.compile(
    r"<(?=[|\uff5c]|/?s>|/?(?:start|end)_of_\w|[be]os>|</?SYS>)|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_\w+|AVAILABLE_TOOLS)\])",
    re.IGNORECASE,
)
"""Beginnings of special tokens of chat templates. Servers of open models interpret them anywhere in a text."""

_LEVELS = 5
"""Maximum levels of objects, lists and strings around an answer."""

_COMPLETE = re.compile(r"(?:[}\]]|[^\s:,\[{]\s*[\"'”])[\s`]*\Z")
"""End of a broken text after a whole value. Any other text was cut off, and its repair would be another answer."""

_QUOTED = 60
_BEGINS = re.compile(f"{OBJECT}|{LIST}", re.DOTALL | re.IGNORECASE)
_TAGGED = re.compile(r"<|\[THINK\]|◁|\A\s*analysis", re.IGNORECASE)
_FENCE_OPENS, _FENCE_CLOSES = re.compile(r"```[\w-]*\s*\Z"), re.compile(r"\s*```")

Mend = Callable[[str], Any]
"""Function that returns the intended value of a broken JSON text, or None."""


class AnswerShape(NamedTuple):
    """The shape of answer that a caller expects."""

    name: str
    """Name for use in a sentence: `one JSON object with "vote"`."""

    reads: Callable[[Any], Sequence[Any]]
    """Returns the answers in a value: one, none if it has another shape, or several if it contradicts itself."""

    begins: str = OBJECT
    """Pattern of the beginning of an answer, valid JSON or not."""

    key: str = ""
    """Pattern of the keys that only an answer has; empty if there are none."""

    same: Callable[[Any], Any] = lambda answer: answer
    """Returns the part of an answer in which equal answers agree."""

    single: Callable[[Any], Sequence[Any]] = lambda _: ()
    """Like `reads`, tried if a reply holds a single value that has another shape."""


class ReadAnswer(NamedTuple):
    """The answer in a reply, or the reason why there is none."""

    value: Any
    """The value that `AnswerShape.reads` returned; None if there is no answer."""

    how: How
    problem: str = ""
    """The text found instead of an answer, as the second half of a sentence."""

    is_broken: bool = False
    """True if the answer can only be read by repairing the text."""

    prose: str = ""
    """The reply without thinking and JSON values."""

    is_refused: bool = False
    """True if the reply holds something like an answer whose meaning even a repair cannot settle."""


class _Found(NamedTuple):
    answer: Any
    how: How
    span: Span


def read_answer(reply: str, shape: AnswerShape, mend: Mend | None = None) -> ReadAnswer:
    """Return the answer in a reply; without `mend`, broken JSON is not repaired."""
    text: str = replace_surrogates(reply)
    whole = load_json(text)
    if isinstance(whole, dict | list) and not isinstance(whole, Repeated) and (answers := shape.reads(whole)):
        how: How = "bare_list" if isinstance(whole, list) else "strict"
        return _chosen([_Found(answer, how, Span(0, len(text))) for answer in answers], shape, "")
    key = re.compile(rf"(?<!\w)(?:{shape.key})[\\\"'“”]*+\s*+:", re.IGNORECASE) if shape.key else None
    parts = split_reply(text, re.compile(shape.begins, re.DOTALL | re.IGNORECASE), key)
    prose = parts.prose
    if parts.is_exhausted:
        return ReadAnswer(None, "failed", "it holds too many brackets that are not JSON", prose=prose)
    counted = [one for span in parts.values for one in _found(parts, span, shape, prose)]
    counted, broken = _settled(parts, counted, key)
    if counted and broken:
        problem = f"one answer in it is JSON, and another is not: {_quoted(text[broken[0].start :])}; send one"
        return ReadAnswer(None, "failed", problem, prose=prose, is_refused=True)
    if counted:
        return _chosen(counted, shape, prose)
    if broken:
        return _repaired(text, broken, shape, key, mend)._replace(prose=prose)
    values = {_canonical(span.value): span.value for span in parts.values}
    if len(values) == 1 and (answers := shape.single(*values.values())):
        return _chosen([_Found(answer, "extracted", parts.values[0]) for answer in answers], shape, prose)
    return ReadAnswer(None, "failed", _absence(parts, prose), prose=prose)


def without_thinking(reply: str) -> str:
    """Return a reply without thinking."""
    return remove_spans(reply, split_reply(reply).left_out) if _TAGGED.search(reply) else reply


def spoken_text(reply: str) -> str:
    """Return the part of a chat reply that other seats hear; empty if the seat passes."""
    said = without_thinking(reply).strip()
    return "" if said == PASS else said


@lru_cache(maxsize=1024)
def quote_message(text: str) -> str:
    """Quote the message of a seat for other seats.

    Lines after the first are indented, whatever the line terminator, so that no line can pass for one of the world's. A space
    breaks special tokens of chat templates, so that none can end the message and begin one of the system's.
    """
    return _TOKEN_BEGINS.sub(lambda begins: f"{begins[0]} ", "\n    ".join(text.splitlines()))


def ends_within_json(reply: str) -> bool:
    """Return True if a reply breaks off inside its first object or list, so that nothing in it can be read."""
    parts = split_reply(replace_surrogates(reply), _BEGINS)
    cut = parts.unclosed
    return (
        cut is not None
        and not _COMPLETE.search(parts.text[cut.start : cut.end])
        and not any(one.start < cut.start for one in parts.values)
    )


def parse_whole_number(value: Any) -> Any:
    """Convert a string of at most nine digits or a whole JSON number to an integer; return any other value unchanged."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        return int(value)
    return int(value) if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,9}\s*", value) else value


def parse_string(value: Any) -> Any:
    """Parse a string that holds a JSON object or list; return any other value unchanged."""
    return inner if isinstance(value, str) and isinstance(inner := load_json(value), dict | list) else value


def find_fields(value: Any, *names: str) -> list[Any]:
    """Return the distinct values of an object under these names, ignoring case and punctuation of the keys."""
    if not isinstance(value, dict):
        return []
    objects = [value.first, value] if isinstance(value, Repeated) else [value]
    held = [inner for one in objects for key, inner in one.items() if re.sub(r"[\W_]+", "", key).casefold() in names]
    return [inner for place, inner in enumerate(held) if inner not in held[:place]]


def _found(parts: Parts, span: Span, shape: AnswerShape, prose: str) -> Iterator[_Found]:
    direct = () if isinstance(span.value, Repeated) else shape.reads(span.value)
    alone = not prose.strip() and len(parts.values) == 1 and parts.text[span.start] != '"'
    before = parts.text[max(0, span.start - _QUOTED) : span.start]
    fenced = _FENCE_OPENS.search(before) and _FENCE_CLOSES.match(parts.text, span.end)
    how: How = "extracted"
    if direct and alone:
        how = "bare_list" if isinstance(span.value, list) else "strict"
    elif direct and fenced:
        how = "fenced"
    yield from (_Found(answer, how, span) for answer in direct or _answers(span.value, shape, _LEVELS))


def _answers(value: Any, shape: AnswerShape, levels: int) -> Iterator[Any]:
    if isinstance(value, Repeated):
        yield from (answer for one in (value.first, dict(value)) for answer in _answers(one, shape, levels))
    elif answers := shape.reads(value):
        yield from answers
    elif levels:
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(inner := parse_string(inner), dict | list):
                yield from _answers(inner, shape, levels - 1)


def _settled(parts: Parts, counted: list[_Found], key: re.Pattern[str] | None) -> tuple[list[_Found], list[Span]]:
    """Return the answers that count, and the broken spans that remain around and beside them."""
    text, unclosed = parts.text, parts.unclosed
    if key is None:
        return counted, [] if counted else parts.broken
    owned = re.compile(key.pattern + r"\s*\Z", key.flags)
    if unclosed:
        start = unclosed.start
        own = {at for at, *_ in parts.values if at > start and owned.search(text[max(start, at - _QUOTED) : at])}
        counted = [one for one in counted if one.span.start not in own]
        inside = [Span(span.start - start, span.end - start) for span in parts.values if span.start > start]
        if counted and not key.search(remove_spans(text[start:], inside)):
            return counted, [one for one in parts.broken if one != unclosed]
    return counted, parts.broken


def _repaired(
    text: str, broken: Sequence[Span], shape: AnswerShape, key: re.Pattern[str] | None, mend: Mend | None
) -> ReadAnswer:
    spans = [text[one.start : one.end] for one in broken]
    problem = f"what begins {_quoted(spans[0])} is not JSON"
    if any(one.value == MIXED for one in broken):
        return ReadAnswer(None, "failed", f"{problem} and has no end", is_refused=True)
    if any(len(span) > REPAIRABLE or span.count("[") + span.count("{") > OPENINGS for span in spans):
        return ReadAnswer(None, "failed", f"{problem} and too long to be repaired", is_refused=True)
    if not all(_COMPLETE.search(span) for span in spans):
        return ReadAnswer(None, "failed", f"{problem} and breaks off", is_refused=True)
    if key and any(span[0] == "{" and (keys := key.findall(span)).count(keys[0]) > 1 for span in spans):
        return ReadAnswer(None, "failed", f"{problem} and holds several answers; send one", is_refused=True)
    mended = [value for span in spans if mend and (value := mend(span)) is not None]
    answers = [answer for value in mended for answer in _answers(value, shape, 1)]
    if len(mended) == 1 and not answers:
        answers = [*shape.single(mended[0])]
    counted = [_Found(answer, "repaired", broken[0]) for answer in answers]
    if not counted:
        return ReadAnswer(None, "failed", problem, is_broken=True)
    return _chosen(counted, shape, "")._replace(is_broken=True)


def _chosen(counted: Sequence[_Found], shape: AnswerShape, prose: str) -> ReadAnswer:
    """Return the single answer, or a failure that shows two different ones."""
    first = counted[0]
    other = next((one for one in counted if _canonical(shape.same(one.answer)) != _canonical(shape.same(first.answer))), None)
    if other is None:
        return ReadAnswer(first.answer, first.how, prose=prose)
    seen = _contrast(_canonical(first.answer), _canonical(other.answer))
    return ReadAnswer(None, "failed", f"it holds two different answers, {seen}; send one", prose=prose, is_refused=True)


def _absence(parts: Parts, prose: str) -> str:
    if not parts.text.strip():
        return "it is empty"
    if parts.values:
        return f"the JSON in it has another shape: {_quoted(_canonical(parts.values[0].value))}"
    return "there is no JSON in it" if prose.strip() else "it is all thinking"


def _contrast(one: str, other: str) -> str:
    """Quote two texts for a sentence, starting shortly before they differ."""
    differs = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    start = max(0, differs - _QUOTED // 2)
    return " and ".join(("..." if start else "") + _quoted(text[start:]) for text in (one, other))


def _quoted(text: str) -> str:
    return " ".join(text[:_QUOTED].split()) + ("..." if len(text) > _QUOTED else "")


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
