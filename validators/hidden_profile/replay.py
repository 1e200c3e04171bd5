"""Replay of a session from its event log, independent of the world, and detection of contradictions ("lies").

Scenario, options and deal come from the log. Everything else is derived from the raw replies: who had to be asked, who had to
read what, which vote counts, what a message cited, when the talk ended. Each note and each delivered text is compared with the
result. No log that `read_log` accepts makes this raise: a log that cannot be followed is a lie.

A text shows exactly what its seat has to read, as dealt and in order; no other line begins with a name. The text of a fact that
a seat does not hold must not appear, unless another seat told it to the seat, or the brief or the seat's own words contain it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from validators.episode import Episode
from validators.hidden_profile.history import NoSession, Opening, Replay, Spoken, Stance, Vote, read_opening
from validators.tape import Lost, Tape, Unanswered, cache_by_trace, find_lies_at_end, find_measurement_lies, is_same_json
from worlds.core.events import Event, Noted, Requested, Seated, Turned, Waited
from worlds.core.replies import quote_message
from worlds.hidden_profile.rules.ballot import (
    MAX_MESSAGE_CHARS,
    NOT_READ,
    QUOTED_CHARS,
    Ballot,
    chat_text,
    find_option,
    notice_line,
    publish_message,
    read_ballot,
    read_handles,
    read_message,
    refusal_text,
    split_board,
)
from worlds.hidden_profile.rules.scenario import Scenario

Shown = tuple[int, str]
"""Seat, and the text of a message as others see it."""


@dataclass
class SessionState:
    """State of a session while it is rebuilt."""

    opening: Opening
    tape: Tape
    barrier: int = 0
    """Number of groups of turns that were open together, so far."""

    before: tuple[Vote, ...] | None = None
    after: tuple[Vote, ...] | None = None
    turns: list[Spoken] = field(default_factory=list)
    messages: list[Shown] = field(default_factory=list)
    public: dict[str, str] = field(default_factory=dict)
    """Handle that all seats know -> fact, on the structured track."""

    stances: dict[int, str] = field(default_factory=dict)
    """Last stance of each seat on the structured track."""

    previous_stances: list[Stance] = field(default_factory=list)
    own: dict[int, list[str]] = field(default_factory=dict)
    """Words of each seat's votes, which may appear in its texts."""

    notices: dict[int, str] = field(default_factory=dict)
    """For each seat, the line on the part of its last reply in talk that was not read."""

    board: str = ""
    """What the scribe last wrote on the board."""

    last_round: int = 0
    """Number of messages before the current round."""

    reminders: dict[int, str] = field(default_factory=dict)
    early_stop: int | None = None

    def latest_messages(self, seat: int) -> list[Shown]:
        """Return the latest message of each other seat, oldest first; all messages if the settings say so."""
        if self.opening.settings.heard == "all":
            return list(self.messages)
        latest: dict[int, Shown] = {}
        for speaker, text in self.messages:
            latest.pop(speaker, None)
            latest[speaker] = (speaker, text)
        return [shown for speaker, shown in latest.items() if speaker != seat]

    def repeated_messages(self) -> list[Shown]:
        """Return the messages that the last vote repeats."""
        return self.messages if self.opening.settings.vote_view == "all" else self.messages[self.last_round :]

    def citable_handles(self, seat: int) -> dict[str, str]:
        """Return the handles that a seat may cite: of its own facts in the order shown, and those that all seats know."""
        own = {f"F{place}": fact for place, fact in enumerate(self.opening.hands[seat], start=1)}
        return own | self.public

    def publish(self, text: str, cites: Sequence[str]) -> str:
        """Return a message as others see it."""
        structured = self.opening.settings.track == "structured"
        return publish_message(self.opening.scenario, self.public, text, cites) if structured else text

    def check_turn_name(self, turn: Turned) -> None:
        """Check the name of a turn: barrier, seat, attempt."""
        if turn.turn != (name := f"{self.barrier}-{turn.seat}-{turn.attempt}"):
            self.tape.record_lie(turn, f"the turn is named {turn.turn[:40]!r}, it is {name}")

    def record_own_words(self, seat: int, *words: str) -> None:
        """Record a seat's own words."""
        self.own.setdefault(seat, []).extend(words)


