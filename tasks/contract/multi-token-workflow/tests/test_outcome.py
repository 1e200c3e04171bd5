"""The hidden validator: a log our world could have written, every contract kept, and the chain followed to its end."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_download_followed_page_precheck_and_unlock(episode: Episode) -> None:
    """After the last page came a precheck, then an unlock, then the file through the link."""
    steps = [event.path for event in episode.requests if event.kind == "ok"]
    last_page = max(place for place, path in enumerate(steps) if path == "/task")
    after = steps[last_page:]
    download = next(place for place, path in enumerate(after) if path.startswith("/api/resource/file_"))

    assert 0 < after.index("/api/precheck") < after.index("/api/unlock") < download
