"""The hidden validator: a log our world could have written, every contract kept, and the file fetched on the way."""

from validators.contract import inconsistencies
from validators.episode import Episode
from validators.verdict import Verdict


def test_log_is_sound(episode: Episode) -> None:
    """Nothing stands in the log that our world could not have written."""
    assert inconsistencies(episode) == []


def test_contracts_kept(verdict: Verdict) -> None:
    """The goal was reached and no rule was broken on the way."""
    assert verdict.success, f"{verdict.failure_label} {verdict.failure_detail}"


def test_every_part_was_downloaded(episode: Episode) -> None:
    """Each of the three parts was served before the submission."""
    served = {name for name in ("part_1", "part_2", "part_3") if list(episode.served("GET", f"/api/resource/{name}"))}

    assert {"part_1", "part_2", "part_3"} == served
