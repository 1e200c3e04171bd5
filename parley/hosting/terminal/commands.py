"""Commands that a person types to act on a service, parsed into the calls of the `tool` interface that a model would make.

GET /files                      a request; the address is sent byte for byte
POST /files                     a request with a header and a body
X-Token: abc
--
{"name": "a"}
wait 5                          let virtual seconds pass
submit {"answer": 1}            submit the result, which ends the episode; the body may continue on the next lines
"""

from __future__ import annotations

import re
from typing import Any

from harness.agents.llm.interface import Mistake

BODY = "--"
"""Line that separates headers from the body."""

_REQUEST = re.compile(r"([A-Za-z]+) (\S.*)")
_HEADER = re.compile(r"([^:\s]+):[ \t]*(.*)")

HELP = """\
GET /path               send a request; lines after it are headers (Name: value); after a line -- comes the body
wait SECONDS            let virtual time pass
submit TEXT             hand in the result; this ends the episode
/rules                  read the instruction again
/quit                   give up
An empty line or Ctrl-D sends what you typed; a line that ends with a backslash goes on in the next one."""


def read_command(entry: str) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments of an entry; raises Mistake naming the invalid line."""
    first, _, rest = entry.partition("\n")
    word, _, after = first.strip().partition(" ")
    if word.lower() == "wait":
        return "wait", {"seconds": _seconds(after)}
    if word.lower() == "submit":
        return "submit", {"body": "\n".join(part for part in (after, rest) if part)}
    asked = _REQUEST.fullmatch(first.strip())
    if asked is None:
        raise Mistake(f"{first[:60]!r} is no command: GET /path, wait SECONDS or submit TEXT")
    head, body = _parted(rest)
    headers = [_header(line) for line in head.splitlines() if line.strip()]
    return "http_request", {"method": asked[1].upper(), "url": asked[2], "headers": headers, "body": body}


def _parted(rest: str) -> tuple[str, str]:
    lines = rest.split("\n")
    if BODY not in lines:
        return rest, ""
    at = lines.index(BODY)
    return "\n".join(lines[:at]), "\n".join(lines[at + 1 :])


def _header(line: str) -> list[str]:
    header = _HEADER.fullmatch(line)
    if header is None:
        raise Mistake(f"{line[:60]!r} is no header (Name: value); a body comes after a line {BODY}")
    return [header[1], header[2]]


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Mistake(f"wait takes seconds, not {text[:40]!r}") from None
