"""A recorded episode of any family is read from its folder whole, and printed so that nothing is lost unsaid."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from parley.reports.reading import RecordedEpisode, breaking_request, episode_lines, read_episode
from parley.reports.reading.text import cut
from tests.parley.reports.recorded import ALL, CALENDAR, CONTRACT, FORM, HIDDEN, Commands, Recorded
from worlds.core.events import Requested, Turned, read_log

MIXER = "[mixer] The dough mixer"
LEFT = "nothing, as far as the log tells"
LOST = "meeting M5 was not scheduled: seat 1 chose slot 8, the others slot 13"


def section(episode: RecordedEpisode, title: str) -> list[tuple[object, ...]]:
    """The rows of one table."""
    return next([*one.rows] for one in episode.sections if one.title == title)


def test_a_violation_is_told_by_its_rule_and_its_request(recorded: Recorded) -> None:
    """What broke is the violation of the verdict, and the request is the one with its number in the log."""
    episode = read_episode(recorded.episode("late", CONTRACT))
    broken, breach = episode.verdict and episode.verdict.violations[0], episode.breach
    assert broken is not None
    assert breach is not None

    assert (breach.label, breach.rule, breach.seq) == (broken.label, broken.rule, broken.seq)
    assert breach.sentence == ("EXPIRED_BEFORE_USE: the window of the precheck has ended (GET /api/resource/part_1 at 51 s)")


@pytest.mark.parametrize(
    ("run", "task", "told"),
    [
        ("apart", CALENDAR, f"SLOT_MISMATCH: {LOST} (round 5, resolved at 600 s)"),
        ("nop", CALENDAR, "OTHER: no turn was answered"),
        ("nop", HIDDEN, "OTHER: no turn was answered"),
        ("nop", CONTRACT, "OTHER: the agent sent no request"),
        (
            "model-calendar",
            CALENDAR,
            "NO_SCHEDULE: meeting M1 was not scheduled: seat",
        ),
        (
            "silent",
            HIDDEN,
            f"NOT_POOLED: 4 of 4 people did not vote {MIXER}: the group pooled too little, and Persons 1, 2, 3, 4 had heard",
        ),
        ("deaf", HIDDEN, f"NOT_HEARD: 4 of 4 people did not vote {MIXER}: Persons 1, 2, 3, 4 could have known"),
        (
            "undecided",
            HIDDEN,
            f"INVALID_VOTE: 4 of 4 people did not vote {MIXER}: Person 1 gave a vote that names no option; Person 2",
        ),
    ],
)
def test_why_an_episode_without_a_broken_rule_failed(recorded: Recorded, run: str, task: str, told: str) -> None:
    """Each family says what was missed, and where in the log it shows."""
    breach = read_episode(recorded.episode(run, task)).breach

    assert breach is not None
    assert breach.sentence.startswith(told)


def test_a_success_broke_nothing(recorded: Recorded) -> None:
    """An oracle's episodes have no breach."""
    assert [read_episode(recorded.episode("oracle", task)).breach for task in ALL] == [None] * 3


def test_every_request_is_there(recorded: Recorded) -> None:
    """The acts are the log's requests, each with its time, status and kind."""
    folder = recorded.episode("late", CONTRACT)
    logged = [event for event in read_log((folder / "events.jsonl").read_bytes()) if isinstance(event, Requested)]
    acts = [act for act in read_episode(folder).acts if act.what == "request"]

    assert [(act.seq, act.told, act.status, act.kind, act.at) for act in acts] == [
        (event.seq, f"{event.method} {event.path}", event.status, event.kind, event.vt / 1000) for event in logged
    ]
    assert [act.told for act in read_episode(folder).acts if act.what == "wait"] == ["wait 33 s"]


def test_a_models_tool_calls_stand_with_their_answers(recorded: Recorded) -> None:
    """Each call of the model is followed by what the tool told it."""
    episode = read_episode(recorded.episode("model", CONTRACT))
    (talk,) = episode.conversations
    uses = [use for said in talk.utterances for use in said.tools]

    assert (talk.seat, talk.model, len(uses)) == (None, "openai/any", episode.result.tool_calls)
    assert [use.tool for use in uses] == ["http_request", "http_request", "wait", "http_request"]
    assert "status 410" in str(uses[-1].answer)


