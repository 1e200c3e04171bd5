"""The hidden validator: a log our world could have written, every contract kept, and the fragments joined byte for byte."""

import hashlib
import re
from itertools import permutations

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_step_was_served(episode: Episode) -> None:
    """The four steps came in order before the file."""
    paths = [event.path for event in episode.requests if event.kind == "ok"]
    steps = [paths.index(f"/api/step/{number}") for number in (1, 2, 3, 4)]
    fetched = next(place for place, path in enumerate(paths) if path.startswith("/api/resource/"))

    assert steps == sorted(steps)
    assert steps[-1] < fetched


def test_the_url_was_the_fragments_of_the_instruction(episode: Episode) -> None:
    """The target that was served is head, fragments in one order and tail, all as printed, with nothing between."""
    text = episode.opened.instruction
    head, tail = re.findall(r"(?:Head:\n\n```\nhttp://api:8080|Tail:\n\n```\n)(\S+)\n```", text)
    fragments = re.findall(r"Fragment [A-D]:\n\n```\n(\S+)\n```", text)
    printed = {hashlib.sha256("".join([head, *order, tail]).encode()).hexdigest() for order in permutations(fragments)}
    served = [event for event in episode.requests if event.path.startswith("/api/resource/") and event.kind == "ok"]

    assert served
    assert {event.target_sha256 for event in served} <= printed
