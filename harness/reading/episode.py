"""Reads an episode's folder: each file by the schema of whoever wrote it, then what they say together, then the family's part.

result.json must be there. Any other file may be missing or empty, as where an episode was never judged; one that is there and
cannot be read ends the reading, since half an episode would look like a whole one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.modules import family_part_or_none
from harness.packs import read_recorded
from harness.reading.acts import acts_of, bare_breach, broken_rule, with_forfeits
from harness.reading.model import Conversation, RecordedEpisode
from harness.reading.parts import FamilyReading, unreadable
from harness.reading.seats import seat_conversations
from harness.reading.trajectory import AtifDocument, conversations_of
from harness.records import Result, first_problem
from validators.verdict import Verdict
from worlds.core.errors import LogError
from worlds.core.events import Event, Opened, read_log

LONGEST_FILE = 64 << 20
"""Bytes of one file of an episode."""

FILES = ("result.json", "verdict.json", "events.jsonl", "trajectory.json", "agent.log")

Read = TypeVar("Read")


def read_episode(folder: Path) -> RecordedEpisode:
    """The episode in a folder; raises UsageError naming the file that is missing, no plain file, too long or damaged."""
    result = read_result(folder)
    data = {name: _bytes(folder, name) for name in FILES}
    verdict = _parsed(folder, "verdict.json", data["verdict.json"], Verdict.model_validate_json)
    events: list[Event] = _parsed(folder, "events.jsonl", data["events.jsonl"], read_log) or []
    document = _parsed(folder, "trajectory.json", data["trajectory.json"], AtifDocument.model_validate_json)
    recorded = list(conversations_of(document)) if document else []
    opened = next((event for event in events if isinstance(event, Opened)), None)
    episode = RecordedEpisode(
        path=str(folder),
        result=result,
        verdict=verdict,
        instruction=opened.instruction if opened else "",
        acts=tuple(acts_of(events)),
        conversations=_conversations(events, recorded),
        agent_log=data["agent.log"].decode(errors="replace"),
        absent=tuple(name for name in FILES if not data[name] and name != "agent.log"),
        doubts=tuple(_doubts(result, verdict, events)),
        events=tuple(events),
    )
    return _with_family(episode)


def read_result(folder: Path) -> Result:
    """Only what came of the episode in a folder; raises UsageError naming the file that cannot be read."""
    result = _parsed(folder, "result.json", _bytes(folder, "result.json"), Result.model_validate_json)
    if result is None:
        raise unreadable(str(folder), "result.json", "it is empty")
    return result


def _conversations(events: list[Event], recorded: list[Conversation]) -> tuple[Conversation, ...]:
    """Those of the seats as the log has them, behind whatever a trajectory has besides."""
    seats = list(seat_conversations(events, recorded))
    known = {one.seat for one in seats}
    return (*(one for one in recorded if one.seat is None or one.seat not in known), *seats)


def _with_family(episode: RecordedEpisode) -> RecordedEpisode:
    """The episode with its family's tables, and with what broke."""
    module: Any = family_part_or_none(episode.result.family, "reading")
    part: FamilyReading | None = module
    sections = tuple(part.sections(episode)) if part else ()
    broken = None
    if not episode.result.success:
        broken = broken_rule(episode) or (part.breach(episode) if part else None) or bare_breach(episode)
        broken = with_forfeits(broken, episode)
    naming = family_part_or_none(episode.result.family, "naming")
    talks = tuple(_named(one, naming.seat_name if naming else None) for one in episode.conversations)
    return episode.model_copy(update={"sections": sections, "breach": broken, "conversations": talks})


def _named(one: Conversation, seat_name: Callable[[int], str] | None) -> Conversation:
    """A conversation under the name that its family gives the seat, where it gives one."""
    if seat_name is None or one.seat is None:
        return one
    return one.model_copy(update={"name": seat_name(one.seat)})


def _doubts(result: Result, verdict: Verdict | None, events: list[Event]) -> list[str]:
    """Where files of one folder say different things."""
    last = events[-1].hash if events else None
    doubts = []
    if verdict is not None and last is not None and verdict.trace_hash != last:
        doubts.append("verdict.json judges another log than events.jsonl")
    if (
        verdict is not None
        and result.status == "graded"
        and (verdict.reward, verdict.failure_label)
        != (
            result.reward,
            result.failure_label,
        )
    ):
        doubts.append("result.json has another reward or label than verdict.json")
    return doubts


def _bytes(folder: Path, name: str) -> bytes:
    """A file's bytes, none where it is missing; only result.json must be there."""
    try:
        return read_recorded(folder, name, LONGEST_FILE)
    except FileNotFoundError:
        if name == "result.json":
            raise unreadable(str(folder), name, "there is none, so this is no finished episode") from None
        return b""
    except OSError as error:
        raise unreadable(str(folder), name, error.strerror or type(error).__name__) from None


def _parsed(folder: Path, name: str, data: bytes, parse: Callable[[bytes], Read]) -> Read | None:
    if not data:
        return None
    try:
        return parse(data)
    except ValidationError as error:
        raise unreadable(str(folder), name, first_problem(error)) from None
    except (LogError, ValueError, RecursionError) as error:
        raise unreadable(str(folder), name, str(error)) from None
