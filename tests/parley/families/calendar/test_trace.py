"""A trace says what was played, and playing it again gives all that it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from oracles.calendar.certificate import certify
from oracles.calendar.protocols import PROTOCOLS
from parley.families.calendar.trace import replayed
from parley.families.calendar.trace.exporting import exported
from tests.oracles.calendar.typed_games import typed_log
from tests.parley.families.calendar.tracing import Document, as_read, of_type, recorded, trace_of
from tests.worlds.calendar.hostile_games import episode_of, folder_of, play, retold
from tests.worlds.calendar.scripted_games import DECISION, SCENARIO, TALK, VOLUNTARY, agreed, broken, dm, logged, move, put
from validators.calendar.metrics import compute_measures
from validators.calendar.replay import replay
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario
from worlds.core.events import Closed, Turned, read_log
from worlds.core.turns import OpenTurn

PRIOR = Scenario(
    slots=4,
    errands=((Errand(slot=0, id=1, cost=10),), (Errand(slot=1, id=2, cost=1, blocked=True),), ()),
    meetings=(Meeting(id=1, participants=(0, 1), speakers=(1, 0)), Meeting(id=2, participants=(0, 2))),
    prior=(PriorMeeting(id=9, participants=(0, 2), slot=3, cost=10),),
    scale={1: 1, 10: 2},
)
"""Seat 0 and seat 2 have a meeting at slot 3 before anything begins."""

REFUSED = {
    **agreed(2, 3),
    (TALK, 1, 1): [[dm(0), dm(2, "you\ntoo"), {"type": "vote"}], [dm(0)], []],
    (VOLUNTARY, 1, 2): [[move(5, 0, 1)], [move(5, 2, 1)]],
    (DECISION, 1, 1): [[put(1, 0)], "no JSON", broken(put(1, 2))],
    (DECISION, 1, 0): [[put(1, 2), move(2, 1, 3)], [put(1, 2)]],
}
"""Seat 2 is an outsider whose first batch is refused; seats 0 and 1 are refused too, seat 0 for a blocked item."""

EXHAUSTED = {(DECISION, 1, 1): [[put(1, 0)]] * 4, (DECISION, 1, 0): [[put(1, 2)]], **agreed(2, 3)}

SCRIPTS = {
    "refused batches": (REFUSED, {}),
    "a blocked attempt that dooms its round": (REFUSED, {"profile": "paper"}),
    "no try left": (EXHAUSTED, {}),
    "no try left, all rolled back": (EXHAUSTED, {"exhausted": "rollback"}),
    "a failed round that stays": (
        {
            (DECISION, 1, 0): [[put(1, 2)]],
            (DECISION, 1, 1): [[put(1, 3)]],
            (DECISION, 2, 0): [[put(2, 3)]],
            (DECISION, 2, 1): [[put(2, 3), move("M1", 3, 2)]],
        },
        {"profile": "paper"},
    ),
    "all channels": (
        {(TALK, 1, 1): [[{"type": "all_groupchat", "content": "hi"}, {"type": "participant_groupchat", "content": "ho"}]]},
        {"channels": "dm+participants+all", "message_cap": 1},
    ),
    "strict replies": ({(DECISION, 1, 1): [broken(put(1, 2))] * 2, **agreed(2, 3)}, {"strict_replies": True}),
}


def whole(log: bytes) -> Document:
    """The trace of a log, after it was played again from its file alone and nothing differed."""
    document = trace_of(log)
    again = replayed(document)
    assert again.differences == ()
    assert len(again.agreed) == 4
    return document


@pytest.mark.parametrize("name", SCRIPTS)
def test_replay_of_scripted_games(name: str, tmp_path: Path) -> None:
    """Whatever was refused, undone or lost, the file alone gives final state, measures, events and log again."""
    script, options = SCRIPTS[name]
    log = logged(tmp_path, script, **options)
    document = whole(log)

    assert document["metrics"] == compute_measures(replay(episode_of(log)), certify(SCENARIO)).model_dump(mode="json")
    assert document["trace_hash"] == read_log(log)[-1].hash


@pytest.mark.parametrize("profile", ["text", "paper"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_replay_of_protocols(protocol: str, profile: str, tmp_path: Path) -> None:
    """Games of all reference protocols, with prior meetings, under both profiles."""
    log = typed_log(tmp_path, PRIOR, protocol, profile)
    document = whole(log)

    assert document["metrics"] == compute_measures(replay(episode_of(log)), certify(PRIOR)).model_dump(mode="json")
    assert document["metrics"]["lies"] == 0


@pytest.mark.parametrize("turns", range(12))
def test_replay_of_games_cut_short(turns: int, tmp_path: Path) -> None:
    """A budget that ends a game anywhere, in the middle of a decision too, is where the replay ends."""
    document = whole(logged(tmp_path, REFUSED, turns=turns))

    assert document["stopped"] == document["metrics"]["ended_by"] == "wall"
    assert document["events"][-1]["type"] == "stop"
    assert len(of_type(document, "turn_end", "decide_end")) <= turns


def test_forfeits_are_replayed_with_their_cause(tmp_path: Path) -> None:
    """A turn that nobody answered is one again, and its text is what came of it: nothing."""
    world = play(folder_of(tmp_path, SCENARIO), lambda turn: "!" if turn.seat else "[]")
    ended = of_type(whole(world.log.dump()), "turn_end", "decide_end")

    assert {(one["agent_id"], one["no_reply"], one["raw"]) for one in ended} == {(0, None, "[]"), (1, "timeout", "")}


def test_prompts_are_those_delivered(tmp_path: Path) -> None:
    """System prompts, and each turn's text in order, to the letter; and the replies as they came."""
    log = logged(tmp_path, REFUSED)
    events, document = read_log(log), trace_of(log)
    turns = [event for event in events if isinstance(event, Turned)]
    (session,) = (event for event in events if event.type == "session")

    assert [one["prompt_sent"] for one in of_type(document, "turn_start", "decide_start")] == [turn.text for turn in turns]
    assert [one["raw"] for one in of_type(document, "turn_end", "decide_end")] == [turn.reply for turn in turns]
    assert tuple(one["system_prompt"] for one in of_type(document, "agent_registered")) == session.seats  # type: ignore[attr-defined]
    assert document["config"]["instruction"] == events[0].instruction  # type: ignore[attr-defined]


