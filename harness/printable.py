r"""What others wrote, as one may print it (`printable`), and as one may write it down (`encodable`).

1. What a terminal would obey or hide is spelled out, as in `\x1b`: control characters (C0, DEL and C1), letters that turn the
   direction of text, other invisible ones, and half surrogate pairs. Line feeds and tabs stay, and what scripts and emoji need
   to join letters.
2. Half a surrogate pair has no bytes in UTF-8, so it becomes U+FFFD. JSON can carry such halves by escapes, and a reply that is
   cut off inside an emoji does. What is read from a provider passes here once, so that nothing after it - records, requests,
   the provider itself - meets text that cannot be written down.
"""

from __future__ import annotations

import re
import unicodedata

from worlds.core.replies import with_whole_characters

_STAYS = "\u200c\u200d\u00ad"
_SPELLED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""General categories of Unicode: control, format, surrogate, and the separators of lines and paragraphs."""

_UNUSUAL = re.compile(r"[^\x20-\x7e\n\t]")


def printable(text: str) -> str:
    """The text, safe to print on a terminal."""
    return _UNUSUAL.sub(_spelled, text)


encodable = with_whole_characters
"""Returns a value of JSON with every half of a surrogate pair replaced, in keys too."""


def _spelled(place: re.Match[str]) -> str:
    letter = place[0]
    if letter in _STAYS or unicodedata.category(letter) not in _SPELLED:
        return letter
    return letter.encode("unicode_escape").decode()
