"""The hidden validator: a log our world could have written, every contract kept, and the file got by the rules."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_file_was_got_in_a_session(episode: Episode) -> None:
    """Session, catalogue, checksum and download were served, and nothing else but the docs."""
    served = {event.path for event in episode.requests if event.kind == "ok"}

    assert served - {"/docs"} == {"/api/session", "/api/catalog", "/api/checksum", "/api/download"}
