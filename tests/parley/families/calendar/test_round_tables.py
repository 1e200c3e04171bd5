"""Tables of what seats did in each round, by hand: first speakers, messages, moves, and what models cost."""

from __future__ import annotations

import math
from typing import Any

import pytest

from harness.errors import UsageError
from harness.records import Result
from parley.families.calendar.report import report
from parley.families.calendar.round_tables import EVERYBODY, difference
from parley.reports.evidence import Evidence
from parley.reports.table import Row, Table
from tests.parley.families.calendar.made_games import UNIFORM, VARIED, evidence, game, model, part, policy, seat

ROUNDS = [{"coordinated": True}, {"coordinated": True}, {"coordinated": False}]


def table(found: Evidence, name: str, *, published: bool = False) -> Table:
    """One table by name."""
    (made,) = report(found, [name], published=published)
    return made


def only(found: Evidence, name: str) -> Row:
    """The one row of a table."""
    (row,) = table(found, name).rows
    return row


def speaking(task: str, first: float, *others: float, prose: int = 0, **kwargs: Any) -> Result:
    """A game in which seat 0 speaks first about one meeting, and takes part in others, with these costs and slots told."""
    rows = [part(1, 0, "first", cost=first, vps=first, prose=prose)]
    rows += [part(number, 0, cost=cost, vps=cost) for number, cost in enumerate(others, start=2)]
    rounds = [{"coordinated": True}] * (1 + len(others))
    return game(task, [seat(0)], [model(0)], rows, rounds=rounds, **kwargs)


def test_difference_of_a_seats_game() -> None:
    """First-speaker meetings 4 and 2, others 1, 1 and 4: 3 - 2; without either there is none."""
    assert difference([(True, 4.0), (True, 2.0), (False, 1.0), (False, 1.0), (False, 4.0)]) == 1.0
    assert difference([(True, 4.0)]) is None
    assert difference([(False, 4.0)]) is None


def test_first_speakers_pay_more() -> None:
    """Differences 3 - 1, 3 - (0 + 4)/2, and two games of one task 4 - 2, 6 - 2: 2, 1, 3 by task, so t = 2 sqrt(3) at 2 degrees.

    First speakers paid 3, 3, 4 and 6, the others 1, 0, 4, 2 and 2.
    """
    games = [
        speaking(UNIFORM[0], 3, 1), speaking(UNIFORM[1], 3, 0, 4),
        speaking(UNIFORM[2], 4, 2), speaking(UNIFORM[2], 6, 2, attempt=2),
    ]  # fmt: skip
    row = next(row for row in table(evidence(alone=games), "first-speaker").rows if row["measure"] == "excess")

    assert (row["first"], row["subsequent"]) == ((3 + 3 + 4 + 6) / 4, (1 + 0 + 4 + 2 + 2) / 5)
    assert (row["pairs"], row["tasks"], row["difference"]) == (4, 3, 2.0)
    assert row["p"] == row["q"] == pytest.approx(1 - math.sqrt(12 / 14))


def test_only_scheduled_meetings_of_participants_have_a_cost() -> None:
    """Paid 5 of 2, 1 of 4, and 9 for a meeting that failed: excess 3 and 0; what outsiders paid is nobody's meeting."""
    rows = [part(1, 0, "first", cost=5, oracle_cost=2), part(2, 0, cost=1, oracle_cost=4), part(3, 0, cost=9)]
    rows += [part(1, 1, "outsider", cost=7, oracle_cost=None)]
    games = [game(UNIFORM[0], [seat(0), seat(1)], [model(0), model(1)], rows, rounds=ROUNDS)]
    row = next(row for row in table(evidence(alone=games), "first-speaker").rows if row["measure"] == "excess")

    assert (row["first"], row["subsequent"], row["p"]) == (3.0, 0.0, None)


