"""The hidden validator: a log our world could have written, every contract kept, and the saga settled on the way."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_each_step_was_taken(episode: Episode) -> None:
    """Each step that gave a token was taken, but for one that failed."""
    ended = [event for event in episode.requests if event.issued]
    services = {made.artifact.removeprefix("token_") for event in ended for made in event.issued}
    failed = {event.path.split("/")[2] for event in ended if event.kind == "protocol"}
    done = [event for event in episode.requests if event.kind == "ok" and event.path.startswith("/service/")]

    assert {event.path.split("/")[2] for event in done if not event.artifact} == services - failed


def test_what_was_done_was_undone(episode: Episode) -> None:
    """After a failure every token was used to undo, newest first; else none was."""
    ended = [event for event in episode.requests if event.issued]
    tokens = [made.artifact for event in ended for made in event.issued if event.kind == "protocol"]
    undone = [e.artifact for e in episode.requests if e.kind == "ok" and e.artifact and e.path.startswith("/service/")]

    assert undone == tokens[::-1]


def test_saga_was_completed(episode: Episode) -> None:
    """The completion was served."""
    assert list(episode.served("POST", "/saga/complete"))
