"""The hidden validator: a log our world could have written, every contract kept, every resource downloaded under one root."""

import re

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_resource_was_downloaded_once(episode: Episode) -> None:
    """The resources that the instruction lists were served, each once, and the completion."""
    listed = re.findall(r"in this order: (.+?)\.", episode.opened.instruction)[0]
    served = [event.path for event in episode.requests if event.kind == "ok" and not event.path.startswith("/token/")]

    assert sorted(["/complete", *(f"/resource/{name}" for name in re.findall(r"`([\w-]+)`", listed))]) == sorted(served)
