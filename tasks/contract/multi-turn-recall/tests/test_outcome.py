"""The hidden validator: a log our world could have written, every contract kept, and the URL used as it was printed."""

import hashlib
import re

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_three_steps_came_first(episode: Episode) -> None:
    """Session, catalog and preflight were served in this order before the file."""
    paths = [event.path for event in episode.requests if event.kind == "ok"]
    steps = [paths.index(f"/api/{step}") for step in ("session", "catalog", "preflight")]
    fetched = next(place for place, path in enumerate(paths) if path.startswith("/api/resource/"))

    assert steps == sorted(steps)
    assert steps[-1] < fetched


def test_the_url_of_the_instruction_passed_verbatim(episode: Episode) -> None:
    """The target that was served is the printed text, byte for byte."""
    printed = re.findall(r"```\n(/\S+)\n```", episode.opened.instruction)
    served = {e.target_sha256 for e in episode.requests if e.path.startswith("/api/resource/") and e.kind == "ok"}

    assert [hashlib.sha256(target.encode()).hexdigest() for target in printed] == list(served)
