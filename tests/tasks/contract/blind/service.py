"""What every plain script has at hand: the service, the instruction as text, and the reading of a page or of a slice.

A request is sent once; where the answer asks to come back after some seconds, it is sent again after them, a few times at most.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from typing import Any

import httpx

Wait = Callable[[float], None]

MOST_RETRIES = 5


class Service:
    """The service of one task, and what the instruction says of it."""

    def __init__(self, api: httpx.Client, instruction: str, wait: Wait) -> None:
        self._api, self._wait = api, wait
        self.instruction = instruction
        self.now = 0.0
        """The virtual time of the last answer, and what was waited since."""

    def send(self, method: str, target: str, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
        """One request, and its answer whatever it is."""
        answer = self._api.request(method, target, headers=dict(headers or {}), **body)
        self.now = float(answer.headers.get("X-Virtual-Time", self.now))
        return answer

    def ask(self, method: str, target: str, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
        """A request that is to succeed; it is repeated where the answer says when to come back."""
        for _ in range(MOST_RETRIES):
            answer = self.send(method, target, headers, **body)
            if answer.status_code < 400 or "Retry-After" not in answer.headers:
                break
            self.wait(float(answer.headers["Retry-After"]))
        return answer.raise_for_status()

    def get(self, target: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """A GET that is to succeed."""
        return self.ask("GET", target, headers)

    def post(self, target: str, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
        """A POST that is to succeed."""
        return self.ask("POST", target, headers, **body)

    @property
    def cookies(self) -> httpx.Cookies:
        """The jar."""
        return self._api.cookies

    def submit(self, body: str | bytes) -> None:
        """Hand in the result."""
        self._api.post("/submission", content=body)

    def wait(self, seconds: float) -> None:
        """Let virtual seconds pass."""
        if seconds > 0:
            self._wait(seconds)
            self.now += seconds

    def wait_until(self, moment: float) -> None:
        """Let time pass until a virtual second."""
        self.wait(moment - self.now)

    def told(self, pattern: str) -> str:
        """The first group of a pattern in the instruction, in which a space also stands for a line break."""
        match = re.search(pattern.replace(" ", r"\s+"), self.instruction)
        if match is None:
            raise LookupError(f"the instruction does not say {pattern}")
        return match[1]

    def block(self, title: str) -> str:
        """The indented or fenced text that stands below a line with this title."""
        return self.told(re.escape(title).replace(r"\ ", " ") + r"\s*```\n([^`]*?)\n\s*```")

    @property
    def slice_of_seed(self) -> str:
        """The characters of the seed string that the instruction names, by their numbers or by what they follow."""
        seed = self.block("Seed string:")
        if numbers := re.search(r"characters\s+(\d+)\s+to\s+(\d+)\s+of\s+the\s+seed", self.instruction):
            return seed[int(numbers[1]) - 1 : int(numbers[2])]
        marker = self.told("that follow `([0-9a-f]+)`")
        return seed.partition(marker)[2][:24]


class Page(HTMLParser):
    """The links and the inputs of an HTML page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[dict[str, str]] = []
        """The attributes of every link, its text as `text`, and the text after it, up to the next link, as `after`."""

        self.inputs: dict[str, str] = {}
        """Name -> value."""

        self._where = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link or an input."""
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in attributes:
            self.links.append({**attributes, "text": "", "after": ""})
            self._where = "text"
        if tag == "input":
            self.inputs[attributes.get("name", "")] = attributes.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        """A link ends."""
        if tag == "a":
            self._where = "after"

    def handle_data(self, data: str) -> None:
        """Add text to the newest link."""
        if self.links:
            self.links[-1][self._where] += data


def sha256(*pieces: str | bytes) -> str:
    """The SHA-256 of texts or bytes put one after the other, in hex."""
    return hashlib.sha256(b"".join(piece.encode() if isinstance(piece, str) else piece for piece in pieces)).hexdigest()


def hmac_sha256(key: bytes, message: bytes) -> str:
    """The HMAC-SHA256 of a message, in hex."""
    return hmac.new(key, message, hashlib.sha256).hexdigest()
