"""The hidden validator: a log our world could have written, every contract kept, and every step taken as instructed."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_file_came_by_the_instructed_way(episode: Episode) -> None:
    """Each step was served once and in its place, and the link was used after them."""
    served = [event.path for event in episode.requests if event.kind == "ok" and event.path != "/api/init"]

    assert served[:2] == ["/api/verify", "/api/authorize"]
    assert set(served[2:]) == {"/api/resource/policy"}
