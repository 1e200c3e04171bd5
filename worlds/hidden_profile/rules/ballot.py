"""Parsing of votes, and of messages in talk.

A vote names an option by id, label or both, in any case and punctuation. A message is shown to the others indented, with the
cited facts in their own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from worlds.core.replies import (
    AnswerShape,
    Mend,
    ReadAnswer,
    find_fields,
    load_json,
    parse_string,
    read_answer,
    spoken_text,
    without_thinking,
)
from worlds.hidden_profile.rules.hearing import fold_text
from worlds.hidden_profile.rules.scenario import Frame, Scenario

QUOTED_CHARS = 200
"""Maximum length of the vote in a note; a longer prose reply is not a bare option."""

_VOTE = ("vote", "finalvote", "myvote")
_FORM = "the id or the label of one option"
"""Stand-in for the option in the question for a vote; a reply that quotes the question does not vote."""

_NOUN = r"(?:vote|ballot|answer|choice|decision)"
_EXPLICIT = re.compile(
    rf"^[^\w\n]*(?:\d+[.)]\W*)?(?:(?:so|therefore|thus|hence|finally|my|the|final)[^\w\n]+)*{_NOUN}[^\w\n]*?"
    r"(?::|=|\b(?:is|remains|stays|goes)\b(?: for\b| to\b| with\b)?)(?=(?P<line>[^\n]{1,999}))"
    r"|<(?P<tag>(?:final_?)?(?:vote|ballot|answer))>(?P<tagged>[^<]{1,300})</(?P=tag)>"
    r"|\\boxed\{(?:\s*\\(?:text|math)\w*\{)?(?P<boxed>[^{}\n]{1,300})\}",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE = re.compile(
    r"(?:^[^\w\n]*|[.!?,]\s+|\b(?:so|therefore|thus|hence|finally)\W+)"
    r"I(?:'ll|'d|'m| am| will| would| now| hereby| still| like to)*"
    r" (?:vote|voting|cast(?:ing)? my vote|choose|pick|select|go(?:ing)? with)"
    r"(?: for)? (?=(?P<line>[^\n]{1,999}))",
    re.IGNORECASE | re.MULTILINE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|whether)\b|(?<!what )\b(?:person \d+|s?he|they) sa(?:id|ys),\s+I\b|\bperson \d+[^,]*:", re.IGNORECASE
)
"""Words before a vote in its sentence, by which it is not the speaker's, or not yet."""

_CUT = re.compile(
    r"[.,;:!?()]|\s[-\u2013\u2014]|\b(?:because|since|not|over|rather than|instead of)\b"
    r"|\bas\b(?! (?:an?|the|my|our)\b)|\bfor (?:these|the following|this|that|it)\b",
    re.IGNORECASE,
)
_WITHDRAWN = re.compile(r"[^\w?]*(?:\?|(?:or|if|unless|wait|actually)\b|no\W*?[^\w\s])", re.IGNORECASE)
"""What follows an option that its words do not vote for."""

_REASON = re.compile(r"[.!]\s|\b(?:because|since|as|for|not|over|rather|instead|rationale|reason)\b", re.IGNORECASE)
_NO_VOTE = re.compile(r"\b(?:not|never|against|if|would|could|might|exclude\w*|person)\b|n't\b", re.IGNORECASE)


class Ballot(NamedTuple):
    """One vote as it was cast."""

    option: str | None
    """None if the vote is invalid."""

    rationale: str
    given: str
    """The text at the place of the option."""

    problem: str = ""
    """Reason why the vote is invalid, unless it is that `given` is no option."""

    is_broken: bool = False
    """True if the vote can only be read by repairing the text."""


_PUNCTUATION = re.compile(r"[^\w']+|(?<!\w)'|'(?!\w)|\*+|(?<!\w)_+|_+(?!\w)")


def find_unvotable_forms(frame: Frame) -> Iterator[str]:
    """Yield errors for forms of an option (id, label, both) that a vote would read as another option, or as none."""
    for choice in frame.options:
        for text in (choice.id, choice.label, f"[{choice.id}] {choice.label}"):
            if (read := find_option(frame, text)) != choice.id:
                yield f"a vote for {text!r} would be read as one for {read}"


def find_option(frame: Frame, text: str) -> str | None:
    """Return the option that a text names, or None: `hatch`, `(hatch)`, `**The cellar hatch**`, `hatch: The cellar hatch`."""
    wanted = _plain(text)
    for choice in frame.options:
        name, label = _plain(choice.id), _plain(choice.label)
        if wanted in {name, label, f"{name} {label}", f"{label} {name}"}:
            return choice.id
    return None