_NAMED = re.compile(r"^Person \d+: ", re.MULTILINE)
_SHORTEST = 12
"""Minimum length of a fact's text; a shorter one may occur in any text by chance."""


def check_system(opening: Opening, seat: int, text: str) -> list[str]:
    """Return the errors in a seat's system prompt."""
    structured = opening.settings.track == "structured"
    own = [opening.scenario.by_id[fact].text for fact in opening.hands[seat]]
    facts = [(f"F{place}. " if structured else "- ") + fact for place, fact in enumerate(own, start=1)]
    wrong = [] if f"\n{_block(facts)}\n" in text else ["its facts are not listed as they were dealt"]
    wrong += [] if _options(opening) in text else ["the options are not listed as they were dealt"]
    return wrong + _foreign(opening, seat, text, ())


def check_vote_text(state: SessionState, turn: Turned, said: Sequence[Shown]) -> None:
    """Check the text of a vote; `said` are the messages that it repeats."""
    options = _options(state.opening)
    _complain(state, turn, [] if options in turn.text else ["the options are not listed as they were dealt"])
    if turn.attempt == 1:
        _complain(state, turn, _beside(turn.text.replace(options, ""), said))
        _complain(state, turn, (_noticed(state, turn) if turn.phase == "POST_VOTE" else []) + _board(state, turn))
    _complain(state, turn, _foreign(state.opening, turn.seat, turn.text, _told(state, turn.seat)))


def check_turn_text(state: SessionState, turn: Turned) -> None:
    """Check the text of a turn of talk."""
    reminder = state.reminders.get(turn.seat, "") if turn.round == 1 else ""
    _complain(state, turn, [] if reminder in turn.text else ["it does not remind its seat of its first vote"])
    left = "".join(turn.text.partition(reminder)[::2]) if reminder else turn.text
    _complain(state, turn, _beside(left, state.latest_messages(turn.seat)) + _noticed(state, turn) + _board(state, turn))
    _complain(state, turn, _foreign(state.opening, turn.seat, turn.text, _told(state, turn.seat)))


def _complain(state: SessionState, turn: Turned, wrong: Iterable[str]) -> None:
    for what in wrong:
        state.tape.record_lie(turn, f"the text of turn {turn.turn[:40]}: {what}")


def _beside(text: str, said: Sequence[Shown]) -> list[str]:
    """Return the errors in the messages of a text: `said` must appear in one piece, and no other line may name a speaker."""
    block = _block(f"Person {seat + 1}: {quote_message(words)}" for seat, words in said)
    if block not in text:
        return ["it does not show what its seat was to read"]
    left = text.replace(block, "", 1)
    return ["somebody is named who did not say this"] if _NAMED.search(left) else []


def _noticed(state: SessionState, turn: Turned) -> list[str]:
    """Return the errors in the line on a seat's last reply, which must begin the text if and only if it is due."""
    due = state.notices.get(turn.seat, "")
    sound = turn.text.startswith(due) if due else not turn.text.startswith(NOT_READ)
    return [] if sound else [f"of the last reply it must say {due.strip() or 'nothing'}"]


def _board(state: SessionState, turn: Turned) -> list[str]:
    return [] if quote_message(state.board) in turn.text else ["it does not show the board"]


def _foreign(opening: Opening, seat: int, text: str, told: Sequence[str]) -> list[str]:
    """Return errors for facts in a text that the seat does not hold and was not told."""
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
    return [words for _, words in state.messages] + state.own.get(seat, []) + [state.board]


def _options(opening: Opening) -> str:
    return _block(f"- [{option}] {opening.scenario.label(option)}" for option in opening.options)


