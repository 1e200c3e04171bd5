"""Step by step until one fails or none is left; then undo in reverse what gave a token, or nothing; then complete."""

import hashlib
import re
from collections.abc import Callable
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Step = tuple[str, str, str]
"""Service, path of the step, path of its undo."""


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Run the saga and hand in the confirmation."""
    play(api, instruction, wait)


class Desk:
    """Sends each request with the current nonce, and keeps the next one."""

    def __init__(self, api: httpx.Client, nonce: str, carry: Callable[[str, str], dict[str, str]]) -> None:
        self.api, self.first, self.nonce, self.carry = api, nonce, nonce, carry

    def send(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer, which a step may also give with 500; any other refusal raises."""
        answer = self.api.post(path, json=body, headers=self.carry(self.nonce, self.first))
        if answer.status_code != 500:
            answer.raise_for_status()
        got: dict[str, Any] = answer.json()
        self.nonce = got.get("nonce", self.nonce)
        return {**got, "failed": answer.status_code == 500}


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    plan: Callable[[list[Step]], list[Step]] = lambda steps: steps,
    eager: bool = False,
    repeat: bool = False,
    linger: float = 0,
    detours: int = 0,
    undo: Callable[[list[str], str, bool], list[str]] = lambda done, last, failed: done[::-1] if failed else [],
    show: Callable[[dict[str, str]], dict[str, str]] = lambda tokens: tokens,
    carry: Callable[[str, str], dict[str, str]] = lambda nonce, first: {"X-Saga-Nonce": nonce},
    look: Callable[[str, str], dict[str, str]] = lambda nonce, first: {"X-Saga-Nonce": nonce},
    text: Callable[[list[str], list[str], str, bool], str] = lambda tokens, receipts, part, failed: "".join(
        [*tokens, *receipts, part, "COMPENSATED" if failed else "COMMITTED"]
    ),
    edit: Callable[[dict[str, Any]], dict[str, Any]] = lambda final: final,
    shift: int = 0,
    hand_in: Callable[[str, list[str]], str] = lambda confirmation, tokens: confirmation,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `undo` gets the services that gave a token, the one that was called last, and whether it failed; `look` gives the headers of
    a detour.
    """
    steps, desk = read_steps(instruction), Desk(api, first_nonce(instruction), carry)
    undo_path = {service: path for service, _, path in steps}
    tokens, last, failed = run(desk, plan(steps), eager=eager, repeat=repeat)
    for _ in range(detours):
        api.get("/saga/status", headers=look(desk.nonce, desk.first)).raise_for_status()
    if linger:
        wait(linger)
    shown = show(tokens)
    receipts = [desk.send(undo_path[s], {"token": shown.get(s)})["receipt"] for s in undo(list(tokens), last, failed)]
    part = anchor_slice(instruction, shift)
    proof = hashlib.sha256(text(list(tokens.values()), receipts, part, failed).encode()).hexdigest()
    final = {"anchor": part, "tokens": [shown.get(service) for service in tokens], "proof": proof}
    confirmation = desk.send("/saga/complete", edit(final))["confirmation"]
    api.post("/submission", content=hand_in(confirmation, list(tokens.values())))


def run(desk: Desk, steps: list[Step], *, eager: bool, repeat: bool) -> tuple[dict[str, str], str, bool]:
    """Call steps until one fails or none is left: the tokens by service, the service called last, whether it failed."""
    tokens: dict[str, str] = {}
    for service, path, back in steps:
        answer = desk.send(path)
        if "token" in answer:
            tokens[service] = answer["token"]
        if eager:
            desk.send(back, {"token": answer["token"]})
        if repeat and "deadline" in answer:
            desk.send(path)
        if answer["failed"]:
            break
    return tokens, service, answer["failed"]


def read_steps(instruction: str) -> list[Step]:
    """The steps in the instruction's order."""
    return re.findall(r"^\d+\. `(\w+)`: `POST (\S+)`, undone by `POST (\S+)`$", instruction, re.MULTILINE)


def first_nonce(instruction: str) -> str:
    """The nonce of the first request."""
    found = re.search(r"The first one is\s`([0-9a-f]+)`", instruction)
    assert found
    return found[1]
