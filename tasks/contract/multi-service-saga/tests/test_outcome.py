"""The hidden validator: a log our world could have written, every contract kept, and the saga settled on the way."""

from validators.contract import inconsistencies
from validators.episode import Episode
from validators.verdict import Verdict


def test_log_is_sound(episode: Episode) -> None:
    """Nothing stands in the log that our world could not have written."""
    assert inconsistencies(episode) == []


def test_contracts_kept(verdict: Verdict) -> None:
    """The goal was reached and no rule was broken on the way."""
    assert verdict.success, f"{verdict.failure_label} {verdict.failure_detail}"


def test_saga_was_settled(episode: Episode) -> None:
    """After a failure every token was used to undo, newest first; after none, none was; then the saga was completed."""
    ended = next((event for event in episode.requests if event.issued), None)
    assert ended is not None, "the steps never came to an end"
    tokens = [made.artifact for made in ended.issued]
    undone = [e.artifact for e in episode.requests if e.kind == "ok" and e.artifact and e.path.startswith("/service/")]

    assert undone == (tokens[::-1] if ended.kind == "protocol" else [])
    assert len(list(episode.served("POST", "/saga/complete"))) == 1
