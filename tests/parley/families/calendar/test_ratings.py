"""Ratings against OpenSkill's own function called directly, with what is ours - averaging, order, MMR - worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from openskill.models import PlackettLuce

from harness.errors import UsageError
from harness.records import Result, SeatResult, Tokens
from oracles.calendar.certificate import certify
from parley.families.calendar.ratings import (
    DIMENSIONS,
    Entry,
    RatedGame,
    Rating,
    Standing,
    by_means,
    mmr,
    rated,
    raw_excess,
    shown_shares,
    standings,
    tables,
)
from parley.families.calendar.report import report
from parley.reports.evidence import Evidence, Group, Setup
from tests.worlds.calendar.random_tasks import canonical, small
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.core.chance import PUBLISHED_KEY, key_digest

COORDINATION, COST, PRIVACY = DIMENSIONS
NEW = Rating(25.0, 25 / 3)


def game(place: int, **scores: float | Sequence[float]) -> RatedGame:
    """A game in which each player has one coordination, or one for each of its seats; other measures follow from it."""
    entries = [
        Entry(player, {"coordination": score, "cost": 10 * (1 - score), "privacy": None})
        for player, given in scores.items()
        for score in ([given] if isinstance(given, int | float) else given)
    ]
    return RatedGame((f"task-{place}", 0, 1, "run"), tuple(entries))


def direct(margin: float, before: Sequence[Rating], scores: Sequence[float]) -> list[Rating]:
    """OpenSkill's own answer to one free-for-all."""
    model = PlackettLuce(margin=margin)
    made = model.rate([[model.rating(*rating)] for rating in before], scores=list(scores))
    return [Rating(one.mu, one.sigma) for (one,) in made]


def test_one_game_of_five_is_openskills_own() -> None:
    """Five players who are new: their scores go in as they are, with the dimension's margin, and the answer is taken over."""
    scores = {"a": 1.0, "b": 2 / 3, "c": 1 / 3, "d": 1.0, "e": 0.0}
    expected = direct(0.2, [NEW] * 5, list(scores.values()))

    assert rated([game(1, **scores)], COORDINATION) == dict(zip(scores, expected, strict=True))
    assert expected[0].mu == expected[3].mu > 25 > expected[2].mu > expected[4].mu


def test_a_second_game_begins_where_the_first_ended() -> None:
    """Known players meet: their ratings of before go in, and now the margin counts, since their mu differ."""
    first, second = {"a": 1.0, "b": 0.0, "c": 1 / 3}, {"a": 0.0, "b": 1.0, "c": 2 / 3}
    before = direct(0.2, [NEW] * 3, list(first.values()))
    expected = direct(0.2, before, list(second.values()))

    assert rated([game(1, **first), game(2, **second)], COORDINATION) == dict(zip("abc", expected, strict=True))
    assert expected != direct(1000.0, before, list(second.values()))


def test_less_is_better_in_cost_and_privacy() -> None:
    """Excess goes in with its sign turned, under its own margin of 10; VPS under 5."""
    games = [RatedGame(("t", 0, 1, "r"), tuple(Entry(p, {"cost": c, "privacy": v}) for p, c, v in
                                               (("a", 0.0, 9.0), ("b", 110.0, 0.0), ("c", 20.0, 3.5))))]  # fmt: skip
    cost, privacy = direct(10.0, [NEW] * 3, [0.0, -110.0, -20.0]), direct(5.0, [NEW] * 3, [-9.0, 0.0, -3.5])

    assert list(rated(games, COST).values()) == cost
    assert list(rated(games, PRIVACY).values()) == privacy
    assert cost[0].mu > cost[2].mu > cost[1].mu
    assert privacy[1].mu > privacy[2].mu > privacy[0].mu


def test_updates_of_two_seats_are_averaged() -> None:
    """A model at two seats enters twice, and ends at the mean of both mu and of both sigma."""
    first, second, other = direct(0.2, [NEW] * 3, [1.0, 0.0, 1 / 3])
    ratings = rated([game(1, twice=[1.0, 0.0], once=1 / 3)], COORDINATION)

    assert ratings["once"] == other
    assert ratings["twice"].mu == pytest.approx((first.mu + second.mu) / 2)
    assert ratings["twice"].sigma == pytest.approx((first.sigma + second.sigma) / 2)
    # 25 + 2.08 and 25 - 2.08: what one seat wins the other loses, and the average of both is no news
    assert abs(ratings["twice"].mu - 25) < abs(first.mu - 25)


