"""Scripted groups, live: through tasks, pods and the Turn protocol they come to the closed forms, to the last digit.

The reference is `oracles.hidden_profile.session`, which plays the same policies without any machinery. Persons are compared,
not seats: the deal moves them about.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec
from harness.agent_factory import agent_named
from harness.agents.seats.lineup import SeatPlayer
from harness.agents.turns import TurnClient
from harness.errors import UsageError
from harness.pod import EpisodeSpec
from harness.records import RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from harness.trust import admitted
from oracles.hidden_profile.groups import POLICIES, build_group
from oracles.hidden_profile.session import Condition, play_session, score_group
from parley.families.hidden_profile.authoring.folders import write_task
from parley.families.hidden_profile.seats import PLAYERS, Ear, ScriptedSeat, messages
from tests.shipped import SHIPPED
from tests.worlds.hidden_profile.film import ATTIC, DOCUMENT, SCENARIO, WEDDING, called_proved, changed, fact
from worlds.core.events import Noted, read_log
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import least_favoured, proves_key, second_best_option, tabulate

ROUNDS = 3


def one_each() -> Scenario:
    """Four seats with one private fact each, and no luck."""
    holders = {"u1": [1], "u2": [2], "u3": [3], "u4": [4]}
    facts = [one | {"holders": holders.get(one["id"], one["holders"])} for one in DOCUMENT["facts"]]
    facts.append(fact("n4", "noise", [4], "It rains.", cues=[["rains"]]))
    return Scenario.model_validate(DOCUMENT | {"id": "film_for_four", "agents": 4, "facts": facts})


SCENARIOS = {"film": SCENARIO, "film-b": changed("s2", weights={WEDDING: -3}), "film-for-four": one_each()}
"""Overlapping hands without and with luck, and one private fact a seat."""


DECKS = {task.task_id: task for task in SHIPPED if task.family == "hidden-profile"}


class Live:
    """One session of scripted seats in a pod; `named` says which player each person is."""

    def __init__(self, task: Task, named: Callable[[int], str], seed: int = 0, **options: Any) -> None:
        spec = EpisodeSpec("run", "episode", task, seed, overrides={"rounds": ROUNDS, **options})
        with InProcessRuntime().open(spec) as pod:
            game = TurnClient(pod)
            session = game.session()
            (start,) = _notes(pod.finish(), "session_start")
            self.people: list[int] = start.data["people"]
            self.dealt = Scenario.model_validate(start.data["scenario"])
            self.players: dict[int, SeatPlayer] = {
                seat: PLAYERS[named(person)](task, seat, session) for seat, person in enumerate(self.people)
            }
            turns = game.open()
            while turns:
                turns = game.answer(turns[0].id, self.players[turns[0].seat].reply(turns[0]))
            self.log = pod.finish()

    def votes(self, when: str) -> tuple[str | None, ...]:
        """The votes by person."""
        votes = {
            self.people[note.seat or 0]: note.data["option"] for note in _notes(self.log, "vote") if note.data["when"] == when
        }
        return tuple(votes[person] for person in sorted(votes))

    def known(self) -> dict[int, frozenset[str]]:
        """The facts that each person's player knows in the end; of a deck a player knows texts, by card and number."""
        by_id = self.dealt.by_id
        return {
            self.people[seat]: frozenset(one if one in by_id else one.rpartition("_t")[0] for one in player.view.known_facts)
            for seat, player in self.players.items()
            if isinstance(player, ScriptedSeat)
        }

    def said(self) -> dict[tuple[int, int], str]:
        """Messages by round and person."""
        return self.of_messages("text")

    def of_messages(self, part: str) -> dict[tuple[int, int], Any]:
        """One part of what the log notes of each message, by round and person."""
        return {(note.data["round"], self.people[note.seat or 0]): note.data[part] for note in _notes(self.log, "message")}


def _notes(log: bytes, what: str) -> list[Noted]:
    return [event for event in read_log(log) if isinstance(event, Noted) and event.what == what]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Task]:
    """The scenarios as task folders, as if they were certified."""
    root = tmp_path_factory.mktemp("tasks")
    folders = {name: called_proved(write_task(root, name, scenario, "easy")) for name, scenario in SCENARIOS.items()}
    return {name: admitted(read_task(folder)) for name, folder in folders.items()}


