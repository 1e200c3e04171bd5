"""Reader of an episode's folder: result, log, seats and conversations.

Each file is parsed by the schema of its writer, then the files are combined, then the family's part is added. result.json is
required. Any other file may be missing or empty, for example if an episode was never judged; a file that exists and cannot be
parsed is an error, because an incomplete episode would look like a complete one.

Prompts and replies of seats come from the world's log, which is the evidence and covers every seat; other conversations, and
the reasoning of seats, come from trajectory.json (ATIF), whose later versions may have other fields.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ConfigDict, ValidationError

from harness.errors import UsageError, quoted
from harness.limits import RECORD_BYTES, RESULT_BYTES, TEXT_BYTES
from harness.plugins import family_part_or_none
from harness.records import Result, first_problem
from harness.registry import FOREIGN
from harness.run_files import files_of, is_packed
from parley.caveats import forfeits_told
from parley.places import read_recorded, run_and_place, runs_in
from parley.reports.reading.model import (
    Act,
    Breach,
    Conversation,
    Moment,
    RecordedEpisode,
    Section,
    ToolUse,
    Utterance,
    unreadable,
)
from parley.reports.reading.text import LONGEST_TEXT
from validators.verdict import Verdict
from worlds.core.errors import LogError
from worlds.core.events import Closed, Event, Opened, Requested, Seated, Stopped, Turned, Waited, read_log
from worlds.core.models import Lenient

_SEAT = re.compile(r"seat (\d{1,6})")


class _Call(Lenient):
    tool_call_id: str
    function_name: str
    arguments: Any = None


class _Seen(Lenient):
    source_call_id: str | None = None
    content: str | list[Any] | None = None


class _Observation(Lenient):
    results: tuple[_Seen, ...] = ()


class _Extra(Lenient):
    finish_reason: Any = None


class _Step(Lenient):
    source: Literal["system", "user", "agent"]
    message: str | list[Any] = ""
    reasoning_content: str | None = None
    metrics: dict[str, Any] | None = None
    timestamp: str | None = None
    tool_calls: tuple[_Call, ...] = ()
    observation: _Observation = _Observation()
    extra: _Extra = _Extra()


class _Agent(Lenient):
    model_config = ConfigDict(protected_namespaces=())

    name: str
    model_name: str | None = None


class AtifDocument(Lenient):
    """The displayed part of an ATIF trajectory; raises ValidationError for anything else."""

    agent: _Agent
    steps: tuple[_Step, ...] = ()
    subagent_trajectories: tuple[AtifDocument, ...] = ()


def conversations_of(document: AtifDocument) -> Iterator[Conversation]:
    """Yield every conversation of a trajectory with at least one message of an agent, the outermost first."""
    spoke = any(step.source == "agent" for step in document.steps)
    if spoke:
        seat = _SEAT.fullmatch(document.agent.name)
        yield Conversation(
            name=document.agent.name,
            seat=int(seat[1]) if seat else None,
            model=document.agent.model_name,
            utterances=tuple(map(_utterance, document.steps)),
        )
    for nested in document.subagent_trajectories:
        yield from conversations_of(nested)


def _utterance(step: _Step) -> Utterance:
    answers = {seen.source_call_id: _text(seen.content) for seen in step.observation.results if seen.source_call_id}
    return Utterance(
        speaker=step.source,
        text=_text(step.message),
        reasoning=step.reasoning_content or None,
        usage=step.metrics,
        said_at=step.timestamp,
        finish_reason=step.extra.finish_reason if isinstance(step.extra.finish_reason, str) else None,
        tools=tuple(
            ToolUse(
                tool=call.function_name,
                arguments=json.dumps(call.arguments, ensure_ascii=False),
                answer=answers.get(call.tool_call_id),
            )
            for call in step.tool_calls
        ),
        feedback=tuple(_text(seen.content) for seen in step.observation.results if not seen.source_call_id),
    )


def _text(content: str | list[Any] | None) -> str:
    return content if isinstance(content, str) else "" if content is None else json.dumps(content, ensure_ascii=False)


def seat_conversations(events: Sequence[Event], recorded: Sequence[Conversation]) -> Iterator[Conversation]:
    """Yield one conversation per seat, by the world's numbers; none if the log has no seats."""
    session = next((event for event in events if isinstance(event, Seated)), None)
    by_seat = {one.seat: one for one in recorded if one.seat is not None}
    for seat, system in enumerate(session.seats if session else ()):
        turns = [event for event in events if isinstance(event, Turned) and event.seat == seat]
        played = by_seat.get(seat)
        recorded_turns = played.utterances if played else ()
        # text that the harness appended to the rules is only in the trajectory
        told = [said.text for said in recorded_turns[:1] if said.speaker == "system" and said.text.startswith(system)]
        rules, spoken = (told or [system])[0], _laid_beside(turns, recorded_turns)
        yield Conversation(
            name=f"seat {seat}",
            seat=seat,
            model=played.model if played else None,
            utterances=(Utterance(speaker="system", text=rules), *spoken),
        )


