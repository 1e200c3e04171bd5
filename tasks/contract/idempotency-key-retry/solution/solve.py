"""One key, one body: repeat both unchanged, after Retry-After, until the answer has an order id; then wait out the downtime."""

import hashlib
import json
import re
from collections.abc import Callable
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


def until_up(answer: Answer, now: float) -> float:
    """The seconds until receipts are up again."""
    return answer["receipt"]["down_until"] - now


def one_key(instruction: str, number: int, attempt: int) -> dict[str, str]:
    """The key of an order, the same at every attempt."""
    return {"Idempotency-Key": own_uuid(instruction, number)}


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    orders: int = 1,
    key: Callable[[str, int, int], dict[str, str]] = one_key,
    body: Callable[[int, Order], bytes] = lambda attempt, order: json.dumps(order).encode(),
    pause: Callable[[float], float] = lambda told: told,
    attempts: int = 9,
    bold: bool = False,
    patience: Callable[[Answer, float], float] = until_up,
    receipts: int = 1,
    query: Callable[[Answer, Order], str] = lambda answer, order: f"?order_id={answer['order_id']}",
    anchor: Callable[[str], dict[str, str]] = lambda part: {"X-Seed-Anchor": part},
    shift: int = 0,
    hand_in: Callable[[bytes], bytes] = lambda receipt: receipt,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `key` and `body` are those of an attempt, of which at most `attempts` are made; a `bold` client goes on without an answer.
    `pause` and `patience` are the seconds before the next attempt and before the receipt, which is asked for `receipts` times.
    """
    order, answer, seconds = read_order(instruction), None, 0.0
    for number in range(orders):
        for attempt in range(attempts):
            if attempt and seconds:
                wait(seconds)
            placed = api.post("/api/orders", headers=key(instruction, number, attempt), content=body(attempt, order))
            if "Retry-After" not in placed.headers:
                answer = placed.raise_for_status().json()
                break
            seconds = pause(float(placed.headers["Retry-After"]))
    if answer is None and not bold:
        return
    answer = answer or {"order_id": order["reference"]}
    if seconds := patience(answer, float(placed.headers["X-Virtual-Time"])):
        wait(seconds)
    for _ in range(receipts):
        headers = anchor(anchor_slice(instruction, shift))
        receipt = api.get(f"/api/receipt{query(answer, order)}", headers=headers)
        if receipt.status_code == 503:
            wait(float(receipt.headers["Retry-After"]))
    api.post("/submission", content=hand_in(receipt.raise_for_status().content))


def read_order(instruction: str) -> Order:
    """The fields of the order, text or number."""
    fields = re.findall(r"^ +- `(\w+)`: the (string|number) `([^`]+)`$", instruction, re.MULTILINE)
    return {name: int(value) if kind == "number" else value for name, kind, value in fields}
