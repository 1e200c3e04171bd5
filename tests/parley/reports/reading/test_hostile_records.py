"""A run's folder is data from anybody: what is damaged is named in one line, and nothing in it drives a terminal."""

from __future__ import annotations

import json
import os
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.sanitize import printable
from parley.reports.reading import episode_lines, read_episode
from parley.reports.reading.episode import FILES
from tests.parley.reports.recorded import CALENDAR, CONTRACT, HIDDEN, Commands, Recorded
from tests.sampling import spread
from worlds.core.events import Event, EventLog, Noted, Opened, Requested, Seated, Turned, read_log

NASTY = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eright\u2066\x7f\r\x00"
"""Sets a title, clears the screen, colours, turns text around."""


@pytest.fixture
def folder(recorded: Recorded, tmp_path: Path) -> Path:
    """A copy of a model's game, as part of a run."""
    copy = tmp_path / "run" / "episodes" / "hidden-profile" / HIDDEN / "s0-a1"
    shutil.copytree(recorded.episode("model-seats", HIDDEN), copy)
    return copy


def linked(path: Path) -> None:
    """A link to a file of somebody else."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def half(path: Path) -> None:
    """Cut off in the middle."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def long(path: Path) -> None:
    """A hundred megabytes of nothing."""
    os.truncate(path, 100 << 20)


def pipe(path: Path) -> None:
    """A FIFO that nobody writes to."""
    path.unlink()
    os.mkfifo(path)


def deep(path: Path) -> None:
    """Lists in lists."""
    path.write_bytes(b"[" * 200_000)


def other(path: Path) -> None:
    """JSON, and of no schema."""
    path.write_bytes(b'{"reward": "much"}\n')


@pytest.mark.parametrize("name", spread(FILES, few=1))
@pytest.mark.parametrize("damage", [linked, half, long, pipe, deep, other], ids=lambda damage: damage.__name__)
def test_a_damaged_file_is_named_in_one_line(folder: Path, name: str, damage: Callable[[Path], None]) -> None:
    """Whatever is wrong with a file, reading ends with its path; a log of an agent may hold any text."""
    damage(folder / name)
    if name == "agent.log" and damage in {half, deep, other}:
        read_episode(folder)
        return

    with pytest.raises(UsageError) as failure:
        read_episode(folder)

    assert str(failure.value).startswith(f"{folder / name} cannot be read: ")
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(folder: Path, name: str) -> None:
    """Without result.json there is no episode; any other file may be missing, and is said to be."""
    (folder / name).unlink()
    if name == "result.json":
        with pytest.raises(UsageError, match=r"result\.json cannot be read: it is missing"):
            read_episode(folder)
        return
    episode = read_episode(folder)

    assert episode.absent == (() if name == "agent.log" else (name,))
    assert list(episode_lines(episode, 80))


@pytest.mark.parametrize("part", ["episodes", "s0-a1"])
def test_no_link_on_the_way_is_followed(folder: Path, part: str) -> None:
    """Below a run no folder may be a link either."""
    place = folder if part == "s0-a1" else folder.parents[2]
    moved = place.rename(place.with_name("moved"))
    place.symlink_to(moved)

    with pytest.raises(UsageError, match="links are not followed"):
        read_episode(folder)


def test_a_link_to_a_run_is_followed(folder: Path, tmp_path: Path) -> None:
    """The user may name a run by a link of their own."""
    (tmp_path / "latest").symlink_to(tmp_path / "run")

    assert read_episode(tmp_path / "latest" / folder.relative_to(tmp_path / "run")).result.task_id == HIDDEN


@pytest.mark.parametrize(("metrics", "why"), [({"rounds": "many"}, "metrics: "), ({"surprise": 1}, "metrics: ")])
def test_measures_of_another_shape(folder: Path, metrics: dict[str, object], why: str) -> None:
    """A verdict that is one, with measures that are not its family's, is damaged."""
    document = json.loads((folder / "verdict.json").read_bytes())
    (folder / "verdict.json").write_text(json.dumps({**document, "metrics": metrics}), encoding="utf-8")

    with pytest.raises(UsageError, match=rf"verdict\.json cannot be read: {why}"):
        read_episode(folder)


def rewritten(folder: Path, change: Callable[[Event], Event]) -> None:
    """The log of a folder with changed events, sealed anew."""
    log = EventLog()
    for event in read_log((folder / "events.jsonl").read_bytes()):
        log.append(change(event), event.vt)
    (folder / "events.jsonl").write_bytes(log.dump())


def test_a_note_of_another_shape(folder: Path) -> None:
    """A sound chain of notes that no world of the family writes is damaged too, and the event is named."""
    rewritten(
        folder,
        lambda event: (
            event.model_copy(update={"data": {"said": 1}}) if isinstance(event, Noted) and event.what == "vote" else event
        ),
    )

    with pytest.raises(UsageError, match=r"events\.jsonl cannot be read: event \d+, vote: when: Field required"):
        read_episode(folder)


