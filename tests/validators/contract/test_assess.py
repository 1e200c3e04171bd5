"""The contract verdict: strict success, one label, and logs that our world could not have written."""

from __future__ import annotations

from typing import Any

import pytest

from validators.contract import assess
from validators.contract.claims import find_lies
from validators.episode import Episode
from worlds.core.events import Closed, Event, EventLog, Issued, Opened, Requested, Stopped, Waited

EXPIRY = {"resource_id": "a", "ttl_seconds": 1.0, "time_of_attempt": 2.0, "expired_by_seconds": 1.0}


def opened(steps: int = 9) -> Opened:
    """A first event."""
    return Opened(
        task_id="t", family="contract", category="both", seed=4, epoch="2031-01-01T00:00:00+00:00", key_digest="0" * 16,
        options={}, budgets={"steps": steps, "virtual_ms": 10_000}, instruction="",
    )  # fmt: skip


def asked(
    kind: str = "ok", label: str | None = None, path: str = "/a", method: str = "GET", status: int = 200, **more: Any
) -> Requested:
    """A request."""
    return Requested(
        method=method, path=path, target_sha256="", body_sha256="", status=status, kind=kind, label=label,
        rule="a rule" if label else None, **more,
    )  # fmt: skip


def broke(label: str, **detail: Any) -> Requested:
    """A violation."""
    return asked("violation", label, detail=detail)


GOAL = asked("goal", path="/submission", method="POST")
ISSUED = asked(issued=(Issued(artifact="a", issued_at=0, expires_at=2000),))


def episode(*drafts: Event, steps: int = 9) -> Episode:
    """These events, one virtual second apart."""
    log = EventLog()
    for number, draft in enumerate((opened(steps), *drafts)):
        log.append(draft, number * 1000)
    return Episode(tuple(log.events))


@pytest.mark.parametrize(
    ("labels", "primary"),
    [
        (["WRONG_VALUE"], "WRONG_VALUE"),
        (["OTHER", "RATE_LIMITED", "WRONG_VALUE"], "WRONG_VALUE"),
        (["WRONG_VALUE", "MUTATED_TOKEN", "RATE_LIMITED"], "MUTATED_TOKEN"),
        (["MUTATED_TOKEN", "EXPIRED_BEFORE_USE"], "MUTATED_TOKEN"),
        (["EXPIRED_BEFORE_USE", "MUTATED_TOKEN"], "EXPIRED_BEFORE_USE"),
        (["MISSING_TOKEN", "MISSING_CONSTRAINT"], "MISSING_TOKEN"),
    ],
)
def test_primary_label(labels: list[str], primary: str) -> None:
    """The most severe violation names the failure, ties go to the first."""
    assert primary == assess(episode(*map(broke, labels))).failure_label


def test_success_is_strict() -> None:
    """The goal without a violation is success; strays, refusals and waits do no harm."""
    verdict = assess(episode(asked(), asked("stray"), asked("protocol"), Waited(ms=1000), GOAL))

    assert (True, 1.0, "SUCCESS", 1.0, False, {}) == (
        verdict.success, verdict.reward, verdict.failure_label, verdict.severity, verdict.recovered, verdict.failure_detail,
    )  # fmt: skip


def test_goal_after_a_violation_is_recovered() -> None:
    """A goal reached after a broken rule is no success, and is told apart."""
    verdict = assess(episode(broke("RATE_LIMITED", limit=3), GOAL))

    assert (False, 0.0, "RATE_LIMITED", -0.5, True, {"limit": 3}) == (
        verdict.success, verdict.reward, verdict.failure_label, verdict.severity, verdict.recovered, verdict.failure_detail,
    )  # fmt: skip


def test_violations_are_listed_in_order() -> None:
    """Every violation is in the verdict with its place, rule and detail."""
    verdict = assess(episode(broke("RATE_LIMITED"), asked(), broke("WRONG_VALUE", field="x")))

    assert [(1, 1000, "RATE_LIMITED", "a rule", {}), (3, 3000, "WRONG_VALUE", "a rule", {"field": "x"})] == [
        (broken.seq, broken.vt, broken.label, broken.rule, broken.detail) for broken in verdict.violations
    ]


def test_figures() -> None:
    """Steps are requests, time is in seconds, the trace hash is the chain's end."""
    played = episode(asked(), Waited(ms=5), asked("stray"), Stopped(cause="wall"))
    verdict = assess(played)

    assert (2, 4.0, played.events[-1].hash, "t", "contract", "both", 4) == (
        verdict.steps, verdict.virtual_time_elapsed, verdict.trace_hash,
        verdict.task_id, verdict.family, verdict.category, verdict.seed,
    )  # fmt: skip


@pytest.mark.parametrize(
    "end",
    [Closed(cause="steps"), Closed(cause="virtual_time"), *(Stopped(cause=c) for c in ("wall", "tokens", "turns", "context"))],
)
def test_budget_stop_with_a_lapsed_artifact(end: Event) -> None:
    """A budget that ends while an artifact has run out unused is an expiry, with the four details."""
    verdict = assess(episode(ISSUED, asked(), end))

    assert verdict.failure_label == "EXPIRED_BEFORE_USE"
    assert {"resource_id": "a", "ttl_seconds": 2.0, "time_of_attempt": 3.0, "expired_by_seconds": 1.0} == verdict.failure_detail


