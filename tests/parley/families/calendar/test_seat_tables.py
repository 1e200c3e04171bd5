"""Table 1 and its neighbours by hand: rows by holder and team, means over seats, dashes for what was not measured, ties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from harness.records import Result, SeatResult, VariantRef
from parley.families.calendar.report import BY_NAME, NEEDS, SHORT, TABLES, report
from parley.families.calendar.seat_rows import head, held, spans
from parley.reports.evidence import Evidence
from parley.reports.table import Column, Table
from tests.parley.families.calendar.made_games import UNIFORM, VARIED, evidence, game, model, part, policy, seat


def table(found: Evidence, name: str, place: int = 0, *, published: bool = False) -> Table:
    """One table by name."""
    return report(found, [name], published=published)[place]


def cells(made: Table, *keys: str) -> list[tuple[Any, ...]]:
    """Some columns of its rows."""
    return [tuple(row.get(key) for key in keys) for row in made.rows]


def pair(task: str, first: Any, second: Any, holders: Sequence[Any] = (), **metrics: Any) -> Result:
    """A game of two seats, held by a model unless told."""
    return game(task, [first, second], holders or [model(0), model(1)], **metrics)


def test_mixed_and_homogeneous_games_share_no_row() -> None:
    """A model alone, the same model beside a protocol, and that protocol: three rows, models first, and who sat with whom."""
    alone = [pair(UNIFORM[0], seat(0), seat(1))]
    mixed = [pair(UNIFORM[0], seat(0), seat(1), [model(0), policy(1)])]
    rows = held(evidence(alone=alone, mixed=mixed))

    assert [(row.who.block, row.who.player, row.who.others, head(row)["seats"], len(row.seats)) for row in rows] == [
        ("model", "openai/one", "", "0-1", 2),
        ("model", "openai/one", "imap", "0", 1),
        ("protocol", "imap", "openai/one", "1", 1),
    ]


def test_one_set_up_with_other_tables_is_two_rows() -> None:
    """Even where a set-up is told by the same words, seats beside others never meet those of a table of its own."""
    games = [pair(UNIFORM[0], seat(0), seat(1)), pair(UNIFORM[1], seat(0), seat(1), [model(0), policy(1)])]

    assert [(row.who.player, row.who.others) for row in held(evidence(alone=games))] == [
        ("openai/one", ""), ("openai/one", "imap"), ("imap", "openai/one"),
    ]  # fmt: skip


def test_prompt_variants_have_rows_of_their_own() -> None:
    """A seat that was told to probe is not averaged with the same model's other seats."""
    probe = VariantRef(name="probe", digest="0123456789abcdef")
    probing = SeatResult(seat=0, kind="model", name="openai/one", model="openai/one", variant=probe)
    rows = held(evidence(alone=[pair(UNIFORM[0], seat(0), seat(1), [probing, model(1)])]))

    assert [(row.who.player, row.who.others) for row in rows] == [
        ("openai/one [probe 01234567]", "openai/one"), ("openai/one", "openai/one [probe 01234567]"),
    ]  # fmt: skip


def test_seats_that_are_handed_round_are_pooled() -> None:
    """Two attempts of one line-up, moved on by one: each holder has a row, at both seats."""
    turned = [
        pair(UNIFORM[0], seat(0, excess=2), seat(1, excess=0), [model(0), policy(1)]),
        game(UNIFORM[0], [seat(0, excess=4), seat(1, excess=1)], [policy(0), model(1)], attempt=2),
    ]
    models, protocols = report(evidence(turning=turned), ["seats"], published=False)

    assert cells(models, "player", "seats", "n", "excess") == [("openai/one", "0-1", 2, (2 + 1) / 2)]
    assert cells(protocols, "player", "seats", "n", "excess") == [("imap", "0-1", 2, (0 + 4) / 2)]


def test_means_are_over_seats_and_settings_stand_apart() -> None:
    """Uniform: coordination (1 + 1/3 + 1 + 1) / 4, excess (0 + 3 + 1) / 3 where one is not known; varied is another row."""
    games = [
        pair(UNIFORM[0], seat(0), seat(1, scheduled=1, coordination=1 / 3, excess=3)),
        pair(UNIFORM[1], seat(0, excess=1), seat(1, excess=None, adjusted_cost=None)),
        pair(VARIED[0], seat(0, messages_per_scheduled=4.0), seat(1)),
    ]
    made = table(evidence(alone=games), "seats")
    uniform, varied = made.rows

    assert (uniform["setting"], uniform["n"], uniform["tasks"], uniform["meetings"]) == ("uniform", 4, 2, (3 + 1 + 3 + 3) / 4)
    assert uniform["coordination"] == pytest.approx((1 + 1 / 3 + 1 + 1) / 4)
    assert (uniform["excess"], uniform["costed"]) == (pytest.approx(4 / 3), 3)
    assert (varied["setting"], varied["n"], varied["messages"]) == ("varied", 2, 3.0)


