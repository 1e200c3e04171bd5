"""Plain scripts for the tasks about time: quotas, waits, maintenance, and versions that others change."""

from __future__ import annotations

import json
import uuid
from urllib.parse import quote

from tests.tasks.contract.blind.service import Service


def api_rate_limit_patience(service: Service) -> None:
    """The pages in order, with a wait where the quota is used up."""
    seed = service.block("Seed string:")
    reading = service.get("/api/bootstrap").json()
    cursor, record = reading["initial_cursor"], []
    for number in range(reading["total"]):
        anchor = seed[24 * number : 24 * number + 24]
        answer = service.get(f"/api/data?page={number}", {"X-Page-Cursor": cursor, "X-Seed-Anchor": anchor})
        page = answer.json()
        record.append(page["data"])
        cursor = page["next_cursor"]
        if int(answer.headers["X-RateLimit-Remaining"]) == 0:
            service.wait(float(answer.headers["X-RateLimit-Reset"]))
    service.submit("".join(record))


def cursor_pagination_integrity(service: Service) -> None:
    """Page after page, with a wait where no request is left."""
    service.get("/api/docs")
    items: list[str] = []
    target = "/api/page"
    while True:
        answer = service.get(target)
        page = answer.json()
        items += page["items"]
        if page["next_cursor"] is None:
            break
        target = f"/api/page?cursor={quote(page['next_cursor'], safe='')}"
        if int(answer.headers["X-RateLimit-Remaining"]) == 0:
            service.wait(float(answer.headers["X-RateLimit-Reset"]))
    receipt = service.post("/api/verify", json={"anchor": service.slice_of_seed, "collected": items}).json()["receipt"]
    service.submit(receipt)


def retry_backoff_compliance(service: Service) -> None:
    """Item after item, each asked for again after the seconds that its answer names."""
    items = []
    for number in range(1, int(service.told(r"Fetch (\d+) items")) + 1):
        headers: dict[str, str] = {}
        answer = service.send("GET", f"/api/data/{number}")
        while answer.status_code == 503:
            headers = {"X-Retry-Token": answer.json()["retry_token"]}
            service.wait(float(answer.headers["Retry-After"]))
            answer = service.send("GET", f"/api/data/{number}", headers)
        items.append(answer.raise_for_status().json()["data"])
    done = service.post("/api/complete", {"X-Seed-Anchor": service.slice_of_seed}, json={"items": items}).json()
    service.submit(done["receipt"])


def scheduled_maintenance(service: Service) -> None:
    """The status until there is time enough for the report, then the report."""
    takes = float(service.told(r"Making the report takes (\d+) seconds"))
    while True:
        status = service.get("/api/status").json()
        if not status["available"]:
            service.wait(float(status["retry_after"]))
            continue
        ends = service.now + takes
        in_the_way = [one for one in status["maintenance"] if one["start"] <= ends and one["end"] > service.now]
        if not in_the_way:
            break
        service.wait_until(min(one["end"] for one in in_the_way))
    headers = {"X-Status-Token": status["status_token"], "X-Seed-Anchor": service.slice_of_seed}
    service.submit(service.get("/api/report", headers).content)


def idempotency_key_retry(service: Service) -> None:
    """One order under one key, and its receipt when receipts are up."""
    order = {
        "sku": service.told("`sku`: the string `(.+?)`"),
        "quantity": int(service.told(r"`quantity`: the number `(\d+)`")),
        "city": service.told("`city`: the string `(.+?)`"),
        "reference": service.told("`reference`: the string `(.+?)`"),
    }
    headers = {"Idempotency-Key": str(uuid.uuid4()), "Content-Type": "application/json"}
    body = json.dumps(order).encode()
    answer = service.send("POST", "/api/orders", headers, content=body)
    while "Retry-After" in answer.headers:
        service.wait(float(answer.headers["Retry-After"]))
        answer = service.send("POST", "/api/orders", headers, content=body)
    placed = answer.raise_for_status().json()
    receipt = placed["receipt"]
    if receipt["down_from"] <= service.now + 2:
        service.wait_until(receipt["down_until"])
    answer = service.get(f"/api/receipt?order_id={placed['order_id']}", {"X-Seed-Anchor": service.slice_of_seed})
    service.submit(answer.content)


def etag_conditional_get(service: Service) -> None:
    """Read while the document stays as it is for long enough, check, write and confirm."""
    state = service.told("Set its `state` to `(.+?)`")
    takes = float(service.told(r"steps 1 to 4 takes (\d+) seconds"))
    while True:
        document = service.get("/api/resource")
        stays = float(document.headers["Cache-Control"].partition("max-age=")[2])
        if stays > 2 * takes:
            break
        service.wait(stays)
    tag = document.headers["ETag"]
    checked = service.send("GET", "/api/resource", {"If-None-Match": tag})
    headers = {"If-Match": tag, "Content-Type": "application/json"}
    service.ask("PUT", "/api/resource", headers, content=json.dumps({**document.json(), "state": state}).encode())
    token = checked.headers["X-Confirmation-Token"]
    answer = service.get("/api/confirm", {"X-Confirmation-Token": token, "X-Seed-Anchor": service.slice_of_seed})
    service.submit(answer.json()["confirmation"])