@pytest.mark.parametrize(
    ("drafts", "reason"),
    [
        ([], "pre_contract"),
        ([Waited(ms=5)], "pre_contract"),
        ([Stopped(cause="wall")], "wall"),
        ([Stopped(cause="cost")], "cost"),
        ([asked()], "gave_up"),
        ([ISSUED, asked(), asked()], "gave_up"),
        ([ISSUED, asked(used=("a",)), asked(), Closed(cause="steps")], "steps"),
        ([ISSUED, asked(), Closed(cause="request_cap")], "request_cap"),
        ([ISSUED, asked(), Stopped(cause="cancelled")], "cancelled"),
    ],
)
def test_other(drafts: list[Event], reason: str) -> None:
    """No goal, no violation and nothing lapsed under a budget is OTHER, with the reason."""
    verdict = assess(episode(*drafts))

    assert ("OTHER", {"reason": reason}, 0.0) == (verdict.failure_label, verdict.failure_detail, verdict.reward)


@pytest.mark.parametrize(("end_s", "label"), [(1, "OTHER"), (2, "EXPIRED_BEFORE_USE")])
def test_lapse_is_half_open(end_s: int, label: str) -> None:
    """An artifact has lapsed at the instant its window ends, not before."""
    waits = [Waited(ms=1000)] * (end_s - 1)
    made = asked(issued=(Issued(artifact="a", issued_at=1000, expires_at=3000),))

    assert label == assess(episode(made, *waits, Closed(cause="virtual_time"))).failure_label


def test_lapse_is_of_the_issue_that_ran_out() -> None:
    """Of two issues of one artifact the one that ran out is told."""
    first = asked(issued=(Issued(artifact="a", issued_at=0, expires_at=99_000),))
    second = asked(issued=(Issued(artifact="a", issued_at=2000, expires_at=2500),))

    detail = assess(episode(first, second, Closed(cause="steps"))).failure_detail
    assert (0.5, 0.5) == (detail["ttl_seconds"], detail["expired_by_seconds"])


def test_sound_log() -> None:
    """A log our world could have written has nothing against it."""
    drafts = (
        asked(),
        asked("stray", path="/submission", method="POST"),
        Waited(ms=1),
        asked("violation", "EXPIRED_BEFORE_USE", detail=EXPIRY, status=410, used=("a", "b")),
        asked(status=399, issued=(Issued(artifact="c", issued_at=5000, expires_at=6001),), used=("c",)),
        asked(used=("c",)),
        GOAL,
    )

    assert find_lies(episode(*drafts)) == []


@pytest.mark.parametrize(
    ("drafts", "found"),
    [
        ([broke("REVOKED")], "seq 1: REVOKED is no label"),
        ([asked("violation")], "seq 1: None is no label"),
        ([asked("ok", "WRONG_VALUE")], "seq 1: only a violation has a label"),
        ([broke("EXPIRED_BEFORE_USE", resource_id="a")], "seq 1: an expiry must have the four details"),
        ([broke("EXPIRED_BEFORE_USE", **EXPIRY, also="x")], "seq 1: an expiry must have the four details"),
        ([asked("fault")], "seq 1: the world failed"),
        ([asked(status=400)], "seq 1: what is served has no status 400"),
        ([Waited(ms=0)], "seq 1: a wait must move time"),
        ([asked(used=("a",))], "seq 1: used a, which nothing had issued"),
        ([ISSUED, asked(used=("a",))], "seq 2: used a at 2000 ms, which had ended at 2000 ms"),
        ([GOAL, asked()], "seq 1: only a close may follow the submission"),
        (
            [asked("violation", "WRONG_VALUE", path="/submission", method="POST"), GOAL],
            "seq 1: only a close may follow the submission",
        ),
        ([asked(), asked(), asked()], "3 steps are more than the budget of 2"),
    ],
)
def test_inconsistency(drafts: list[Event], found: str) -> None:
    """Each thing our world would not write is found and named."""
    assert [found] == find_lies(episode(*drafts, steps=2))


def test_time_beyond_the_budget() -> None:
    """The last instant of the budget is within it; past it only a close is written."""
    waits = [Waited(ms=1000)] * 10

    assert find_lies(episode(*waits, Closed(cause="virtual_time"))) == []
    assert ["seq 11: 11000 ms are more than the budget of 10000 ms"] == find_lies(episode(*waits, Waited(ms=1000)))


@pytest.mark.parametrize("closing", [Closed(cause="violation"), Closed(cause="fault")])
def test_close_may_follow_a_submission(closing: Event) -> None:
    """A world that stops at the first violation closes after a wrong submission."""
    wrong = asked("violation", "WRONG_VALUE", path="/submission", method="POST")

    assert find_lies(episode(wrong, closing)) == []
