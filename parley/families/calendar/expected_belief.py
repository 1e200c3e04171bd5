"""Expected values of a model's answers about beliefs, weighted by the probabilities of alternative tokens (paper, F.3).

1. The expectation of a slot is the mean of the possible numbers from -3 to 3, weighted by the probabilities that the provider
returns. Tokens that do not begin a number are left out, and the other probabilities are normalized.
2. If a minus is a separate token, the digit is weighted by the next token, which is known only for the written sign.
3. An answer whose numbers do not match its tokens one by one counts as written.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from harness.agents.llm.completion import Completion, TokenChances
from harness.agents.seats.model import Weigher
from worlds.calendar.rules.replies import scores_shape
from worlds.core.mending import read_reply

DIGITS = 6
_NUMBER = r"[+-]?[0-3](?:\.0)?"
_BEGUN = re.compile(r"([+-]?[0-3])(?!\d|\.[1-9])")
_DIGIT = re.compile(r"\s*([0-3])(?!\d|\.[1-9])")


def weigher(session: Mapping[str, Any]) -> Weigher | None:
    """Return a function that converts replies to turns that only measure; None if the session needs no expectations."""
    public = session["public"]
    if public.get("reflection") != "expected":
        return None
    return lambda said: weighed(said, public["slots"])


def weighed(said: Completion, slots: int) -> str:
    """Return the reply with expectations in place of its numbers, or unchanged if they are not known."""
    means = expectations(said.chances, slots)
    scores = read_reply(said.text, scores_shape(slots)).value
    if means is None or scores is None or scores != _written(said.chances, slots):
        return said.text
    return json.dumps({"said": said.text, "expected": means})


def expectations(tokens: Sequence[TokenChances], slots: int) -> list[float] | None:
    """Return the mean over possible numbers by slot; None if the tokens hold no list of scores, or several."""
    means = []
    for _, lead, place in _numbers(tokens, slots):
        values = [*_values(tokens, place, lead)]
        mass = sum(chance for _, chance in values)
        if mass <= 0:
            return None
        means.append(round(sum(value * chance for value, chance in values) / mass, DIGITS))
    return means or None


def _written(tokens: Sequence[TokenChances], slots: int) -> tuple[int, ...]:
    return tuple(int(float(number)) for number, *_ in _numbers(tokens, slots))


def _numbers(tokens: Sequence[TokenChances], slots: int) -> Iterator[tuple[str, str, int]]:
    """Yield each number of the list, the text before it in its first token, and the index of that token."""
    text, ends = "".join(one.text for one in tokens), [*accumulate(len(one.text) for one in tokens)]
    lists = [*re.finditer(rf"\[\s*{_NUMBER}(?:\s*,\s*{_NUMBER}){{{slots - 1}}}\s*\]", text)]
    if len(lists) != 1:
        return
    for number in re.finditer(_NUMBER, lists[0][0]):
        start = lists[0].start() + number.start()
        place = bisect_right(ends, start)
        yield number[0], text[ends[place] - len(tokens[place].text) : start].strip(), place


def _values(tokens: Sequence[TokenChances], place: int, lead: str) -> Iterator[tuple[int, float]]:
    """Yield the alternatives to a written number, each with its probability."""
    sign = tokens[place].text.strip().removeprefix(lead).strip()
    for token, chance in tokens[place].chances.items():
        rest = token.strip()
        if not rest.startswith(lead):
            continue
        rest = rest.removeprefix(lead).strip()
        if begun := _BEGUN.match(rest):
            yield int(begun[1]), chance
        elif rest in ("+", "-") and rest == sign and place + 1 < len(tokens):
            for after, within in tokens[place + 1].chances.items():
                if digit := _DIGIT.match(after):
                    yield int(f"{rest}{digit[1]}"), chance * within
