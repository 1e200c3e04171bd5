"""What a delivered text must show its seat, and what it must not.

1. A system prompt lists exactly the seat's own facts, in the order dealt, and the options in the order dealt.
2. A turn shows exactly the messages that its seat is to read, under their speakers' names, and no line beside them begins with
   a name; a vote lists the options, and the last one repeats what was said.
3. The text of a fact that a seat does not hold stands in none of its texts, unless somebody said it to the seat, the brief
   says it, or the seat's own words do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from validators.hidden_profile.reading import Opening
from validators.hidden_profile.state import SessionState, Shown
from worlds.core.events import Turned
from worlds.hidden_profile.rules.speech import NOT_READ, indented

_NAMED = re.compile(r"^Person \d+: ", re.MULTILINE)
_SHORTEST = 12
"""Characters of a fact's text below which it may stand in any text by chance."""


def look_at_system(opening: Opening, seat: int, text: str) -> list[str]:
    """What is wrong with a seat's system prompt."""
    structured = opening.settings.track == "structured"
    own = [opening.scenario.by_id[fact].text for fact in opening.hands[seat]]
    facts = [(f"F{place}. " if structured else "- ") + fact for place, fact in enumerate(own, start=1)]
    wrong = [] if f"\n{_block(facts)}\n" in text else ["its facts are not listed as they were dealt"]
    wrong += [] if _options(opening) in text else ["the options are not listed as they were dealt"]
    return wrong + _foreign(opening, seat, text, ())


def look_at_vote(state: SessionState, turn: Turned, said: Sequence[Shown]) -> None:
    """Check the text of a vote; `said` is what it repeats of the talk."""
    options = _options(state.opening)
    _complain(state, turn, [] if options in turn.text else ["the options are not listed as they were dealt"])
    if turn.attempt == 1:
        _complain(state, turn, _beside(turn.text.replace(options, ""), said))
        _complain(state, turn, _noticed(state, turn) if turn.phase == "POST_VOTE" else [])
    _complain(state, turn, _foreign(state.opening, turn.seat, turn.text, _told(state, turn.seat)))


def look_at_turn(state: SessionState, turn: Turned) -> None:
    """Check the text of a turn of talk."""
    reminder = state.reminders.get(turn.seat, "") if turn.round == 1 else ""
    _complain(state, turn, [] if reminder in turn.text else ["it does not remind its seat of its first vote"])
    left = "".join(turn.text.rpartition(reminder)[::2]) if reminder else turn.text
    _complain(state, turn, _beside(left, state.read_by(turn.seat)) + _noticed(state, turn))
    _complain(state, turn, _foreign(state.opening, turn.seat, turn.text, _told(state, turn.seat)))


def look_at_invitation(state: SessionState, turn: Turned, said: Sequence[Shown]) -> None:
    """Check the text of a turn in a chat; `said` is what it must show."""
    _complain(state, turn, _beside(turn.text, said) + _noticed(state, turn))
    _complain(state, turn, _foreign(state.opening, turn.seat, turn.text, _told(state, turn.seat)))


def _complain(state: SessionState, turn: Turned, wrong: Iterable[str]) -> None:
    for what in wrong:
        state.tape.lie(turn, f"the text of turn {turn.turn[:40]}: {what}")


def _beside(text: str, said: Sequence[Shown]) -> list[str]:
    """What is wrong with the messages in a text; `said` must stand there in one piece, and nobody else be named as speaking."""
    block = _block(f"Person {seat + 1}: {indented(words)}" for seat, words in said)
    if block not in text:
        return ["it does not show what its seat was to read"]
    left = text.replace(block, "", 1)
    return ["somebody is named who did not say this"] if _NAMED.search(left) else []


def _noticed(state: SessionState, turn: Turned) -> list[str]:
    """Return what is wrong with the line on a seat's last reply, which must begin the text exactly where one is due."""
    due = state.notices.get(turn.seat, "")
    sound = turn.text.startswith(due) if due else not turn.text.startswith(NOT_READ)
    return [] if sound else [f"of the last reply it must say {due.strip() or 'nothing'}"]


def _foreign(opening: Opening, seat: int, text: str, told: Sequence[str]) -> list[str]:
    """Facts that the seat does not hold and nobody told it, whose text stands there."""
    shown, facts = _squeezed(text), opening.scenario.by_id
    leaked = []
    for fact in facts.keys() - set(opening.hands[seat]):
        words = _squeezed(facts[fact].text)
        if len(words) < _SHORTEST or words not in shown:
            continue
        labels = [option.label for option in opening.scenario.options]
        open_to_all = [opening.scenario.brief, *labels, *(facts[own].text for own in opening.hands[seat])]
        if not any(words in _squeezed(one) for one in (*open_to_all, *told)):
            leaked.append(fact)
    return [f"it shows {fact}, which the seat does not hold and nobody told it" for fact in sorted(leaked)]


def _told(state: SessionState, seat: int) -> list[str]:
    return [words for _, words in state.messages] + state.own.get(seat, [])


def _options(opening: Opening) -> str:
    return _block(f"- [{option}] {opening.scenario.label(option)}" for option in opening.options)


def _block(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@lru_cache(maxsize=4096)
def _squeezed(text: str) -> str:
    """A text with single blanks; facts and rules are looked for in every prompt again."""
    return " ".join(text.split())
