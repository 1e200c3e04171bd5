"""The hidden validator: a log our world could have written, every contract kept, and the chain gone through to its end."""

import re

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_chain_was_gone_through(episode: Episode) -> None:
    """The steps were first served in the order 1 to the length that the instruction names, and then the file."""
    length = int(re.findall(r"a chain of (\d+) tokens", episode.opened.instruction)[0])
    served = [event.path for event in episode.requests if event.kind == "ok" and event.path.startswith("/api/")]
    expected = [*(f"/api/chain/{number + 1}" for number in range(length)), "/api/download"]

    assert list(dict.fromkeys(served)) == expected
