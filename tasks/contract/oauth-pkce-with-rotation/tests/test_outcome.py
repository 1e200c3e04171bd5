"""The hidden validator: a log our world could have written, every contract kept, and the grant run through its rotation."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_tokens_were_rotated(episode: Episode) -> None:
    """A code was exchanged, and the refresh token that came for it was used once the access token had ended."""
    answered = list(episode.served("POST", "/oauth/token"))
    issued = {made.artifact: made for event in answered for made in event.issued}

    assert {"access_token_0", "refresh_token_0", "access_token_1", "refresh_token_1"} <= set(issued)
    assert issued["access_token_0"].expires_at <= issued["access_token_1"].issued_at


def test_every_resource_was_fetched(episode: Episode) -> None:
    """Four resources were served, each once, and then the completion was challenged and answered."""
    served = [event for event in episode.requests if event.kind in ("ok", "protocol")]
    fetched = [event.path for event in served if event.path.startswith("/api/resource/")]
    completed = [event.kind for event in served if event.path == "/api/complete"]

    assert len(fetched) == 4
    assert len(set(fetched)) == 4
    assert completed[:2] == ["protocol", "ok"]
