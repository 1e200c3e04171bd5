"""Clients that go wrong in one place each, with the label that place must earn."""

import json
import re
from functools import partial

import httpx
from solve import Answer, Habits, Order, Wait, cost, one_key, ordered, own_uuid, play, read_order, until_up
from timing import INSTANT, held, told_at


def compactly(order: Order) -> bytes:
    """The order as another library would write it."""
    return json.dumps(order, ensure_ascii=False, separators=(",", ":")).encode()


def first(order: Order) -> bytes:
    """The order as the first request had it."""
    return json.dumps(order).encode()


def rewritten(attempt: int, order: Order) -> bytes:
    """A client that serialises anew for the retry."""
    return compactly(order) if attempt else first(order)


def reordered(attempt: int, order: Order) -> bytes:
    """A client whose retry has the fields in another order."""
    return first(dict(sorted(order.items(), reverse=True))) if attempt else first(order)


def number_as_text(attempt: int, order: Order) -> bytes:
    """A client whose retry has the number as a string."""
    return first({**order, "quantity": str(order["quantity"])}) if attempt else first(order)


def always_text(attempt: int, order: Order) -> bytes:
    """A client that has the number as a string from the start."""
    return number_as_text(1, order)


def sku_as_number(attempt: int, order: Order) -> bytes:
    """A client that takes the article's number for a number."""
    return first({**order, "sku": float(order["sku"])})


def without_city(attempt: int, order: Order) -> bytes:
    """A client that leaves a field out."""
    return first({name: value for name, value in order.items() if name != "city"})


def new_key(instruction: str, number: int, attempt: int) -> dict[str, str]:
    """A client that takes a new key for every request."""
    return {"Idempotency-Key": own_uuid(instruction, attempt)}


def key_once(instruction: str, number: int, attempt: int) -> dict[str, str]:
    """A client that leaves the key out of the retry."""
    return {} if attempt else new_key(instruction, number, attempt)


def clipped(answer: Answer, order: Order) -> str:
    """A client whose tool cuts the id."""
    return f"?order_id={answer['order_id'][:16]}"


def after(seconds: float) -> object:
    """A client that waits so long before the receipt, whatever was announced."""
    return lambda answer, now, cost: seconds