def _laid_beside(turns: Sequence[Turned], recorded: Sequence[Utterance]) -> Iterator[Utterance]:
    """Yield the turns of a seat, each with its reply and the reasoning of the recorded step that answers the same text."""
    answered: dict[str, list[int]] = {}
    for number, told in enumerate(recorded[:-1]):
        if told.speaker == "user" and recorded[number + 1].speaker == "agent":
            answered.setdefault(told.text, []).append(number + 1)
    place = 0
    for turn in turns:
        moment = Moment(
            turn=turn.turn, seq=turn.seq, at=turn.vt / 1000, phase=turn.phase, round=turn.round, attempt=turn.attempt,
            is_ephemeral=turn.ephemeral,
        )  # fmt: skip
        yield Utterance(speaker="user", text=turn.text, moment=moment)
        steps = answered.get(turn.text, [])
        later = bisect_right(steps, place)
        step = recorded[place := steps[later]] if later < len(steps) else None
        yield Utterance(
            speaker="agent",
            text=turn.reply if turn.no_reply is None or step is None else step.text,
            reasoning=step.reasoning if step else None,
            usage=step.usage if step else None,
            said_at=step.said_at if step else None,
            finish_reason=step.finish_reason if step else None,
            moment=moment,
            forfeit=turn.no_reply,
        )


def acts_of(events: Sequence[Event]) -> Iterator[Act]:
    """Yield the requests, waits and end of an episode in order; turns of a game are in the conversations of its seats."""
    for event in events:
        at = event.vt / 1000
        if isinstance(event, Requested):
            yield Act(
                seq=event.seq, at=at, what="request", told=f"{event.method} {event.path}", status=event.status,
                kind=event.kind, label=event.label, rule=event.rule, also=event.also, detail=event.detail, used=event.used,
                issued=event.issued,
            )  # fmt: skip
        elif isinstance(event, Waited):
            yield Act(seq=event.seq, at=at, what="wait", told=f"wait {event.ms / 1000:g} s")
        elif isinstance(event, Closed):
            yield Act(seq=event.seq, at=at, what="closed", told=f"closed by the world: {event.cause}")
        elif isinstance(event, Stopped):
            yield Act(seq=event.seq, at=at, what="stop", told=f"stopped by the harness: {event.cause}")


def broken_rule(episode: RecordedEpisode) -> Breach | None:
    """Return the violation that gave a verdict its label, which is the first with that label; None if there is none."""
    verdict = episode.verdict
    label = verdict.failure_label if verdict else None
    broken = next((one for one in (verdict.violations if verdict else ()) if one.label == label), None)
    if broken is None or label is None:
        return None
    act = next((act for act in episode.acts if act.seq == broken.seq), None)
    where = f"{act.told if act else f'event {broken.seq}'} at {broken.vt / 1000:g} s"
    return Breach(label=label, rule=broken.rule, where=where, seq=broken.seq)


def bare_breach(episode: RecordedEpisode) -> Breach:
    """Return a description of a failure without a violation and without an explanation by its family."""
    result, verdict = episode.result, episode.verdict
    reason = str(result.failure_detail.get("reason", ""))
    failed = [check for check in (verdict.checks if verdict else ()) if not check.ok]
    if result.stopped:
        rule = result.stopped + (f": {result.error}" if result.error else "")
    elif result.family == FOREIGN and result.status == "graded":
        ends = " / ".join(line[:_TOLD_LINE] for line in episode.verifier_log[-_TOLD_LINES:])
        rule = f"the task's tests gave {result.reward or 0:g}; their log ends: {ends or '(nothing)'}"
    elif failed and not _NAMED.fullmatch(reason):
        rule = f"the hidden test {failed[0].name} failed: {failed[0].message.partition(chr(10))[0]}"
    else:
        rule = _REASONS.get(reason, f"the goal was not reached: {reason}")
    ended = next((act for act in reversed(episode.acts) if act.what in {"closed", "stop"}), None)
    return Breach(
        label=result.failure_label or "ungraded",
        rule=rule,
        where=f"{ended.told} at {ended.at:g} s" if ended else "",
        seq=ended.seq if ended else None,
    )


