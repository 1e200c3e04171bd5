"""Read the rules, gather the values in one session, and build one request that meets them all."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]


TOKEN = "the session_token of the current session, exactly as given"
CHECKSUM = "the checksum of the current session, exactly as given, once percent-encoded for the query"
SLICE = "the characters of the seed string that the instruction names"
ID, VERSION = "the id of the available resource", "the version of the available resource"
"""What rules ask for, in their words."""


@dataclass
class Download:
    """The request that is to meet the rules: its headers, query and body by place, and under which name each thing stands."""

    method: str
    kind: str
    parts: dict[str, dict[str, str]] = field(default_factory=lambda: {"header": {}, "query": {}, "body": {}})
    names: dict[str, tuple[str, str]] = field(default_factory=dict)
    sent: bytes | None = None
    """A body of another form, if any."""

    def send(self, api: httpx.Client) -> httpx.Response:
        """Send it."""
        content = json.dumps(self.parts["body"]).encode() if self.sent is None else self.sent
        headers = {"Content-Type": self.kind, **self.parts["header"]}
        return api.request(self.method, "/api/download", params=self.parts["query"], headers=headers, content=content)


@dataclass
class Seen:
    """What the service told, and the slice."""

    part: str
    rules: list[dict[str, str]] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    catalog: dict[str, Any] = field(default_factory=lambda: {"catalog_version": "", "resources": []})
    checksums: list[str] = field(default_factory=list)
    now: float = 0

    @property
    def row(self) -> dict[str, str]:
        """The resource that is available."""
        rows = [row for row in self.catalog["resources"] if row["status"] == "available"]
        return rows[0] if rows else {"id": "res_0", "version": "1.0.0", "format": "json"}

    @property
    def token(self) -> str:
        """The token of the current session."""
        return self.sessions[-1]["session_token"] if self.sessions else "none-yet"


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Download the file and hand it in."""
    play(api, instruction, wait)


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    steps: str = "docs session catalog checksum",
    linger: tuple[str, Callable[[Seen], float]] = ("", lambda seen: 0),
    row: Callable[[Seen], dict[str, str]] = lambda seen: seen.row,
    edit: Callable[[Download, Seen], None] = lambda made, seen: None,
    shift: int = 0,
    hand_in: Callable[[bytes, Seen], bytes] = lambda content, seen: content,
) -> None:
    """The whole flow, with seams: `steps` are the requests before the download, `linger` waits before one, `edit` bends it."""
    seen = Seen(anchor_slice(instruction, shift))
    for step in [*steps.split(), "download"]:
        # checksum and download have to fit into the session; the catalogue may be of an earlier one
        if step == "checksum" and seen.sessions and seen.sessions[-1]["expires_at"] - seen.now <= 2 * cost(instruction):
            take(api, "session", seen)
        if linger[0] == step and (seconds := linger[1](seen)) > 0:
            wait(seconds)
        if step != "download":
            take(api, step, seen)
    made = build(seen, row(seen))
    edit(made, seen)
    api.post("/submission", content=hand_in(made.send(api).raise_for_status().content, seen))


def take(api: httpx.Client, step: str, seen: Seen) -> None:
    """One of the requests before the download, or the link that the catalogue offers."""
    if step == "latest":
        seen.now = float(api.get(seen.catalog["latest"]["href"]).headers["X-Virtual-Time"])
        return
    bears = {"X-Session-Token": seen.token} if step in ("catalog", "checksum") else None
    answer = api.get("/docs" if step == "docs" else f"/api/{step}", headers=bears).raise_for_status()
    got, seen.now = answer.json(), float(answer.headers["X-Virtual-Time"])
    if step == "docs":
        seen.rules = got["rules"]
    elif step == "session":
        seen.sessions.append(got)
    elif step == "catalog":
        seen.catalog = got
    else:
        seen.checksums.append(got["checksum"])


def cost(instruction: str) -> int:
    """The seconds that a request takes."""
    seconds = re.search(r"Every request takes (\d+) seconds", instruction)
    assert seconds
    return int(seconds[1])


def build(seen: Seen, row: dict[str, str]) -> Download:
    """The download by the rules; what no rule asks for is left out."""
    known = {
        TOKEN: seen.token,
        CHECKSUM: seen.checksums[-1] if seen.checksums else "sha-256=::",
        SLICE: seen.part,
        ID: row["id"],
        VERSION: row["version"],
        "the format of the available resource": row["format"],
        "the catalog_version of the catalogue": seen.catalog["catalog_version"],
        "the region of the current session": seen.sessions[-1]["region"] if seen.sessions else "",
        "the last 8 characters of the session_token": seen.token[-8:],
    }
    made = Download("POST", "application/json")
    for rule in seen.rules:
        place, name, asked = rule["in"], rule["name"], rule["value"]
        if place == "request":
            made.method, _, made.kind = asked.partition(", with a body of the type ")
            continue
        joined = re.fullmatch(r"these parts in this order, joined by `(.)` alone: (.+)", asked)
        made.names[asked] = place, name
        made.parts[place][name] = joined[1].join(known[part] for part in joined[2].split("; ")) if joined else known[asked]
    return made
