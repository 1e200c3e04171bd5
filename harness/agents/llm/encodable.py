"""What a model or its provider said, made fit for UTF-8: half a surrogate pair has no bytes, so it becomes U+FFFD.

JSON can carry such halves by escapes, and a reply that is cut off inside an emoji does. Whatever is read from a provider
passes here once, so that nothing after it - records, requests, the provider itself - meets text that cannot be written down.
"""

from __future__ import annotations

import re
from typing import Any

_HALF = re.compile(r"[\ud800-\udfff]")


def encodable(value: Any) -> Any:
    """A value of JSON with every half of a surrogate pair replaced, in keys too."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {encodable(key): encodable(inner) for key, inner in value.items()}
    return [encodable(inner) for inner in value] if isinstance(value, list) else value