@pytest.mark.parametrize(("run", "task"), [("model-seats", HIDDEN), ("model-calendar", CALENDAR), ("oracle", CALENDAR)])
def test_each_seat_has_its_own_conversation(recorded: Recorded, run: str, task: str) -> None:
    """A seat's conversation is its turns in the log, by the world's number, with what its model thought at each."""
    folder = recorded.episode(run, task)
    turns = [event for event in read_log((folder / "events.jsonl").read_bytes()) if isinstance(event, Turned)]
    seats = [one for one in read_episode(folder).conversations if one.seat is not None]

    assert [one.seat for one in seats] == sorted({turn.seat for turn in turns})
    for one in seats:
        mine = [turn for turn in turns if turn.seat == one.seat]
        replies = one.utterances[2::2]
        assert one.utterances[0].speaker == "system"
        assert [said.text for said in one.utterances[1::2]] == [turn.text for turn in mine]
        assert [(said.text, said.moment and said.moment.turn) for said in replies] == [(turn.reply, turn.turn) for turn in mine]
        assert [said.reasoning is not None for said in replies] == [run != "oracle"] * len(mine)


def test_thoughts_stand_with_their_turns(recorded: Recorded) -> None:
    """What a model thought is laid beside the turn at which it thought so; the first vote is no part of what came before."""
    seats = [one for one in read_episode(recorded.episode("model-seats", HIDDEN)).conversations if one.seat is not None]

    assert {tuple(said.reasoning for said in one.utterances[2::2]) for one in seats} == {
        ("thought 2", "thought 2", "thought 4", "thought 6")
    }


def test_a_forfeited_turn_says_why(recorded: Recorded, tmp_path: Path) -> None:
    """Without its step in the trajectory a turn keeps its place, and the steps after it theirs."""
    folder = tmp_path / "s0-a1"
    shutil.copytree(recorded.episode("model-seats", HIDDEN), folder)
    document = json.loads((folder / "trajectory.json").read_bytes())
    del document["subagent_trajectories"][0]["steps"][3:5]
    (folder / "trajectory.json").write_text(json.dumps(document), encoding="utf-8")
    seat = next(one for one in read_episode(folder).conversations if one.seat == 0)

    assert [said.reasoning for said in seat.utterances[2::2]] == ["thought 2", None, "thought 4", "thought 6"]


def test_tables_of_a_contract(recorded: Recorded) -> None:
    """Each artifact with its window, and when it was used."""
    rows = section(read_episode(recorded.episode("late", CONTRACT)), "Artifacts")

    assert rows[:2] == [("precheck_token", 10.0, 50.0, "51", "its time"), ("part_1", 10.0, 70.0, "51", LEFT)]


def test_a_replaced_token_ends_where_it_was_replaced(recorded: Recorded) -> None:
    """Its time would have run for long; the table says when it ended, and by which request."""
    rows = section(read_episode(recorded.episode("replaced", FORM)), "Artifacts")

    assert rows[:2] == [
        ("csrf_token_0", 2.0, 4.0, "8", "replaced by request 2 at 4 s"),
        ("csrf_token_1", 4.0, 82.0, "never", LEFT),
    ]


def test_tables_of_a_calendar(recorded: Recorded) -> None:
    """Meetings, what seats paid, decisions, and messages in order."""
    apart, talked = (read_episode(recorded.episode(run, CALENDAR)) for run in ("apart", "model-calendar"))

    assert section(apart, "Meetings")[3:] == [
        (4, "M4", "0, 3, 4", "SUCCESS", None, "0: 8, 3: 8, 4: 8"),
        (5, "M5", "1, 2, 3", "A SLOT_MISMATCH", "1", "1: 8, 2: 13, 3: 13"),
    ]
    assert [row[:3] for row in section(apart, "Seats")] == [(0, 3, 3), (1, 2, 3), (2, 2, 3), (3, 2, 3), (4, 3, 3)]
    assert section(apart, "Decisions")[6] == (3, 2, "taken", 1, "meeting at 9, #41 from 9 to 1")
    assert section(talked, "Messages")[0] == (1, 4, "2", "dm", "Is slot 3 free?")
    assert {row[2] for row in section(talked, "Decisions")} == {"refused"}


def test_calendars_of_a_game(recorded: Recorded) -> None:
    """Slots by seats: what stood there with its cost, x where it is blocked, and what stands there in the end."""
    game = read_episode(recorded.episode("apart", CALENDAR))
    rows = section(game, "Calendars")
    moved = [row for row in section(game, "Decisions") if row[2] == "taken" and "#41" in str(row[4])]

    assert [row[0] for row in rows] == list(range(16))
    assert [row[4] for row in moved] == ["meeting at 9, #41 from 9 to 1"]
    assert (rows[9][3], rows[1][3]) == ("#41 1 > M3", "- > #41")
    assert {str(cell)[-2:] for row in rows for cell in row[1:]} >= {" x", " 1", "M4"}
    assert not any("M5" in str(cell) for row in rows for cell in row)  # its round failed, and nothing of it stays