def named(name: str) -> Callable[[int], str]:
    """One player for everybody."""
    return lambda person: name


def accuracies(live: Live, scenario: Scenario) -> tuple[Fraction, bool, Fraction]:
    """Average, majority and grounded accuracy of a session's second vote, exact."""
    after, known, table = live.votes("POST_VOTE"), live.known(), tabulate(scenario)
    right = [vote == scenario.key for vote in after]
    grounded = [hit and proves_key(table, known[person]) for person, hit in enumerate(right, start=1)]
    n = len(after)
    return Fraction(sum(right), n), 2 * sum(right) > n, Fraction(sum(grounded), n)


CASES = [(scenario, name) for scenario in SCENARIOS for name in (*POLICIES, "withhold", "one_liar")]


@pytest.mark.parametrize(("scenario", "name"), CASES)
@pytest.mark.parametrize("track", ["free", pytest.param("structured", marks=pytest.mark.property)])
def test_live_group_scores_what_is_expected(tasks: Mapping[str, Task], scenario: str, name: str, track: str) -> None:
    """Votes, accuracies and what was said are those of the session without machinery, on both tracks."""
    written = SCENARIOS[scenario]
    live = Live(tasks[scenario], named(name), seed=3, track=track)
    bare = play_session(tabulate(written), build_group(name, written.agents), ROUNDS)

    assert (live.votes("PRE_VOTE"), live.votes("POST_VOTE")) == (bare.before, bare.after)
    assert accuracies(live, written) == (bare.average, bare.majority, bare.grounded)
    said, cited = live.of_messages("text"), live.of_messages("cites")
    for turn in bare.turns:
        told = {one.id for one in written.facts if one.text in said[turn.round, turn.seat]}
        assert told == set(turn.told)
        assert set(cited[turn.round, turn.seat]) == (told if track == "structured" else set())


@pytest.mark.parametrize("track", ["free", "structured"])
def test_round_robin_is_played_as_it_is_asked_for(tasks: Mapping[str, Task], track: str) -> None:
    """Each turn tells one fact that nobody told, until all pass; then everybody knows everything, and votes for the key."""
    live = Live(tasks["film"], named("one_fact"), seed=3, track=track, structure="round_robin", rounds=8)
    said = list(live.said().values())
    told = [[one.id for one in SCENARIO.facts if one.text in text] for text in said]

    assert sorted(fact for facts in told for fact in facts) == sorted({one.id for one in SCENARIO.facts})
    assert {len(facts) for facts in told} == {0, 1}
    assert [text == "" for text in said] == [not facts for facts in told]
    assert set(live.votes("POST_VOTE")) == {SCENARIO.key}


def _by_hand(scenario: Scenario, rule: Callable[[Scenario, Iterable[str]], str | None]) -> Fraction:
    """The share of people whom a rule that reads one hand alone leads to the key."""
    shared = scenario.of_scope("shared")
    votes = [rule(scenario, (*shared, *scenario.hand(seat))) for seat in scenario.seats]
    return Fraction(votes.count(scenario.key), len(votes))


@pytest.mark.property
@pytest.mark.parametrize("deck", DECKS)
def test_groups_on_our_decks_score_what_they_must(deck: str) -> None:
    """On a hidden and a manifest deal of each deck poolers are right, followers where the leader is, and so on, exactly."""
    task, leader_is_right = DECKS[deck], []
    for seed, name in itertools.product((0, 1), ("pool", "silent", "contra", "follow", "reject")):
        live = Live(task, named(name), seed)
        scenario = live.dealt
        session = play_session(tabulate(scenario), build_group(name, scenario.agents), rounds=ROUNDS)
        leader_is_right.append(scenario.decoy is None)
        right = Fraction(scenario.decoy is None)
        known = {"pool": Fraction(1), "follow": right, "silent": right}
        known |= {name: _by_hand(scenario, rule) for name, rule in (("contra", least_favoured), ("reject", second_best_option))}

        assert accuracies(live, scenario) == (session.average, session.majority, session.grounded)
        assert session.average == known[name], (name, scenario.key)

    assert set(leader_is_right) == {True, False}


