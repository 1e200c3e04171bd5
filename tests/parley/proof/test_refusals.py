"""What is made of a task's own oracle is refused, and a task that takes it is told where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.registry import read_task, tasks_root
from harness.trust import admitted
from parley.proof import tampering
from parley.proof.findings import ProofReport
from parley.proof.plays import Play, judge, play
from parley.proof.request_mutants import fields, left_out
from worlds.core.events import read_log

pytestmark = pytest.mark.property

Broken = Callable[[str, str, str], list[tuple[str, int, str]]]
Prove = Callable[[Path], ProofReport]

SERVER, OUTCOME = "environment/api/server.py", "tests/test_outcome.py"


def line(folder: Path, name: str, text: str) -> int:
    """The line of a file that holds a text."""
    return next(n for n, row in enumerate((folder / name).read_text().splitlines(), start=1) if text in row)


def test_a_constant_result(folder: Path, broken: Broken) -> None:
    """A result that no seed changes can be learnt once; it is found where the instance is drawn."""
    found = broken(SERVER, 'self.chance("value").hex(32)', '"0" * 64')

    assert (SERVER, line(folder, SERVER, "def prepare"), "results") in found
    assert {rule for _, _, rule in found} == {"results", "secrets"}


def test_a_constant_secret(folder: Path, broken: Broken) -> None:
    """A ticket that is the same on all seeds is found at the handler that gives it out."""
    found = broken(SERVER, 'self.chance("ticket").base64url(24)', '"0123456789abcdef" * 2')

    assert (SERVER, line(folder, SERVER, "def new_ticket"), "secrets") in found


def test_any_submission_accepted(folder: Path, broken: Broken) -> None:
    """A world that does not look at what is handed in is found at what judges it."""
    old = "    def facts(self)"
    new = """    def judge_submission(self, call: Call) -> Reply:
        \"\"\"The goal, for anything.\"\"\"
        return Reply({"accepted": True}, kind="goal")

    def facts(self)"""
    found = broken(SERVER, old, new)
    at = line(folder, SERVER, "def judge_submission")
    wrong = ("empty", "truncated", "newline", "space", "another seed's")

    assert {(SERVER, at, f"submission:{name}") for name in wrong} <= set(found)


def test_white_space_accepted(folder: Path, broken: Broken) -> None:
    """A world that strips what is handed in is found by white space alone."""
    old = "    def facts(self)"
    new = """    def judge_submission(self, call: Call) -> Reply:
        \"\"\"The goal, for a value that may be padded.\"\"\"
        if call.body.strip() == self.deliverable:
            return Reply({"accepted": True}, kind="goal")
        return super().judge_submission(call)

    def facts(self)"""
    rules = {rule for _, _, rule in broken(SERVER, old, new)}

    assert {"submission:newline", "submission:space"} <= rules
    assert "submission:truncated" not in rules


def test_the_first_of_two_headers_alone(folder: Path, broken: Broken) -> None:
    """A handler that reads only the first of two headers lets a contradiction pass, and is told so."""
    old = '        check_header(call, "X-Seed-Slice", self.slice)'
    new = """        if dict(reversed(call.request.headers)).get("x-seed-slice") != self.slice:
            check_header(call, "X-Seed-Slice", self.slice)"""

    assert "twice" in {rule for _, _, rule in broken(SERVER, old, new)}


def test_an_emptied_hidden_test(folder: Path, broken: Broken) -> None:
    """A hidden test without an assertion is found by its name; a goal alone is taken then, and a log without a step."""
    at = line(folder, OUTCOME, "def test_value_was_fetched")
    found = broken(OUTCOME, 'assert list(episode.served("GET", "/api/value"))', 'episode.served("GET", "/api/value")')

    assert found == [(OUTCOME, 1, "tampered"), (OUTCOME, 1, "left-out"), (OUTCOME, at, "hidden-tests")]


def test_a_step_that_nobody_demands_is_told_apart() -> None:
    """Who leaves the rules of a service unread and knows them wins; who leaves its pages unread does not."""
    task = read_task(tasks_root() / "contract" / "cursor-pagination-integrity")
    oracle = play(task, "solve", 0)
    made = [left_out(task, oracle, step) for step in ("GET /api/docs", "GET /api/page")]
    judge(task, made)

    assert [(played.player, played.outcome.reward) for played in made] == [
        ("left-out:GET /api/docs", 1),
        ("left-out:GET /api/page", 0),
    ]


def test_every_tampered_log_is_told_apart(folder: Path) -> None:
    """Of a sound log each kind of lie is made, sealed logs are logs, and none of them is judged a success."""
    task = admitted(read_task(folder))
    oracle = play(task, "solve", 0)
    logs = dict([*tampering.cut(oracle.log), *tampering.spent(oracle.log), *tampering.forged(oracle.log)])
    made = [Play(name, 0, log=log) for name, log in logs.items()]
    judge(task, [oracle, *made])

    assert oracle.outcome.reward == 1
    assert tampering.sealed(read_log(oracle.log)) == oracle.log
    assert [played.player for played in made if played.outcome.reward] == []
    assert {"cut:0", "cut:1", "cut:2", "spent:1", "spent:2", "forged:two goals", "forged:ticket used late"} <= logs.keys()
    assert {str(field) for field in fields(oracle)} == {"header x-ticket", "header x-seed-slice"}


def test_a_budget_that_ends_an_episode_tells_what_ran_out(folder: Path) -> None:
    """A ticket that lapsed unused is EXPIRED_BEFORE_USE; one that was used is not."""
    task = admitted(read_task(folder))
    oracle = play(task, "solve", 0)
    made = [Play(name, 0, log=log) for name, log in tampering.spent(oracle.log)]
    judge(task, made)

    assert [played.outcome.failure_label for played in made] == ["EXPIRED_BEFORE_USE", "OTHER"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("given.swapcase()", "recased"),
        ('given.removesuffix("=")', "padded"),
        ("held[: len(given)] and given + held[len(given) :]", "truncated"),
    ],
)
def test_a_lenient_comparison(broken: Broken, given: str, found: str) -> None:
    """A world that takes an issued value in another form is found by a client that sends it so."""
    old = '        self.redeem(self.ticket, call.header("X-Ticket"), "header X-Ticket")'
    new = f"""        given, held = call.header("X-Ticket") or "", self._values["ticket"].decode()
        self.redeem(self.ticket, held if {given} == held else given or None, "header X-Ticket")"""

    assert found in {rule for _, _, rule in broken(SERVER, old, new)}


def test_an_older_value_goes_on(folder: Path, broken: Broken) -> None:
    """A world that goes on with the ticket before the newest is found, unless the instruction says that it does."""
    server = folder / SERVER
    text = server.read_text(encoding="utf-8").replace(
        'self.ticket = self.issue("ticket", ticket, window_ms)',
        'self.ticket = self.ticket or self.issue("ticket", ticket, window_ms)\n        self.newest = ticket',
    )
    server.write_text(text, encoding="utf-8")
    old = '        self.redeem(self.ticket, call.header("X-Ticket"), "header X-Ticket")'
    new = """        held = self._values["ticket"].decode()
        given = call.header("X-Ticket")
        self.redeem(self.ticket, held if given == self.newest else given, "header X-Ticket")"""

    assert "older" in {rule for _, _, rule in broken(SERVER, old, new)}
    rules = folder / "solution/rules.toml"
    rules.write_text(rules.read_text(encoding="utf-8").replace('["value_first"]', '["value_first", "older"]'), encoding="utf-8")
    assert broken(SERVER, "held if given", "held if  given") == []


def test_a_request_sent_twice(folder: Path, broken: Broken) -> None:
    """A world that fails when a request is repeated is found at the line that raised."""
    old = '        check_header(call, "X-Seed-Slice", self.slice)'
    new = old + "\n        assert self.deliverable is None"
    found = broken(SERVER, old, new)

    assert (SERVER, line(folder, SERVER, "assert self.deliverable"), "doubled") in found
