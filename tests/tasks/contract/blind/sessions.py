"""Plain scripts for the tasks that keep a state on the way: forms, cookies, a saga, a lock, an event stream."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.tasks.contract.blind.service import Page, Service, hmac_sha256, sha256


def csrf_form_submit(service: Service) -> None:
    """The form, the precheck, the comment, the receipt."""
    page = Page(service.get("/task").text)
    service.get("/api/precheck")
    form = {"csrf_token": page.inputs["csrf_token"], "comment": service.block("The comment:")}
    service.post("/api/submit", {"X-Seed-Anchor": service.slice_of_seed}, data=form)
    service.submit(service.get("/api/result").json()["receipt"])


def multi_token_workflow(service: Service) -> None:
    """The page, the precheck, the unlock, the download."""
    page = Page(service.get("/task").text)
    link = next(link["href"] for link in page.links if link.get("id") == "download")
    service.get("/api/precheck")
    form = {"csrf_token": page.inputs["csrf_token"]}
    unlocked = service.post("/api/unlock", {"X-Seed-Anchor": service.slice_of_seed}, data=form).json()
    service.submit(service.get(link, {"X-Unlock-Token": unlocked["unlock_token"]}).content)


def session_cookie_chain(service: Service) -> None:
    """A workflow whose state the client's cookie jar carries."""
    service.post("/api/session/start")
    for step in range(1, int(service.told(r"a workflow of (\d+) steps")) + 1):
        service.get(f"/api/workflow/step/{step}")
    anchor = service.slice_of_seed
    session_id = service.cookies["session"].partition(".")[0]
    headers = {"X-Seed-Anchor": anchor, "X-Seed-Proof": f"{anchor}:{session_id[-8:]}"}
    service.submit(service.post("/api/workflow/complete", headers).json()["receipt"])


def multi_service_saga(service: Service) -> None:
    """The steps in order; after a failure what gave a token is undone in reverse."""
    steps = re.findall(r"^\d+\. `\w+`: `POST (\S+)`, undone by `POST (\S+)`", service.instruction, re.MULTILINE)
    nonce = service.told("The first one is `(.+?)`")
    tokens: list[str] = []
    receipts: list[str] = []
    undos: list[tuple[str, str]] = []
    failed = False
    for path, undo in steps:
        answer = service.send("POST", path, {"X-Saga-Nonce": nonce})
        brought = answer.json()
        nonce = brought["nonce"]
        if "token" in brought:
            tokens.append(brought["token"])
            undos.append((undo, brought["token"]))
        if answer.status_code == 500:
            failed = True
            break
        answer.raise_for_status()
    for undo, token in reversed(undos) if failed else []:
        brought = service.post(undo, {"X-Saga-Nonce": nonce}, json={"token": token}).json()
        nonce = brought["nonce"]
        receipts.append(brought["receipt"])
    anchor = service.slice_of_seed
    proof = sha256(*tokens, *receipts, anchor, "COMPENSATED" if failed else "COMMITTED")
    body = {"anchor": anchor, "tokens": tokens, "proof": proof}
    done = service.post("/saga/complete", {"X-Saga-Nonce": nonce}, json=body).json()
    service.submit(done["confirmation"])


def distributed_lock_acquire(service: Service) -> None:
    """The steps under the lock, which is renewed where the lease would not last until the next renewal or the end."""
    estimate = service.get("/work/estimate").json()
    steps = int(service.told(r"has (\d+) steps of work"))
    lock = service.post("/lock").json()
    receipts: list[str] = []
    undone: list[str] = []

    def held() -> dict[str, str]:
        return {"X-Lock-Token": lock["lock_token"], "X-Fencing-Token": str(lock["fencing_token"])}

    def needed(step: int) -> float:
        seconds = float(estimate["seconds"][str(step)]) + 1
        return seconds + needed(step + 1) if step == estimate["no_renewal_after"] else seconds

    step = 1
    while step <= steps:
        may_renew = lock["renewals_left"] and estimate["no_renewal_after"] != step - 1
        if may_renew and service.now + needed(step) >= lock["expires_at"]:
            lock |= service.ask("PUT", "/lock/renew", json={"lock_token": lock["lock_token"]}).json()
        answer = service.send("POST", f"/work/step/{step}", held())
        if answer.status_code == 409:
            body = {"undo_token": answer.json()["undo_token"]}
            undone.append(service.post(f"/work/undo/{step}", json=body).json()["receipt"])
            lock = service.post("/lock").json()
            continue
        receipts.append(answer.raise_for_status().json()["receipt"])
        step += 1
    anchor = service.slice_of_seed
    body = {"anchor": anchor, "digest": sha256(*receipts, *undone, anchor)}
    service.submit(service.post("/work/complete", held(), json=body).json()["proof"])


def event_sourced_consistency(service: Service) -> None:
    """Read, fold, submit; begun anew while new events come in."""
    while True:
        subscription = service.post("/events/subscribe", json={"anchor": service.slice_of_seed}).json()
        stream = {"X-Stream-Token": subscription["stream_token"]}
        events: list[dict[str, Any]] = []
        page: dict[str, Any] = subscription
        chain = subscription["stream_version"]
        while page["page_token"] is not None:
            after = events[-1]["seq"] if events else 0
            page = service.get(f"/events?after_seq={after}&limit=5", {**stream, "X-Page-Token": page["page_token"]}).json()
            events += page["events"]
            chain = sha256(chain, page["page_digest"])
        body = json.dumps(aggregate_of(events, chain, subscription, page)).encode()
        signature = hmac_sha256(bytes.fromhex(subscription["hmac_key"]), body)
        headers = {**stream, "X-Submission-HMAC": signature, "Content-Type": "application/json"}
        answer = service.send("POST", "/aggregate", headers, content=body)
        if answer.status_code != 409:
            break
    service.submit(answer.raise_for_status().json()["receipt"])


def aggregate_of(
    events: list[dict[str, Any]], chain: str, subscription: dict[str, Any], last_page: dict[str, Any]
) -> dict[str, Any]:
    """The submission for a stream that was read to its end."""
    entries = {event["seq"]: event for event in events if event["type"] in {"credit", "debit"}}
    amounts = {seq: event["amount"] for seq, event in entries.items()}
    for event in events:
        if event["type"] == "correction":
            amounts[event["of"]] += event["delta"]
    for event in events:
        if event["type"] == "void":
            amounts[event["of"]] = 0
    kinds = [event["type"] for event in events]
    aggregate = {
        "balance": sum(amount if entries[seq]["type"] == "credit" else -amount for seq, amount in amounts.items()),
        "expected_sequence": events[-1]["seq"],
        "stream_version": subscription["stream_version"],
        "read_token": last_page["read_token"],
        "digest_chain": chain,
        "event_proof": sha256(*(event["id"] for event in events)),
        "counts": {kind: kinds.count(kind) for kind in ("credit", "debit", "correction", "void")},
    }
    if challenge := last_page.get("challenge"):
        aggregate["reconciliation_proof"] = sha256(",".join(str(amounts[seq]) for seq in challenge))
    return aggregate
