r"""Escaping of untrusted text for printing.

Characters that a terminal would obey or hide are escaped, as in `\x1b`: control characters (C0, DEL and C1), characters that
change the direction of text, other invisible ones, and unpaired surrogates. Line feeds and tabs are not escaped, nor are the
joiners that some scripts and emoji need.
"""

from __future__ import annotations

import re
import unicodedata

_STAYS = "\u200c\u200d\u00ad"
_SPELLED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""General categories of Unicode: control, format, surrogate, and the separators of lines and paragraphs."""

_UNUSUAL = re.compile(r"[^\x20-\x7e\n\t]")


def printable(text: str) -> str:
    """Return the text, safe to print on a terminal."""
    return _UNUSUAL.sub(_spelled, text)


def _spelled(place: re.Match[str]) -> str:
    letter = place[0]
    if letter in _STAYS or unicodedata.category(letter) not in _SPELLED:
        return letter
    return letter.encode("unicode_escape").decode()
