"""The hidden validator: a log our world could have written, every contract kept, and one link issued and used."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_order_of_steps(episode: Episode) -> None:
    """Page and precheck were served before the download, and the link was issued only once."""
    links = [made.artifact for event in episode.served("GET", "/task") for made in event.issued]
    assert len(links) == 1, "the link was not issued"
    (file,) = {event.path for event in episode.requests if event.kind == "ok" and links[0] in event.used}
    first = {event.path: event.seq for event in reversed(episode.requests) if event.kind == "ok"}

    assert max(first["/task"], first["/api/precheck"]) < first[file]
