"""The hidden validator: a log our world could have written, every contract kept, and the chain followed to its end."""

import re

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_download_followed_precheck_and_unlock(episode: Episode) -> None:
    """The file came through the link after a precheck and an unlock."""
    served = " ".join(event.path for event in episode.requests if event.kind == "ok")

    assert re.search("/api/precheck .*/api/unlock .*/api/resource/file_", served)
