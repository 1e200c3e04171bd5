"""The hidden validator: a log our world could have written, every contract kept, and the saga settled on the way."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_saga_was_settled(episode: Episode) -> None:
    """After a failure every token was used to undo, newest first; after none, none was; then the saga was completed."""
    ended = next((event for event in episode.requests if event.issued), None)
    assert ended is not None, "the steps never came to an end"
    tokens = [made.artifact for made in ended.issued]
    undone = [e.artifact for e in episode.requests if e.kind == "ok" and e.artifact and e.path.startswith("/service/")]

    assert undone == (tokens[::-1] if ended.kind == "protocol" else [])
    assert len(list(episode.served("POST", "/saga/complete"))) == 1
