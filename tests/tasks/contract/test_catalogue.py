"""The family as a whole: the catalogue of the paper's Table 6, every label at home in two tasks, short servers, no echoes."""

from __future__ import annotations

from collections import Counter, defaultdict

from harness.agents.solutions import players
from harness.registry import Task
from parley.families.contract.path import check
from parley.families.contract.published import task_rates
from worlds.contract.labels import Label

FAILURES = set(Label) - {Label.SUCCESS, Label.OTHER}
QUADRANTS = {"Q2": 5, "Q3": 5, "Q4": 23}
PATTERNS = {
    "Timing/Backoff": 5, "Byte-exact": 5, "Signed requests": 6, "Resource mgmt": 4, "State chains": 5, "OAuth/Auth": 5,
    "Multi-service": 3,
}  # fmt: skip
DIFFICULTIES = {"medium": 1, "hard": 18, "very_hard": 9, "extreme": 5}
MOST_LINES, BLOCK = 4_800, 6


CATALOGUE = set(task_rates()["GPT-5"])
"""The tasks that the paper lists; a contributor's own come on top."""


def listed(family: list[Task]) -> list[Task]:
    """Those of the family that the paper lists."""
    return [task for task in family if task.task_id in CATALOGUE]


def server(task: Task) -> list[str]:
    """The lines of a task's server."""
    return (task.world_folder / "server.py").read_text(encoding="utf-8").splitlines()


def test_catalogue(family: list[Task]) -> None:
    """As many tasks of each quadrant, pattern and difficulty as Table 6 lists."""
    ours = [task.parley for task in listed(family) if task.parley]

    assert len(ours) == len(CATALOGUE)

    assert QUADRANTS == Counter(task.quadrant for task in ours)
    assert PATTERNS == Counter(task.pattern for task in ours)
    assert DIFFICULTIES == Counter(task.difficulty for task in ours)


def test_every_failure_label_has_two_homes(family: list[Task]) -> None:
    """Each of the 13 failure labels is earned by violations of at least two tasks."""
    homes = defaultdict(set)
    for task in family:
        for label, _ in players(task).values():
            homes[label].add(task.task_id)

    assert {label for label in FAILURES if len(homes[label]) < 2} == set()


def test_violations_are_many(family: list[Task]) -> None:
    """Over ten seeds there are at least 1,600 violation episodes, and at least three wrong clients a task."""
    counts = {task.task_id: len(players(task)) - 1 for task in family}

    assert min(counts.values()) >= 3
    assert sum(counts.values()) * 10 >= 1_600


def test_servers_are_short(family: list[Task]) -> None:
    """All servers together stay under the limit: what is shared lives in worlds.contract."""
    assert sum(len(server(task)) for task in listed(family)) < MOST_LINES


def test_no_block_stands_in_two_servers(family: list[Task]) -> None:
    """No six consecutive lines of code, blank ones left out, stand in two servers."""
    homes = defaultdict(set)
    for task in family:
        lines = [line.strip() for line in server(task) if line.strip()]
        for start in range(len(lines) - BLOCK + 1):
            homes["\n".join(lines[start : start + BLOCK])].add(task.task_id)

    assert [(sorted(tasks), block) for block, tasks in homes.items() if len(tasks) > 1] == []


def test_long_artifacts_come_in_tiers(family: list[Task]) -> None:
    """The four tasks with the longest artifacts declare three lengths each, the paper's 8,000 characters among them."""
    tiers = {
        task.task_id: task.parley.options["tier"].values for task in family if task.parley and "tier" in task.parley.options
    }

    assert {"long-token-handling", "extreme-url-length", "scattered-url-assembly", "multi-turn-recall"} <= set(tiers)
    assert min(len(values) for values in tiers.values()) >= 3
    assert all("8k" in values for values in tiers.values())


def test_mutations_by_name() -> None:
    """The five mutations are known to the family by the names of the paper's Appendix J."""
    for name in ("clip=200", "linewrap=76", "decode", "resort", "visible", "clip=100+resort"):
        check({"mutate": name})
