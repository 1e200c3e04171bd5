"""Turns: asked together, staged, logged in order of seats, whoever is fast; each seat opens for its own token alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any

import pytest

from worlds.core.events import Noted, Requested, Seated, Turned, read_log
from worlds.core.seated import SEAT_HEADER, seat_token
from worlds.core.testing import InProcess
from worlds.core.wire import HOST_HEADER, WireResponse, request

Sit = Callable[..., InProcess]
HOST = {HOST_HEADER: "host"}


def post(world: InProcess, turn: str, reply: str, headers: Mapping[str, str] = HOST) -> WireResponse:
    """One answer to one turn."""
    return world(request("POST", f"/turns/{turn}", headers=dict(headers), body=reply))


def read(answer: WireResponse) -> Any:
    """The JSON of an answer."""
    return json.loads(answer.body)


def turns(world: InProcess, headers: Mapping[str, str] = HOST) -> list[str]:
    """The ids of the turns that a caller may answer."""
    return [turn["id"] for turn in read(world(request("GET", "/turns", headers=dict(headers))))["turns"]]


def told(world: InProcess) -> list[tuple[str, int, str]]:
    """Phase, seat and reply of every turn in the log."""
    return [(event.phase, event.seat, event.reply) for event in world.events if isinstance(event, Turned)]


def test_session_tells_each_seat_its_own(auction: Sit) -> None:
    """The host sees all system prompts and what is public, and the log holds both."""
    world = auction()
    seated = next(event for event in world.events if isinstance(event, Seated))

    assert read(world(request("GET", "/session", headers=HOST))) == {
        "seats": [{"seat": seat, "system": f"you are {seat}"} for seat in range(3)],
        "public": {"bidders": 3},
    }
    assert (seated.seats, seated.public) == (("you are 0", "you are 1", "you are 2"), {"bidders": 3})


def test_barrier_opens_all_its_turns(auction: Sit) -> None:
    """Independent turns are open at once, in order of seats."""
    assert turns(auction()) == ["1-0-1", "1-1-1", "1-2-1"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_arrival_order_never_shows(auction: Sit, order: tuple[int, ...]) -> None:
    """Whoever answers first, the log is the same."""
    world, usual = auction(), auction()
    for seat in order:
        post(world, f"1-{seat}-1", str(seat))
    for seat in range(3):
        post(usual, f"1-{seat}-1", str(seat))

    assert world.log.trace_hash == usual.log.trace_hash
    assert told(world) == [("BID", 0, "0"), ("BID", 1, "1"), ("BID", 2, "2")]


def test_nothing_is_logged_before_the_barrier_closes(auction: Sit) -> None:
    """An answer is staged until everybody has answered."""
    world = auction()
    post(world, "1-0-1", "1")
    post(world, "1-1-1", "1")

    assert told(world) == []


def test_retry_is_offered_at_once(auction: Sit) -> None:
    """A refused answer opens another attempt while the others still think; attempts follow each other in the log."""
    world = auction()
    after = read(post(world, "1-0-1", "many"))

    assert [turn["id"] for turn in after["turns"]] == ["1-0-2", "1-1-1", "1-2-1"]
    assert after["turns"][0]["text"] == "a number, not many"
    for turn in ("1-1-1", "1-0-2", "1-2-1"):
        post(world, turn, "4")
    assert [(event.seat, event.attempt) for event in world.events if isinstance(event, Turned)] == [
        (0, 1),
        (0, 2),
        (1, 1),
        (2, 1),
    ]
    assert next(event for event in world.events if isinstance(event, Noted)).data == {"best": 0, "tries": [2, 1, 1]}


@pytest.mark.parametrize("turn", ["1-0-1", "2-0-1", "1-0-2", "nonsense", "1-9-1", "%31-0-1%00"])
def test_stale_or_unknown_turn_changes_nothing(auction: Sit, turn: str) -> None:
    """A repeated answer, one for later and one for no turn are not accepted and leave no trace."""
    world = auction()
    post(world, "1-0-1", "1")
    before = world.log.trace_hash, turns(world)
    answer = post(world, turn, "7")

    assert (answer.status, read(answer)["accepted"]) == (200, False)
    assert (world.log.trace_hash, turns(world)) == before


def test_game_ends_the_episode(auction: Sit) -> None:
    """After the last turn the game is over, a request is refused, and time moved by the game's rules alone."""
    world = auction()
    for turn in ("1-0-1", "1-1-1", "1-2-1"):
        post(world, turn, "3")
    last = read(post(world, "2-0-1", "because"))

    assert last == {"accepted": True, "turns": [], "over": True}
    assert world(request("GET", "/anything")).status == 409
    assert (world.events[-1].type, world.events[-1].vt) == ("turn", 5000)
    assert read_log(world.log.dump())[-1].hash == world.log.trace_hash


