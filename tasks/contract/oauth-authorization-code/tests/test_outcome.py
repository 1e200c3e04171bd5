"""The hidden validator: a log our world could have written, every contract kept, and each step taken as the grant demands."""

import re

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_resource_was_served_in_a_session(episode: Episode) -> None:
    """A session was opened, and each of the resources that the text counts was served."""
    (count,) = re.findall(r"guards (\d+) resources", episode.opened.instruction)
    paths = [f"/api/protected/resource-{number + 1}" for number in range(int(count))]

    for path in ("/oauth/discover", *paths):
        assert list(episode.served("GET", path)), path
