"""The hidden validator: a log our world could have written, every contract kept, and each step taken as the grant demands."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_grant_was_run(episode: Episode) -> None:
    """A code that a consent had brought was exchanged for the token."""
    codes = {made.artifact for event in episode.served("POST", "/oauth/consent") for made in event.issued}
    exchanged = {event.artifact for event in episode.served("POST", "/token")}

    assert exchanged
    assert exchanged <= codes


def test_every_resource_was_challenged_and_served(episode: Episode) -> None:
    """Two or three resources, each served once and after its own challenge."""
    asked = [event for event in episode.requests if event.path.startswith("/api/protected/")]
    challenged = [event.path for event in asked if event.kind == "protocol"]
    served = [event.path for event in asked if event.kind == "ok"]

    assert challenged == served
    assert len(set(served)) == len(served)
    assert len(served) in (2, 3)
