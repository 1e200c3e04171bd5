"""The hidden validator: a log our world could have written, every contract kept, and the file fetched on the way."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_part_was_downloaded(episode: Episode) -> None:
    """Each of the three parts was served before the submission."""
    served = {name for name in ("part_1", "part_2", "part_3") if list(episode.served("GET", f"/api/resource/{name}"))}

    assert {"part_1", "part_2", "part_3"} == served
