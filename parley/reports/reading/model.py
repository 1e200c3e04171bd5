"""Models of a recorded episode, and what a family adds to it.

1. Seats have the world's own numbers, from 0: those of `GET /session`, of `--seat-model` and of every event of the log. If
   prompts number people differently, `parley.families.<family>.naming` has `seat_name(seat)`, the name of a conversation.
2. An act is identified by its `seq`, its number in the world's log. Verdicts use the same number for a violation's request.
3. Times are virtual seconds since the episode began, unless a name says otherwise.
4. A family's part `reading` has `sections(episode)`, the tables of an episode, and `breach(episode)`, the cause of its failure.
5. Its part `trace` has `exported_text(episode, digest)`, `is_trace(document)` and `replayed(document)`. A trace is one file
with a recorded episode that can be replayed, in the layout of the family's paper.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, Field, ValidationError

from harness.errors import UsageError, quoted
from harness.limits import RECORD_BYTES
from harness.records import Result, first_problem
from harness.safe_read import read_given
from validators.verdict import Verdict
from worlds.core.events import Event, Issued, Kind, Noted
from worlds.core.models import Strict

Cell = str | int | float | bool | None


class ToolUse(Strict):
    """A tool call of a model and its result; `answer` is None without a result."""

    tool: str
    arguments: str
    """As JSON."""

    answer: str | None = None


class Moment(Strict):
    """Position of a turn in a game."""

    turn: str
    """The turn's id, `<barrier>-<seat>-<attempt>`."""

    seq: int
    at: float
    phase: str
    round: int
    attempt: int
    is_ephemeral: bool = False
    """True if the turn is only a measurement and not part of the seat's own conversation."""


class Utterance(Strict):
    """An entry of a conversation."""

    speaker: Literal["system", "user", "agent"]
    """`user` covers everything said to the agent: the instruction, the text of a turn."""

    text: str
    reasoning: str | None = None
    tools: tuple[ToolUse, ...] = ()
    feedback: tuple[str, ...] = ()
    """Results that answer no call."""

    moment: Moment | None = None
    """None outside games."""

    usage: dict[str, Any] | None = None
    """Tokens and cost of the model's call, as in the trajectory."""

    said_at: str | None = None
    """Wall-clock time, if the trajectory has it."""

    finish_reason: str | None = None
    """Finish reason of the model's reply, as in the trajectory; `length` if it hit the limit of output tokens."""

    forfeit: str | None = None
    """Cause of a missing reply; `text` is then the model's reply that the world rejected, if known."""


class Conversation(Strict):
    """Messages to and from one agent or seat, in order."""

    name: str
    seat: int | None = None
    model: str | None = None
    utterances: tuple[Utterance, ...] = ()


class Act(Strict):
    """Log entry of a request, of a wait, or of the end of the episode."""

    seq: int
    at: float
    what: Literal["request", "wait", "closed", "stop"]
    told: str
    """`GET /path`, `wait 30 s`, or the reason for the end of the episode."""

    status: int | None = None
    kind: Kind | None = None
    label: str | None = None
    rule: str | None = None
    also: str | None = None
    """A second label for the same request."""

    detail: dict[str, Any] = {}
    used: tuple[str, ...] = ()
    issued: tuple[Issued, ...] = ()


class Breach(Strict):
    """Cause of an episode's failure: its label, the broken rule, and the place."""

    label: str
    rule: str
    where: str = ""
    """The request or the turn, with its time; empty if the failure is something that did not happen."""

    seq: int | None = None
    """Number in the log of the act, of the turn, or of the note that resolved a round of a game."""

    turns: tuple[int, ...] = ()
    """Numbers in the log of the turns that lost a game, one per losing seat; empty if no seat is named."""

    @property
    def sentence(self) -> str:
        """The whole breach in one line."""
        return f"{self.label}: {self.rule}" + (f" ({self.where})" if self.where else "")


class Section(Strict):
    """A table that a family adds; the last column may hold long text. `notes` are printed below it."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()


class RecordedEpisode(Strict):
    """The contents of one episode's folder."""

    path: str
    result: Result
    verdict: Verdict | None = None
    """None if nothing was judged, and for foreign tasks."""

    instruction: str = ""
    breach: Breach | None = None
    """None for a success, and if nothing was judged."""

    acts: tuple[Act, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    sections: tuple[Section, ...] = ()
    agent_log: str = ""
    verifier_log: tuple[str, ...] = ()
    """The last lines of verifier.log, only for an unsolved foreign task."""

    absent: tuple[str, ...] = ()
    """Files that are missing or empty."""

    doubts: tuple[str, ...] = ()
    """Contradictions between files of the folder."""

    events: tuple[Event, ...] = Field(default=(), exclude=True, repr=False)
    """The log itself, for a family's sections."""


Shape = TypeVar("Shape", bound=BaseModel)


class NotePlace(NamedTuple):
    """Position of a note of a game: its number in the log, its virtual seconds, and its seat."""

    seq: int
    at: float
    seat: int | None


def unreadable(path: str, name: str, why: str) -> UsageError:
    """Return the error for an unreadable file of an episode's folder."""
    return UsageError(f"{Path(path) / name} cannot be read: {why}")


def measured(episode: RecordedEpisode, schema: type[Shape]) -> Shape | None:
    """Return the family's measures of an episode, or None without any. Raises UsageError naming an invalid file."""
    if episode.verdict is None or not episode.verdict.metrics:
        return None
    try:
        return schema.model_validate(episode.verdict.metrics)
    except ValidationError as error:
        raise unreadable(episode.path, "verdict.json", f"metrics: {first_problem(error)}") from None


def notes(episode: RecordedEpisode, what: str, schema: type[Shape]) -> Iterator[tuple[NotePlace, Shape]]:
    """Yield the notes of one kind, in order. Raises UsageError naming the file if one has another shape."""
    for event in episode.events:
        if isinstance(event, Noted) and event.what == what:
            try:
                data = schema.model_validate(event.data)
            except ValidationError as error:
                why = f"event {event.seq}, {what}: {first_problem(error)}"
                raise unreadable(episode.path, "events.jsonl", why) from None
            yield NotePlace(event.seq, event.vt / 1000, event.seat), data


class Replayed(Strict):
    """Result of replaying a trace."""

    title: str
    """Name of the episode."""

    agreed: tuple[str, ...]
    """Equal parts, in a few words each."""

    differences: tuple[str, ...]
    """`path: value in the file, value by the rules`, in the order of the file."""

    unchecked: tuple[str, ...] = ()
    """Parts that no rule determines."""


def trace_files(paths: Iterable[Path]) -> list[Path]:
    """Return these files, and every .json file below each folder, by name. Raises UsageError for a folder without any."""
    files: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path} holds no .json file", hint=f"harness export trace RUN --out {quoted(path)}")
        files += inside
    return list(dict.fromkeys(files))


def read_document(path: Path) -> Any:
    """Return the JSON in a file. Raises UsageError naming it if it cannot be read."""
    try:
        return json.loads(read_given(path, RECORD_BYTES))
    except OSError as error:
        why = error.strerror or type(error).__name__
    except (ValueError, RecursionError) as error:
        why = f"no JSON: {error}"
    raise UsageError(f"{path} cannot be read: {why}", hint="harness export trace RUN --out DIR")