def test_measurement_is_marked(auction: Sit) -> None:
    """An ephemeral turn says so, to its player and in the log."""
    world = auction()
    for seat in range(3):
        last = read(post(world, f"1-{seat}-1", "3"))
    post(world, "2-0-1", "because")

    assert [turn["ephemeral"] for turn in last["turns"]] == [True]
    assert [event.ephemeral for event in world.events if isinstance(event, Turned)] == [False, False, False, True]


def test_host_forfeits_a_turn_with_its_cause(auction: Sit) -> None:
    """A forfeit is an empty answer, logged with why."""
    world = auction()
    answer = world(request("POST", "/turns/1-0-1?no_reply=timeout", headers=HOST))
    post(world, "1-1-1", "2")
    post(world, "1-2-1", "1")

    assert read(answer)["accepted"] is True
    assert [event.no_reply for event in world.events if isinstance(event, Turned)] == ["timeout", None, None]


@pytest.mark.parametrize(("cause", "seat"), [("tired", None), ("timeout", 0)])
def test_forfeit_is_the_hosts_and_has_a_known_cause(auction: Sit, cause: str, seat: int | None) -> None:
    """An unknown cause is refused, and so is a seat that would give up in the host's name."""
    world = auction()
    headers = HOST if seat is None else {SEAT_HEADER: seat_token("host", seat)}
    answer = world(request("POST", f"/turns/1-0-1?no_reply={cause}", headers=headers))

    assert answer.status == 400
    assert turns(world) == ["1-0-1", "1-1-1", "1-2-1"]


def test_reply_that_looks_like_a_forfeit_is_a_reply(auction: Sit) -> None:
    """What a model writes is its reply, whatever it is."""
    world = auction()
    text = read(post(world, "1-0-1", '{"no_reply": "provider"}'))["turns"][0]["text"]

    assert text == 'a number, not {"no_reply": "provider"}'


def test_seat_token_opens_one_seat(auction: Sit) -> None:
    """Its holder sees one prompt and one turn, and can answer that one only."""
    world = auction()
    mine = {SEAT_HEADER: seat_token("host", 1)}

    assert read(world(request("GET", "/session", headers=mine)))["seats"] == [{"seat": 1, "system": "you are 1"}]
    assert turns(world, mine) == ["1-1-1"]
    assert read(post(world, "1-0-1", "9", mine))["accepted"] is False
    assert read(post(world, "1-1-1", "9", mine)) == {"accepted": True, "turns": [], "over": False}


@pytest.mark.parametrize("headers", [{}, {SEAT_HEADER: "0"}, {HOST_HEADER: "guess"}, {SEAT_HEADER: seat_token("other", 0)}])
@pytest.mark.parametrize(("method", "target"), [("GET", "/session"), ("GET", "/turns"), ("POST", "/turns/1-0-1")])
def test_without_a_token_there_is_no_game(auction: Sit, headers: dict[str, str], method: str, target: str) -> None:
    """For anybody else these routes do not exist, and asking for them costs a step."""
    world = auction()
    answer = world(request(method, target, headers=headers, body="1" if method == "POST" else ""))

    assert answer.status == 404
    assert [event.kind for event in world.events if isinstance(event, Requested)] == ["stray"]
    assert turns(world) == ["1-0-1", "1-1-1", "1-2-1"]


