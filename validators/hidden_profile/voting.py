"""A vote rebuilt: everybody answers alone, one that names no option is asked once more, then each seat's note must follow.

Talk rebuilt: what each seat said in its turn, what that rested on, where it stands, and when nothing moves any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from validators.hidden_profile.history import Spoken, Stance, Vote
from validators.hidden_profile.state import SessionState, look_at_invitation, look_at_turn, look_at_vote
from validators.tape import Unanswered
from worlds.core.events import Turned
from worlds.core.replies import parsed_string, spoken
from worlds.hidden_profile.rules.ballot import GIVEN, Ballot, notice, option_of, read_ballot, read_message, refusal, spoken_text
from worlds.hidden_profile.rules.scenario import Scenario


def vote(state: SessionState, phase: str) -> tuple[Vote, ...]:
    """Follow one vote; raises Unanswered where the log ends in it, Lost where it cannot be followed."""
    state.barrier += 1
    tries = [_tries(state, seat, phase) for seat in state.opening.seats]
    _complete(state, phase, tries)
    return tuple(_counted(state, phase, attempts) for attempts in tries)


def poll(state: SessionState, number: int) -> None:
    """Follow one poll after a round; raises Unanswered where the log ends in it, Lost where it cannot be followed."""
    state.barrier += 1
    turns = [turn for seat in state.opening.seats if (turn := state.tape.asked(seat, "POLL", number))]
    if len(turns) < len(state.opening.seats):
        if state.tape.over and not turns:
            raise Unanswered
        state.tape.broken_off("POLL")
    for turn in turns:
        state.named(turn)
        look_at_vote(state, turn, state.read_by(turn.seat))
    for turn in turns:
        ballot = _read(state.opening.scenario, turn) or _mended(state, turn.seat, "poll")
        option, given = ballot.option, ballot.given
        data = {"round": number, "option": option, "given": given, "no_reply": turn.no_reply}
        state.tape.exactly("poll", turn.seat, data)
        state.heard_own(turn.seat, given)
        if option:
            state.stood.append(Stance(turn.seat, option, len(state.turns), len(state.turns)))


def _tries(state: SessionState, seat: int, phase: str) -> list[Turned]:
    attempts: list[Turned] = []
    said = state.repeated() if phase == "POST_VOTE" else []
    while len(attempts) < 2 and (turn := state.tape.asked(seat, phase, 0, len(attempts) + 1)):
        if attempts and _refused(state.opening.scenario, attempts[0]) is False:
            state.tape.lie(turn, f"seat {seat} was asked again after a vote that stands")
        refused = read_ballot(state.opening.scenario, attempts[0].reply) if attempts else None
        # of a broken ballot only the world knows whether its repair brought no ballot, or one that names no option
        if refused and not refused.is_broken and refusal(refused.problem) not in turn.text:
            state.tape.lie(turn, f"seat {seat} was not told why its vote was not read")
        state.named(turn)
        look_at_vote(state, turn, said)
        # what was given is quoted to who is asked again
        ballot = _read(state.opening.scenario, turn)
        state.heard_own(seat, turn.reply, ballot[2] if ballot else "")
        attempts.append(turn)
    return attempts


def _complete(state: SessionState, phase: str, tries: Sequence[list[Turned]]) -> None:
    """Make sure that everybody has an answer that stands; raises Unanswered or Lost."""
    if state.tape.over and not any(tries):
        raise Unanswered
    refused = [_refused(state.opening.scenario, mine[0]) if len(mine) == 1 else not mine for mine in tries]
    if True in refused or (state.tape.over and None in refused):
        state.tape.broken_off(phase)


def _refused(scenario: Scenario, turn: Turned) -> bool | None:
    """Whether a first answer has to be asked for again; None where only the world can know."""
    if turn.no_reply is not None:
        return False
    ballot = _read(scenario, turn)
    return None if ballot is None else ballot[0] is None


def _read(scenario: Scenario, turn: Turned) -> Ballot | None:
    """Return the ballot in a reply; None for a reply that the world had to repair."""
    ballot = read_ballot(scenario, turn.reply)
    return None if ballot.is_broken else ballot


def _counted(state: SessionState, phase: str, attempts: Sequence[Turned]) -> Vote:
    """Hold the note of a vote against its last attempt, and count it."""
    seat, last = attempts[-1].seat, attempts[-1]
    ballot = _read(state.opening.scenario, last) or _mended(state, seat, "vote")
    option, rationale, given = ballot[:3]
    state.tape.exactly(
        "vote", seat,
        {
            "when": phase, "option": option, "given": given, "rationale": rationale,
            "attempts": len(attempts), "no_reply": last.no_reply,
        },
    )  # fmt: skip
    if option is None and len(attempts) == 1 and last.no_reply is None:
        state.tape.lie(last, f"the vote of seat {seat} names no option, and it was not asked again")
    state.heard_own(seat, rationale, given)
    if phase == "PRE_VOTE" and state.opening.settings.remind_pre_vote and option:
        state.reminders[seat] = f"{state.opening.scenario.label(option)}. {rationale}".strip()
    return Vote(seat, option, len(attempts), last.no_reply, last.seq)


def _mended(state: SessionState, seat: int, what: str) -> Ballot:
    """What the note ahead says of a reply that the world had to mend, as far as it can be true."""
    told: dict[str, Any] = dict(state.tape.ahead) if state.tape.is_next(what, seat) else {}
    given, rationale, option = told.get("given"), told.get("rationale"), told.get("option")
    words = given[:GIVEN] if isinstance(given, str) else ""
    named = option_of(state.opening.scenario, words)
    # a label longer than what the note keeps can still have been named in full
    if len(words) == GIVEN and isinstance(option, str) and option in state.opening.options:
        named = option
    return Ballot(named, rationale if isinstance(rationale, str) else "", words)


MOST_SAID = 1000
"""Messages after which a chat is over."""

HANDLE = 40
"""Characters that a note keeps of a handle."""


@dataclass(frozen=True, slots=True)
class _Message:
    text: str
    cites: list[str]
    stance: str | None
    bad: list[str] | None
    """Handles that were dropped; None where only the notes tell them."""


def talk(state: SessionState) -> None:
    """Follow all rounds; raises Unanswered where the log ends in them, Lost where they cannot be followed."""
    for number in range(1, state.opening.settings.rounds + 1):
        state.last_round = len(state.messages)
        before, heard = dict(state.stances), len(state.public)
        for seat in state.opening.seats:
            state.barrier += 1
            turn = state.tape.turn(seat, "DISCUSSION", number)
            state.named(turn)
            look_at_turn(state, turn)
            _say(state, turn, number)
        if state.opening.settings.stance_poll:
            poll(state, number)
        agreed = len(state.stances) == len(state.opening.seats) and len(set(state.stances.values())) == 1
        still = agreed and before == state.stances and heard == len(state.public)
        if still and state.opening.settings.early_stop:
            state.tape.exactly("early_stop", None, {"round": number})
            state.early_stop = number
            return


def chat(state: SessionState) -> None:
    """Follow a free talk: whoever is present may speak next; who forfeits has left, by the clock all of them.

    Raises Unanswered where the log ends in it, Lost where it cannot be followed.
    """
    present, said, read, spoke = set(state.opening.seats), Counter[int](), Counter[int](), Counter[int]()
    asked: dict[int, int] = {}
    """By barrier, how many messages there were."""

    while present and len(state.messages) < MOST_SAID:
        state.barrier += 1
        asked[state.barrier] = len(state.messages)
        seat = state.tape.next_seat(present, "DISCUSSION")
        turn = state.tape.turn(seat, "DISCUSSION", said[seat] + 1)
        told = asked[_opened(state, turn, [barrier for barrier in asked if barrier > spoke[seat]])]
        everything = state.opening.settings.heard == "all"
        new = [one for one in state.messages[read[seat] : told] if one[0] != seat]
        look_at_invitation(state, turn, state.messages[:told] if everything else new)
        if turn.no_reply is not None:
            gone = sorted(present) if turn.no_reply == "timeout" else [seat]
            for one in gone:
                state.tape.exactly("left", one, {"no_reply": turn.no_reply})
            present.difference_update(gone)
            continue
        said[seat] += 1
        _say(state, turn, said[seat])
        read[seat], spoke[seat] = told, state.barrier


def _opened(state: SessionState, turn: Turned, barriers: Sequence[int]) -> int:
    """When a seat was asked what it answers in a chat, by the name of the turn: since its last message."""
    for barrier in reversed(barriers):
        if turn.turn == f"{barrier}-{turn.seat}-{turn.attempt}":
            return barrier
    state.named(turn)
    return state.barrier


def reveal(state: SessionState) -> None:
    """Follow how everybody's own facts are read out; raises Lost where it cannot be followed."""
    facts = state.opening.scenario.by_id
    for seat in state.opening.seats:
        own = [fact for fact in state.opening.hands[seat] if facts[fact].scope != "shared"]
        if own:
            state.messages.append((seat, " ".join(facts[fact].text for fact in own)))
        state.tape.exactly("reveal", seat, {"facts": own})