_NAMED = re.compile(r"[a-z_]+")
"""A named reason, as opposed to the message of a failed test."""

_REASONS = {
    "": "the goal was not reached",
    "pre_contract": "the agent sent no request",
    "gave_up": "no rule was broken, and the goal was not reached",
    "no_turns": "no turn was answered",
}
"""Rule text for each named reason of a verdict."""


FILES = {
    "result.json": RESULT_BYTES, "verdict.json": RESULT_BYTES, "events.jsonl": RECORD_BYTES, "trajectory.json": RECORD_BYTES,
    "agent.log": TEXT_BYTES,
}  # fmt: skip
"""The files of an episode with their size limits."""

VERIFIER_LOG = "verifier.log"
_OF_WORLDS = frozenset({"verdict.json", "events.jsonl", "agent.log"})
_SHOWN_LINES, _TOLD_LINES, _TOLD_LINE = 20, 3, 160
"""Maximum lines of a verifier's log on a page and in a sentence, and maximum characters of a line in a sentence."""

Read = TypeVar("Read")


def read_episode(folder: Path) -> RecordedEpisode:
    """Return the episode in a folder. Raises UsageError naming a file that is missing, no plain file, too long or damaged."""
    result = read_result(folder)
    data = {name: _bytes(folder, name) for name in FILES}
    verdict = _parsed(folder, "verdict.json", data["verdict.json"], Verdict.model_validate_json)
    events: list[Event] = _parsed(folder, "events.jsonl", data["events.jsonl"], read_log) or []
    document = _parsed(folder, "trajectory.json", data["trajectory.json"], AtifDocument.model_validate_json)
    recorded = list(conversations_of(document)) if document else []
    # conversations of seats come from the log, only the others from the trajectory
    seats = list(seat_conversations(events, recorded))
    # a foreign task has no world and so no event log; only its verifier's log shows why it failed
    foreign = result.family == FOREIGN
    verifier_log = _bytes(folder, VERIFIER_LOG) if foreign and not result.success else b""
    lines = verifier_log[-(1 << 16) :].decode(errors="replace").splitlines()
    shown = [line.rstrip()[:LONGEST_TEXT] for line in lines if line.strip()]
    opened = next((event for event in events if isinstance(event, Opened)), None)
    episode = RecordedEpisode(
        path=str(folder),
        result=result,
        verdict=verdict,
        instruction=opened.instruction if opened else "",
        acts=tuple(acts_of(events)),
        conversations=(*(one for one in recorded if one.seat not in {seat.seat for seat in seats}), *seats),
        agent_log=data["agent.log"].decode(errors="replace"),
        verifier_log=tuple(shown[-_SHOWN_LINES:]),
        absent=tuple(name for name in FILES if not data[name] and name not in (_OF_WORLDS if foreign else {"agent.log"})),
        doubts=tuple(_doubts(result, verdict, events)),
        events=tuple(events),
    )
    return _with_family(episode)


def read_result(folder: Path) -> Result:
    """Return only the result of the episode in a folder. Raises UsageError naming a file that cannot be read."""
    result = _parsed(folder, "result.json", _bytes(folder, "result.json"), Result.model_validate_json)
    if result is None:
        raise unreadable(str(folder), "result.json", "it is empty")
    return result