def test_prompt_variants_are_part_of_what_was_delivered(tmp_path: Path) -> None:
    """A seat that was sent more than its rules has all of it in its prompt, and the world's rules beside: the hash holds."""
    episode = recorded(logged(tmp_path, REFUSED))
    first, *others = episode.conversations
    rules, *said = first.utterances
    nosy = first.model_copy(update={"utterances": (rules.model_copy(update={"text": rules.text + "\n\nPry."}), *said)})
    document = as_read(exported(episode.model_copy(update={"conversations": (nosy, *others)})).text())
    registered = of_type(document, "agent_registered")

    assert replayed(document).differences == ()
    assert document["trace_hash"] == episode.events[-1].hash
    assert [(one["is_nosy_agent"], one["system_prompt"].endswith("Pry.")) for one in registered] == [(True, True)] + [
        (False, False)
    ] * 3
    assert (registered[0]["world_rules"], registered[1]["world_rules"]) == (rules.text, None)
    assert of_type(document, "game_start")[0]["nosy_agent_ids"] == [0]


def test_calendars_and_mail_are_those_shown(tmp_path: Path) -> None:
    """What an event shows of a seat's calendar and mail stands in the text that it was given."""
    document = trace_of(logged(tmp_path, REFUSED))
    first = [one for one in of_type(document, "turn_start", "decide_start") if one["attempt"] == 1]
    shown = [one for one in first if "Slot 0:" in one["prompt_sent"]]

    assert len(shown) > 6
    assert all(one["calendar_render"] in one["prompt_sent"] for one in shown)
    for one in first:
        letters = ["\n    ".join(letter["content"].splitlines()) for letter in one["inbox_drained"]]
        assert all(letter in one["prompt_sent"] for letter in letters)
        assert one["prompt_sent"].count("] From agent ") == len(letters)
    assert [[one["agent_id"], letter["content"]] for one in first for letter in one["inbox_drained"]] == [
        [0, "hello"], [2, "you\ntoo"], [0, "hello"],
    ]  # fmt: skip


def test_every_event_says_where_it_belongs(tmp_path: Path) -> None:
    """Round, turn, phase and agent stand in each, and sweeps are counted from 0."""
    document = trace_of(logged(tmp_path, REFUSED))

    assert all({"round", "turn", "phase", "agent_id"} <= set(event["data"]) for event in document["events"])
    assert [(one["turn"], one["agent_id"]) for one in of_type(document, "turn_start") if one["round"] == 1] == [
        (0, 1), (0, 0), (0, 2), (1, 1), (1, 0), (2, 1), (2, 0),
    ]  # fmt: skip
    assert [one["turn"] for one in of_type(document, "dm_sent")] == [0, 0, 1]
    assert [event["timestamp"] for event in document["events"]] == sorted(event["timestamp"] for event in document["events"])