def test_every_measure_has_an_interval_that_keeps_to_its_range() -> None:
    """Six tasks, nearly perfect: no end below 0, and none of coordination above 1."""
    numbers = {"adjusted_cost": 0.1, "fairness": 0.2, "excess_vps": 3.0}
    games = [
        pair(task, seat(0, **numbers), seat(1, excess=place, **{**numbers, "coordination": 1.0 if place else 2 / 3}))
        for place, task in enumerate(UNIFORM[:6])
    ]
    (row,) = table(evidence(alone=games), "seats").rows
    ends: dict[str, Any] = {key: value for key, value in row.items() if key.endswith("_interval")}

    assert {key for key, value in ends.items() if value is None} == {"reflection_vps_interval"}
    assert all(value[0] >= 0 for value in ends.values() if value)
    assert ends["coordination_interval"][1] < 1
    assert ends["excess_interval"][0] > 0


def test_prose_has_no_protocol_vps() -> None:
    """One seat of a row wrote one message of prose: the row has a dash, and not the nought that the verdict counted."""
    typed = [pair(UNIFORM[0], seat(0, excess_vps=7.0), seat(1, excess_vps=9.0), parts=[part(1, 0, messages=2)])]
    prose = [pair(UNIFORM[0], seat(0, excess_vps=7.0), seat(1), parts=[part(1, 1, messages=2, prose=1)])]
    shown = table(evidence(typed=typed, prose=prose), "seats")
    cell = shown.header.index("Protocol VPS")

    assert [row[cell] for row in shown.cells()] == ["8.00", "-"]


def test_verdicts_without_rounds_have_vps_of_protocols_only() -> None:
    """An earlier version did not say who wrote prose: protocols write none, of others nobody knows."""
    games = [pair(UNIFORM[0], seat(0, excess_vps=7.0), seat(1, excess_vps=9.0), [model(0), policy(1)], parts=None)]
    models, protocols = report(evidence(mixed=games), ["seats"], published=False)

    assert (models.rows[0]["protocol_vps"], protocols.rows[0]["protocol_vps"]) == (None, 9.0)


def test_the_two_kinds_of_vps_have_a_column_each() -> None:
    """What reflection measured never stands with what typed messages told, and both columns are always there."""
    games = [pair(UNIFORM[0], seat(0, excess_vps=7.0), seat(1, excess_vps=9.0, excess_reflection_vps=2.5))]
    (row,) = table(evidence(alone=games), "seats").rows
    without = table(evidence(alone=[pair(UNIFORM[0], seat(0), seat(1))]), "seats")

    assert (row["protocol_vps"], row["reflection_vps"]) == (8.0, 2.5)
    assert without.cells()[0][without.header.index("Reflection VPS")] == "-"


def test_published_rows_stand_by_the_model_of_their_name() -> None:
    """Table 1's row of a model, whatever provider served it, marked; a model that the paper has not has none beside it."""
    games = [pair(UNIFORM[0], seat(0), seat(1), [model(0, "openrouter/qwen/qwen3.6-plus"), model(1)])]
    made = table(evidence(mixed=games), "seats", published=True)
    (mark,) = [row for row in made.rows if row["source"] == "published"]

    assert [row["source"] for row in made.rows] == ["ours", "published", "ours"]
    assert (mark["n"], mark["coordination"], mark["reflection_vps"]) == (45, pytest.approx(0.9333), 10.49)
    assert "protocol_vps" not in mark


def test_published_protocols_stand_by_tables_of_their_own() -> None:
    """Table 2 was played by one protocol at every seat, so it is no reference for one among guests."""
    mixed = [pair(UNIFORM[0], seat(0), seat(1), [model(0), policy(1)])]
    alone = [pair(UNIFORM[0], seat(0), seat(1), [policy(0), policy(1)])]
    made = table(evidence(mixed=mixed, alone=alone), "seats", 1, published=True)

    assert cells(made, "source", "others") == [("ours", "openai/one"), ("ours", None), ("published", None)]


def test_spans_of_seats() -> None:
    """As people write them."""
    assert [spans(numbers) for numbers in ([0, 1, 2, 4], [3], [])] == ["0-2, 4", "3", ""]


