"""The hidden validator: a log our world could have written, every contract kept, and a renewed token for the file."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_step_was_taken_and_the_token_renewed(episode: Episode) -> None:
    """List, a select and the download were served in this order, the download for a token of a later generation."""
    steps = [e for e in episode.requests if e.kind == "ok" and e.path.startswith(("/api/list", "/api/select", "/api/download"))]
    order = list(dict.fromkeys(event.path.split("/")[2] for event in steps))

    assert order == ["list", "select", "download"]
    assert [event.artifact for event in steps if event.path == "/api/download"] != ["access_0"]
