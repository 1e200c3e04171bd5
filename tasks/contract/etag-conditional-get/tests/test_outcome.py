"""The hidden validator: a log our world could have written, every contract kept, the document written in time."""

import re

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_document_was_written_before_it_was_confirmed(episode: Episode) -> None:
    """A write was accepted before the confirmation, whose token a 304 issued."""
    served = [f"{event.method} {event.path}" for event in episode.requests if event.kind == "ok"]

    assert re.search("PUT /api/resource .*GET /api/confirm", " ".join(served))