def test_what_was_told_is_tested_of_typed_messages_alone() -> None:
    """A seat that wrote prose leaves its row without protocol VPS; reflection VPS is a measure of its own."""
    typed, prose = ([speaking(task, 2, 1, prose=written) for task in UNIFORM[:2]] for written in (0, 1))
    reflected = speaking(UNIFORM[2], 2, 1)
    for row in reflected.metrics["seat_rounds"]:
        row["reflection_vps"] = 5.0 * row["round"]
    made = table(evidence(typed=typed, prose=prose, reflected=[reflected]), "first-speaker")
    measured = [(row["setup"], row["measure"], row["difference"]) for row in made.rows if row["measure"] != "excess"]

    assert measured == [
        ("typed", "protocol VPS", 1.0),
        ("reflected", "protocol VPS", 1.0),
        ("reflected", "reflection VPS", -5.0),
    ]


def test_tests_are_corrected_within_a_measure() -> None:
    """Two settings and both together, of one model: the q of each p is Benjamini and Hochberg's among the three."""
    games = [speaking(task, first, 1) for task, first in zip((*UNIFORM[:3], *VARIED[:3]), (2, 3, 4, 1, 2, 2), strict=True)]
    rows = [row for row in table(evidence(alone=games), "first-speaker").rows if row["measure"] == "excess"]
    ps: Any = sorted(row["p"] for row in rows)
    low: Any = min(rows, key=lambda row: ps.index(row["p"]))

    assert [row["setting"] for row in rows] == ["all", "uniform", "varied"]
    assert low["q"] == pytest.approx(min(ps[0] * 3, ps[1] * 3 / 2, ps[2]))


def test_everybody_at_a_mixed_table_is_tested_together() -> None:
    """Two holders at one table have a row each and one together; a table of one holder has no second row."""
    rows = [part(1, 0, "first", cost=3), part(2, 0), part(1, 1, cost=1), part(2, 1, "first", cost=2)]
    mixed = game(UNIFORM[0], [seat(0), seat(1)], [model(0), policy(1)], rows, rounds=ROUNDS)
    made = table(evidence(mixed=[mixed], alone=[speaking(UNIFORM[0], 2, 1)]), "first-speaker")
    shown = [(row["player"], row["difference"], row["pairs"]) for row in made.rows if row["measure"] == "excess"]

    assert shown == [(EVERYBODY, (3 + 1) / 2, 2), ("openai/one", 3.0, 1), ("openai/one", 1.0, 1), ("imap", 1.0, 1)]


def test_published_first_speakers() -> None:
    """Table 12's difference and q stand under the model of that name, for both measures that it prints."""
    rows = [part(1, 0, "first", vps=1.0, reflection_vps=1.0), part(2, 0, reflection_vps=0.5)]
    games = [game(UNIFORM[0], [seat(0)], [model(0, "gemini/gemini-3.1-pro-preview")], rows, rounds=ROUNDS)]
    made = table(evidence(alone=games), "first-speaker", published=True)
    printed = [(row["measure"], row["difference"], row["q"]) for row in made.rows if row["source"] == "published"]

    assert printed == [("excess", -0.10, 0.832), ("reflection VPS", 1.10, 2.84e-8)]


def test_messages_by_meeting_and_role() -> None:
    """Seat 0 sent 4 and 1, seat 1 sent 2 and 3: 3 and 2 a meeting; first speakers 4 and 3, a participant 2, an outsider 1."""
    rows = [
        part(1, 0, "first", messages=4), part(1, 1, messages=2),
        part(2, 0, "outsider", messages=1), part(2, 1, "first", messages=3),
    ]  # fmt: skip
    row = only(evidence(alone=[game(UNIFORM[0], [seat(0), seat(1)], [model(0), model(1)], rows)]), "volume")

    assert (row["round_1"], row["round_2"]) == ((4 + 2) / 2, (1 + 3) / 2)
    assert (row["first"], row["participant"], row["outsider"]) == ((4 + 3) / 2, 2.0, 1.0)


