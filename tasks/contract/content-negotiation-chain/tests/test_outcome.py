"""The hidden validator: a log our world could have written, every contract kept, the chain walked to its end."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_path_was_followed_with_a_token(episode: Episode) -> None:
    """Something was asked for with a token and the path that was issued."""
    assert any(event.used[1:] == ("download_path",) for event in episode.requests)
