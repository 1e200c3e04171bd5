"""The hidden validator: a log our world could have written, every contract kept, every resource downloaded under one root."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_resource_was_downloaded_once(episode: Episode) -> None:
    """Six resources were served, each with its own token, between one root and one completion."""
    downloads = [e for e in episode.requests if e.kind == "ok" and e.path.startswith("/resource/")]
    names = [event.path.removeprefix("/resource/") for event in downloads]

    assert len(set(names)) == len(names) == 6
    assert [f"token_{name}" for name in names] == [event.used[-1].rpartition("_")[0] for event in downloads]
    assert len(list(episode.served("POST", "/token/root"))) == 1
    assert list(episode.served("POST", "/complete"))