def test_refusals_are_told(tmp_path: Path) -> None:
    """Each refused try with its number, its conflicts in words and its actions; what was dropped, and what had to be mended."""
    document = trace_of(logged(tmp_path, REFUSED))
    refused = [(one["agent_id"], one["phase"], one["attempt"], one["conflicts"]) for one in of_type(document, "batch_rejected")]

    assert refused == [
        (2, "VOLUNTARY", 1, ["not_there"]), (1, "DECISION", 1, ["schedule_occupied"]), (1, "DECISION", 2, ["no_schedule"]),
        (0, "DECISION", 1, ["blocked"]),
    ]  # fmt: skip
    assert of_type(document, "batch_rejected")[3]["actions"] == [put(1, 2), move(2, 1, 3)]
    assert "is blocked and cannot be moved" in of_type(document, "batch_rejected")[3]["conflict_description"]
    assert [(one["tool"], one["phase"]) for one in of_type(document, "invalid_tool_call")] == [("vote", TALK)]
    assert [(one["how"], one["attempt"]) for one in of_type(document, "reply_parsed")] == [("failed", 2), ("repaired", 3)]
    assert of_type(document, "decision_failed", "batch_rolled_back") == []


def test_batches_are_told_with_the_calendar_after_them(tmp_path: Path) -> None:
    """What was applied, what it cost as shown, and the calendar that it left."""
    document = trace_of(logged(tmp_path, REFUSED))
    outside, own = of_type(document, "batch_applied")[:2]

    assert (outside["agent_id"], outside["phase"], outside["cost_shown"]) == (2, VOLUNTARY, 4)
    assert outside["actions"] == [{"type": "reschedule", "item_id": "#5", "from_slot": 2, "to_slot": 1}]
    assert outside["calendar_render_after"].splitlines()[1:3] == ["Slot 1: Errand #5 (cost=4)", "Slot 2: [FREE]"]
    assert (own["agent_id"], own["actions"][-1]) == (1, {"type": "schedule", "meeting_id": 1, "slot": 2})
    assert own["calendar_render_after"].splitlines()[2:] == [
        "Slot 2: Meeting M1 (cost=1) participants=[0, 1]", "Slot 3: [FREE]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a blocked attempt that dooms its round", "blocked_attempt"),
        ("no try left", "round_failed"),
        ("no try left, all rolled back", "attempts_exhausted"),
        ("a failed round that stays", None),
    ],
)
def test_what_is_rolled_back_is_told_with_the_reason(name: str, reason: str | None, tmp_path: Path) -> None:
    """A round whose valid batches do not stand says which rule took them back."""
    script, options = SCRIPTS[name]
    document = trace_of(logged(tmp_path, script, **options))

    assert [one["reason"] for one in of_type(document, "batch_rolled_back")] == ([reason] if reason else [])
    assert [one["coordinated"] for one in of_type(document, "resolution")] == [False, True]


def test_exhausted_tries_are_told(tmp_path: Path) -> None:
    """Seat 1 was refused four times: its decision failed, and the round with it."""
    document = trace_of(logged(tmp_path, EXHAUSTED))

    assert [(one["agent_id"], one["attempts_exhausted"]) for one in of_type(document, "decision_failed")] == [(1, 4)]
    assert of_type(document, "resolution")[0]["per_agent_slot"] == {"0": 2, "1": None}


def test_broken_meetings_are_told_by_participant(tmp_path: Path) -> None:
    """Seat 0 moves the prior meeting alone, from slot 3 to slot 1: one violation, seen where it stood and where it is."""

    def seat(turn: OpenTurn) -> str:
        if turn.phase != DECISION:
            return "[]"
        moved = '{"type": "reschedule", "item_id": "M9", "from_slot": 3, "to_slot": 1}, ' if turn.seat == 0 else ""
        return f'[{moved if turn.round == 1 else ""}{{"type": "schedule", "meeting_id": {turn.round}, "slot": 2}}]'

    world = play(folder_of(tmp_path, PRIOR), seat, {"justification": "free", "decision_retries": 0})
    document = whole(world.log.dump())
    broken = [(o["agent_id"], o["meeting_id"], o["canonical_slot"], o["agent_slot"])
              for o in of_type(document, "consistency_violation")]  # fmt: skip

    assert broken == [(0, 9, 3, 1)]
    assert of_type(document, "resolution")[0]["consistency_violated_meeting_ids"] == [9]
    assert document["final_state"]["consistency_violations"] == 1
    assert [one["label"] for one in document["final_state"]["round_outcomes"]] == ["PRIOR_MEETING_MOVED", "SUCCESS"]


