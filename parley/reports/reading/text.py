"""An episode as plain text: its outcome and cause, its family's tables, the world's log, and the conversations.

The text has no colours or drawings, so a pipe and a terminal get the same. Long texts are cut in the middle unless everything
is requested. The layout has paragraphs with an indent and tables whose last column wraps. Untrusted text is made printable
here, before its width is counted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from harness.sanitize import printable
from parley.caveats import disturbances_told, forfeits_told
from parley.reports.reading.model import Act, Cell, RecordedEpisode, Utterance

NARROWEST, WIDEST = 40, 160
LONGEST_TEXT = 900
"""Maximum number of characters of a text that is printed whole."""

_HEAD, _TAIL = 600, 250
_WIDEST_COLUMN = 40
"""Maximum width of every column but the last, in characters."""

_GAP = "  "
_LONGEST_LINE = 10_000
"""Maximum number of characters of a line that is wrapped between words."""


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text with its middle replaced by the number of left-out characters if it is long."""
    if len(text) <= most:
        return text
    left_out = len(text) - _HEAD - _TAIL
    return f"{text[:_HEAD]}\n[... {left_out:,} characters left out ...]\n{text[-_TAIL:]}"


def paragraph(text: str, width: int, indent: str = "", first: str | None = None) -> Iterator[str]:
    """Yield the lines of a text, wrapped to a width; `first` replaces the indent of the first line."""
    before = indent if first is None else first
    for line in printable(text).expandtabs(4).split("\n"):
        room = max(NARROWEST // 2, width - max(len(before), len(indent)))
        for part in _wrapped(line, room):
            yield (before + part).rstrip()
            before = indent


def _wrapped(line: str, room: int) -> list[str]:
    if len(line) <= room:
        return [line]
    if len(line) > _LONGEST_LINE:
        # searching for words takes quadratic time in a line without blanks
        return [line[place : place + room] for place in range(0, len(line), room)]
    leading = " " * min(len(line) - len(line.lstrip(" ")), room // 2)
    return textwrap.wrap(
        line.lstrip(" "), room, initial_indent=leading, subsequent_indent=leading, break_on_hyphens=False, tabsize=4
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, *, whole: bool = False) -> Iterator[str]:
    """Yield rows under their columns' names; numbers are right-aligned, and the last column wraps in the remaining width."""
    shown = [[_cell(value, whole=whole or number < len(columns) - 1) for number, value in enumerate(row)] for row in rows]
    numeric = [all(isinstance(row[place], int | float | None) for row in rows) for place in range(len(columns))]
    places = range(len(columns) - 1)
    widths = [min(_WIDEST_COLUMN, max([len(columns[place]), *(len(row[place]) for row in shown)])) for place in places]
    last = max([len(columns[-1]), *(len(row[-1]) for row in shown)])
    room = width - min(last, width // 3)
    # the widest columns are narrowed until all fit
    while sum(widths) + len(_GAP) * len(widths) > room and max(widths, default=0) > 8:
        widths[widths.index(max(widths))] -= 1
    for row in [list(columns), *shown]:
        before = "".join(_placed(row[place], size, right=numeric[place]) + _GAP for place, size in enumerate(widths))
        yield from paragraph(row[-1], width, " " * len(before), before)


def _placed(text: str, size: int, *, right: bool) -> str:
    short = text if len(text) <= size else text[: size - 2] + ".."
    return short.rjust(size) if right else short.ljust(size)


def _cell(value: Cell, *, whole: bool) -> str:
    text = printable(cell_text(value))
    return text.replace("\n", " ") if whole else cut(text).replace("\n", " ")


def cell_text(value: Cell) -> str:
    """Return the value of a table's cell as text."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:g}"
    return str(value)


_INDENT = "    "


def episode_lines(episode: RecordedEpisode, width: int, *, full: bool = False, seat: int | None = None) -> Iterator[str]:
    """Yield the lines of an episode, none longer than `width` columns unless a word is.

    `full` leaves nothing out; `seat` shows the conversation of that seat alone.
    """
    yield from _heading(episode, width)
    for section in episode.sections:
        yield from _titled(section.title)
        if section.columns:
            yield from table(section.columns, section.rows, width, whole=full)
        for note in section.notes:
            yield from paragraph(note, width)
    if episode.acts:
        yield from _titled("Requests to the world")
        rows = [_act_row(act) for act in episode.acts]
        yield from table(("seq", "at (s)", "status", "kind", "request"), rows, width)
    if episode.verdict and episode.verdict.checks:
        yield from _titled("Hidden tests")
        checks = [("passed" if check.ok else "FAILED", check.name, check.message) for check in episode.verdict.checks]
        yield from table(("", "test", "message"), checks, width, whole=full)
    for conversation in episode.conversations:
        if seat is None or conversation.seat == seat:
            model = f" ({conversation.model})" if conversation.model else ""
            yield from _titled(f"Conversation of {conversation.name}{model}")
            for said in conversation.utterances:
                yield from _said(said, episode, width, full=full)
    if episode.agent_log.strip() and (full or not episode.conversations):
        yield from _titled("agent.log")
        yield from paragraph(episode.agent_log if full else cut(episode.agent_log), width, _INDENT)


def _titled(title: str) -> Iterator[str]:
    yield ""
    yield from paragraph(title, 10_000)
    yield "-" * min(len(title), 40)


def _heading(episode: RecordedEpisode, width: int) -> Iterator[str]:
    result = episode.result
    outcome = result.outcome
    if result.status == "graded":
        outcome += f", reward {result.reward or 0:g}" + (", recovered" if result.recovered else "")
    yield from paragraph(f"{result.key.name}  {outcome}", width)
    for name, value in _facts(episode):
        yield from paragraph(value, width, " " * 12, f"  {name:<10}")


def _facts(episode: RecordedEpisode) -> Iterator[tuple[str, str]]:
    result, breach = episode.result, episode.breach
    if breach is not None:
        yield "broke", breach.rule
        if breach.where:
            yield "where", breach.where + (f", seq {breach.seq} of the log" if breach.seq is not None else "")
        broken = next((act for act in episode.acts if act.seq == breach.seq), None)
        if broken is not None and broken.detail:
            yield "detail", ", ".join(f"{name}={value}" for name, value in broken.detail.items())
    with_model = f", model {result.model}" if result.model else ""
    how = f", interface {result.interface}" if result.interface else ""
    yield "agent", f"{result.agent}{with_model}{how}; runtime {result.runtime}"
    if result.options:
        yield "options", ", ".join(f"{name}={value}" for name, value in result.options.items())
    # virtual time and steps are unknown for an episode that was not judged
    counted = [f"{result.virtual_time_elapsed:g} virtual s"] if result.status == "graded" else []
    counted += [f"{result.steps} steps"] if result.steps else []
    yield "time", "; ".join([*([", ".join(counted)] if counted else []), f"{result.timings.total:.1f} real s"])
    if result.stopped:
        yield "stopped", result.stopped
    yield from (("disturbed", told) for told in disturbances_told(result))
    yield from (("forfeits", told) for told in forfeits_told(result.forfeits))
    if result.tokens.calls:
        tokens = result.tokens
        cost = "no price" if result.cost_usd is None else f"${result.cost_usd:.4f}"
        about = "~" if tokens.estimated else ""
        calls = f"{tokens.calls} call{'s' * (tokens.calls != 1)}"
        yield "tokens", f"{about}{tokens.prompt} in, {about}{tokens.completion} out in {calls}, {cost}"
    yield "run", result.run
    yield "folder", episode.path
    if missing := [name for name in episode.absent if name != "verdict.json" or result.status == "graded"]:
        yield "missing", f"{', '.join(missing)} (not there, or empty)"
    for doubt in episode.doubts:
        yield "DOUBT", doubt


def _act_row(act: Act) -> tuple[Cell, ...]:
    """Return the row of an act, with the rule that it broke or that refused it."""
    rule = f"{act.label}: {act.rule}" if act.label else act.rule
    told = f"{act.told}  {rule}" if rule else act.told
    return act.seq, act.at, act.status, act.kind if act.what == "request" else act.what, told


def _said(said: Utterance, episode: RecordedEpisode, width: int, *, full: bool) -> Iterator[str]:
    heard = {"user": "told", "agent": "said"}.get(said.speaker, said.speaker)
    if said.moment is None:
        yield heard
    elif said.speaker == "user":
        place, again = said.moment, f", asked again ({said.moment.attempt})" if said.moment.attempt > 1 else ""
        yield f"{heard}, turn {place.turn}: round {place.round}, {place.phase} at {place.at:g} s{again}"
    else:
        yield "said" + (f", not taken: forfeited as {said.forfeit}" if said.forfeit else "")
    is_known = not full and said.speaker == "user" and said.text == episode.instruction
    bodies = [(f"{_INDENT}(thought) ", said.reasoning)] if said.reasoning else []
    bodies += [(_INDENT, "(the instruction)" if is_known else said.text)] if said.text else []
    if said.speaker == "agent" and said.finish_reason and not said.text.strip() and not said.tools:
        bodies += [(_INDENT, f"(no text; finish reason {said.finish_reason})")]
    for use in said.tools:
        bodies += [(f"{_INDENT}-> {use.tool} ", use.arguments)]
        bodies += [(f"{_INDENT}<- ", use.answer)] if use.answer is not None else []
    bodies += [(f"{_INDENT}<- ", answer) for answer in said.feedback]
    for first, text in bodies:
        shown = text.rstrip() if full else cut(text.rstrip())
        yield from paragraph(shown, width, _INDENT * (1 if first == _INDENT else 2), first)
