"""One key, one body: repeat both unchanged, after Retry-After, until the answer has an order id; then wait out the downtime."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Order = dict[str, Any]
Answer = dict[str, Any]


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Place the order and hand in its receipt."""
    play(api, instruction, wait)


def own_uuid(instruction: str, number: int = 0) -> str:
    """A UUID of our own (RFC 9562 section 5.8); a solution has no chance of its own, so it comes from the text."""
    text = hashlib.sha256(f"{number}{instruction}".encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-8{text[13:16]}-a{text[17:20]}-{text[20:32]}"


def until_up(answer: Answer, now: float, cost: float) -> float:
    """The seconds until receipts are up again, or less, so that a request of `cost` is over before this one is gone."""
    times = answer["receipt"]
    return float(min(times["down_until"], times["kept_until"] - cost - 1)) - now


def one_key(instruction: str, number: int, attempt: int) -> dict[str, str]:
    """The key of an order, the same at every attempt."""
    return {"Idempotency-Key": own_uuid(instruction, number)}


@dataclass(frozen=True)
class Habits:
    """A seam at every place where a client can go wrong.

    `key` and `body` are those of an attempt, of which at most `attempts` are made; a `bold` client goes on without an answer.
    `pause` and `patience` are the seconds before the next attempt and before the receipt, which is asked for `receipts` times.
    """

    orders: int = 1
    key: Callable[[str, int, int], dict[str, str]] = one_key
    body: Callable[[int, Order], bytes] = lambda attempt, order: json.dumps(order).encode()
    pause: Callable[[float], float] = lambda told: told
    attempts: int = 9
    bold: bool = False
    patience: Callable[[Answer, float, float], float] = until_up
    receipts: int = 1
    query: Callable[[Answer, Order], str] = lambda answer, order: f"?order_id={answer['order_id']}"
    anchor: Callable[[str], dict[str, str]] = lambda part: {"X-Seed-Anchor": part}
    shift: int = 0
    hand_in: Callable[[bytes], bytes] = lambda receipt: receipt


def play(api: httpx.Client, instruction: str, wait: Wait, **changed: Any) -> None:
    """The whole flow, with some habits changed."""
    if receipt := ordered(api, instruction, wait, Habits(**changed)):
        api.post("/submission", content=receipt)


def ordered(api: httpx.Client, instruction: str, wait: Wait, habits: Habits) -> bytes:
    """What is to be handed in for the order; nothing for who gave up."""
    order, answer = read_order(instruction), None
    for number in range(habits.orders):
        placed = place(api, instruction, wait, habits, number)
        if "Retry-After" not in placed.headers:
            answer = placed.raise_for_status().json()
    if answer is None and not habits.bold:
        return b""
    answer = answer or {"order_id": order["reference"]}
    if seconds := habits.patience(answer, float(placed.headers["X-Virtual-Time"]), cost(instruction)):
        wait(seconds)
    for _ in range(habits.receipts):
        headers = habits.anchor(anchor_slice(instruction, habits.shift))
        receipt = api.get(f"/api/receipt{habits.query(answer, order)}", headers=headers)
        if receipt.status_code == 503:
            wait(float(receipt.headers["Retry-After"]) - 1)
    return habits.hand_in(receipt.raise_for_status().content)


def place(api: httpx.Client, instruction: str, wait: Wait, habits: Habits, number: int) -> httpx.Response:
    """The last answer to one order: the one that has its id, unless this client gives up before."""
    order = read_order(instruction)
    for attempt in range(habits.attempts):
        headers, content = habits.key(instruction, number, attempt), habits.body(attempt, order)
        placed = api.post("/api/orders", headers=headers, content=content)
        if "Retry-After" not in placed.headers:
            break
        if seconds := habits.pause(float(placed.headers["Retry-After"])) if attempt + 1 < habits.attempts else 0:
            wait(seconds)
    return placed


def read_order(instruction: str) -> Order:
    """The fields of the order, text or number."""
    fields = re.findall(r"^ +- `(\w+)`: the (string|number) `([^`]+)`$", instruction, re.MULTILINE)
    return {name: int(value) if kind == "number" else value for name, kind, value in fields}


def cost(instruction: str) -> int:
    """The seconds that a request for an order or a receipt takes."""
    told = re.search(r"order or a receipt takes (\d+) seconds", instruction)
    assert told
    return int(told[1])
