"""Who sits where: as it is typed, and in each attempt."""

from __future__ import annotations

import pytest

from harness.agent import AgentSpec, SeatSpec
from harness.agents.seats.lineup import line_up, read_seats
from harness.errors import UsageError

FAMILIES = ["calendar", "hidden-profile"]


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("0=imap", "policy", "imap"),
        ("0=coin:.25", "policy", "coin:.25"),
        ("0=gpt-5", "model", "gpt-5"),
        ("0=openai/imap", "model", "openai/imap"),
        ("0=coin:2", "model", "coin:2"),
        ("0=replay:runs/a/episodes/calendar/x/s0-a1", "replay", "runs/a/episodes/calendar/x/s0-a1"),
        ("0=human", "human", ""),
    ],
)
def test_what_the_family_offers_is_a_policy_and_the_rest_a_model(text: str, kind: str, name: str) -> None:
    """Two words are kept: `human` and `replay:`."""
    (seat,) = read_seats([text], [], FAMILIES)

    assert (seat.seat, seat.kind, seat.name) == (0, kind, name)


def test_seat_model_is_always_a_model() -> None:
    """Also where a policy has that name; both flags make one line-up, by seat."""
    seats = read_seats(["3=imap"], ["0=imap"], FAMILIES)

    assert [(seat.seat, seat.kind) for seat in seats] == [(0, "model"), (3, "policy")]


@pytest.mark.parametrize("text", ["gpt-5", "=gpt-5", "x=gpt-5", "1=", "-1=a", "9999=a", "\u0661=a"])
def test_a_seat_must_name_a_number_and_somebody(text: str) -> None:
    """Anything else is refused, for both flags."""
    for flags in (([text], []), ([], [text])):
        with pytest.raises(UsageError, match="0=gpt-5"):
            read_seats(*flags, FAMILIES)


def test_a_seat_is_named_once() -> None:
    """Two holders of one seat are a mistake, in whichever flags."""
    with pytest.raises(UsageError, match="seat 1 is named twice"):
        read_seats(["1=imap"], ["1=gpt-5"], FAMILIES)


def test_people_sit_where_they_are_named() -> None:
    """A person has a name or none; where everybody is one, a seat that is named so again is nobody else."""
    named = AgentSpec(kind="seats", name="imap", seats=read_seats(["0=human", "2=human:Ada"], [], FAMILIES))
    everybody = AgentSpec(kind="seats", name="human", seats=read_seats(["1=human"], [], FAMILIES))

    assert [(one.kind, one.name) for one in line_up(named, 3)] == [("human", ""), ("policy", "imap"), ("human", "Ada")]
    assert [one.kind for one in line_up(everybody, 2)] == ["human", "human"]
    assert everybody.others == ()


def names(spec: AgentSpec, seats: int, attempt: int) -> str:
    """The line-up in letters."""
    line = line_up(spec, seats, attempt)
    assert [one.seat for one in line] == list(range(seats))
    return " ".join(one.name for one in line)


def test_line_up_of_an_attempt() -> None:
    """One seat on with each attempt where it rotates, and after as many attempts as seats from the start."""
    guest = SeatSpec(seat=1, kind="model", name="m")
    fixed = AgentSpec(kind="seats", name="p", seats=(guest,))
    turning = fixed.model_copy(update={"rotate": True})

    assert {names(fixed, 3, attempt) for attempt in range(1, 5)} == {"p m p"}
    assert [names(turning, 3, attempt) for attempt in range(1, 5)] == ["p m p", "p p m", "m p p", "p m p"]
    assert [one.kind for one in line_up(turning, 3, 2)] == ["policy", "policy", "model"]


def test_model_at_every_other_seat() -> None:
    """Where the spec is a model's, the seats that nobody else holds are that model's."""
    spec = AgentSpec(kind="llm", model="m", seats=(SeatSpec(seat=0, kind="policy", name="imap"),))

    assert [(one.kind, one.name) for one in line_up(spec, 2)] == [("policy", "imap"), ("model", "m")]
    assert spec.others == spec.seats
    assert spec.model_copy(update={"seats": (SeatSpec(seat=0, kind="model", name="m"),)}).others == ()


def test_seat_that_there_is_not() -> None:
    """Five seats have no sixth."""
    with pytest.raises(UsageError, match="--seat 5 does not exist; the seats are 0 to 4"):
        line_up(AgentSpec(kind="seats", name="p", seats=(SeatSpec(seat=5, kind="model", name="m"),)), 5)