def test_without_a_host_everybody_may_play(auction: Sit) -> None:
    """Under Harbor no token is set, and one agent holds every seat."""
    world = auction(host_token=None)
    for seat in range(3):
        post(world, f"1-{seat}-1", "1", {})

    assert turns(world, {}) == ["2-0-1"]


def test_open_turns_are_anybodys_and_a_forfeit_is_the_hosts(auction: Sit) -> None:
    """Where the host opens them, one script holds every seat; the rest of what is the host's stays the host's."""
    world = auction(open_turns=True)
    for seat in range(3):
        post(world, f"1-{seat}-1", "1", {})

    assert turns(world, {}) == ["2-0-1"]
    assert world(request("POST", "/turns/2-0-1?no_reply=timeout")).status == 400
    assert world(request("GET", "/instruction")).status == 404
    assert world(request("POST", "/stop", body='{"cause": "tokens"}')).status == 404
    assert turns(world) == ["2-0-1"]


def test_stop_keeps_what_was_answered(auction: Sit) -> None:
    """A game that is stopped logs the answers that waited for others, then the stop; nothing is open any more."""
    world = auction()
    post(world, "1-1-1", "5")
    world(request("POST", "/stop", headers=HOST, body='{"cause": "tokens"}'))

    assert [event.type for event in world.events[-2:]] == ["turn", "stop"]
    assert told(world) == [("BID", 1, "5")]
    assert turns(world) == []
    assert read(post(world, "1-0-1", "5"))["accepted"] is False


def test_game_that_fails_is_the_worlds_fault(auction: Sit) -> None:
    """A rule that raises closes the episode as a fault, with everything before it in the log."""
    world = auction()
    for seat in range(3):
        post(world, f"1-{seat}-1", "1")
    answer = post(world, "2-0-1", "break")

    assert answer.status == 500
    assert getattr(world.events[-1], "cause", "") == "fault"
    assert len(told(world)) == 4


def test_refusal_that_fails_is_the_worlds_fault(auction: Sit) -> None:
    """Where the rule on one reply raises, what was answered and the reply at fault are in the log before the fault."""
    world = auction()
    post(world, "1-2-1", "7")
    post(world, "1-0-1", "no number")
    answer = post(world, "1-0-2", "break")

    assert answer.status == 500
    assert getattr(world.events[-1], "cause", "") == "fault"
    assert told(world) == [("BID", 0, "no number"), ("BID", 0, "break"), ("BID", 2, "7")]
    assert turns(world) == []
    assert [event.type for event in read_log(world.log.dump())][-4:-1] == 3 * ["turn"]


def test_game_has_no_submission(auction: Sit) -> None:
    """A game ends with its last turn, so a submission is a stray request and closes nothing."""
    world = auction()

    assert world(request("POST", "/submission", body="x")).status == 404
    assert turns(world) == ["1-0-1", "1-1-1", "1-2-1"]


def test_turns_stay_out_of_a_world_without_seats(bench: Callable[..., InProcess]) -> None:
    """Where nobody sits these routes do not exist, also for the host."""
    world = bench()

    assert world(request("GET", "/turns", headers={HOST_HEADER: "a-host-token"})).status == 404


def test_reply_that_is_too_long_is_refused(auction: Sit) -> None:
    """A reply beyond the limit of bodies is no answer."""
    world = auction()

    assert post(world, "1-0-1", "1" * 5_000_000).status == 413
    assert turns(world) == ["1-0-1", "1-1-1", "1-2-1"]
