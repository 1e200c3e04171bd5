"""Each token right before its use, derived once, refreshed when it has ended; nothing is asked for that may end unused."""

import hashlib
import re
from collections.abc import Callable
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
ROOT = "root"


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Download all resources and hand in the confirmation."""
    play(api, instruction, wait)


class Holder:
    """The tokens of one client by name, and how it gets them."""

    def __init__(self, api: httpx.Client, parent: dict[str, str]) -> None:
        self.api, self.parent = api, parent
        self.tokens: dict[str, str] = {}
        self.ended: set[str] = set()
        self.carry: Callable[[str], str | None] = lambda token: token
        self.under: Callable[[str], str] = lambda name: parent[name]

    def post(self, path: str, holder: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a POST with the token of `holder`."""
        answer: dict[str, Any] = self.api.post(path, json=body, headers=self.authorized(holder)).raise_for_status().json()
        return answer

    def authorized(self, holder: str) -> dict[str, str]:
        """The header that carries the token of `holder`, if it is to be carried."""
        token = self.carry(self.tokens[holder])
        return {"Authorization": f"Bearer {token}"} if token else {}

    def need(self, name: str) -> None:
        """Derive or refresh the token of a name, and of what is above it, unless it is there and alive."""
        if name != ROOT:
            self.need(self.parent[name])
            if name not in self.tokens or name in self.ended:
                self.ask(name, "refresh" if name in self.tokens else "derive")

    def ask(self, name: str, how: str = "derive") -> None:
        """Derive or refresh one token."""
        self.tokens[name] = self.post(f"/token/{how}", self.under(name), {"token_id": name})["token"]
        self.ended.discard(name)
        self.ended |= {below for below, above in self.parent.items() if above == name and below in self.tokens}


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    roots: int = 1,
    order: Callable[[list[str]], list[str]] = lambda resources: resources,
    ahead: Callable[[list[str]], list[str]] = lambda resources: [],
    before: Callable[[Holder, str], None] = lambda holder, name: None,
    after: Callable[[Holder, list[str]], None] = lambda holder, ended: holder.ended.update(ended),
    shown: Callable[[Holder, str, list[str]], str] = lambda holder, name, done: name,
    under: Callable[[str, str], str] = lambda name, parent: parent,
    carry: Callable[[str], str | None] = lambda token: token,
    nonce: Callable[[list[str]], str | None] = lambda nonces: nonces[-1],
    linger: tuple[str, float] = ("", 0),
    proved: Callable[[list[str], list[str], str], str] = lambda names, receipts, part: "".join([*receipts, part]),
    shift: int = 0,
    edit: Callable[[dict[str, Any]], dict[str, Any]] = lambda final: final,
    hand_in: Callable[[str, list[str]], str] = lambda confirmation, receipts: confirmation,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `ahead` names what is derived first; `before` and `after` run around each download, and the latter notes what it ended;
    `shown` names the owner of the token that a download carries; `carry` changes tokens from the first download on; `linger`
    waits before a download ("1", "2", ...) or the completion.
    """
    parent, resources = read_tree(instruction), order(read_order(instruction))
    holder = Holder(api, parent)
    holder.under = lambda name: under(name, parent[name])
    answers = [api.post("/token/root").raise_for_status().json() for _ in range(roots)]
    holder.tokens[ROOT], nonces, receipts, done = answers[0]["token"], [answers[0]["nonce"]], [], []
    for name in ahead(resources):
        holder.need(name)
    for place, name in enumerate(resources, 1):
        holder.need(name)
        before(holder, name)
        if linger[0] == str(place):
            wait(linger[1])
        holder.carry = carry
        headers = holder.authorized(shown(holder, name, done))
        if shown_nonce := nonce(nonces):
            headers["X-Download-Nonce"] = shown_nonce
        got = api.get(f"/resource/{name}", headers=headers).raise_for_status().json()
        receipts.append(got["receipt"])
        nonces.append(got["nonce"])
        done.append(name)
        after(holder, got["ended"])
    if linger[0] == "complete":
        wait(linger[1])
    proof = hashlib.sha256(proved(done, receipts, anchor_slice(instruction)).encode()).hexdigest()
    final = {"anchor": anchor_slice(instruction, shift), "proof": proof}
    api.post("/submission", content=hand_in(holder.post("/complete", ROOT, edit(final))["confirmation"], receipts))


def read_tree(instruction: str) -> dict[str, str]:
    """The parent of every branch and every resource."""
    parent: dict[str, str] = {}
    for branch, resources in re.findall(r"^- branch `([\w-]+)`: (.+)$", instruction, re.MULTILINE):
        parent[branch] = ROOT
        parent |= dict.fromkeys(re.findall(r"`([\w-]+)`", resources), branch)
    return parent


def read_order(instruction: str) -> list[str]:
    """The resources in the order of download."""
    found = re.search(r"in this order: (.+?)\.", instruction)
    assert found
    return re.findall(r"`([\w-]+)`", found[1])
