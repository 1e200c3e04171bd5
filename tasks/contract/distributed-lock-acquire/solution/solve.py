"""Renew just before what would not fit, one step or the two that share a lease; undo what was half done, then acquire again."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Answer = dict[str, Any]


def whole(seconds: dict[str, float], number: int, sealed: int) -> float:
    """How long a step takes, with the one that must follow under the same lease."""
    return seconds[str(number)] + (seconds[str(number + 1)] if number == sealed else 0)


@dataclass(frozen=True)
class Habits:
    """A seam at every place where a client can go wrong.

    `due` says how long the lease must last when a step begins; `pause` waits before a step (5: the completion), `meddle` comes
    after each step done, `recover` lists the steps to undo.
    """

    renew: Callable[[float, float, float], bool] = lambda left, seconds, ttl: seconds + 1 >= left
    due: Callable[[dict[str, float], int, int], float] = whole
    renews: Callable[[str], str | None] = lambda token: token
    plan: Callable[[list[int]], list[int]] = lambda steps: steps
    pause: tuple[int, float] = (0, 0)
    newest: bool = True
    headers: Callable[[dict[str, str]], dict[str, str]] = lambda headers: headers
    meddle: Callable[[httpx.Client, Wait], object] = lambda api, wait: None
    recover: Callable[[int], list[int]] = lambda step: [step]
    undo_pause: float = 0
    undo: Callable[[str], str | None] = lambda token: token
    acquires: bool = True
    repeats: bool = True
    shift: int = 0
    text: Callable[[list[str], str, str], str] = lambda receipts, undone, part: "".join([*receipts, undone, part])
    edit: Callable[[dict[str, str]], dict[str, str]] = lambda final: final
    hand_in: Callable[[str, list[str]], str] = lambda proof, receipts: proof


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Do the work and hand in the proof."""
    play(api, instruction, wait)


def play(api: httpx.Client, instruction: str, wait: Wait, **changed: Any) -> None:
    """The whole flow, with some habits changed."""
    Worker(api, wait, Habits(**changed)).work(anchor_slice(instruction, changed.get("shift", 0)))


class Worker:
    """Holds the lock, and keeps what it is given."""

    def __init__(self, api: httpx.Client, wait: Wait, habits: Habits) -> None:
        self.api, self.wait, self.habits = api, wait, habits
        self.token, self.fence, self.ttl, self.ends, self.now = "", 0, 0.0, 0.0, 0.0
        self.estimate: Answer = {}
        self.receipts: list[str] = []
        self.undone = ""

    def work(self, part: str) -> None:
        """All steps, then the completion."""
        self.estimate = self.ask("GET", "/work/estimate")
        self.hold(self.ask("POST", "/lock"))
        for number in self.habits.plan([int(number) for number in self.estimate["seconds"]]):
            self.step(number)
        self.linger(5)
        digest = hashlib.sha256(self.habits.text(self.receipts, self.undone, part).encode()).hexdigest()
        final = self.habits.edit({"anchor": part, "digest": digest})
        proof = self.ask("POST", "/work/complete", headers=self.carried(), json=final)["proof"]
        self.api.post("/submission", content=self.habits.hand_in(proof, self.receipts))

    def step(self, number: int) -> None:
        """One step, again if the lease was lost under it."""
        seconds = self.habits.due(self.estimate["seconds"], number, self.estimate["no_renewal_after"])
        if self.habits.renew(self.ends - self.now, seconds, self.ttl):
            self.hold(self.ask("PUT", "/lock/renew", json={"lock_token": self.habits.renews(self.token)}))
        self.linger(number)
        answer = self.ask("POST", f"/work/step/{number}", headers=self.carried())
        if "receipt" in answer:
            self.receipts.append(answer["receipt"])
            self.habits.meddle(self.api, self.wait)
            return
        if self.habits.undo_pause:
            self.wait(self.habits.undo_pause)
        for undone in self.habits.recover(number):
            token = self.habits.undo(answer["undo_token"])
            self.undone = self.ask("POST", f"/work/undo/{undone}", json={"undo_token": token})["receipt"]
        if self.habits.acquires:
            self.hold(self.ask("POST", "/lock"))
        if self.habits.repeats:
            self.step(number)

    def ask(self, method: str, path: str, **sent: Any) -> Answer:
        """The answer, which a step may also give with 409; any other refusal raises."""
        answer = self.api.request(method, path, **sent)
        if answer.status_code != 409 or "undo_token" not in answer.text:
            answer.raise_for_status()
        self.now = float(answer.headers["X-Virtual-Time"])
        got: Answer = answer.json()
        return got

    def hold(self, granted: Answer) -> None:
        """Keep what came with the lock or its renewal."""
        self.token, self.ttl, self.ends = granted.get("lock_token", self.token), granted["lease_ttl"], granted["expires_at"]
        if self.habits.newest or "lock_token" in granted:
            self.fence = granted["fencing_token"]

    def carried(self) -> dict[str, str]:
        """What a step carries."""
        return self.habits.headers({"X-Lock-Token": self.token, "X-Fencing-Token": str(self.fence)})

    def linger(self, place: int) -> None:
        """Wait where this client does."""
        if self.habits.pause[0] == place:
            self.wait(self.habits.pause[1])
