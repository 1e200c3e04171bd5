"""The hidden validator: a log our world could have written, every contract kept, the document written in time."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_document_was_revalidated_and_written_before_it_was_confirmed(episode: Episode) -> None:
    """A 304 issued a token, one write was accepted, and the confirmation came after both."""
    unchanged = [event for event in episode.served("GET", "/api/resource") if event.status == 304]
    written = list(episode.served("PUT", "/api/resource"))
    confirmed = next(episode.served("GET", "/api/confirm"))

    assert written
    assert written[0].seq < confirmed.seq
    assert confirmed.artifact in [made.artifact for event in unchanged for made in event.issued]