def test_moves_of_earlier_meetings() -> None:
    """Seat 0 moved M1 twice and M2 once, M2 alone: two different ones; seat 1 moved M1 and an errand as an outsider."""
    rows = [
        part(2, 0, moves=1, moved=[1]), part(3, 0, moves=3, moved=[1, 2], alone=[2]),
        part(2, 1, "outsider", moves=2, moved=[1]), part(3, 1),
    ]  # fmt: skip
    row = only(evidence(alone=[game(UNIFORM[0], [seat(0), seat(1)], [model(0), model(1)], rows)]), "moves")

    assert (row["moved"], row["movers"], row["voluntary"]) == ((2 + 1) / 2, 1.0, (0 + 2) / 2)
    assert (row["joint"], row["alone"], row["by_participants"], row["by_outsiders"]) == (1 + 1 + 1, 1, 3, 1)


def test_messages_against_excess() -> None:
    """(1, 1), (2, 3) and (3, 2) of three tasks: slope 1/2 from intercept 1, with the points themselves for the figure."""
    points = [(1.0, 1), (2.0, 3), (3.0, 2)]
    games = [
        game(task, [seat(0, messages_per_scheduled=x, excess=y)], [model(0)])
        for task, (x, y) in zip(UNIFORM, points, strict=False)
    ]
    row = only(evidence(alone=games), "communication")

    assert (row["messages"], row["excess"], row["points"]) == (2.0, 2.0, "1,1 2,3 3,2")
    assert (row["slope"], row["intercept"]) == pytest.approx((0.5, 1.0))


def test_tokens_dollars_and_seconds() -> None:
    """Two seats in each of two settings, a quarter and a half of a dollar each; of 1, 2, 3 and 5 s half are below 2.5.

    The ninth tenth of four sorted values lies 0.7 of the way from the third to the fourth: 3 + 0.7 x 2.
    """
    tokens = {"calls": 1, "prompt": 100, "completion": 10, "reasoning": 4}
    games = [
        game(task, [seat(0), seat(1)], [
            model(number, tokens=tokens, cost_usd=dollars, latencies_s=(seconds[number],)) for number in (0, 1)
        ])
        for task, dollars, seconds in ((UNIFORM[0], 0.25, (1.0, 3.0)), (VARIED[0], 0.5, (5.0, 2.0)))
    ]  # fmt: skip
    row = only(evidence(alone=games), "spending")

    assert [row[name] for name in ("n", "games", "calls", "prompt", "completion", "reasoning", "cached")] == [
        4, 2, 4, 400, 40, 16, None,
    ]  # fmt: skip
    assert [row[name] for name in ("uniform", "varied", "total", "a_seat")] == [0.5, 1.0, 1.5, 1.5 / 4]
    assert (row["median"], row["p90"]) == (2.5, pytest.approx(4.4))


def test_unknown_prices_and_counts_made_here() -> None:
    """A model without a price says so; tokens that were counted here, and dollars that rest on them, are marked."""
    calls = {"calls": 1, "prompt": 7}
    unpriced = [game(UNIFORM[0], [seat(0)], [model(0, tokens=calls)])]
    counted = [game(UNIFORM[0], [seat(0)], [model(0, tokens={**calls, "estimated": True}, cost_usd=1.5)])]
    rows = table(evidence(unpriced=unpriced, counted=counted), "spending").rows

    assert [(row["prompt"], row["total"]) for row in rows] == [(7, "no price"), ("~7", "~$1.5")]
    assert [row["a_seat"] for row in rows] == [None, 1.5]


def test_published_dollars_are_of_their_model() -> None:
    """Table 7's row under the model of that name; Claude's rest on estimates and say so."""
    games = [game(UNIFORM[0], [seat(0)], [model(0, "vertex_ai/claude-sonnet-4-6", tokens={"calls": 1}, cost_usd=0.5)])]
    _, row = table(evidence(alone=games), "spending", published=True).rows

    assert (row["source"], row["games"], row["total"]) == ("published", 270, "~$191.89")


@pytest.mark.parametrize("name", ["first-speaker", "volume", "moves"])
def test_verdicts_that_say_nothing_of_rounds(name: str) -> None:
    """Tables of rounds are empty for runs of versions that did not measure them, and say what to do."""
    old = evidence(alone=[game(UNIFORM[0], [seat(0)], [model(0)], None)])

    with pytest.raises(UsageError, match="needs verdicts that say what each seat did in each round"):
        report(old, [name], published=False)
