"""The hidden validator: a log our world could have written, every contract kept, and the fragments joined byte for byte."""

import hashlib
import re
from itertools import permutations

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_step_was_served(episode: Episode) -> None:
    """All steps were taken, in their order."""
    served = dict.fromkeys(event.path for event in episode.requests if event.kind == "ok" and "/step/" in event.path)
    steps = range(1, round(episode.opened.options["fragments"]) + 1)

    assert list(served) == [f"/api/step/{number}" for number in steps]


def test_the_url_was_the_fragments_of_the_instruction(episode: Episode) -> None:
    """The target that was served is head, fragments in one order and tail, all as printed, with nothing between."""
    text = episode.opened.instruction
    head, tail = re.findall(r"(?:Head:\n\n```\nhttp://api:8080|Tail:\n\n```\n)(\S+)\n```", text)
    fragments = re.findall(r"Fragment [A-F]:\n\n```\n(\S+)\n```", text)
    printed = {hashlib.sha256("".join([head, *order, tail]).encode()).hexdigest() for order in permutations(fragments)}
    served = [event for event in episode.requests if event.path.startswith("/api/resource/") and event.kind == "ok"]

    assert {event.target_sha256 in printed for event in served} == {True}
