"""The hidden validator: a log our world could have written, every contract kept, and the long link used in time."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_file_was_served_through_the_link(episode: Episode) -> None:
    """The one link that the page issued was followed, with a precheck."""
    issued = {made.artifact for event in episode.served("GET", "/task") for made in event.issued}
    followed = [event for event in episode.requests if event.kind == "ok" and "precheck_token" in event.used]

    assert {event.path.removeprefix("/api/resource/") for event in followed} == issued != set()
