"""Each token right before its use, derived once, refreshed when it has ended; nothing is asked for that may end unused."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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


@dataclass
class Ways:
    """Where a client can go wrong; as it stands here, all is right.

    `ahead` names what is derived first; `before` and `after` run around each download, and the latter notes what it ended;
    `shown` names the owner of the token that a download carries; `carry` changes tokens from the first download on; `linger`
    waits before a download ("1", "2", ...) or the completion.
    """

    roots: int = 1
    order: Callable[[list[str]], list[str]] | None = None
    ahead: Callable[[list[str]], list[str]] = lambda resources: []
    before: Callable[[Holder, str], None] = lambda holder, name: None
    after: Callable[[Holder, list[str]], None] = lambda holder, ended: holder.ended.update(ended)
    shown: Callable[[Holder, str, list[str]], str] = lambda holder, name, done: name
    under: Callable[[str, str], str] = lambda name, parent: parent
    carry: Callable[[str], str | None] = lambda token: token
    nonce: Callable[[list[str]], str | None] = lambda nonces: nonces[-1]
    linger: tuple[str, float] = ("", 0)
    proved: Callable[[list[str], list[str], str], str] = lambda names, receipts, part: "".join([*receipts, part])
    shift: int = 0
    edit: Callable[[dict[str, Any]], dict[str, Any]] = lambda final: final
    hand_in: Callable[[str, list[str]], str] = lambda confirmation, receipts: confirmation


def play(api: httpx.Client, instruction: str, wait: Wait, **seams: Any) -> None:
    """The whole flow, in the ways that `seams` change."""
    ways, parent = Ways(**seams), read_tree(instruction)
    resources, holder = (ways.order or partial(best, instruction))(read_order(instruction)), Holder(api, parent)
    holder.under = lambda name: ways.under(name, parent[name])
    answers = [api.post("/token/root").raise_for_status().json() for _ in range(ways.roots)]
    holder.tokens[ROOT], nonces, receipts, done = answers[0]["token"], [answers[0]["nonce"]], [], []
    for name in ways.ahead(resources):
        holder.need(name)
    for place, name in enumerate(resources, 1):
        holder.need(name)
        ways.before(holder, name)
        if ways.linger[0] == str(place):
            wait(ways.linger[1])
        holder.carry = ways.carry
        headers = holder.authorized(ways.shown(holder, name, done))
        if nonce := ways.nonce(nonces):
            headers["X-Download-Nonce"] = nonce
        got = api.get(f"/resource/{name}", headers=headers).raise_for_status().json()
        receipts.append(got["receipt"])
        nonces.append(got["nonce"])
        done.append(name)
        ways.after(holder, got["ended"])
    if ways.linger[0] == "complete":
        wait(ways.linger[1])
    part = anchor_slice(instruction)
    proof = hashlib.sha256(ways.proved(done, receipts, part).encode()).hexdigest()
    final = ways.edit({"anchor": anchor_slice(instruction, ways.shift), "proof": proof})
    api.post("/submission", content=ways.hand_in(holder.post("/complete", ROOT, final)["confirmation"], receipts))


def best(instruction: str, resources: list[str]) -> list[str]:
    """The resources as listed; branch by branch, where one may choose and a download spares its own branch."""
    if "Any other order" not in instruction:
        return resources
    branches = list(dict.fromkeys(map(read_tree(instruction).__getitem__, resources)))
    return sorted(resources, key=lambda name: branches.index(read_tree(instruction)[name]))


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
