"""Read the rules, gather the values in one session, and build one request that meets them all."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]


@dataclass
class Download:
    """The request that is to meet the rules."""

    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


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
        if linger[0] == step and (seconds := linger[1](seen)) > 0:
            wait(seconds)
        if step != "download":
            take(api, step, seen)
    made = build(seen, row(seen))
    edit(made, seen)
    answer = api.request(made.method, "/api/download", params=made.query, headers=made.headers, content=made.body)
    api.post("/submission", content=hand_in(answer.raise_for_status().content, seen))


def take(api: httpx.Client, step: str, seen: Seen) -> None:
    """One of the requests before the download, or the link that the catalogue offers."""
    if step == "latest":
        api.get(seen.catalog["latest"]["href"])
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


def build(seen: Seen, row: dict[str, str]) -> Download:
    """The download by the rules; what no rule asks for is left out."""
    session = seen.sessions[-1] if seen.sessions else {"region": ""}
    values = {
        "Content-Type": "application/json",
        "X-Session-Token": seen.token,
        "X-Seed-Anchor": seen.part,
        "X-Catalog-Version": seen.catalog["catalog_version"],
        "X-Region": session["region"],
        "X-Request-Proof": f"{seen.part}:{seen.token[-8:]}",
        "format": row["format"],
        "checksum": seen.checksums[-1] if seen.checksums else "sha256:0",
    }
    named = {place: [rule["name"] for rule in seen.rules if rule["in"] == place] for place in ("header", "query")}
    body = json.dumps({"resource": row["id"], "version": row["version"]}).encode()
    headers, query = ({name: values[name] for name in named[place]} for place in ("header", "query"))
    return Download("POST", headers, query, body)