def test_final_state_by_hand(tmp_path: Path) -> None:
    """Seat 0 moves its errand of shown cost 10 (scored 2) from slot 0 so that M1 stands there; M2 goes to slot 1."""

    def seat(turn: OpenTurn) -> str:
        if turn.phase != DECISION:
            return '[{"type": "dm", "to": 2, "content": "hi"}]' if turn.seat == 0 and "=== ROUND 2" in turn.text else "[]"
        lifted = (
            '{"type": "reschedule", "item_id": 1, "from_slot": 0, "to_slot": 2}, ' if (turn.seat, turn.round) == (0, 1) else ""
        )
        return f'[{lifted}{{"type": "schedule", "meeting_id": {turn.round}, "slot": {turn.round - 1}}}]'

    world = play(folder_of(tmp_path, PRIOR), seat, {"justification": "free"})
    document = whole(world.log.dump())
    m1, m2, m9 = ({"meeting_id": number, "cost": cost} for number, cost in ((1, 1), (2, 1), (9, 10)))

    assert document["final_state"] == {
        "calendars": [
            [m1, m2, {"errand_id": 1, "cost": 10}, m9], [m1, {"errand_id": 2, "cost": 1, "blocked": True}, None, None],
            [None, m2, None, m9],
        ],
        "per_agent_cost": [2, 0, 0],
        "per_agent_cost_shown": [10, 0, 0],
        "oracle_per_agent_cost": [0, 0, 0],
        "per_agent_messages_sent": [1, 0, 0],
        "per_agent_messages_received": [0, 0, 1],
        "messages_by_channel": {"dm": 1},
        "round_outcomes": [
            {"round": 1, "meeting_id": 1, "coordinated": True, "label": "SUCCESS", "letter": None,
             "per_agent_slot": {"0": 0, "1": 0}, "consistency_violated_meeting_ids": [], "reached": True},
            {"round": 2, "meeting_id": 2, "coordinated": True, "label": "SUCCESS", "letter": None,
             "per_agent_slot": {"0": 1, "2": 1}, "consistency_violated_meeting_ids": [], "reached": True},
        ],
        "total_displacement_cost": 2, "rounds_succeeded": 2, "rounds_failed": 0, "consistency_violations": 0,
    }  # fmt: skip
    assert document["cost_scale"] == {"shown": [1, 10], "scored": [1, 2]}
    assert of_type(document, "game_end")[0]["metrics"] == document["metrics"]
    assert of_type(document, "game_start")[0]["optimal_cost"] == 0


def test_an_export_is_the_same_each_time(tmp_path: Path) -> None:
    """Two exports of one episode are one file, byte by byte; another run of it has another id."""
    log = logged(tmp_path, REFUSED)
    text = exported(recorded(log), "d").text()
    other = recorded(log)
    moved = other.model_copy(update={"result": other.result.model_copy(update={"run": "another"})})

    assert exported(recorded(log), "d").text() == text
    assert exported(moved, "d").game_id != as_read(text)["game_id"]
    assert (as_read(text)["started_at"], as_read(text)["task_digest"], as_read(text)["task_id"]) == (None, "d", "t")


def test_a_log_that_its_replies_do_not_make_is_not_exported(tmp_path: Path) -> None:
    """A note that the rules do not give is named by its event, and so are notes that are missing."""

    def cheaper(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row.get("what") == "committed")["data"]["cost"] = 0

    log = logged(tmp_path, REFUSED)
    for change, why in ((cheaper, r"event \d+ of its log differs"), (lambda rows: rows.pop(), "a replay of its replies gives")):
        episode = recorded(log).model_copy(update={"events": retold(log, change).events})
        with pytest.raises(UsageError, match=why):
            exported(episode)


def test_an_episode_without_a_game_is_not_exported(tmp_path: Path) -> None:
    """Neither a log without a game, nor one whose world failed."""
    episode = recorded(logged(tmp_path, REFUSED))
    for events, why in (
        ((), "the game never began"),
        ((*episode.events, Closed(cause="fault")), "its world failed"),
    ):
        with pytest.raises(UsageError, match=why):
            exported(episode.model_copy(update={"events": events}))
