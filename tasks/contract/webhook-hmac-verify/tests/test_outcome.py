"""The hidden validator: a log our world could have written, every contract kept, and every event fetched and acknowledged."""

from validators.contract import inconsistencies
from validators.episode import Episode
from validators.verdict import Verdict


def test_log_is_sound(episode: Episode) -> None:
    """Nothing stands in the log that our world could not have written."""
    assert inconsistencies(episode) == []


def test_contracts_kept(verdict: Verdict) -> None:
    """The goal was reached and no rule was broken on the way."""
    assert verdict.success, f"{verdict.failure_label} {verdict.failure_detail}"


def test_every_event_was_fetched_and_acknowledged(episode: Episode) -> None:
    """Each event was delivered once, and its ack accepted; the last acknowledgement closed the deliveries."""
    expected = [f"event_{number + 1}" for number in range(round(episode.opened.options["events"]))]
    delivered = [made.artifact for event in episode.served("GET", "/webhook/event") for made in event.issued]
    acked = [event.artifact for event in episode.served("POST", "/webhook/ack")]

    assert expected == delivered
    assert [*expected, expected[-1]] == acked