def test_a_log_that_another_verdict_judged(folder: Path) -> None:
    """A log that was exchanged, chain and all, is shown with a doubt."""
    rewritten(
        folder, lambda event: event.model_copy(update={"reply": "I vote for [prover]."}) if isinstance(event, Turned) else event
    )

    assert read_episode(folder).doubts == ("verdict.json belongs to another log than events.jsonl",)


def nasty(event: Event) -> Event:
    """An event with control characters wherever one can be."""
    if isinstance(event, Opened):
        return event.model_copy(update={"instruction": NASTY})
    if isinstance(event, Seated):
        return event.model_copy(update={"seats": tuple(NASTY + text for text in event.seats)})
    if isinstance(event, Turned):
        return event.model_copy(update={"text": NASTY, "reply": NASTY, "phase": NASTY})
    if isinstance(event, Noted) and event.what == "message":
        return event.model_copy(update={"data": {**event.data, "text": NASTY, "stance": NASTY}})
    if isinstance(event, Requested):
        return event.model_copy(update={"path": NASTY, "rule": NASTY})
    return event


def spoiled(folder: Path) -> None:
    """Control characters in every file of an episode."""
    rewritten(folder, nasty)
    (folder / "agent.log").write_text(NASTY, encoding="utf-8")
    for name in ("result.json", "verdict.json", "trajectory.json"):
        document = json.loads((folder / name).read_bytes())
        document |= {
            "result.json": {"run": NASTY, "agent": NASTY, "model": NASTY, "error": NASTY, "options": {NASTY: NASTY}}
        }.get(name, {})
        if name == "verdict.json":
            document["checks"] = [{"name": NASTY, "ok": False, "message": NASTY}]
        if name == "trajectory.json":
            document["steps"].append({"source": "agent", "message": NASTY, "reasoning_content": NASTY})
            document["agent"]["name"] = NASTY
        (folder / name).write_text(json.dumps(document), encoding="utf-8")


def obeyed(text: str) -> set[str]:
    """The letters of a text that a terminal would do something for, line feeds apart."""
    return {letter for letter in text if letter != "\n" and unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}


@pytest.mark.property
@pytest.mark.parametrize(("run", "task"), [("late", CONTRACT), ("model-seats", HIDDEN), ("model-calendar", CALENDAR)])
def test_nothing_in_a_folder_drives_a_terminal(
    recorded: Recorded, commands: Commands, tmp_path: Path, run: str, task: str
) -> None:
    """Printed, listed or as JSON: what a terminal would obey is spelled out, and every line ends where it should."""
    whole = tmp_path / "run"
    shutil.copytree(recorded.folder / run, whole)
    spoiled(next(whole.glob("episodes/*/*/s0-a1")))
    shown = commands(
        [
            ["show", str(whole), task],
            ["show", str(whole), task, "--full"],
            ["show", str(whole)],
            ["show", str(whole), task, "--json"],
        ]
    )

    assert [one.code for one in shown] == [0] * 4
    assert [obeyed(one.out.replace("\t", "") + one.err) for one in shown] == [set()] * 4
    assert "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202eright" in shown[0].out


def test_an_error_drives_no_terminal_either(folder: Path, commands: Commands) -> None:
    """The name of an unknown field comes from the file, and ends in a message."""
    document = json.loads((folder / "result.json").read_bytes())
    (folder / "result.json").write_text(json.dumps({**document, "\x1b[2J": 1}), encoding="utf-8")
    (said,) = commands([["show", str(folder)]])

    assert (said.code, said.out, obeyed(said.err)) == (2, "", set())
    assert said.err == f"harness: {folder / 'result.json'} cannot be read: \\x1b[2J: Extra inputs are not permitted\n"


def test_printable_leaves_words_alone() -> None:
    """Scripts, emoji with joiners, line feeds and tabs stay as they are."""
    text = "Grüße, 世界, नमस्ते, 👩‍🔬\n\tend"

    assert printable(text) == text
    assert printable("\ud800") == "\\ud800"


def test_a_reply_of_megabytes_is_printed_in_time(recorded: Recorded, tmp_path: Path) -> None:
    """Three megabytes without a blank are cut where they are cut, and whole where all is asked for."""
    folder = tmp_path / "s0-a1"
    shutil.copytree(recorded.episode("model-seats", HIDDEN), folder)
    document = json.loads((folder / "trajectory.json").read_bytes())
    document["steps"].append({"source": "agent", "message": "x" * 3_000_000})
    (folder / "trajectory.json").write_text(json.dumps(document), encoding="utf-8")
    episode = read_episode(folder)
    short, whole = (list(episode_lines(episode, 80, full=full)) for full in (False, True))

    assert "    [... 2,999,150 characters left out ...]" in short
    assert sum(line.count("x") for line in whole) - 3_000_000 in range(1000)
    assert max(map(len, whole)) < 200


def test_a_name_that_no_file_system_takes(commands: Commands) -> None:
    """A word that is too long for a path is a task that is not there."""
    (said,) = commands([["show", "x" * 5000]])

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("harness: no task named 'xxx")