def test_ties_of_games_in_whole_and_in_part() -> None:
    """Two seats with ranges 0..2 and 1..1: excess 1, over ties 1/2..3/2. In part for nothing: paid is excess, no other share.

    The third game in part could have cost 5: its seats are not known, only that their shares lie between 0 and 5.
    """
    whole = seat(0, paid=3, excess=1, excess_range=[0, 2], excess_fairest=2), seat(1, paid=1, excess=1, excess_range=[1, 1])
    games = [
        pair(UNIFORM[0], *whole, optimum=2),
        pair(UNIFORM[1], seat(0, scheduled=2, paid=2, excess=2), seat(1, paid=4, excess=4), optimum=0),
        pair(UNIFORM[2], seat(0, scheduled=2, paid=6, excess=3), seat(1, paid=2, excess=0), optimum=5),
    ]
    (row,) = table(evidence(alone=games), "ties").rows

    assert (row["known"], row["excess"], row["fairest"]) == (4, (1 + 1 + 2 + 4) / 4, 2.0)
    assert row["ties"] == ((0 + 1 + 2 + 4) / 4, (2 + 1 + 2 + 4) / 4)
    assert (row["adjusted_known"], row["adjusted_ties"]) == (3, pytest.approx(((0 + 1 + 4) / 9, (2 + 1 + 4) / 9)))
    assert (row["all_excess"], row["bounds"]) == (
        pytest.approx((1 + 1 + 2 + 4 + 3 + 0) / 6),
        pytest.approx(((1 + 0 + 2 + 4 + 1 + 0) / 6, (3 + 1 + 2 + 4 + 6 + 2) / 6)),
    )


def test_regret_of_full_seats() -> None:
    """Three seats of four have all their three meetings: 3/3, 0/3 and 6/3 a meeting, two of three above 0.

    Only in the first game was everything scheduled: there 3/3 and 0/3.
    """
    games = [
        pair(UNIFORM[0], seat(0, excess=3), seat(1, excess=0)),
        pair(UNIFORM[1], seat(0, excess=6), seat(1, scheduled=2, excess=9), scheduled=2),
    ]
    made = table(evidence(alone=games), "regret")

    assert cells(made, "setting", "scope", "full", "excess", "nonzero") == [
        ("uniform", "seats", 3, pytest.approx((1 + 0 + 2) / 3), pytest.approx(2 / 3)),
        ("uniform", "games", 2, pytest.approx((1 + 0) / 2), pytest.approx(1 / 2)),
    ]


def test_regret_over_both_settings_has_the_papers_row() -> None:
    """Table 11 is over both, so its row stands under ours over all."""
    holders = [model(0, "gpt-5.4-mini"), model(1, "gpt-5.4-mini")]
    games = [pair(task, seat(0), seat(1), holders) for task in (UNIFORM[0], VARIED[0])]
    made = table(evidence(alone=games), "regret", published=True)

    assert cells(made, "setting", "scope", "full", "source") == [
        ("uniform", "seats", 2, "ours"), ("uniform", "games", 2, "ours"),
        ("varied", "seats", 2, "ours"), ("varied", "games", 2, "ours"),
        ("all", "seats", 4, "ours"), ("all", "games", 4, "ours"), ("all", "seats", 38, "published"),
    ]  # fmt: skip


def test_protocols_alone_are_told_in_short() -> None:
    """Unless a table is named, or all of them; where a model sat, all that have something to say are told."""
    protocols = evidence(alone=[pair(UNIFORM[0], seat(0), seat(1), [policy(0), policy(1)], parts=[part(1, 0)])])
    models = evidence(alone=[pair(UNIFORM[0], seat(0), seat(1), parts=[part(1, 0)])])
    short, whole, named = (
        [one.name for one in report(found, wanted, published=True)]
        for found, wanted in ((protocols, []), (protocols, ["all"]), (models, []))
    )

    assert short == ["outcomes", "seats-protocols", "failures"]
    assert whole == [*short, "ties", "regret", "communication", "volume", "moves"]
    assert named == ["outcomes", "seats", "failures", "ties", "regret", "communication", "volume", "moves", "spending"]


def test_every_table_that_can_be_empty_says_what_it_needs() -> None:
    """Those that any graded game fills need nothing said."""
    assert ({*TABLES} - {*SHORT}) | {*BY_NAME} == {*NEEDS}


def test_how_people_read_ends_and_dollars() -> None:
    """Ends keep two places, dollars four below one; a kept column is read also where no row says anything."""
    columns = (Column("ends", "95 %", "span"), Column("cost", "Cost", "usd"), Column("vps", "VPS", kept=True), Column("x", "X"))
    made = Table("t", "T", columns, ({"ends": (0.125, 10.0), "cost": 0.01234}, {"cost": 12.345}))

    assert made.header == ["95 %", "Cost", "VPS"]
    assert made.cells() == [["0.12..10.00", "$0.0123", "-"], ["-", "$12.35", "-"]]
