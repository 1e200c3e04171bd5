"""Reads the instruction as any client has to: the seed string in its fence, and the slice of it that requests carry.

Boilerplate contract/4, written by `harness sync`: edits here are lost.
"""

import re


def seed_string(instruction: str) -> str:
    """The seed string: the longest hex text that stands alone in a fence."""
    return max(re.findall(r"```\n([0-9a-f]+)\n```", instruction), key=len)


def anchor_slice(instruction: str, shift: int = 0) -> str:
    """The characters of the seed string that the instruction names, by range or by marker, or those `shift` places away."""
    text, (first, count) = seed_string(instruction), _place(instruction)
    # away from an end, where the other direction is not there
    first += shift if 0 <= first + shift <= len(text) - count else -shift
    return text[first : first + count]


def _place(instruction: str) -> tuple[int, int]:
    """Where the slice starts, from 0, and how many characters it has."""
    words = " ".join(instruction.split())
    if by_range := re.search(r"characters (\d+) to (\d+) of the seed string", words):
        return int(by_range[1]) - 1, int(by_range[2]) - int(by_range[1]) + 1
    by_marker = re.search(r"(\d+) characters of the seed string (?:below )?that follow `([0-9a-f]+)`", words)
    assert by_marker
    return seed_string(instruction).index(by_marker[2]) + len(by_marker[2]), int(by_marker[1])
