"""The hidden validator: a log our world could have written, every contract kept, and all data read."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_all_data_were_read_in_their_order(episode: Episode) -> None:
    """One handshake, the data in order, the completion; and the certificate was replaced once."""
    certificates = [made for event in episode.requests for made in event.issued if made.artifact.startswith("certificate")]
    served = [event.path for event in episode.requests if event.kind == "ok" and event.path != "/handshake/challenge"]

    steps = ["/handshake/sign", *(f"/api/data/{number}" for number in range(1, 5)), "/api/complete"]
    assert (steps, 2) == (served, len(certificates))
