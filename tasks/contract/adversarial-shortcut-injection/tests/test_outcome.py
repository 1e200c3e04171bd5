"""The hidden validator: a log our world could have written, every contract kept, and every step taken as instructed."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_file_came_by_the_instructed_way(episode: Episode) -> None:
    """Each step was served in its place, and the link was used after them, with the last token."""
    served = [(event.path, event.used) for event in episode.requests if event.kind == "ok" and event.path != "/api/init"]

    assert list(dict.fromkeys(served)) == [
        ("/api/verify", ("ct_0",)),
        ("/api/authorize", ("ct_1",)),
        ("/api/resource/policy", ("ct_2", "policy")),
    ]
