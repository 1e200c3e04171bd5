"""What pages are made of: who saw what, two attempts from their first difference, time drawn, bodies beside their requests."""

from __future__ import annotations

import json
from pathlib import Path

from parley.reports.reading import Act, Breach, Conversation, Moment, RecordedEpisode, ToolUse, Utterance, read_episode
from parley.reports.viewing.library import Library
from parley.reports.viewing.pages import exchanges, runs_page, tracks
from parley.reports.viewing.timeline import LONGEST, cut_text, gist, grid, heard, talk, timeline
from tests.parley.reports.recorded import CONTRACT, HIDDEN, Recorded


def asked(seq: int, told: str, reply: str) -> list[Utterance]:
    """A turn of a seat."""
    moment = Moment(turn=str(seq), seq=seq, at=10.0 * seq, phase="TALK", round=1, attempt=1)
    return [Utterance(speaker="user", text=told, moment=moment), Utterance(speaker="agent", text=reply, moment=moment)]


def test_who_saw_what() -> None:
    """A seat saw a text where a later text that it was given has it; a message between two is unseen by the third."""
    secret, loud = {"to": 1, "content": "meet at slot 3"}, {"content": "hello all of you"}
    seats = [
        Conversation(name="seat 0", seat=0, utterances=tuple(asked(1, "begin", json.dumps({"actions": [secret, loud]})))),
        Conversation(name="seat 1", seat=1, utterances=tuple(asked(2, "0: meet at slot 3\n0: hello all of you", "I see."))),
        Conversation(name="seat 2", seat=2, utterances=(*asked(3, "0: hello all of you", ""), *asked(4, "1: I see.", ""))),
    ]

    assert {row.text: row.seats for row in heard(seats).rows} == {
        "meet at slot 3": ("said", "20 s", None),
        "hello all of you": ("said", "20 s", "30 s"),
        "I see.": (None, "said", "40 s"),
    }


def test_a_text_before_it_was_said_was_not_heard() -> None:
    """Words that stood in an earlier text were not this seat's words."""
    seats = [
        Conversation(name="seat 0", seat=0, utterances=tuple(asked(5, "begin", "slot three"))),
        Conversation(name="seat 1", seat=1, utterances=tuple(asked(4, "is slot three free?", "maybe"))),
    ]

    assert {row.text: row.seats for row in heard(seats).rows}["slot three"] == ("said", None)


def test_the_rounds_of_a_game(recorded: Recorded) -> None:
    """Every reply of every seat stands in the row of its phase, and the breach is marked where it stands."""
    episode = read_episode(recorded.episode("model-seats", HIDDEN))
    seats = [one for one in episode.conversations if one.seat is not None]
    replies = {said.moment.seq for one in seats for said in one.utterances if said.speaker == "agent" and said.moment}
    table = grid(seats, {max(replies)}, None)

    assert {turn.seq for row in table.rows for cell in row.cells for turn in cell} == replies
    assert [row.phase for row in table.rows] == ["PRE_VOTE", "DISCUSSION", "DISCUSSION", "POST_VOTE"]
    assert [turn.seq for row in table.rows for cell in row.cells for turn in cell if turn.is_breach] == [max(replies)]
    assert table.rows[0].cells[0][0].told == "vote: oven; rationale: it looks so"


def test_two_attempts_from_their_first_difference(recorded: Recorded) -> None:
    """What is equal is counted, the first row is where they part, and inside it the marked rest is what differs."""
    late, whole = (read_episode(recorded.episode(run, CONTRACT)) for run in ("late", "oracle"))
    requests = tracks(late, whole)[0]
    first = requests.rows[0]

    assert requests.equal == 2
    assert [(row.number, row.is_different) for row in requests.rows[:1]] == [(3, True)]
    assert first.left is not None
    assert first.right is not None
    assert (first.left.title, first.right.title) == ("wait 33 s", "GET /api/resource/part_3")
    assert [track.rows for track in tracks(late, late)] == [()] * len(tracks(late, late))


