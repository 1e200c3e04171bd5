"""The hidden validator: a log our world could have written, every contract kept, and the URL used as it was printed."""

import hashlib
import re

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_three_steps_came_first(episode: Episode) -> None:
    """Session, catalog and preflight were served before the file."""
    served = " ".join(event.path for event in episode.requests if event.kind == "ok")

    assert re.search("/api/session .*/api/catalog .*/api/preflight .*/api/resource/", served)


def test_the_url_of_the_instruction_passed_verbatim(episode: Episode) -> None:
    """The target that was served is the printed text, byte for byte."""
    printed = re.findall(r"```\n(/\S+)\n```", episode.opened.instruction)
    served = {e.target_sha256 for e in episode.requests if e.path.startswith("/api/resource/") and e.kind == "ok"}

    assert [hashlib.sha256(target.encode()).hexdigest() for target in printed] == list(served)