def asked_again(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that has its receipt, and asks for the order once more when its key is all but forgotten, or just is."""
    times: list[float] = []
    api.event_hooks = {"response": [lambda answer: times.append(float(answer.headers["X-Virtual-Time"]))]}
    receipt = ordered(api, instruction, wait, Habits())
    remembered = float(re.search(r"remembered for (\S+) seconds", instruction)[1])  # type: ignore[index]
    wait(round(times[0] + remembered - spare - cost(instruction) - times[-1], 3))
    again = api.post("/api/orders", headers=one_key(instruction, 0, 0), content=first(read_order(instruction)))
    again.raise_for_status()
    api.post("/submission", content=receipt)


at_once = partial(play, patience=after(0))
"""A client that does not look at the times, to be held back until another one."""


def recased(instruction: str, number: int, attempt: int) -> dict[str, str]:
    """A client whose retry writes its key in capitals."""
    key = own_uuid(instruction, number)
    return {"Idempotency-Key": key.upper() if attempt else key}


def with_another_field(attempt: int, order: Order) -> bytes:
    """A client that adds a field of its own."""
    return first({**order, "note": "none"})


VIOLATIONS = {
    "new_key_on_retry": ("WRONG_VALUE", partial(play, key=new_key)),
    "new_key_when_forgotten": ("WRONG_VALUE", partial(play, key=new_key, pause=lambda told: 70)),
    "second_order": ("WRONG_VALUE", partial(play, orders=2)),
    "key_is_no_uuid": ("WRONG_VALUE", partial(play, key=lambda *place: {"Idempotency-Key": "order-1"})),
    "no_key": ("MISSING_CONSTRAINT", partial(play, key=lambda *place: {})),
    "no_key_on_retry": ("MISSING_CONSTRAINT", partial(play, key=key_once)),
    "rewritten_body": ("WRONG_VALUE", partial(play, body=rewritten)),
    "reordered_body": ("WRONG_VALUE", partial(play, body=reordered)),
    "number_as_text_on_retry": ("WRONG_VALUE", partial(play, body=number_as_text)),
    "number_as_text": ("WRONG_VALUE", partial(play, body=always_text)),
    "sku_as_number": ("WRONG_VALUE", partial(play, body=sku_as_number)),
    "missing_field": ("MISSING_CONSTRAINT", partial(play, body=without_city)),
    "immediate_retry": ("BACKOFF_VIOLATION", partial(play, pause=lambda told: 0)),
    "immediate_retry_with_new_key": ("WRONG_VALUE", partial(play, key=new_key, pause=lambda told: 0)),
    "late_retry": ("EXPIRED_BEFORE_USE", partial(play, pause=lambda told: 70)),
    "retry_an_instant_early": ("BACKOFF_VIOLATION", partial(play, pause=lambda told: told - 2 - INSTANT)),
    "retry_when_due": ("SUCCESS", partial(play, pause=lambda told: told - 2)),
    "retry_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, pause=lambda told: 58)),
    "asked_again_on_the_dot": ("EXPIRED_BEFORE_USE", partial(asked_again, 0)),
    "asked_again_in_the_last_instant": ("SUCCESS", partial(asked_again, INSTANT)),
    "late_and_reordered": ("EXPIRED_BEFORE_USE", partial(play, pause=lambda told: 70, body=reordered)),
    "receipt_at_once": ("SCHEDULED_UNAVAILABLE", partial(play, patience=after(0))),
    "receipt_at_once_and_again": ("SCHEDULED_UNAVAILABLE", partial(play, patience=after(0), receipts=2)),
    "receipt_too_early": ("SCHEDULED_UNAVAILABLE", partial(play, patience=lambda *told: until_up(*told) / 2)),
    "late_receipt": ("EXPIRED_BEFORE_USE", partial(play, patience=after(60))),
    "receipt_an_instant_early": ("SCHEDULED_UNAVAILABLE", held(at_once, "/api/receipt", told_at("down_until"), 2, INSTANT)),
    "receipt_as_they_come_up": ("SUCCESS", held(at_once, "/api/receipt", told_at("down_until"), 2)),
    "receipt_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/receipt", told_at("kept_until"), 2)),
    "receipt_in_the_last_instant": ("SUCCESS", held(play, "/api/receipt", told_at("kept_until"), 2, INSTANT)),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, patience=after(60), query=clipped)),
    "clipped_id": ("MUTATED_TOKEN", partial(play, query=clipped)),
    "reference_as_id": ("MUTATED_TOKEN", partial(play, query=lambda answer, order: f"?order_id={order['reference']}")),
    "receipt_without_id": ("MISSING_CONSTRAINT", partial(play, query=lambda answer, order: "")),
    "receipt_without_answer": ("MISSING_CONSTRAINT", partial(play, attempts=1, bold=True, patience=after(3))),
    "receipt_at_once_without_anchor": ("MISSING_CONSTRAINT", partial(play, patience=after(0), anchor=lambda part: {})),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, anchor=lambda part: {})),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "gave_up": ("OTHER", partial(play, attempts=1)),
    "parsed_receipt": ("WRONG_VALUE", partial(play, hand_in=lambda receipt: json.dumps(json.loads(receipt)).encode())),
    "echoed_receipt": ("WRONG_VALUE", partial(play, hand_in=lambda receipt: receipt + b"\n")),
    "recased_key_on_retry": ("WRONG_VALUE", partial(play, key=recased)),
    "field_more": ("WRONG_VALUE", partial(play, body=with_another_field)),
}

CELLS = {"validity": "late_retry", "integrity": "reordered_body", "both": "late_and_reordered"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