def _block(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@lru_cache(maxsize=4096)
def _squeezed(text: str) -> str:
    """Collapse white space; cached, because facts and rules are searched for in every prompt."""
    return " ".join(text.split())


def replay_vote(state: SessionState, phase: str) -> tuple[Vote, ...]:
    """Replay one vote; raises Unanswered if the log ends in it, Lost if it cannot be followed."""
    state.barrier += 1
    tries = [_tries(state, seat, phase) for seat in state.opening.seats]
    _complete(state, phase, tries)
    return tuple(_counted(state, phase, attempts) for attempts in tries)


def replay_poll(state: SessionState, number: int) -> None:
    """Replay one poll after a round; raises Unanswered if the log ends in it, Lost if it cannot be followed."""
    state.barrier += 1
    turns = [turn for seat in state.opening.seats if (turn := state.tape.read_turn_if(seat, "POLL", number))]
    if len(turns) < len(state.opening.seats):
        if state.tape.is_over and not turns:
            raise Unanswered
        state.tape.check_broken_off("POLL")
    for turn in turns:
        state.check_turn_name(turn)
        check_vote_text(state, turn, state.latest_messages(turn.seat))
    for turn in turns:
        ballot = _read(state.opening.scenario, turn) or _mended(state, turn.seat, "poll")
        option, given = ballot.option, ballot.given
        data = {"round": number, "option": option, "given": given, "no_reply": turn.no_reply}
        state.tape.check_note("poll", turn.seat, data)
        state.record_own_words(turn.seat, given)
        if option:
            state.previous_stances.append(Stance(turn.seat, option, len(state.turns), len(state.turns)))


def _tries(state: SessionState, seat: int, phase: str) -> list[Turned]:
    attempts: list[Turned] = []
    said = state.repeated_messages() if phase == "POST_VOTE" else []
    settings = state.opening.settings
    while len(attempts) < settings.vote_attempts and (turn := state.tape.read_turn_if(seat, phase, 0, len(attempts) + 1)):
        if attempts and _refused(state.opening.scenario, attempts[-1]) is False:
            state.tape.record_lie(turn, f"seat {seat} was asked again after a vote that stands")
        if attempts and settings.revote == "same" and turn.text != attempts[0].text:
            state.tape.record_lie(turn, f"seat {seat} was asked again in other words")
        refused = read_ballot(state.opening.scenario, attempts[0].reply) if attempts and settings.revote == "once" else None
        # of a broken ballot only the world knows whether its repair brought no ballot, or one that names no option
        if refused and not refused.is_broken and refusal_text(refused.problem) not in turn.text:
            state.tape.record_lie(turn, f"seat {seat} was not told why its vote was not read")
        state.check_turn_name(turn)
        check_vote_text(state, turn, said)
        # what was given is quoted to who is asked again
        ballot = _read(state.opening.scenario, turn)
        state.record_own_words(seat, turn.reply, ballot[2] if ballot else "")
        attempts.append(turn)
    return attempts


def _complete(state: SessionState, phase: str, tries: Sequence[list[Turned]]) -> None:
    """Check that every seat has a final answer; raises Unanswered or Lost."""
    if state.tape.is_over and not any(tries):
        raise Unanswered
    most = state.opening.settings.vote_attempts
    refused = [_refused(state.opening.scenario, mine[-1]) if 0 < len(mine) < most else not mine for mine in tries]
    if True in refused or (state.tape.is_over and None in refused):
        state.tape.check_broken_off(phase)


def _refused(scenario: Scenario, turn: Turned) -> bool | None:
    """Return True if an answer has to be asked for again; None if only the world can know."""
    if turn.no_reply is not None:
        return False
    ballot = _read(scenario, turn)
    return None if ballot is None else ballot[0] is None


def _read(scenario: Scenario, turn: Turned) -> Ballot | None:
    """Return the ballot in a reply; None if the world had to repair it."""
    ballot = read_ballot(scenario, turn.reply)
    return None if ballot.is_broken else ballot


def _counted(state: SessionState, phase: str, attempts: Sequence[Turned]) -> Vote:
    """Check the note of a vote against its last attempt, and return the vote."""
    seat, last = attempts[-1].seat, attempts[-1]
    ballot = _read(state.opening.scenario, last) or _mended(state, seat, "vote")
    option, rationale, given = ballot[:3]
    state.tape.check_note(
        "vote", seat,
        {
            "when": phase, "option": option, "given": given, "rationale": rationale,
            "attempts": len(attempts), "no_reply": last.no_reply,
        },
    )  # fmt: skip
    if option is None and len(attempts) < state.opening.settings.vote_attempts and last.no_reply is None:
        state.tape.record_lie(last, f"the vote of seat {seat} names no option, and it was not asked again")
    state.record_own_words(seat, rationale, given)
    if phase == "PRE_VOTE" and state.opening.settings.remind_pre_vote and option:
        state.reminders[seat] = f"{state.opening.scenario.label(option)}. {rationale}".strip()
    return Vote(seat, option, len(attempts), last.no_reply, last.seq)


def _mended(state: SessionState, seat: int, what: str) -> Ballot:
    """Return the ballot in the next note for a reply that the world repaired, as far as it can be true."""
    told: dict[str, Any] = dict(state.tape.next_data) if state.tape.is_next(what, seat) else {}
    given, rationale, option = told.get("given"), told.get("rationale"), told.get("option")
    words = given[:QUOTED_CHARS] if isinstance(given, str) else ""
    named = find_option(state.opening.scenario, words)
    # a label longer than what the note keeps can still have been named in full
    if len(words) == QUOTED_CHARS and isinstance(option, str) and option in state.opening.options:
        named = option
    return Ballot(named, rationale if isinstance(rationale, str) else "", words)


MAX_ERRORS = 200
"""Maximum number of messages of one seat in a chat."""

HANDLE = 40
"""Maximum number of characters of a handle in a note."""


@dataclass(frozen=True, slots=True)
class _Message:
    text: str
    cites: list[str]
    stance: str | None
    bad: list[str] | None
    """Handles that were dropped; None if only the notes tell them."""


def replay_talk(state: SessionState) -> None:
    """Replay all rounds; raises Unanswered if the log ends in them, Lost if they cannot be followed."""
    for number in range(1, state.opening.settings.rounds + 1):
        state.last_round = len(state.messages)
        before, heard = dict(state.stances), len(state.public)
        for seat in state.opening.seats:
            state.barrier += 1
            turn = state.tape.read_turn(seat, "DISCUSSION", number)
            state.check_turn_name(turn)
            check_turn_text(state, turn)
            _say(state, turn, number)
        if state.opening.settings.stance_poll and number > state.opening.settings.without_stances:
            replay_poll(state, number)
        agreed = len(state.stances) == len(state.opening.seats) and len(set(state.stances.values())) == 1
        still = agreed and before == state.stances and heard == len(state.public)
        if still and state.opening.settings.early_stop:
            state.tape.check_note("early_stop", None, {"round": number})
            state.early_stop = number
            return


def replay_chat(state: SessionState) -> None:
    """Replay a free discussion: any present seat may speak next; a forfeit removes the seat, a timeout removes all.

    Raises Unanswered if the log ends in it, Lost if it cannot be followed.
    """
    present, said, read, spoke = set(state.opening.seats), Counter[int](), Counter[int](), Counter[int]()
    asked: dict[int, int] = {}
    """Barrier -> number of messages at its opening."""

    while present:
        state.barrier += 1
        asked[state.barrier] = len(state.messages)
        seat = state.tape.next_seat(present, "DISCUSSION")
        turn = state.tape.read_turn(seat, "DISCUSSION", said[seat] + 1)
        told = asked[_opened(state, turn, [barrier for barrier in asked if barrier > spoke[seat]])]
        everything = state.opening.settings.heard == "all"
        new = [one for one in state.messages[read[seat] : told] if one[0] != seat]
        _complain(state, turn, _beside(turn.text, state.messages[:told] if everything else new) + _noticed(state, turn))
        _complain(state, turn, _foreign(state.opening, turn.seat, turn.text, _told(state, turn.seat)))
        if turn.no_reply is not None:
            gone = sorted(present) if turn.no_reply == "timeout" else [seat]
            for one in gone:
                state.tape.check_note("left", one, {"no_reply": turn.no_reply})
            present.difference_update(gone)
            continue
        said[seat] += 1
        _say(state, turn, said[seat])
        read[seat], spoke[seat] = told, state.barrier
        if said[seat] == MAX_ERRORS:
            present.remove(seat)


def _opened(state: SessionState, turn: Turned, barriers: Sequence[int]) -> int:
    """Return the barrier, since a seat's last message, whose question a turn of a chat answers, by the name of the turn."""
    for barrier in reversed(barriers):
        if turn.turn == f"{barrier}-{turn.seat}-{turn.attempt}":
            return barrier
    state.check_turn_name(turn)
    return state.barrier


def replay_reveal(state: SessionState) -> None:
    """Replay the reading of all seats' own facts; raises Lost if it cannot be followed."""
    facts = state.opening.scenario.by_id
    for seat in state.opening.seats:
        own = [fact for fact in state.opening.hands[seat] if facts[fact].scope != "shared"]
        if own:
            state.messages.append((seat, " ".join(facts[fact].text for fact in own)))
        state.tape.check_note("reveal", seat, {"facts": own})


def _say(state: SessionState, turn: Turned, number: int) -> None:
    seat, known, settings = turn.seat, set(state.citable_handles(turn.seat)), state.opening.settings
    said = _message(state, turn)
    said = said if number > settings.without_stances else replace(said, stance=None)
    data = {"round": number, "text": said.text, "cites": said.cites, "stance": said.stance, "no_reply": turn.no_reply}
    state.tape.check_note("message", seat, data)
    bad = _dropped(state, seat, number, known) if said.bad is None else said.bad
    for handle in said.bad or ():
        state.tape.check_note("bad_handle", seat, {"round": number, "handle": handle})
    reached = turn.no_reply is None and said.text != ""
    if reached:
        shown, board = split_board(said.text) if settings.structure == "board" and seat == 0 else (said.text, "")
        state.board = board or state.board
        state.messages.append((seat, state.publish(shown, said.cites)))
    if said.stance:
        state.stances[seat] = said.stance
    text, cites = (said.text, tuple(said.cites)) if reached else ("", ())
    if said.stance and not settings.stance_poll:
        state.previous_stances.append(Stance(seat, said.stance, len(state.turns) + 1, len(state.turns)))
    state.turns.append(Spoken(seat, number, text, cites, said.stance, len(bad), turn.no_reply))


def _message(state: SessionState, turn: Turned) -> _Message:
    """Return the message in a reply, and store the notice that its seat must receive about it."""
    structured, may_pass = state.opening.settings.track == "structured", state.opening.settings.may_pass
    prose = _Message(chat_text(turn.reply, chat=may_pass), [], None, [])
    state.notices[turn.seat] = notice_line(turn.reply, "")
    if not structured:
        return prose
    reading = read_message(turn.reply)
    if reading.is_broken and (repaired := _mended_message(state, turn)) != replace(prose, bad=None):
        return repaired
    if reading.value is None:
        state.notices[turn.seat] = notice_line(turn.reply, reading.problem if reading.is_broken or reading.is_refused else "")
        state.record_own_words(turn.seat, turn.reply)
        return prose
    known, handles = state.citable_handles(turn.seat), read_handles(reading.value.get("cites"))
    cites = list(dict.fromkeys(known[handle] for handle in handles if handle in known))
    bad = [handle[:HANDLE] for handle in handles if handle not in known]
    text, stance = reading.value.get("text"), reading.value.get("stance")
    option = find_option(state.opening.scenario, stance) if isinstance(stance, str) else None
    return _Message(chat_text(text, chat=may_pass) if isinstance(text, str) else "", cites, option, bad)


def _mended_message(state: SessionState, turn: Turned) -> _Message:
    """Return the message in the next note for a reply that the world repaired, as far as it can be true."""
    told = state.tape.next_data if state.tape.is_next("message", turn.seat) else {}
    text, cites, stance = told.get("text"), told.get("cites"), told.get("stance")
    known = set(state.citable_handles(turn.seat).values())
    facts = [fact for fact in cites if isinstance(fact, str) and fact in known] if isinstance(cites, list) else []
    option = stance if isinstance(stance, str) and stance in state.opening.options else None
    return _Message(text.strip()[:MAX_MESSAGE_CHARS] if isinstance(text, str) else "", list(dict.fromkeys(facts)), option, None)


def _dropped(state: SessionState, seat: int, number: int, known: set[str]) -> Sequence[str]:
    """Replay the notes on dropped handles after a repaired reply; only the notes tell how many there were."""
    bad: list[str] = []
    while state.tape.is_next("bad_handle", seat):
        handle = state.tape.next_data.get("handle")
        text = handle[:HANDLE] if isinstance(handle, str) else ""
        note = state.tape.check_note("bad_handle", seat, {"round": number, "handle": text})
        if text in known:
            state.tape.record_lie(note, f"seat {seat} knows the handle {text}")
        bad.append(text)
    return bad


def find_time_lies(events: Sequence[Event]) -> list[str]:
    """Return the lies in the virtual times of a session, which only turns move.

    Costs are in the task and not in the log, so the first turn of a kind defines them. The cost of a request or a wait between
    two turns is known to the world alone, so the check starts again after it.
    """
    lies: list[str] = []
    costs: dict[str, int] = {}
    phase, now, is_known = "", 0, True
    for event in events:
        is_known = is_known and not isinstance(event, Requested | Waited)
        if not isinstance(event, Turned | Noted):
            continue
        due = now
        # each turn of talk is alone, whatever its name: one that is answered late in a chat is named by when it was asked
        if isinstance(event, Turned) and (event.phase == "DISCUSSION" or event.phase != phase):
            phase = event.phase
            due += costs.setdefault("talk" if phase == "DISCUSSION" else "vote", event.vt - now) if is_known else 0
        if is_known and event.vt != due:
            lies.append(f"seq {event.seq}: it is said to be at {event.vt} ms, by the turns before it is {due} ms")
        now, is_known = event.vt, True
    return lies


@cache_by_trace
def replay(episode: Episode) -> Replay:
    """Rebuild a session; raises NoSession if scenario, options or deal cannot be read."""
    opening = read_opening(episode)
    state, finished = SessionState(opening, Tape(episode.events, measured=True)), False
    try:
        state.tape.read_note("session_start")
        _follow(state)
        finished = True
    except Unanswered:
        pass
    except Lost as lost:
        state.tape.lies.append(str(lost))
    lies = (*_frame(episode, opening), *state.tape.lies)
    return Replay(
        opening, state.before, tuple(state.turns), tuple(state.previous_stances), state.after, state.early_stop, finished, lies
    )


def find_lies(episode: Episode) -> list[str]:
    """Return the parts of this log that our world could not have written; empty for a sound log."""
    try:
        return list(replay(episode).lies)
    except NoSession as error:
        return [str(error)]


def _follow(state: SessionState) -> None:
    """Replay both votes and the talk between them; raises Unanswered if the log ends early, Lost if it cannot be followed."""
    state.before = replay_vote(state, "PRE_VOTE")
    if state.opening.settings.reveal_all:
        replay_reveal(state)
    if state.opening.settings.talk == "chat":
        replay_chat(state)
    else:
        replay_talk(state)
    state.after = replay_vote(state, "POST_VOTE")
    state.tape.check_note("session_end", None, {})
    state.tape.record_rest()


def _frame(episode: Episode, opening: Opening) -> list[str]:
    lies = find_lies_at_end(episode) + find_measurement_lies(episode, opening.settings.measuring)
    return lies + find_time_lies(episode.events) + _session(episode, opening)


def _session(episode: Episode, opening: Opening) -> list[str]:
    """Return the lies in the texts that the seats received before the first turn."""
    sessions = [e for e in episode.events if isinstance(e, Seated)]
    if [len(one.seats) for one in sessions] != [opening.scenario.agents]:
        return [f"there must be one session, with {opening.scenario.agents} seats"]
    where = f"seq {sessions[0].seq}: the prompt of seat"
    lies = [
        f"{where} {seat}: {wrong}" for seat, text in enumerate(sessions[0].seats) for wrong in check_system(opening, seat, text)
    ]
    settings = opening.settings
    public = {"people": opening.scenario.agents, "rounds": settings.rounds, "track": settings.track}
    public |= {"talk": "chat", "minutes": settings.minutes} if settings.talk == "chat" else {}
    return lies if is_same_json(sessions[0].public, public) else [*lies, f"seq {sessions[0].seq}: public is not {public}"]
