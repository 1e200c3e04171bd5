"""Five byte mutations that occur in production, as transports that wrap another transport (paper, Appendix J).

`clip=<n>` truncates a target at the tool's input limit; `linewrap=<n>` wraps it every n characters (%0A, since a raw newline
cannot be sent); `decode` percent-decodes characters that need no encoding; `resort` sorts query parameters; `visible=<n>`
shows the agent link text in place of the href: every href longer than n is truncated and ends in an ellipsis.
All are pure functions of the bytes and off by default; `mutate_transport` returns the wrapped transport. `PREDICTED` is the
label that each one causes on an affected artifact.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from worlds.contract.labels import Label
from worlds.core.errors import ManifestError
from worlds.core.wire import Transport, WireRequest, WireResponse

TRUNCATION_DETAIL = "TOOL_INPUT_TOO_LONG"
"""The paper's name for a truncated tool input; it is a detail of MUTATED_TOKEN, not a label."""

PREDICTED: dict[str, Label] = {
    "clip": Label.MUTATED_TOKEN,
    "linewrap": Label.MUTATED_TOKEN,
    "decode": Label.MUTATED_TOKEN,
    "resort": Label.SIGNATURE_MISMATCH,
    "visible": Label.WRONG_VALUE,
}
DEFAULTS = {"clip": 200, "linewrap": 76, "decode": 0, "resort": 0, "visible": 80}

_DECODABLE = re.compile(rb"%(2[1-9A-Fa-f]|3[A-Fa-f]|40|5[BbDdFf]|7[Ee])")
_HREF = re.compile(rb'(href=")([^"]*)(")')


def parse_mutation(text: str) -> tuple[str, int]:
    """Parse `name` or `name=number` into (name, number); raises ManifestError for anything else."""
    name, _, number = text.partition("=")
    if name not in PREDICTED or (number and not (DEFAULTS[name] and number.isdecimal() and int(number))):
        raise ManifestError(f"mutation must be one of {', '.join(PREDICTED)}, with =<number> where it takes one, not {text!r}")
    return name, int(number) if number else DEFAULTS[name]


def mutate_transport(transport: Transport, mutation: str) -> Transport:
    """Wrap `transport` in one mutation; raises ManifestError for an unknown one."""
    name, number = parse_mutation(mutation)

    def send(request: WireRequest) -> WireResponse:
        if name in _REQUESTS:
            request = request._replace(target=_REQUESTS[name](request.target, number))
        answer = transport(request)
        return answer._replace(body=_visible(answer.body, number)) if name == "visible" else answer

    return send


def _linewrap(target: bytes, width: int) -> bytes:
    return b"%0A".join(target[start : start + width] for start in range(0, len(target), width))


def _decode(target: bytes, _: int) -> bytes:
    path, mark, query = target.partition(b"?")
    return path + mark + _DECODABLE.sub(_literal, query)


def _literal(escape: re.Match[bytes]) -> bytes:
    """Return the character of an escape, but keep # and % escaped, which would change how the target is parsed."""
    character = bytes([int(escape[1], 16)])
    return escape[0] if character in b"#%" else character


def _resort(target: bytes, _: int) -> bytes:
    path, mark, query = target.partition(b"?")
    return path + mark + b"&".join(sorted(query.split(b"&")))


def _visible(body: bytes, width: int) -> bytes:
    def shown(link: re.Match[bytes]) -> bytes:
        return link[1] + (link[2] if len(link[2]) <= width else link[2][:width] + b"...") + link[3]

    return _HREF.sub(shown, body)


_REQUESTS: dict[str, Callable[[bytes, int], bytes]] = {
    "clip": lambda target, limit: target[:limit],
    "linewrap": _linewrap,
    "decode": _decode,
    "resort": _resort,
}
