"""The hidden validator: a log our world could have written, every contract kept, all data read with current certificates."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_all_data_were_read_with_current_certificates(episode: Episode) -> None:
    """One handshake, the data in order, the completion; the certificate changed once on the way, and was followed."""
    served = [event for event in episode.requests if event.kind == "ok" and event.path != "/handshake/challenge"]
    worn = [event.used for event in served[1:]]
    renewed = 2 + next(place for place, event in enumerate(served[1:]) if event.issued)

    assert ["/handshake/sign", *(f"/api/data/{number}" for number in range(1, 5)), "/api/complete"] == [e.path for e in served]
    assert worn == [("certificate_0",) if place < renewed else ("certificate_1",) for place in range(1, 6)]
