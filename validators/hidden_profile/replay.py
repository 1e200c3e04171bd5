"""The whole session again from the event log, independently of what the world says of it, and where the two disagree.

Scenario, options and deal are the log's own; all else - who had to be asked, who had to read what, which vote counts, what a
message rested on, when the talk ended - is worked out from the raw replies, and each note and each delivered text is held
against it. No log that `read_log` accepts makes this raise: what cannot be understood is a lie.

When things happened: virtual time moves by the turns of a session alone, and each of a kind costs as much as the others.

What a vote and a turn of talk cost stands in the task and not in the log, so the first of a kind says it for all. Turns that
are open together, and the notes that follow them, are of one moment. A request or a wait between two turns costs what only the
world can tell, so nothing is concluded across it.
"""

from __future__ import annotations

from collections.abc import Sequence

from validators.episode import Episode
from validators.hidden_profile.history import NoSession, Opening, Replay, read_opening
from validators.hidden_profile.state import SessionState, look_at_system
from validators.hidden_profile.voting import chat, reveal, talk, vote
from validators.tape import Lost, Tape, Unanswered, remembered, same
from worlds.core.events import Closed, Event, Noted, Requested, Seated, Stopped, Turned, Waited


def look_at_times(events: Sequence[Event]) -> list[str]:
    """Lies in the virtual times of a session."""
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


@remembered
def replay(episode: Episode) -> Replay:
    """Rebuild a session; raises NoSession where scenario, options or deal cannot be read."""
    opening = read_opening(episode)
    state, finished = SessionState(opening, Tape(episode.events, measured=True)), False
    try:
        state.tape.note("session_start")
        _follow(state)
        finished = True
    except Unanswered:
        pass
    except Lost as lost:
        state.tape.lies.append(str(lost))
    lies = (*_frame(episode, opening), *state.tape.lies)
    return Replay(opening, state.before, tuple(state.turns), tuple(state.stood), state.after, state.early_stop, finished, lies)


def lies_of(episode: Episode) -> list[str]:
    """What in this log our world could not have written; empty for a sound one."""
    try:
        return list(replay(episode).lies)
    except NoSession as error:
        return [str(error)]


def _follow(state: SessionState) -> None:
    """Both votes and the talk between them; raises Unanswered where the log ends before, Lost where it cannot be followed."""
    state.before = vote(state, "PRE_VOTE")
    if state.opening.settings.reveal_all:
        reveal(state)
    if state.opening.settings.talk == "chat":
        chat(state)
    else:
        talk(state)
    state.after = vote(state, "POST_VOTE")
    state.tape.exactly("session_end", None, {})
    state.tape.rest()


def _frame(episode: Episode, opening: Opening) -> list[str]:
    """Lies in what stands around the session."""
    lies = [f"seq {e.seq}: the world failed" for e in episode.events if isinstance(e, Closed) and e.cause == "fault"]
    ends = [e.seq for e in episode.events if isinstance(e, Closed | Stopped)]
    lies += [f"seq {seq}: something follows the end" for seq in ends if seq != len(episode.events) - 1]
    measuring = {"POLL", *(("PRE_VOTE",) if opening.settings.first_vote == "ephemeral" else ())}
    lies += [
        f"seq {e.seq}: a turn of {e.phase[:20]} must {'' if e.phase in measuring else 'not '}only measure"
        for e in episode.events
        if isinstance(e, Turned) and e.ephemeral is not (e.phase in measuring)
    ]
    return lies + look_at_times(episode.events) + _session(episode, opening)


def _session(episode: Episode, opening: Opening) -> list[str]:
    """Lies in what the seats were told before the first turn."""
    sessions = [e for e in episode.events if isinstance(e, Seated)]
    if [len(one.seats) for one in sessions] != [opening.scenario.agents]:
        return [f"there must be one session, with {opening.scenario.agents} seats"]
    where = f"seq {sessions[0].seq}: the prompt of seat"
    lies = [
        f"{where} {seat}: {wrong}"
        for seat, text in enumerate(sessions[0].seats)
        for wrong in look_at_system(opening, seat, text)
    ]
    settings = opening.settings
    public = {"people": opening.scenario.agents, "rounds": settings.rounds, "track": settings.track}
    public |= {"talk": "chat", "minutes": settings.minutes} if settings.talk == "chat" else {}
    return lies if same(sessions[0].public, public) else [*lies, f"seq {sessions[0].seq}: public is not {public}"]
