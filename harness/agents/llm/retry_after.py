"""Pause that a provider asks for before the next call: in headers, or in the words of its error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from math import isfinite
from time import time

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:([\d.]+)ms)?")
_WORDS = re.compile(
    r'(?:(?:try again|retry) (?:in|after) |"retryDelay": *")((?:[\d.]+(?:ms|h|m|s))+|[\d.]+(?= ?sec))', re.IGNORECASE
)
_RESETS = ("requests", "tokens")


def asked_pause(headers: Mapping[str, str], body: str) -> float | None:
    """Seconds to wait, None where the answer names none.

    `Retry-After` counts first, then phrases such as "try again in 7.66s", then the reset of a limit of which nothing remains.
    """
    if "retry-after-ms" in headers and (milliseconds := _number(headers["retry-after-ms"])) is not None:
        return milliseconds / 1000
    if "retry-after" in headers:
        return _header(headers["retry-after"])
    if words := _WORDS.search(body):
        return _duration(words[1])
    resets = [headers.get(f"x-ratelimit-reset-{one}") for one in _RESETS if headers.get(f"x-ratelimit-remaining-{one}") == "0"]
    return max(filter(None, map(_duration, filter(None, resets))), default=None)


def _header(value: str) -> float | None:
    """The seconds of a Retry-After header, given as a number or as a date."""
    if (seconds := _number(value)) is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None


def _number(value: str) -> float | None:
    try:
        return max(0.0, float(value))
    except ValueError:
        return None


def _duration(text: str) -> float | None:
    """The seconds of "1m26.4s", "120ms" or "7.66"; None where the text is no duration."""
    if (bare := _number(text)) is not None:
        return bare if isfinite(bare) else None
    parts = _DURATION.fullmatch(text)
    try:
        hours, minutes, seconds, milliseconds = (float(part or 0) for part in parts.groups()) if parts else (0.0,) * 4
    except ValueError:
        return None
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000 if parts else None
