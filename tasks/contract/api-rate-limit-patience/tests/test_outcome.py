"""The hidden validator: a log our world could have written, every contract kept, and every page read in order."""

from validators.contract import inconsistencies
from validators.episode import Episode
from validators.verdict import Verdict


def test_log_is_sound(episode: Episode) -> None:
    """Nothing stands in the log that our world could not have written."""
    assert inconsistencies(episode) == []


def test_contracts_kept(verdict: Verdict) -> None:
    """The goal was reached and no rule was broken on the way."""
    assert verdict.success, f"{verdict.failure_label} {verdict.failure_detail}"


def test_every_page_was_served_in_order(episode: Episode) -> None:
    """Each page was served once, with its own cursor, before the submission."""
    pages = round(episode.opened.options["pages"])
    served = [event.artifact for event in episode.served("GET", "/api/data")]

    assert [f"cursor_{page}" for page in range(pages)] == served
