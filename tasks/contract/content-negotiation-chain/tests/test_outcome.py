"""The hidden validator: a log our world could have written, every contract kept, the chain walked to its end."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_path_was_followed_with_a_token(episode: Episode) -> None:
    """A download used a token and the issued path, in this order, after the manifest had issued the path."""
    downloads = [event for event in episode.requests if event.kind == "ok" and event.artifact == "download_path"]
    manifest = next(episode.served("GET", "/api/resource-manifest"))

    assert [made.artifact for made in manifest.issued] == ["download_path"]
    assert downloads
    assert downloads[-1].seq > manifest.seq
    assert downloads[-1].used[0].startswith("token_")