def read_ballot(frame: Frame, reply: str, mend: Mend | None = None) -> Ballot:
    """Return the ballot in a reply: a JSON object with `vote`, or the one option that its text votes for."""
    reading = read_answer(reply, _shape(frame), mend)
    votes = _votes(frame, _EXPLICIT, reading.prose) | _votes(frame, _SENTENCE, reading.prose)
    if reading.value is not None:
        vote, rationale = (one if isinstance(one, str) else "" for one in reading.value)
        option = find_option(frame, vote)
        if option and votes.keys() - {option, ""}:
            return Ballot(None, "", "", _several([vote, *votes.values()]), reading.is_broken)
        return Ballot(option, rationale, vote[:QUOTED_CHARS], "", reading.is_broken)
    if isinstance(whole := load_json(reply), dict):
        rationale = next(iter(find_fields(whole, "rationale")), "")
        return Ballot(None, rationale if isinstance(rationale, str) else "", "", reading.problem)
    said = without_thinking(reply)
    given = said if len(said) <= QUOTED_CHARS and not reading.is_refused else ""
    if reading.is_broken or reading.is_refused:
        return Ballot(None, "", given, reading.problem, reading.is_broken)
    if (option := find_option(frame, given)) and not _is_question(given):
        return Ballot(option, "", given)
    votes = votes or _lines(frame, reading.prose)
    if len(votes) > 1:
        return Ballot(None, "", "", _several([*votes.values()]))
    return Ballot(next(iter(votes), None) or None, "", given or next(iter(votes.values()), "")[:QUOTED_CHARS])


def refusal_text(problem: str) -> str:
    """Return the line that tells a seat why its vote was not read; empty without a reason."""
    return f"Your vote was not read: {problem}.\n\n" if problem else ""


def _shape(frame: Frame) -> AnswerShape:
    """Return the shape of a ballot; two votes for one option are one vote, regardless of their rationales."""

    def reads(value: Any) -> Sequence[tuple[Any, Any]]:
        rationale = next(iter(find_fields(value, "rationale")), None)
        votes = [vote for vote in find_fields(value, *_VOTE) if vote != _FORM]
        return [(vote, rationale) for vote in votes if vote is not None or len(votes) == 1]

    def same(ballot: tuple[Any, Any]) -> str | None:
        return find_option(frame, ballot[0]) if isinstance(ballot[0], str) else None

    return AnswerShape('one JSON object with "vote"', reads, key="vote|final[ _]?vote|my[ _]?vote", same=same)


def _votes(frame: Frame, pattern: re.Pattern[str], prose: str) -> dict[str, str]:
    """Return the options that prose votes for where the pattern matches, each with the words that name it."""
    words = [str(match[str(match.lastgroup)]) for match in islice(pattern.finditer(prose), 100) if _is_own(prose, match)]
    return dict(vote for one in words if (vote := _named(frame, one)))


def _is_own(prose: str, match: re.Match[str]) -> bool:
    """Return True unless a vote stands in a quotation or under a condition."""
    line = prose[max(0, match.start(str(match.lastgroup)) - 1000) : match.start(str(match.lastgroup))].rpartition("\n")[2]
    is_quoted = line.count('"') % 2 == 1 or line.count("\u201c") > line.count("\u201d")
    return not is_quoted and not _CONDITION.search(re.split(r"[.!?]\s", line)[-1])


def _lines(frame: Frame, prose: str) -> dict[str, str]:
    """Return the options named by the first and the last line, unless the line beside makes them part of a sentence."""
    lines = [line.strip(" *_") for line in prose.splitlines() if line.strip(" *_")]
    goes_on = lines[1:] and lines[1][0].islower() and not find_option(frame, lines[1])
    if goes_on and find_option(frame, lines[0]):
        return {"": lines[0]}
    before = "".join(lines[-2:-1])
    leads = not before.endswith(":") or (re.search(_NOUN, before, re.IGNORECASE) and not _NO_VOTE.search(before))
    alone = [*lines[:1], *(lines[-1:] if leads else ())]
    return {option: line for line in alone if (option := find_option(frame, line)) and not _is_question(line)}


