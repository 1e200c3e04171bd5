"""Models of a recorded episode, and the protocols of what a family adds to it.

What one recorded episode says: who said what, what the world was asked, what it was worth, and which rule broke.

1. Seats have the world's own numbers, from 0: those of `GET /session`, of `--seat-model` and of every event of the log. Other
   names that a prompt has for a seat (`Person 1`) are a family's to tell, beside the number.
2. An act is named by its `seq`, its number in the world's log, which is also how a verdict names the request of a violation.
3. Times are virtual seconds since the episode began, unless a name says otherwise.
4. A family adds tables (`Section`). A page or another command reads this model, never the text that is printed of it.

What a family's own part takes from a recorded episode: its measures and the notes of its game, each by the family's schema. A
family's part is `harness.families.<family>.reading`. Its `sections(episode)` are the tables that it adds; its `breach(episode)`
says why an episode failed in which no request broke a rule, None where the family has nothing to say. Where prompts number
people otherwise than the log numbers seats, `harness.families.<family>.naming` has `seat_name(seat)`: what the conversations
are called.

Traces: one recorded episode in one file that can be played again from there, in the layout of its family's paper. A family that
has them has a part `trace` (`FamilyTrace`). `harness export trace` and `harness replay` ask for it by name; which family a file
is of, each family says of itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, Field, ValidationError

from harness.bounds import RECORD_BYTES
from harness.contents import read_given
from harness.errors import UsageError, quoted
from harness.records import Result, first_problem
from validators.verdict import Verdict
from worlds.core.events import Event, Issued, Kind, Noted
from worlds.core.models import Strict

Cell = str | int | float | bool | None


class ToolUse(Strict):
    """One tool call of a model, and what came back; `answer` is None where nothing did."""

    tool: str
    arguments: str
    """As JSON."""

    answer: str | None = None


class Moment(Strict):
    """Where in a game a seat was asked."""

    turn: str
    """The turn's id, `<barrier>-<seat>-<attempt>`."""

    seq: int
    at: float
    phase: str
    round: int
    attempt: int
    is_ephemeral: bool = False
    """Whether the turn only measured, and is no part of the seat's own conversation."""


class Utterance(Strict):
    """One entry of a conversation."""

    speaker: Literal["system", "user", "agent"]
    """`user` is whoever speaks to the agent: the instruction, a turn's text."""

    text: str
    reasoning: str | None = None
    tools: tuple[ToolUse, ...] = ()
    feedback: tuple[str, ...] = ()
    """What came back that answers no call."""

    moment: Moment | None = None
    """None outside games."""

    usage: dict[str, Any] | None = None
    """Tokens and cost of the model's call, as the trajectory has them."""

    said_at: str | None = None
    """Wall-clock time, where a trajectory has it."""

    finish_reason: str | None = None
    """Why the model's reply ended, as the trajectory has it; `length` where it was cut off at the limit of output tokens."""

    forfeit: str | None = None
    """Why a turn has no reply; `text` is then what the model said and the world did not take, if anything is known of it."""


class Conversation(Strict):
    """What one agent, or one seat, was told and said, in order."""

    name: str
    seat: int | None = None
    model: str | None = None
    utterances: tuple[Utterance, ...] = ()


class Act(Strict):
    """What the world logged of one request, of a wait, or of its end."""

    seq: int
    at: float
    what: Literal["request", "wait", "closed", "stop"]
    told: str
    """`GET /path`, `wait 30 s`, or why the episode ended."""

    status: int | None = None
    kind: Kind | None = None
    label: str | None = None
    rule: str | None = None
    also: str | None = None
    """A second label that the same request earned."""

    detail: dict[str, Any] = {}
    used: tuple[str, ...] = ()
    issued: tuple[Issued, ...] = ()


class Breach(Strict):
    """Why an episode failed: its label, the rule that broke, and what broke it."""

    label: str
    rule: str
    where: str = ""
    """The request or the turn, with its time; empty where it was nothing that happened, but something that did not."""

    seq: int | None = None
    """Of the act or turn in the log, or of the note that resolved a round of a game."""

    turns: tuple[int, ...] = ()
    """Numbers in the log of the turns that failed a game, each of a seat that lost it; none where no seat is named."""

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return f"{self.label}: {self.rule}" + (f" ({self.where})" if self.where else "")