def test_a_game_of_one_model_is_not_rated() -> None:
    """Five seats of one model say nothing of anybody else; so does a measure that only one of two has."""
    alone = game(1, same=[1.0, 0.0, 1.0])
    half = RatedGame(("t", 0, 1, "r"), (Entry("a", {"privacy": 1.0}), Entry("b", {"privacy": None})))

    assert rated([alone], COORDINATION) == {}
    assert rated([half], PRIVACY) == {}
    assert standings([alone], orders=2) == []


def test_the_order_of_games_matters() -> None:
    """Each of two models wins once by as much, and two orders rank them differently: here whoever won first stands above."""
    won, lost = game(1, a=1.0, b=0.0), game(2, a=0.0, b=1.0)
    there, back = rated([won, lost], COORDINATION), rated([lost, won], COORDINATION)

    assert there["a"].mu > 25 > there["b"].mu
    assert back["b"].mu > 25 > back["a"].mu
    assert there["a"] == back["b"]


def test_orders_say_how_far_ratings_move() -> None:
    """The fixed order gives the rating; other orders give its range and how often each rank occurs."""
    games = [game(1, a=1.0, b=0.0), game(2, a=0.0, b=1.0)]
    first, second = standings(reversed(games), orders=40)
    low, high = first.spread["coordination"]

    assert (first.player, second.player) == ("b", "a")
    assert set(first.ranks) == {1, 2}
    assert sum(first.ranks.values()) == pytest.approx(1)
    assert first.ranks[1] == pytest.approx(second.ranks[2])
    assert low < 25 < high
    assert low <= first.ratings["coordination"].mu <= high
    assert standings(games, orders=40) == [first, second]


def test_mmr_by_hand() -> None:
    """(30 - 3 x 2 + 20 - 3 x 4) / 2 = (24 + 8) / 2 = 16; of one dimension that one; of none nothing."""
    assert mmr([Rating(30, 2), Rating(20, 4)]) == 16
    assert mmr([Rating(30, 2)]) == 24
    assert mmr([]) is None


def test_means_rank_without_ratings() -> None:
    """Coordination first, whatever it costs; then excess; then VPS; then names."""
    told = {"d": (0.9, 0.0, 0.0), "c": (1.0, 2.0, 0.0), "b": (1.0, 1.0, 9.0), "a": (1.0, 1.0, 9.0), "e": (1.0, 1.0, 8.0)}
    players = [
        Standing(name, 1, 1, {}, dict(zip((d.name for d in DIMENSIONS), means, strict=True)), None, {}, {})
        for name, means in told.items()
    ]

    assert by_means(players) == ["e", "a", "b", "c", "d"]


TASK = Scenario(
    slots=3,
    errands=((Errand(slot=0, id=1, cost=100), Errand(slot=1, id=2, cost=1)), (Errand(slot=2, id=3, cost=10),), ()),
    meetings=(Meeting(id=1, participants=(0, 1)), Meeting(id=2, participants=(0, 2))),
    scale={1: 1, 10: 2, 100: 3},
)
"""Agent 0 has one free cell, slot 2, and two meetings: no schedule of both; M1 alone costs least over the errand of cost 1."""


def test_shown_shares_by_hand() -> None:
    """M1 at slot 1: agent 0 pays 1, agent 1 nothing; at slot 2 agent 1 would pay 10. M2 at slot 2 costs nothing."""
    assert shown_shares(TASK.to_json().encode()) == {(): (0, 0, 0), (1,): (1, 0, 0), (2,): (0, 0, 0)}


@pytest.mark.parametrize("seed", range(12))
def test_shown_shares_are_the_optimum_of_the_certificate(seed: int) -> None:
    """Where shown and scored costs are one, the shares are the certificate's, for every subset."""
    scenario = (canonical(seed, agents=4, slots=8, meetings=3) if seed % 3 == 0 else small(seed)).model_copy(
        update={"scale": {}}
    )
    shares = shown_shares(scenario.to_json().encode())
    certificate = certify(scenario)

    assert certificate.by_subset is not None
    expected = {name: best.per_agent for name, best in certificate.by_subset.items() if best.per_agent is not None}
    assert {",".join(map(str, done)): shares[done] for done in shares} == expected


def result(models: Sequence[str], coordination: Sequence[float], attempt: int = 1, **told: float) -> Result:
    """A graded game; a name in small letters is a policy."""
    seats = tuple(
        SeatResult(
            seat=seat, kind="model" if name[0].isupper() else "policy", name=name, model=name if name[0].isupper() else None
        )
        for seat, name in enumerate(models)
    )
    rows = [
        {"seat": seat, "coordination": share, "paid_shown": 0, "excess": seat, "excess_vps": 2.0, **told}
        for seat, share in enumerate(coordination)
    ]
    return Result(
        run="r", task_id="t", family="calendar", seed=0, attempt=attempt, agent="x", runtime="inprocess", status="graded",
        key_digest=key_digest(PUBLISHED_KEY), seats=seats, tokens=Tokens(), metrics={"seats": rows, "rounds": []},
    )  # fmt: skip