def _with_family(episode: RecordedEpisode) -> RecordedEpisode:
    """Return the episode with its family's tables and the cause of its failure."""
    part: Any = family_part_or_none(episode.result.family, "reading")
    sections = tuple(part.sections(episode)) if part else ()
    if episode.verifier_log:
        sections += (Section(title=f"The end of {VERIFIER_LOG}", notes=episode.verifier_log),)
    broken = None
    if not episode.result.success:
        broken = broken_rule(episode) or (part.breach(episode) if part else None) or bare_breach(episode)
        rule = "; ".join([broken.rule, *forfeits_told(episode.result.forfeits)])
        broken = broken.model_copy(update={"rule": rule})
    naming = family_part_or_none(episode.result.family, "naming")
    talks = tuple(
        one.model_copy(update={"name": naming.seat_name(one.seat)}) if naming and one.seat is not None else one
        for one in episode.conversations
    )
    return episode.model_copy(update={"sections": sections, "breach": broken, "conversations": talks})


def _doubts(result: Result, verdict: Verdict | None, events: list[Event]) -> list[str]:
    """Return the contradictions between files of one folder."""
    last = events[-1].hash if events else None
    doubts = []
    if verdict is not None and last is not None and verdict.trace_hash != last:
        doubts.append("verdict.json belongs to another log than events.jsonl")
    said = result.reward, result.failure_label
    if verdict is not None and result.status == "graded" and (verdict.reward, verdict.failure_label) != said:
        doubts.append("result.json has another reward or label than verdict.json")
    return doubts


def _bytes(folder: Path, name: str) -> bytes:
    """Return the contents of a file, empty if it is missing. Raises UsageError if result.json is missing."""
    try:
        return read_recorded(folder, name, FILES.get(name, TEXT_BYTES))
    except FileNotFoundError:
        if name == "result.json":
            raise unreadable(str(folder), name, "it is missing, so this episode is not finished") from None
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


_EPISODE = re.compile(r"s\d+-a\d+(\.\d+)?")


def is_recorded(word: str) -> bool:
    """Return True if a word names a run or an episode, not a task."""
    path = Path(word)
    return _is_there(path) and not (path / "task.toml").exists() and (is_episode(path) or any(runs_in(path)))


def is_episode(path: Path) -> bool:
    """Return True if a folder is an episode's, damaged or not."""
    return _EPISODE.fullmatch(path.name) is not None or (path / "result.json").exists()


def recorded_episodes(words: Sequence[str]) -> list[Path]:
    """Return the folders of the episodes that the words name, by path. Raises UsageError if there are none.

    RUN/episodes/<family>/<task>/s0-a1 names one episode, which may also be under attempts/. RUN names all episodes of a run,
    which may be packed, or of a folder of runs. RUN TASK [s0-a1] names the episodes of a task, by its id.
    """
    first, *rest = words
    path = Path(first)
    if not _is_there(path):
        raise UsageError(f"{first} does not contain a run", hint="harness show TASK, or harness show RUN [TASK [s0-a1]]")
    if is_episode(path):
        if rest:
            raise UsageError(
                f"{first} is one episode, so {' '.join(rest)} cannot select another", hint=f"harness show {quoted(first)}"
            )
        return [path]
    task, attempt = (*rest, "*", "*")[:2]
    finished = (run / Path(name).parent for run in runs_in(path) for name in files_of(run).finished())
    folders = [folder for folder in finished if task in {"*", folder.parent.name} and attempt in {"*", folder.name}]
    if not folders:
        what = " ".join(["", *rest])
        raise UsageError(f"{first} has no finished episode{what}", hint=f"harness show {quoted(first)}" if rest else "")
    return folders


def _is_there(path: Path) -> bool:
    """Return True if a path is a folder, a packed run or an episode in one."""
    try:
        return path.is_dir() or is_packed(path) or is_packed(run_and_place(path)[0])
    except OSError:
        # a file name that is not valid here
        return False


def breaking_request(run: Path, episode: str) -> str:
    """Return the request that broke a rule, as in `POST /api/submit at 8 s`; "" if no such request can be read.

    The run may be packed.
    """
    try:
        files = files_of(run)
        verdict = Verdict.model_validate_json(files.read(f"{episode}/verdict.json", RESULT_BYTES))
        broken = next((one for one in verdict.violations if one.label == verdict.failure_label), None)
        if broken is None:
            return ""
        line = files.read(f"{episode}/events.jsonl", RESULT_BYTES).split(b"\n")[broken.seq]
        request = Requested.model_validate_json(line)
    except (OSError, ValidationError, IndexError):
        return ""
    return f"{request.method} {request.path} at {request.vt / 1000:g} s"
