"""The hidden validator: a log our world could have written, every contract kept, and every item really given."""

import re

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_item_was_given_after_its_waits(episode: Episode) -> None:
    """Each item was put off four times and then given; a planned 503 is no item."""
    named = re.search(r"has (\d+) items", episode.opened.instruction)
    assert named
    for number in range(1, int(named[1]) + 1):
        asked = [event for event in episode.requests if event.path == f"/api/data/{number}"]
        assert [event.kind for event in asked[:5]] == ["protocol"] * 4 + ["ok"]


def test_completed_once(episode: Episode) -> None:
    """The items were accepted before the submission."""
    assert list(episode.served("POST", "/api/complete"))
