"""Plain scripts for the tasks about tokens: how they are got, passed on and renewed."""

from __future__ import annotations

import re

from tests.tasks.contract.blind.service import Service, sha256


def basic_oauth_token(service: Service) -> None:
    """A token, a job, its result."""
    form = {
        "grant_type": "client_credentials",
        "client_id": service.told("client id: `(.+?)`"),
        "client_secret": service.told("client secret: `(.+?)`"),
    }
    takes = float(service.told(r"Every request takes (\d+) seconds"))
    token = service.post("/token", data=form).json()
    ends = service.now + token["expires_in"]
    job = service.post("/api/job", {"Authorization": f"Bearer {token['access_token']}"})
    service.wait(float(job.headers["Retry-After"]))
    if service.now + takes >= ends:
        token = service.post("/token", data=form).json()
    bearer = {"Authorization": f"Bearer {token['access_token']}"}
    result = service.get("/api/data", {**bearer, "X-Seed-Anchor": service.slice_of_seed})
    service.submit(result.content)


def api_key_rotation(service: Service) -> None:
    """Steps with a key that an answer may replace."""
    steps = int(service.told(r"takes its (\d+) steps"))
    first = key = service.block("Your API key:")
    headers: dict[str, str] = {}
    for step in range(1, steps + 1):
        answer = service.get(f"/api/step/{step}", {"X-API-Key": key, **headers})
        key = next((value for value in answer.headers.values() if value.startswith("key_")), key)
        if "proof" in answer.json():
            headers = {answer.json()["proof"]["header"]: f"{service.slice_of_seed}:{first[-8:]}:{key[-8:]}"}
    service.submit(answer.json()["receipt"])


def token_refresh_workflow(service: Service) -> None:
    """List, select and download, with a refresh wherever the token would end during a request."""
    seconds = {
        "list": float(service.told(r"The list takes (\d+) seconds")),
        "select": float(service.told(r"a select (\d+) seconds")),
        "download": float(service.told(r"the download (\d+) seconds")),
    }
    current = service.get("/task").json()
    ends = service.now + current["expires_in"]

    def lasting_for(what: str) -> str:
        nonlocal current, ends
        if service.now + seconds[what] >= ends or (what == "download" and current["generation"] < 1):
            current = service.post("/api/refresh", {"Authorization": f"Bearer {current['token']}"}).json()
            ends = service.now + current["expires_in"]
        return f"Bearer {current['token']}"

    items = service.get("/api/list", {"Authorization": lasting_for("list")}).json()["items"]
    which = service.told("Select the (oldest|newest|smallest|largest) item")
    kind, field = service.told("whose `kind` is `(.+?)`"), service.told("item \\(by `(.+?)`\\)")
    choose = min if which in {"oldest", "smallest"} else max
    chosen = choose((item for item in items if item["kind"] == kind), key=lambda item: item[field])
    service.get(f"/api/select/{chosen['id']}", {"Authorization": lasting_for("select")})
    bearer = lasting_for("download")
    proof = f"{service.slice_of_seed}:{bearer[-8:]}:r{current['generation']}"
    service.submit(service.get("/api/download", {"Authorization": bearer, "X-Download-Proof": proof}).content)


def cascading_token_revocation(service: Service) -> None:
    """Downloads under a tree of tokens; what a download ended is refreshed when it is needed next."""
    order = re.findall("`(.+?)`", service.told(r"in this order: ([^.]+)\. Every"))
    branch_of = {
        resource: branch
        for branch, resources in re.findall(r"- branch `(.+?)`: (.+)", service.instruction)
        for resource in re.findall("`(.+?)`", resources)
    }
    root = service.post("/token/root").json()
    nonce, receipts = root["nonce"], []
    known: set[str] = set()
    live: dict[str, tuple[str, float]] = {}

    def token_of(name: str) -> str:
        token, ends = live.get(name, ("", 0.0))
        if service.now + 2 < ends:
            return token
        parent = token_of(branch_of[name]) if name in branch_of else root["token"]
        how = "refresh" if name in known else "derive"
        answer = service.post(f"/token/{how}", {"Authorization": f"Bearer {parent}"}, json={"token_id": name}).json()
        known.add(name)
        for resource in [resource for resource, branch in branch_of.items() if branch == name]:
            live.pop(resource, None)
        live[name] = (answer["token"], float(answer["expires_at"]))
        return live[name][0]

    for name in order:
        headers = {"Authorization": f"Bearer {token_of(name)}", "X-Download-Nonce": nonce}
        answer = service.get(f"/resource/{name}", headers).json()
        receipts.append(answer["receipt"])
        nonce = answer["nonce"]
        for ended in answer["ended"]:
            live.pop(ended, None)
    anchor = service.slice_of_seed
    body = {"anchor": anchor, "proof": sha256(*receipts, anchor)}
    done = service.post("/complete", {"Authorization": f"Bearer {root['token']}"}, json=body).json()
    service.submit(done["confirmation"])