def test_prose_has_no_vps_of_typed_messages(recorded: Recorded) -> None:
    """A seat that wrote prose has none, whatever its other messages say; silence and a protocol's messages have one."""
    told = {row[0]: row[-1] for row in section(read_episode(recorded.episode("model-calendar", CALENDAR)), "Seats")}
    kept = {row[0]: row[-1] for row in section(read_episode(recorded.episode("apart", CALENDAR)), "Seats")}

    assert told[4] is None
    assert None not in kept.values()


def test_tables_of_a_hidden_profile(recorded: Recorded) -> None:
    """People with their seats and hands, votes against the key, facts with who first told them, and the talk."""
    model, oracle = (read_episode(recorded.episode(run, HIDDEN)) for run in ("model-seats", "oracle"))

    assert section(model, "People")[0] == (1, 0, 2, "u2 n2")
    assert section(model, "First votes")[0][:2] == (1, False)
    assert section(model, "Last votes")[0] == (1, False, False, "[oven] The deck oven", "it looks so")
    assert section(model, "Talk")[-1] == (8, 2, 4, "oven", None, "Backup.")
    assert {row[1]: (row[0], row[3]) for row in section(oracle, "Hands") if row[2] == "private"} == {
        "u2": ("1", "turn 1, Person 1"), "u3": ("2", "turn 2, Person 2"), "u4": ("3", "turn 3, Person 3"),
        "u1": ("4", "turn 4, Person 4"),
    }  # fmt: skip


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_longer_than_the_terminal(recorded: Recorded, width: int) -> None:
    """Every episode of every family fits, at two widths, short and whole."""
    for folder in recorded.episodes:
        episode = read_episode(folder)
        for full in (False, True):
            long = [
                line for line in episode_lines(episode, width, full=full) if len(line) > width and " " in line.strip()[width:]
            ]
            assert long == []
            assert max(map(len, episode_lines(episode, width, full=full))) <= width + len(str(folder))


def test_whole_texts_are_whole(recorded: Recorded) -> None:
    """With nothing left out, every text of every conversation is there, apart from where its lines break."""
    for run, task in (("model", CONTRACT), ("model-seats", HIDDEN), ("apart", CALENDAR)):
        episode = read_episode(recorded.episode(run, task))
        printed = re.sub(r"\s", "", "".join(episode_lines(episode, 80, full=True)))
        texts = [text for one in episode.conversations for said in one.utterances for text in (said.text, said.reasoning or "")]
        texts += [str(use.answer) for one in episode.conversations for said in one.utterances for use in said.tools]
        assert [text for text in texts if re.sub(r"\s", "", text) not in printed] == []


def test_a_cut_says_how_much_is_gone() -> None:
    """Head, tail and count make up the whole."""
    text = "".join(chr(33 + number % 90) for number in range(5000))
    head, middle, tail = cut(text).split("\n")

    assert (text.startswith(head), text.endswith(tail)) == (True, True)
    assert middle == f"[... {5000 - len(head) - len(tail):,} characters left out ...]"
    assert cut(text[:900]) == text[:900]


def test_one_seat_alone(recorded: Recorded) -> None:
    """`seat` leaves the other conversations out."""
    episode = read_episode(recorded.episode("model-seats", HIDDEN))
    titles = [line for line in episode_lines(episode, 80, seat=2) if line.startswith("Conversation")]

    assert titles == ["Conversation of Person 3 (seat 2) (openai/any)"]


def test_a_family_without_a_part_is_read_all_the_same(recorded: Recorded, tmp_path: Path) -> None:
    """Requests, verdict and the rule that broke need no family."""
    folder = tmp_path / "s0-a1"
    shutil.copytree(recorded.episode("late", CONTRACT), folder)
    result = (folder / "result.json").read_text(encoding="utf-8")
    (folder / "result.json").write_text(result.replace('"family": "contract"', '"family": "unheard-of"'), encoding="utf-8")
    episode = read_episode(folder)

    assert (episode.sections, episode.breach and episode.breach.label) == ((), "EXPIRED_BEFORE_USE")