def _say(state: SessionState, turn: Turned, number: int) -> None:
    seat, known = turn.seat, set(state.handles(turn.seat))
    said = _message(state, turn)
    data = {"round": number, "text": said.text, "cites": said.cites, "stance": said.stance, "no_reply": turn.no_reply}
    state.tape.exactly("message", seat, data)
    bad = _dropped(state, seat, number, known) if said.bad is None else said.bad
    for handle in said.bad or ():
        state.tape.exactly("bad_handle", seat, {"round": number, "handle": handle})
    reached = turn.no_reply is None and said.text != ""
    if reached:
        state.messages.append((seat, said.text + state.publish(said.cites)))
    if said.stance:
        state.stances[seat] = said.stance
    text, cites = (said.text, tuple(said.cites)) if reached else ("", ())
    if said.stance and not state.opening.settings.stance_poll:
        state.stood.append(Stance(seat, said.stance, len(state.turns) + 1, len(state.turns)))
    state.turns.append(Spoken(seat, number, text, cites, said.stance, len(bad), turn.no_reply))


def _message(state: SessionState, turn: Turned) -> _Message:
    """Return the message in a reply, and keep the line that its seat must be told of it."""
    structured, chat = state.opening.settings.track == "structured", state.opening.settings.talk == "chat"
    prose = _Message(spoken_text(turn.reply) if structured or not chat else spoken(turn.reply), [], None, [])
    state.notices[turn.seat] = notice(turn.reply, "")
    if not structured:
        return prose
    reading = read_message(turn.reply)
    if reading.is_broken and (repaired := _mended_message(state, turn)) != replace(prose, bad=None):
        return repaired
    if reading.value is None:
        state.notices[turn.seat] = notice(turn.reply, reading.problem if reading.is_broken or reading.is_refused else "")
        state.heard_own(turn.seat, turn.reply)
        return prose
    cites, bad = _cited(state.handles(turn.seat), parsed_string(reading.value.get("cites")))
    text, stance = reading.value.get("text"), reading.value.get("stance")
    option = option_of(state.opening.scenario, stance) if isinstance(stance, str) else None
    return _Message(spoken_text(text) if isinstance(text, str) else "", cites, option, bad)


