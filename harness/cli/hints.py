"""Errors on stderr, with hints that repeat the typed command with the flags that it lacks."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from itertools import pairwise

from harness.errors import Cancelled, HarnessError
from harness.interrupts import stop_signals
from harness.sanitize import printable
from worlds.core.errors import ParleyError

_WORDS = r"""(?: (?!or\b|and\b|then\b)(?:'[^']*'|"'"|[^\s,;'"])+)*"""
"""Pattern of the words that a hint adds to a command; words with blanks are quoted as by `shlex.quote`."""

_COMMAND = re.compile(rf"\bharness (?P<command>[\w-]+) \.\.\.(?P<added>{_WORDS})")
_SAME = re.compile(rf"\bthe same command with(?P<added>(?= -){_WORDS})")
_INSTEAD = {"--out": "--resume", "--resume": "--out"}
"""For an option, the option that it replaces."""

_SECRETS = re.compile(r"(?<=://)[^/@\s]+@|(?<=\S)[?#].*\Z")
"""Parts of an address that are not repeated: user and password, query, fragment."""


def report_error(error: ParleyError) -> int:
    """Print an error with its hint, and return the exit code."""
    print(printable(f"harness: {error}"), file=sys.stderr)
    if not isinstance(error, HarnessError):
        return HarnessError.exit_code
    if error.hint:
        print(printable(f"  try: {whole(error.hint, sys.argv[1:])}"), file=sys.stderr)
    return stop_signals.exit_code if isinstance(error, Cancelled) else error.exit_code


def whole(hint: str, words: Sequence[str]) -> str:
    """Return a hint with `harness run ... --flag`, or "the same command with --flag", expanded to the typed command.

    `words` are the words after `harness`. A flag that was typed with another value is replaced. Credentials and the query of an
    address are left out.
    """

    def typed(match: re.Match[str]) -> str:
        if match.re is _COMMAND and match["command"] not in words:
            return match[0]
        shown = [_SECRETS.sub("", word) if "://" in word else word for word in _joined(words, shlex.split(match["added"]))]
        return shlex.join(["harness", *shown])

    return _SAME.sub(typed, _COMMAND.sub(typed, hint)) if words else hint


def _joined(words: Sequence[str], added: Sequence[str]) -> list[str]:
    """Return the words with the added flags, which replace their earlier values."""
    flags = {word for word in added if word.startswith("-")}
    valued = {flag for flag, after in pairwise(added) if flag in flags and after not in flags}
    replaced = {_INSTEAD[flag] for flag in flags if flag in _INSTEAD}
    flags, valued = flags | replaced, valued | replaced
    kept: list[str] = []
    skipped = False
    for word in words:
        if skipped:
            skipped = False
        elif word in flags:
            skipped = word in valued
        elif word.partition("=")[0] not in flags:
            kept.append(word)
    return [*kept, *added]
