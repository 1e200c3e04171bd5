"""The whole game again from the event log, independently of what the world says of it, and where the two disagree.

The scenario and the options are the log's own; all else - who had to be asked, who had to hear what, which batch stands, what
it costs, which meeting stands, why a round failed - is worked out from the raw replies with the rules, and each note and
each delivered text is held against it. No log that `read_log` accepts makes this raise: what cannot be understood is a lie.
"""

from __future__ import annotations

from validators.calendar.board import Board
from validators.calendar.history import Replay
from validators.calendar.reading import read_scenario, read_settings
from validators.calendar.reflecting import PHASE
from validators.calendar.rounds import follow, misplaced
from validators.episode import Episode
from validators.tape import Lost, Tape, Unanswered, remembered
from worlds.calendar.rules.scenario import Scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.events import Closed, Seated, Stopped, Turned


class NoGame(ValueError):
    """The log does not say what was played."""


@remembered
def replay(episode: Episode) -> Replay:
    """Rebuild a game; raises NoGame where scenario or options cannot be read."""
    scenario, settings = read_scenario(episode), read_settings(episode)
    if not isinstance(scenario, Scenario) or not isinstance(settings, Settings):
        raise NoGame(scenario if isinstance(scenario, str) else str(settings))
    tape = Tape(episode.events, measured=settings.asks)
    board, finished = Board(scenario, settings, tape), False
    try:
        tape.note("game_start")
        follow(board)
        finished = True
    except Unanswered:
        pass
    except Lost as lost:
        tape.lies.append(str(lost))
    return Replay(
        scenario,
        settings,
        tuple(board.resolved),
        tuple(board.messages),
        tuple(board.committed),
        tuple(board.calendars),
        finished,
        (
            *_frame(episode, scenario),
            *(_measuring(episode) if settings.asks else ()),
            *tape.lies,
            *misplaced(scenario, board.calendars),
        ),
        tuple(board.reflected),
    )


def lies_of(episode: Episode) -> list[str]:
    """What in this log our world could not have written; empty for a sound one."""
    try:
        return list(replay(episode).lies)
    except NoGame as error:
        return [str(error)]


def _measuring(episode: Episode) -> list[str]:
    """Lies about which turns only measure, of a game in which some do."""
    return [
        f"seq {e.seq}: a turn of {e.phase[:20]} must {'' if e.phase == PHASE else 'not '}only measure"
        for e in episode.events
        if isinstance(e, Turned) and e.ephemeral is not (e.phase == PHASE)
    ]


def _frame(episode: Episode, scenario: Scenario) -> list[str]:
    """Lies in what stands around the game."""
    lies = [f"seq {e.seq}: the world failed" for e in episode.events if isinstance(e, Closed) and e.cause == "fault"]
    ends = [e.seq for e in episode.events if isinstance(e, Closed | Stopped)]
    lies += [f"seq {seq}: something follows the end" for seq in ends if seq != len(episode.events) - 1]
    sessions = [e for e in episode.events if isinstance(e, Seated)]
    if [len(one.seats) for one in sessions] != [len(scenario.agents)]:
        lies.append(f"there must be one session, with {len(scenario.agents)} seats")
    return lies