def gathered(*results: Result) -> Evidence:
    """Games of one group, without a registry."""
    setup = Setup("x", None, (), ())
    return Evidence("calendar", (Group(setup, "x", None, graded=list(results)),), {})


def test_policies_have_a_block_of_their_own() -> None:
    """Two models are rated against each other; the policy beside them is in no rating, and is listed apart."""
    ratings, apart = tables(gathered(result(["One", "Two", "imap"], [1.0, 0.5, 0.75])), published=True)

    assert [row["player"] for row in ratings.rows] == ["One", "Two"]
    assert [row["coordination_mu"] for row in ratings.rows] == [one.mu for one in direct(0.2, [NEW] * 2, [1.0, 0.5])]
    assert [(row["player"], row["coordination"], row["excess"], row["vps"]) for row in apart.rows] == [("imap", 0.75, 2, 2.0)]


def test_protocols_stand_by_coordination_then_excess_then_vps() -> None:
    """The best coordination first, however dear; equals by excess, then by VPS."""
    seats = [("b", 0.5, 0, 0.0), ("a", 0.5, 0, 1.0), ("c", 1.0, 9, 9.0), ("d", 0.5, 1, 0.0)]
    made = result(["One", "Two", *(name for name, *_ in seats)], [1.0, 1.0, *(share for _, share, *_ in seats)])
    for row, (_, _, excess, vps) in zip(made.metrics["seats"][2:], seats, strict=True):
        row.update(excess=excess, excess_vps=vps)
    _, apart = tables(gathered(made), published=True)

    assert [row["player"] for row in apart.rows] == ["c", "b", "a", "d"]


def test_privacy_is_there_once_it_is_measured() -> None:
    """Without the measure the column is empty, and MMR is of the others; with it MMR is of all."""
    without, *_ = tables(gathered(result(["One", "Two"], [1.0, 0.5])), published=True)
    measured, *_ = tables(gathered(result(["One", "Two"], [1.0, 0.5], excess_reflection_vps=3.0)), published=True)

    assert "Excess VPS" not in without.header
    assert "Excess VPS" in measured.header
    (winner, _), expected = direct(5.0, [NEW] * 2, [-3.0, -3.0]), direct(0.2, [NEW] * 2, [1.0, 0.5])
    assert measured.rows[0]["privacy_mu"] == winner.mu
    assert without.rows[0]["mmr"] == pytest.approx(expected[0].sure)
    assert measured.rows[0]["mmr"] == pytest.approx((expected[0].sure + winner.sure) / 2)


def test_rows_show_mu_sigma_and_the_mean() -> None:
    """Mu and sigma, the measure's own mean in brackets, the range over orders; both ranks beside it."""
    ratings, *_ = tables(gathered(result(["One", "Two"], [1.0, 0.5])), published=True)
    row = dict(zip(ratings.header, ratings.cells()[0], strict=True))

    assert (
        row["Coord."]
        == f"{ratings.rows[0]['coordination_mu']:.2f} ± {ratings.rows[0]['coordination_sigma']:.2f} (100.0 %) 27.6..27.6"
    )
    assert (row["By means"], row["By MMR"], row["Ranks by MMR over orders"]) == ("1", "1", "1: 100 %")


def test_games_under_other_rules_make_other_ratings() -> None:
    """One pair of models in two profiles is four rows: nobody's rating mixes them."""
    text, paper = result(["One", "Two"], [1.0, 0.5]), result(["One", "Two"], [0.0, 0.5], attempt=2)
    ratings, *_ = tables(gathered(text, paper.model_copy(update={"options": {"profile": "paper"}})), published=True)

    assert [(row["setup"], row["player"]) for row in ratings.rows] == [
        ("", "One"), ("", "Two"), ("profile=paper", "Two"), ("profile=paper", "One"),
    ]  # fmt: skip


def test_a_report_without_two_models_says_what_is_lacking() -> None:
    """Protocols alone, and one model at every seat, have no ratings."""
    for made in (result(["imap", "imap"], [1.0, 1.0]), result(["One", "One"], [1.0, 0.5])):
        assert tables(gathered(made), published=True) == []
        with pytest.raises(UsageError, match="two models or more"):
            report(gathered(made), ["ratings"], published=True)


def test_raw_excess_of_a_game_whose_scenario_is_gone(tmp_path: Path) -> None:
    """Neither in the registry nor in a log: no cost is rated, and nothing is made up."""
    made = result(["One", "Two"], [1.0, 0.5]).model_copy(update={"path": str(tmp_path)})

    assert raw_excess(made, None, "") == [None, None]