def test_bodies_stand_beside_their_requests(recorded: Recorded) -> None:
    """A tool call belongs to the next request of its method and path; a wait has none."""
    acts = list(exchanges(read_episode(recorded.episode("model", CONTRACT))))

    assert [(act.told, act.got.head.split("\n")[0] if act.got else None) for act in acts] == [
        ("GET /task", "status 200"), ("GET /api/precheck", "status 200"), ("wait 33 s", None),
        ("GET /api/resource/part_1", "status 410"),
    ]  # fmt: skip
    assert [act.is_breach for act in acts] == [False, False, False, True]


def test_a_call_that_never_reached_the_world_is_no_request(recorded: Recorded) -> None:
    """Calls between two requests that the log does not have are passed over."""
    episode = read_episode(recorded.episode("model", CONTRACT))
    lost = ToolUse(tool="http_request", arguments='{"method": "GET", "url": "/nowhere"}', answer="refused")
    talks = tuple(
        one.model_copy(update={"utterances": (Utterance(speaker="agent", text="", tools=(lost,)), *one.utterances)})
        for one in episode.conversations
    )

    assert list(exchanges(episode.model_copy(update={"conversations": talks}))) == list(exchanges(episode))


def many_acts(episode: RecordedEpisode, total: int, broken: int) -> RecordedEpisode:
    """An episode of many requests, one of which broke a rule."""
    acts = [
        Act(seq=n, at=n, what="request", told="GET /", status=200, kind="violation" if n == broken else "ok")
        for n in range(total)
    ]
    return episode.model_copy(update={"acts": tuple(acts), "breach": Breach(label="X", rule="x", seq=broken)})


def test_a_thinned_lane_keeps_the_breach(recorded: Recorded) -> None:
    """Of thousands of marks some are drawn and the rest counted, and the one that broke the rule is among the drawn."""
    drawn = timeline(many_acts(read_episode(recorded.episode("late", CONTRACT)), 5_003, 4_999), {4_999})

    assert drawn is not None
    lane = drawn.lanes[0]
    assert len(lane.marks) + lane.left_out == 5_003
    assert len(lane.marks) < 500
    assert [mark.seq for mark in lane.marks if mark.is_breach] == [4_999]


def test_a_long_conversation_keeps_its_ends_and_the_breach(recorded: Recorded) -> None:
    """Entries in the middle are counted, not those around the turn that failed the episode."""
    said = tuple(entry for seq in range(1, 2_001) for entry in asked(seq, "told", "said"))
    shown = talk(
        Conversation(name="seat 0", seat=0, utterances=said), read_episode(recorded.episode("late", CONTRACT)), {1_000}
    )

    assert len(shown.entries) + sum(entry.gap for entry in shown.entries) == 4_000 == shown.total
    assert len(shown.entries) < 300
    assert [entry.moment.seq for entry in shown.entries if entry.is_breach and entry.moment] == [1_000]


def test_a_long_text_lacks_its_middle() -> None:
    """What is shown and what is left out are the whole text; a reply in JSON is told without its brackets."""
    text = "".join(chr(97 + n % 26) for n in range(LONGEST + 1))
    cut = cut_text(text)

    assert cut_text(text[:-1]).head == text[:-1]
    assert cut.head + text[len(cut.head) : len(cut.head) + cut.left_out] + cut.tail == text
    assert cut.left_out > 0
    assert gist('{"text": "Backup.", "cites": [], "stance": null, "to": 2}') == "text: Backup.; to: 2"
    assert gist("[" * 3_000) == "[" * 239 + "…"


def test_rates_stand_with_what_was_played(recorded: Recorded, tmp_path: Path) -> None:
    """A row a run and family, with n and an interval; the best rate of a family comes first."""
    page = runs_page(Library([recorded.folder]).runs())
    contract = next(one for one in page.standings if one.family == "contract")
    many = next(row for row in page.runs if row.run == "many")

    assert contract.rows[0].run == "oracle"
    assert (many.score.graded, many.score.succeeded, many.score.rate, many.score.low) == (14, 0, 0.0, 0.0)
    assert many.score.high is not None
    assert 0.2 < many.score.high < 0.3
    assert (many.state, many.what) == ("complete", "1 task x 14 seeds x 1 attempt")
