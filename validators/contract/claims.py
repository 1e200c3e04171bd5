"""Tests that every contract task runs; a hidden validator imports them.

A test_outcome.py imports them with `from validators.contract.claims import test_contracts_kept, test_log_is_sound`, and adds
only the task's own tests, such as which steps were taken.

A sound log is one that a contract's world could have written. Its labels exist, its details are complete, its time moves within
the budgets, and each served request used only artifacts that had been issued and had not expired.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from validators.episode import Episode
from validators.verdict import Verdict
from worlds.contract.labels import Label
from worlds.core.events import Closed, Issued, Requested, Waited

_FOUR_KEYS = {"resource_id", "ttl_seconds", "time_of_attempt", "expired_by_seconds"}


def find_lies(episode: Episode) -> list[str]:
    """Return the parts of this log that our world could not have written; empty for a sound log."""
    wrong = [f"seq {e.seq}: {e.label} is no label" for e in episode.violations if e.label not in set(Label)]
    wrong += [f"seq {e.seq}: only a violation has a label" for e in episode.requests if e.label and e.kind != "violation"]
    wrong += [
        f"seq {e.seq}: an expiry must have the four details"
        for e in episode.violations
        if e.label == Label.EXPIRED_BEFORE_USE and set(e.detail) != _FOUR_KEYS
    ]
    wrong += [f"seq {e.seq}: the world failed" for e in episode.requests if e.kind == "fault"]
    wrong += [f"seq {e.seq}: what is served has no status {e.status}" for e in _served(episode) if e.status >= 400]
    wrong += [f"seq {e.seq}: a wait must move time" for e in episode.events if isinstance(e, Waited) and e.ms <= 0]
    wrong += [
        f"seq {e.seq}: only a close may follow the submission"
        for e, after in pairwise(episode.events)
        if _is_submission(e) and not isinstance(after, Closed)
    ]
    return [*wrong, *_beyond_budgets(episode), *_misused(episode)]


def _beyond_budgets(episode: Episode) -> Iterator[str]:
    """Yield requests and events that exceed the budgets."""
    steps, virtual_ms = episode.opened.budgets["steps"], episode.opened.budgets["virtual_ms"]
    if episode.steps > steps:
        yield f"{episode.steps} steps are more than the budget of {steps}"
    for event in episode.events:
        if event.vt > virtual_ms and not isinstance(event, Closed):
            yield f"seq {event.seq}: {event.vt} ms are more than the budget of {virtual_ms} ms"


def _misused(episode: Episode) -> Iterator[str]:
    """Yield artifacts that a served request used before they were issued, or outside their window."""
    issued: dict[str, Issued] = {}
    for event in episode.requests:
        # what a request has issued, its own rule may have used at once
        given = issued | {made.artifact: made for made in event.issued}
        for name in event.used if event.kind in ("ok", "goal") else ():
            if name not in given:
                yield f"seq {event.seq}: used {name}, which nothing had issued"
            elif event.vt >= (made := issued.get(name, given[name])).expires_at:
                yield f"seq {event.seq}: used {name} at {event.vt} ms, which had ended at {made.expires_at} ms"
        issued = given


def _served(episode: Episode) -> Iterator[Requested]:
    return (event for event in episode.requests if event.kind in ("ok", "goal"))


def _is_submission(event: object) -> bool:
    """Return True for a submission; a request with an unreadable body closes nothing and does not count."""
    return isinstance(event, Requested) and (event.method, event.path) == ("POST", "/submission") and event.kind != "stray"


def test_log_is_sound(episode: Episode) -> None:
    """The log holds nothing that our world could not have written."""
    assert not (wrong := find_lies(episode)), wrong


def test_contracts_kept(verdict: Verdict) -> None:
    """The goal was reached and no rule was broken."""
    assert verdict.success, f"{verdict.failure_label} {verdict.failure_detail}"