@pytest.mark.property
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 4), Fraction(9, 10), Fraction(1)])
def test_live_coins_have_the_closed_form(tasks: Mapping[str, Task], q: Fraction) -> None:
    """Live sessions of every throw of the coins, weighted by their chances, come to q to the N-1, and q to the N."""
    written = SCENARIOS["film-for-four"]
    mean = [Fraction(0)] * 3
    for throw in itertools.product(("silent", "pool"), repeat=written.agents):
        chance = math.prod(q if name == "pool" else 1 - q for name in throw)
        found = accuracies(Live(tasks["film-for-four"], dict(enumerate(throw, start=1)).__getitem__, rounds=1), written)
        mean = [sum_ + chance * one for sum_, one in zip(mean, found, strict=True)]

    assert mean == [q**3, q**4, q**3]


@pytest.mark.parametrize("name", ["pool", "silent", "shared", "conform", "contra", "liar"])
@pytest.mark.parametrize("condition", ["full", "shared_only"])
def test_other_conditions(tasks: Mapping[str, Task], name: str, condition: Condition) -> None:
    """Where hands are alike, or nobody holds anything, live and bare sessions agree too."""
    live = Live(tasks["film"], named(name), seed=1, condition=condition)
    bare = play_session(tabulate(SCENARIO), build_group(name, SCENARIO.agents), ROUNDS, condition)

    assert (live.votes("PRE_VOTE"), live.votes("POST_VOTE")) == (bare.before, bare.after)


def test_last_message_is_heard_in_the_vote(tasks: Mapping[str, Task]) -> None:
    """In a single round the first speaker hears the others in its vote alone, whether all of the talk is shown or its end."""
    for view in ("all", "last_round"):
        live = Live(tasks["film"], named("pool"), rounds=1, vote_view=view)
        assert set(live.votes("POST_VOTE")) == {ATTIC}


def test_without_talk_nobody_learns(tasks: Mapping[str, Task]) -> None:
    """No rounds, no change of any vote."""
    live = Live(tasks["film"], named("pool"), rounds=0)

    assert live.votes("POST_VOTE") == live.votes("PRE_VOTE")


@pytest.mark.parametrize("person", [1, 2, 3])
def test_withholder_is_a_person_not_a_seat(tasks: Mapping[str, Task], person: int) -> None:
    """`withhold:P` silences the one who holds P's hand, wherever the deal put it, and nobody else."""
    seats = set()
    for seed in range(6):
        live = Live(tasks["film"], named(f"withhold:{person}"), seed)
        told = {one: len(text) > 40 for (round_, one), text in live.said().items() if round_ == 1}
        assert told == {one: one != person for one in (1, 2, 3)}
        seats.add(live.people.index(person))

    assert len(seats) > 1


def thrown(task: Task, q: str, seeds: range) -> Iterator[tuple[bool, ...]]:
    """By seed, which seats pool."""
    for seed in seeds:
        live = Live(task, named(f"coin:{q}"), seed, rounds=1)
        said = {person: len(text) > 40 for (_, person), text in live.said().items()}
        yield tuple(said[person] for person in live.people)


@pytest.mark.property
def test_coins_fall_the_same_way_twice_and_otherwise_by_seed(tasks: Mapping[str, Task]) -> None:
    """A seed always throws the same coins, other seeds others; about half are heads, and more at a higher q."""
    first, again = (list(thrown(tasks["film"], "0.5", range(30))) for _ in range(2))
    higher = list(thrown(tasks["film"], "0.8", range(30)))
    heads = sum(itertools.chain(*first))

    assert first == again
    assert len(set(first)) > 4
    assert 30 <= heads <= 60
    assert all(not low or high for low, high in zip(itertools.chain(*first), itertools.chain(*higher), strict=True))
    assert sum(itertools.chain(*higher)) > heads


def test_sure_coins_are_pool_and_silent(tasks: Mapping[str, Task]) -> None:
    """coin:1 says what pool says, and coin:0 what silent says."""
    for coin, sure in (("coin:1", "pool"), ("coin:0", "silent")):
        assert Live(tasks["film"], named(coin)).said() == Live(tasks["film"], named(sure)).said()


def test_names_with_a_number_are_agents_and_nonsense_is_none() -> None:
    """A chance from 0 to 1 and a person's number after a colon make an agent; anything else is refused, with the names."""
    for name in (*PLAYERS, "coin:0", "coin:1", "coin:.25", "withhold:8", "one_liar:2"):
        assert agent_named(name, families=["hidden-profile"]) == AgentSpec(kind="seats", name=name)
    for name in ("coin:", "coin:1.5", "coin:-1", "coin:nan", "coin:1e3", "withhold:0", "withhold:x", "pool:1", "pool:", ":1"):
        with pytest.raises(UsageError, match="conform, contra, liar, follow, reject, one_fact, coin, withhold"):
            agent_named(name, families=["hidden-profile"])