def _named(frame: Frame, words: str) -> tuple[str, str] | None:
    """Return the option named by the longest prefix of a line that ends at a mark or a reason, with that prefix; else None.

    The option is "" if the rest of the line asks, takes it back, or names another option.
    """
    ends = [len(words), *(cut.start() for cut in reversed([*_CUT.finditer(words[: 2 * QUOTED_CHARS])]))]
    for end in ends:
        if option := find_option(frame, words[:end]):
            rest = words[end : end + 2 * QUOTED_CHARS]
            beside = f" {_plain(_REASON.split(rest, maxsplit=1)[0])} "
            others = (name for one in frame.options if one.id != option for name in (one.id, one.label))
            is_open = any(f" {_plain(name)} " in beside for name in others)
            return "" if is_open or _is_question(words[:end]) or _WITHDRAWN.match(rest) else option, words[:end].strip()
    return None


def _is_question(text: str) -> bool:
    return text.rstrip(" *_\"'").endswith("?")


def _several(votes: Sequence[str]) -> str:
    return f"it names several votes, {' and '.join(dict.fromkeys(' '.join(vote[:40].split()) for vote in votes))}; send one"


def _plain(text: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", fold_text(text)).split())


_KEYS = ("text", "cites", "stance")
NOT_READ = "Of your last reply "


def read_message(reply: str, mend: Mend | None = None) -> ReadAnswer:
    """Return the message of the structured track in a reply: an object with `text`, `cites` or `stance`."""
    return read_answer(reply, _MESSAGE, mend)


MAX_MESSAGE_CHARS = 8000
"""Maximum length of a message for others: one or two sentences are asked for, and every reader keeps them to the end."""

MAX_CITES = 1000
"""Maximum number of handles read from one message; each unknown one is noted."""


def chat_text(reply: str, *, chat: bool = False) -> str:
    """Return the part of a prose reply that others hear: without thinking, truncated; in a chat, "" if the seat passes."""
    return (spoken_text(reply) if chat else without_thinking(reply).strip())[:MAX_MESSAGE_CHARS].rstrip()


_BOARD = re.compile(r"^[^\w\n]*BOARD[^\w\n]*?:", re.MULTILINE)


def split_board(text: str) -> tuple[str, str]:
    """Return the part of a scribe's message that others hear, and the board after the last line BOARD:, or ""."""
    marks = [*_BOARD.finditer(text)]
    if not marks:
        return text, ""
    return text[: marks[-1].start()].rstrip() or "(wrote on the board)", text[marks[-1].end() :].strip("*_ \n")


def read_handles(cites: Any) -> list[str]:
    """Return the handles in a message's `cites`, known or not."""
    given = parse_string(cites)
    return [handle for handle in given[:MAX_CITES] if isinstance(handle, str)] if isinstance(given, list) else []


def notice_line(reply: str, problem: str) -> str:
    """Return the line that begins a seat's next turn if its reply was not read completely; else "".

    `problem` is the reason why its JSON was not read.
    """
    if problem:
        return f"{NOT_READ}the text was heard as it stands, and no cites and no stance were read: {problem}.\n\n"
    return f"{NOT_READ}nothing was heard: it is all thinking.\n\n" if reply.strip() and not chat_text(reply) else ""


_QUOTES_POINT = re.compile(r"\[(?=\s{0,9}cites\b[^\]]{0,400}:)", re.IGNORECASE)


def publish_message(scenario: Scenario, public: dict[str, str], text: str, cites: Sequence[str]) -> str:
    """Return a message with the facts that it cites: a public handle for each, with its words at the first citation.

    `public` maps handles to facts; new ones are added to it. Only facts are quoted in square brackets: a bracket in the text
    that looks like a citation is replaced by another one.
    """
    named = {fact: handle for handle, fact in public.items()}
    told: list[str] = []
    for fact in cites:
        if fact in named:
            told.append(named[fact])
            continue
        named[fact] = f"G{len(public) + 1}"
        public[named[fact]] = fact
        told.append(f'{named[fact]}: "{scenario.by_id[fact].text}"')
    said = _QUOTES_POINT.sub("(", text)
    return f"{said} [cites {'; '.join(told)}]" if told else said


def _message(value: Any) -> Sequence[dict[str, Any]]:
    return [value] if isinstance(value, dict) and any(key in value for key in _KEYS) else []


_MESSAGE = AnswerShape(
    'one JSON object with "text"', _message, key="|".join(_KEYS),
    single=lambda value: [value] if isinstance(value, dict) else [],
)  # fmt: skip
