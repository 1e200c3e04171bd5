"""Options that change nothing in the set-up that was chosen are told before a run, by name and with why."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.paths import ROOT
from harness.registry import Task, discover, read_task, select
from harness.runs.plan import Plan
from parley.families.hidden_profile.authoring.folders import write_task
from tests.conftest import Command
from tests.worlds.hidden_profile.film import SCENARIO

DECKS = ("ferry-street-plate", "cook-for-the-long-winter")


@pytest.fixture(scope="module")
def decks() -> list[Task]:
    """Two decks of the suite."""
    return select(discover(ROOT / "tasks"), list(DECKS))


def told(tasks: list[Task], **options: str) -> list[str]:
    """What is said of these options."""
    return list(Plan("run", tasks, [0], 1, overrides=options).idle())


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            {"early_stop": "true"},
            "early_stop=true has no effect: only track=structured has the stances that an early stop depends on",
        ),
        (
            {"early_stop": "true", "track": "structured", "rounds": "2"},
            "early_stop=true has no effect: 2 rounds are too few to stop before the last",
        ),
        ({"heard": "all", "rounds": "0"}, "heard=all has no effect: there is no round of talk"),
        ({"structure": "board", "rounds": "0"}, "structure=board has no effect: there is no round of talk"),
        (
            {"structure": "information_first", "exchange_decide": "true"},
            "exchange_decide=true has no effect: structure=information_first divides the rounds in the same way",
        ),
        (
            {"reveal_all": "true", "condition": "shared_only"},
            "reveal_all=true has no effect: no person has private facts in condition=shared_only",
        ),
    ],
)
def test_an_option_without_effect_is_told(decks: list[Task], options: dict[str, str], line: str) -> None:
    """Each with the reason, once for all tasks."""
    assert told(decks, **options) == [line]


@pytest.mark.parametrize(
    "options",
    [
        {"early_stop": "true", "track": "structured"},
        {"early_stop": "false"},
        {"rounds": "0"},
        {"deal": "hidden"},
        {"deal": "mixed"},
        {"variant": "expert_roles"},
        {"reveal_all": "true"},
    ],
)
def test_an_option_with_an_effect_is_not(decks: list[Task], options: dict[str, str]) -> None:
    """Nor is a default that was said aloud."""
    assert told(decks, **options) == []


def test_the_tasks_are_named_where_it_is_not_all(decks: list[Task], tmp_path: Path) -> None:
    """A size can be that of one of these tasks; facts touch no option where nobody says so."""
    bare = SCENARIO.model_copy(update={"facts": tuple(fact.model_copy(update={"about": ()}) for fact in SCENARIO.facts)})
    alone = [read_task(write_task(tmp_path, "one-roll", bare, "easy"))]

    assert told([*decks, *alone], deal="hidden") == []
    assert told(decks, size="5") == ["size=5 has no effect in ferry-street-plate: the task is for 5 people by default"]
    assert told(alone, variant="expert_roles") == [
        "variant=expert_roles has no effect: no private fact is marked as being about an option, so there are no experts"
    ]


@pytest.mark.property
def test_the_command_warns_on_stderr_and_plays(harness: Command, tmp_path: Path) -> None:
    """A sweep says it once for the part that it is true of, and its runs are played all the same."""
    line = ("run", DECKS[0], "--set", "early_stop=true,false", "--set", "rounds=3", "--runtime", "inprocess", "--json")
    done = harness(*line, "--out", tmp_path / "run")

    assert done.returncode == 0
    assert [said for said in done.stderr.splitlines() if "no effect" in said] == [
        "warning: early_stop=true has no effect: only track=structured has the stances that an early stop depends on"
    ]
    assert "no effect" not in done.stdout