class Section(Strict):
    """A table that a family adds; the last column may hold long text. `notes` stand under it."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()


class RecordedEpisode(Strict):
    """Everything that one episode's folder says."""

    path: str
    result: Result
    verdict: Verdict | None = None
    """None where nothing was judged, and for tasks that are not ours."""

    instruction: str = ""
    breach: Breach | None = None
    """None for a success, and where nothing was judged."""

    acts: tuple[Act, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    sections: tuple[Section, ...] = ()
    agent_log: str = ""
    verifier_log: tuple[str, ...] = ()
    """The last lines of verifier.log; only of a foreign task that was not solved."""

    absent: tuple[str, ...] = ()
    """The files that the folder has not, or that are empty."""

    doubts: tuple[str, ...] = ()
    """Where two files of the folder say different things."""

    events: tuple[Event, ...] = Field(default=(), exclude=True, repr=False)
    """The log itself, for a family's sections."""


Shape = TypeVar("Shape", bound=BaseModel)


class FamilyReading(Protocol):
    """The module that a family may have."""

    def sections(self, episode: RecordedEpisode) -> list[Section]:
        """The tables of an episode."""
        ...

    def breach(self, episode: RecordedEpisode) -> Breach | None:
        """Return why it failed."""
        ...


class NotePlace(NamedTuple):
    """Where a note of a game stands: its number in the log, virtual seconds, and the seat that it is about."""

    seq: int
    at: float
    seat: int | None


def unreadable(path: str, name: str, why: str) -> UsageError:
    """The one error of reading: a file of an episode's folder, and what is wrong with it."""
    return UsageError(f"{Path(path) / name} cannot be read: {why}")


def measured(episode: RecordedEpisode, schema: type[Shape]) -> Shape | None:
    """The family's measures of an episode, None where nothing could be measured; raises UsageError naming the file."""
    if episode.verdict is None or not episode.verdict.metrics:
        return None
    try:
        return schema.model_validate(episode.verdict.metrics)
    except ValidationError as error:
        raise unreadable(episode.path, "verdict.json", f"metrics: {first_problem(error)}") from None


def notes(episode: RecordedEpisode, what: str, schema: type[Shape]) -> Iterator[tuple[NotePlace, Shape]]:
    """The notes of one kind, in order; raises UsageError naming the file where one has another shape."""
    for event in episode.events:
        if isinstance(event, Noted) and event.what == what:
            try:
                data = schema.model_validate(event.data)
            except ValidationError as error:
                why = f"event {event.seq}, {what}: {first_problem(error)}"
                raise unreadable(episode.path, "events.jsonl", why) from None
            yield NotePlace(event.seq, event.vt / 1000, event.seat), data


class Replayed(Strict):
    """What came of playing a trace again."""

    title: str
    """Which episode it is."""

    agreed: tuple[str, ...]
    """What was compared and is equal, in a few words each."""

    differences: tuple[str, ...]
    """`path: what the file says, what the rules say`, in the order of the file."""

    unchecked: tuple[str, ...] = ()
    """What no rule can say anything of."""


class FamilyTrace(Protocol):
    """The part `trace` of a family."""

    def exported_text(self, episode: RecordedEpisode, digest: str) -> str:
        """The trace of an episode as a file holds it; raises UsageError for one that has no game."""
        ...

    def is_trace(self, document: Any) -> bool:
        """Return whether a JSON document is a trace of this family."""
        ...

    def replayed(self, document: Any) -> Replayed:
        """Play a trace again; raises UsageError for one that cannot be read."""
        ...


def trace_files(paths: Iterable[Path]) -> list[Path]:
    """These files, and of each folder every .json below it, by name; raises UsageError for a folder without any."""
    files: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path} holds no .json file", hint=f"harness export trace RUN --out {quoted(path)}")
        files += inside
    return list(dict.fromkeys(files))


def read_document(path: Path) -> Any:
    """The JSON in a file; raises UsageError naming it."""
    try:
        return json.loads(read_given(path, RECORD_BYTES))
    except OSError as error:
        why = error.strerror or type(error).__name__
    except (ValueError, RecursionError) as error:
        why = f"no JSON: {error}"
    raise UsageError(f"{path} cannot be read: {why}", hint="harness export trace RUN --out DIR")
