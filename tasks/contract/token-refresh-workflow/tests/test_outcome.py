"""The hidden validator: a log our world could have written, every contract kept, and the file behind its steps."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_step_was_taken(episode: Episode) -> None:
    """List, select and download were served; that their tokens were renewed is what a sound log has."""
    served = [event.path.split("/")[2] for event in episode.requests if event.kind == "ok" and event.path.startswith("/api/")]

    for step in ("list", "select", "download"):
        assert step in served