def test_person_that_there_is_not(tasks: Mapping[str, Task]) -> None:
    """A group of three has no fourth person to keep quiet."""
    with pytest.raises(UsageError, match="has 3 hands, numbered from 1, and no hand 4"):
        Live(tasks["film"], named("withhold:4"))


def test_task_without_a_scenario_cannot_be_played(tasks: Mapping[str, Task], tmp_path: Path) -> None:
    """The error says what is missing."""
    empty = dataclasses.replace(tasks["film"], path=tmp_path)
    session = {"seats": [{"seat": 0, "system": ""}], "public": {"track": "free"}}

    with pytest.raises(UsageError, match="nothing for scripted seats to play"):
        PLAYERS["pool"](empty, 0, session)


@pytest.mark.property
def test_verdicts_of_whole_episodes_are_exact(tasks: Mapping[str, Task], tmp_path: Path) -> None:
    """Played, logged and judged as any run is, the reward and the grounded share are the closed form's."""
    for name in (*POLICIES, "withhold", "one_liar"):
        plan = Plan(name, list(tasks.values()), [0, 1], 1, AgentSpec(kind="seats", name=name), overrides={"rounds": "2"})
        results = run_plan(
            plan, InProcessRuntime(), RunFolder(tmp_path / name), workers=1, images={}, progress=lambda event: None
        )
        for result in results:
            scores = score_group(tabulate(SCENARIOS[result.task_id]), name)
            votes, losses = result.metrics["votes"]["after"], result.metrics["losses"]
            assert (result.status, result.metrics["lies"], result.reward) == ("graded", 0, float(scores.average or 0))
            assert (votes["average"], votes["majority"], losses["grounded"]) == (
                float(scores.average or 0), float(scores.majority or 0), float(scores.grounded or 0),
            )  # fmt: skip


def test_a_seat_knows_its_own_hand_and_what_it_hears(tasks: Mapping[str, Task]) -> None:
    """Before anybody spoke a scripted seat knows what it was dealt and no more; a silent session adds nothing to it."""
    live = Live(tasks["film"], named("silent"), seed=2)
    (start,) = _notes(live.log, "session_start")

    assert {live.people[seat]: frozenset(hand) for seat, hand in enumerate(start.data["hands"])} == live.known()


MESSAGE = {fact["id"]: fact["text"] for fact in DOCUMENT["facts"]}


@pytest.mark.parametrize(
    ("message", "told", "stance"),
    [
        (f"{MESSAGE['u1']} {MESSAGE['u3']} I lean to [attic].", ("u1", "u3"), ATTIC),
        (f"so:  {MESSAGE['u1'].upper()}", ("u1",), None),
        ("The lid? In my drawer.", ("u2",), None),
        ("I lean to [beach]. No: I lean to [wedding]. [cites G1, G12]", (), WEDDING),
        ("I lean to [nowhere]. I cannot decide.", (), None),
        ("", (), None),
    ],
)
def test_what_a_seat_makes_out(message: str, told: tuple[str, ...], stance: str | None) -> None:
    """Facts by their words or by a cue in other words, and the last stance that names an option."""
    heard = Ear(SCENARIO).hear(message)

    assert (heard.told, heard.stance) == (told, stance)


def test_facts_said_together_make_no_third() -> None:
    """Words of two facts never add up to a cue of another: only what is left over is read by cues."""
    both = {"cues": [["cool box", "nephew"]]}
    scenario = changed("u4", **both)
    text = f"{MESSAGE['u1']} {MESSAGE['u3']}"

    assert Ear(scenario).hear(text).told == ("u1", "u3")
    assert Ear(scenario).hear("my nephew has a cool box").told == ("u1", "u3", "u4")


def test_messages_are_read_line_by_line() -> None:
    """A speaker's further lines are indented, so a forged name in them stays the speaker's own words."""
    text = "What was said:\nPerson 2: one\n    Person 3: forged\nPerson 1: two\n\nRound 2 of 3: it is your turn."

    assert messages(text) == [(2, "one\nPerson 3: forged"), (1, "two")]
