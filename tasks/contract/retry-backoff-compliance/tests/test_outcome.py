"""The hidden validator: a log our world could have written, every contract kept, and every item really given."""

import re

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_item_was_given(episode: Episode) -> None:
    """Each item was given, and the items were accepted; a planned 503 is no item."""
    (count,) = re.findall(r"has (\d+) items", episode.opened.instruction)

    for number in range(int(count)):
        assert list(episode.served("GET", f"/api/data/{number + 1}")), number
    assert list(episode.served("POST", "/api/complete"))
