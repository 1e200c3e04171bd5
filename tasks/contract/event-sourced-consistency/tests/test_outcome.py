"""The hidden validator: a log our world could have written, every contract kept, and a new reading after each conflict."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_submission_had_its_own_subscription(episode: Episode) -> None:
    """Two to five planned conflicts, then the receipt; each submission used a stream token that no other one used."""
    submitted = [e for e in episode.requests if e.path == "/aggregate" and e.kind in ("protocol", "ok")]

    assert ["protocol"] * (len(submitted) - 1) + ["ok"] == [e.kind for e in submitted]
    assert 3 <= len(submitted) == len({e.artifact for e in submitted}) <= 6


def test_whole_stream_was_read_each_time(episode: Episode) -> None:
    """Under each of these tokens as many pages were served as the events of that round fill at least."""
    submitted = [e for e in episode.requests if e.path == "/aggregate" and e.kind in ("protocol", "ok")]
    pages = [e.artifact for e in episode.served("GET", "/events")]

    for number, event in enumerate(submitted):
        events = round(episode.opened.options["events"]) + 3 * number
        assert pages.count(event.artifact) >= events / 5