def test_the_closing_block_names_rule_and_request(recorded: Recorded, commands: Commands) -> None:
    """A failed run ends with what broke, where, and the command that reads it; the command works."""
    folder = recorded.episode("late", CONTRACT)
    sentence = "EXPIRED_BEFORE_USE: the window of the precheck has ended (GET /api/resource/part_1 at 51 s), reward 0"
    said = recorded.said["late"].err
    (shown,) = commands([["show", str(folder)]])

    assert f"\ncontract/{CONTRACT}/s0-a1  {sentence}\n" in said
    assert f"\n  read it: harness show {folder}\n" in said
    assert (shown.code, shown.out.splitlines()[1]) == (0, "  broke     the window of the precheck has ended")


def test_the_closing_block_of_many(recorded: Recorded) -> None:
    """Twelve failures have a line each, the others a number."""
    said = recorded.said["many"].err

    assert len(re.findall(rf"^{CONTRACT} s\d+-a1: EXPIRED_BEFORE_USE: .* \(GET .* s\), reward 0$", said, re.MULTILINE)) == 12
    assert f"and 2 more failures\n  read one: harness show {recorded.folder / 'many'} {CONTRACT} s0-a1\n" in said


def test_show_on_the_command_line(recorded: Recorded, commands: Commands) -> None:
    """A run lists its episodes, short forms read one, JSON is the model, and what is not there is a mistake."""
    run, episode = str(recorded.folder / "oracle"), recorded.episode("oracle", HIDDEN)
    lines = [
        ["show", run], ["show", run, HIDDEN], ["show", run, HIDDEN, "s0-a1", "--json"],
        ["show", str(recorded.folder), "--json"], ["show", run, HIDDEN, "s9-a9"], ["show", run, HIDDEN, "--seat", "9"],
        ["show", HIDDEN, "--full"], ["show", "/nowhere", HIDDEN],
    ]  # fmt: skip
    listed, short, whole, everything, *mistakes = commands(lines)

    assert re.split(" {2,}", listed.out.splitlines()[0]) == ["task", "episode", "agent", "outcome"]
    assert re.split(" {2,}", listed.out.splitlines()[1]) == [CALENDAR, "s0-a1", "oracle", "SUCCESS, reward 1"]
    assert short.out.startswith(f"hidden-profile/{HIDDEN}/s0-a1  SUCCESS, reward 1\n")
    assert RecordedEpisode.model_validate_json(whole.out) == read_episode(episode).model_copy(update={"events": ()})
    assert len(json.loads(everything.out)) == len(recorded.episodes)
    assert [one.code for one in mistakes] == [2] * 4
    assert [one.err.splitlines()[0] for one in mistakes] == [
        f"harness: {run} has no finished episode {HIDDEN} s9-a9",
        "harness: the episode has no seat 9; it has 0, 1, 2, 3",
        f"harness: --full and --seat need a recorded episode, and {HIDDEN} is not one",
        "harness: /nowhere does not contain a run",
    ]


def test_an_unreadable_episode_costs_no_other(recorded: Recorded, commands: Commands, tmp_path: Path) -> None:
    """The list of a run has the episodes that can be read, and a warning names each other; without any, show fails."""
    folder = shutil.copytree(recorded.folder / "oracle", tmp_path / "run")
    whole, one, none = ["show", str(folder)], folder / "episodes/calendar" / CALENDAR / "s0-a1", folder / "none"
    (one / "result.json").write_bytes(b"{")
    shutil.copytree(one, none / "episodes/calendar" / CALENDAR / "s0-a1")
    shutil.copy(folder / "run.json", none)

    listed, nothing = commands([whole, ["show", str(none)]])

    assert listed.code == 0
    assert (HIDDEN in listed.out, CALENDAR in listed.out) == (True, False)
    assert listed.err.startswith(f"warning: {one}/result.json cannot be read")
    assert (nothing.code, "cannot be read" in nothing.err) == (2, True)


def test_a_task_is_still_a_task(commands: Commands) -> None:
    """A task's own page has no empty fields, and numbers as they are written."""
    (shown,) = commands([["show", CALENDAR]])

    assert shown.code == 0
    assert "None" not in shown.out.partition("\n\n# ")[0]
    assert "200 steps, 1,000,000 virtual seconds" in shown.out


def test_a_glance_tells_what_the_whole_episode_tells(recorded: Recorded) -> None:
    """The request that broke a rule is the one of the whole episode, and there is none where no request did."""
    for folder in recorded.episodes:
        episode, run = read_episode(folder), folder.parents[3]
        is_broken = episode.verdict is not None and bool(episode.verdict.violations)
        where = episode.breach.where if episode.breach and is_broken else ""

        assert breaking_request(run, str(folder.relative_to(run))) == where
    assert breaking_request(recorded.folder, "nowhere") == ""