def _cited(known: dict[str, str], given: Any) -> tuple[list[str], list[str]]:
    """The facts behind the handles of a reply, each once, and the handles that its seat does not know."""
    handles = [handle for handle in given if isinstance(handle, str)] if isinstance(given, list) else []
    cites = list(dict.fromkeys(known[handle] for handle in handles if handle in known))
    return cites, [handle[:HANDLE] for handle in handles if handle not in known]


def _mended_message(state: SessionState, turn: Turned) -> _Message:
    """What the note ahead says of a reply that the world had to mend, as far as it can be true."""
    told = state.tape.ahead if state.tape.is_next("message", turn.seat) else {}
    text, cites, stance = told.get("text"), told.get("cites"), told.get("stance")
    known = set(state.handles(turn.seat).values())
    facts = [fact for fact in cites if isinstance(fact, str) and fact in known] if isinstance(cites, list) else []
    option = stance if isinstance(stance, str) and stance in state.opening.options else None
    return _Message(text.strip() if isinstance(text, str) else "", list(dict.fromkeys(facts)), option, None)


def _dropped(state: SessionState, seat: int, number: int, known: set[str]) -> Sequence[str]:
    """The notes of dropped handles that follow a mended reply: how many there were, only they tell."""
    bad: list[str] = []
    while state.tape.is_next("bad_handle", seat):
        handle = state.tape.ahead.get("handle")
        text = handle[:HANDLE] if isinstance(handle, str) else ""
        note = state.tape.exactly("bad_handle", seat, {"round": number, "handle": text})
        if text in known:
            state.tape.lie(note, f"seat {seat} knows the handle {text}")
        bad.append(text)
    return bad
