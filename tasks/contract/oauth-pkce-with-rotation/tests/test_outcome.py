"""The hidden validator: a log our world could have written, every contract kept, and no step of the grant left out."""

import re

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_no_step_was_left_out(episode: Episode) -> None:
    """What no later request proves by what it uses: discovery, all resources, introspection and completion."""
    (count,) = re.findall(r"guards (\d+) resources", episode.opened.instruction)
    resources = [f"/api/resource/{number + 1}" for number in range(int(count))]

    for path in ("/.well-known/openid-configuration", *resources):
        assert list(episode.served("GET", path)), path
    for path in ("/oauth/introspect", "/api/complete"):
        assert list(episode.served("POST", path)), path
