"""A vote rebuilt: everybody answers alone, one that names no option is asked once more, then each seat's note must follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from validators.hidden_profile.history import Stance, Vote
from validators.hidden_profile.sight import look_at_vote
from validators.hidden_profile.state import SessionState
from validators.tape import Unanswered
from worlds.core.events import Turned
from worlds.hidden_profile.rules.ballot import GIVEN, Ballot, option_of, read_ballot, refusal
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
    return Vote(seat, option, len(attempts), last.no_reply)


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
