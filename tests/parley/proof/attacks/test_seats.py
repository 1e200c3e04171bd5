"""Attack 16 on a game of ours, and on copies of it whose seats are open to everybody or take an answer twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.pod import Runtime
from harness.registry import Task, read_task
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from harness.runtimes.docker.runtime import DockerRuntime
from parley.proof.attacks.base import AttackRow
from parley.proof.attacks.suite import ATTACKS, run_attacks

WORLD = (
    "import worlds.core.seated as seated\nimport worlds.core.turns as turns\nfrom worlds.calendar.world import CalendarWorld\n"
)

OPEN_TO_ALL = "seated.seats_open_to = lambda world, call, is_host: range(len(world.seats))\n"

TAKES_TWICE = """
given = turns.TurnTable.answer
turns.TurnTable.answer = lambda table, turn, answer: given(table, turn, answer) or True
turns.TurnTable.seat_of = lambda table, turn: 1
"""

KNOWS_NO_SEATS = """
known = lambda world, call: world.setup.open_turns or call.header("X-Parley-Seat")
seated.seats_open_to = lambda world, call, is_host: range(len(world.seats)) if is_host or known(world, call) else None
"""

CLASS = "\n\nclass World(CalendarWorld):\n    pass\n"


@pytest.fixture(scope="module", params=[pytest.param("docker", marks=pytest.mark.docker),
                                        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)])  # fmt: skip
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """Both runtimes that play seats with a shell in `main`."""
    made = DockerRuntime() if request.param == "docker" else BubblewrapRuntime()
    yield made
    if isinstance(made, DockerRuntime):
        made.engine.api.close()


def struck(task: Task, runtime: Runtime) -> AttackRow:
    """What attack 16 says of a folder."""
    (row,) = run_attacks([task], runtime, attacks=[one for one in ATTACKS if one.number == 16]).rows
    return row


def test_seats_of_a_game_hold(runtime: Runtime, root: Path) -> None:
    """Hundreds of things are examined, and none is a hole."""
    row = struck(read_task(root / "tasks/calendar/uniform-01"), runtime)

    assert (row.outcome, row.holes, row.reason) == ("held", (), None)
    assert row.examined > 100


@pytest.mark.parametrize(
    ("flaw", "told"),
    [
        (OPEN_TO_ALL, "a client with no token: GET /turns shows turns of seats"),
        (KNOWS_NO_SEATS, "a client with {'X-Parley-Seat': '0'}: POST /turns/1-4-1 was accepted"),
        (TAKES_TWICE, "one client at every seat: a turn that was never open, 0-0-1, took an answer"),
    ],
    ids=["open to all", "any token opens every seat", "an answer is taken twice"],
)
def test_open_seats_are_found(runtime: Runtime, root: Path, tmp_path: Path, flaw: str, told: str) -> None:
    """A world that lets in who has no token, or has another seat's, is told with the request that went through."""
    folder = shutil.copytree(root / "tasks/calendar/uniform-01", tmp_path / "uniform-01")
    (folder / "environment/api/server.py").write_text(WORLD + flaw + CLASS, encoding="utf-8")

    row = struck(read_task(folder), runtime)

    assert row.outcome == "broken"
    assert any(hole.startswith(told) for hole in row.holes), row.holes[:5]
