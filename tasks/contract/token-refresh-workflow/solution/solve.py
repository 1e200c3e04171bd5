"""Before each step, ask whether the token outlives it, and refresh where it does not."""

import re
from collections.abc import Callable
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Item = dict[str, Any]
REFRESH_S = 1
"""What a refresh takes, like every request that is not a step."""

STEPS = ("list", "select", "download")


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Download the file and hand it in."""
    play(api, instruction, wait)


def in_time(step: str, left: float, cost: float, generation: int) -> bool:
    """Whether to refresh before a step: where the token ends before the answer, or is still the first one at the download."""
    return left <= cost or (step == "download" and generation == 0)


def by_rule(items: list[Item], rule: str, field: str, kind: str) -> str:
    """The id of the item to select."""
    ordered = sorted((item for item in items if item["kind"] == kind), key=lambda item: item[field])
    return ordered[-1 if rule in ("largest", "newest") else 0]["id"]


class Bearer:
    """Sends requests with the current token, and knows when it ends."""

    def __init__(self, api: httpx.Client, wait: Wait, mangle: Callable[[str], str], scheme: str) -> None:
        self.api, self.wait, self.mangle, self.scheme = api, wait, mangle, scheme
        self.tokens: list[str] = []
        self.generation, self.ends, self.opens, self.at = 0, 0.0, 0.0, 0.0

    def take(self, answer: httpx.Response) -> None:
        """Keep the token of an answer."""
        got = answer.raise_for_status().json()
        self.tokens.append(got["token"])
        self.generation, self.ends = got["generation"], self.now(answer) + got["expires_in"]
        self.opens = self.at + got["refresh_in"]

    def now(self, answer: httpx.Response) -> float:
        """When an answer came, in virtual seconds."""
        self.at = float(answer.headers["X-Virtual-Time"])
        return self.at

    def send(self, method: str, path: str, token: str | None = None, **headers: str) -> httpx.Response:
        """One request with a token, the current one unless given."""
        bears = {"Authorization": f"{self.scheme} {self.mangle(token or self.tokens[-1])}"} if self.scheme else {}
        answer = self.api.request(method, path, headers={**bears, **headers})
        self.now(answer)
        return answer

    def refresh(self, early: float = 0) -> None:
        """The next token for the current one, as soon as it can be had, or so many seconds before."""
        if (left := round(self.opens - REFRESH_S - early - self.at, 3)) > 0:
            self.wait(left)
        self.take(self.send("POST", "/api/refresh"))


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    due: Callable[[str, float, float, int], bool] = in_time,
    steps: tuple[str, ...] = STEPS,
    renew: Callable[[Bearer], None] = Bearer.refresh,
    linger: tuple[str, float] = ("", 0),
    reactive: bool = False,
    choose: Callable[[list[Item], str, str, str], str] = by_rule,
    bears: Callable[[list[str]], str] = lambda tokens: tokens[-1],
    mangle: Callable[[str], str] = lambda token: token,
    scheme: str = "Bearer",
    proof: Callable[[str, list[str], int], str | None] = lambda part, tokens, gen: f"{part}:{tokens[-1][-8:]}:r{gen}",
    shift: int = 0,
    hand_in: Callable[[bytes], bytes] = lambda content: content,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong; `linger` waits before a step."""
    desk, items = Bearer(api, wait, mangle, scheme), []
    desk.take(api.get("/task"))
    rule = choice(instruction)
    for step in steps:
        if linger[0] == step:
            wait(linger[1])
            desk.at += linger[1]
        if due(step, desk.ends - desk.at, cost(instruction, step), desk.generation):
            renew(desk)
        path = f"/api/select/{choose(items, *rule)}" if step == "select" else f"/api/{step}"
        shown = proof(anchor_slice(instruction, shift), desk.tokens, desk.generation)
        headers = {"X-Download-Proof": shown} if step == "download" and shown else {}
        answer = desk.send("GET", path, bears(desk.tokens), **headers)
        if reactive and answer.status_code == 401:
            desk.refresh()
            answer = desk.send("GET", path, **headers)
        answer.raise_for_status()
        if step == "list":
            items = answer.json()["items"]
    api.post("/submission", content=hand_in(answer.content))


def cost(instruction: str, step: str) -> float:
    """The seconds that a step takes."""
    found = re.search(rf"{step} (?:takes )?(\d+) seconds", " ".join(instruction.split()))
    assert found
    return float(found[1])


def choice(instruction: str) -> tuple[str, str, str]:
    """Rule, field and kind of the item to select."""
    found = re.search(r"Select the (\w+) item \(by `(\w+)`\) of those whose `kind` is `(\w+)`", " ".join(instruction.split()))
    assert found
    return found[1], found[2], found[3]
