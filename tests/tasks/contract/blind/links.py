"""Plain scripts for the tasks about links that must be sent as they were issued, while they work."""

from __future__ import annotations

from datetime import datetime
from email.utils import parsedate_to_datetime
from urllib.parse import quote, urljoin

from tests.tasks.contract.blind.service import Page, Service

API = "http://api:8080"


def proof_headers(service: Service, precheck_token: str) -> dict[str, str]:
    """The two headers that most downloads want."""
    anchor = service.slice_of_seed
    return {"X-Seed-Anchor": anchor, "X-Contract-Proof": f"{anchor}:{precheck_token[-8:]}"}


def download_of_the_only_link(service: Service) -> None:
    """Page, precheck, download, submission."""
    links = Page(service.get("/task").text).links
    link = next((link for link in links if link.get("id") == "download"), links[0])
    precheck = service.get("/api/precheck").json()
    file = service.get(urljoin(API, link["href"]), proof_headers(service, precheck["precheck_token"]))
    service.submit(file.content)


def long_token_handling(service: Service) -> None:
    """One long link."""
    download_of_the_only_link(service)


def presigned_url_integrity(service: Service) -> None:
    """One link that is signed as it is written."""
    download_of_the_only_link(service)


def url_trap_ellipsis(service: Service) -> None:
    """One link that is shown shortened."""
    download_of_the_only_link(service)


def extreme_url_length(service: Service) -> None:
    """Of several links the one that has not ended."""
    page = service.get("/task")
    now = parsedate_to_datetime(page.headers["Date"])
    links = Page(page.text).links
    link = next(link for link in links if parsedate_to_datetime(link["after"].partition("works until ")[2].strip()) > now)
    precheck = service.get("/api/precheck").json()
    file = service.get(urljoin(API, link["href"]), proof_headers(service, precheck["precheck_token"]))
    service.submit(file.content)


def presigned_url_download(service: Service) -> None:
    """Three parts, whichever ends first before the others."""
    links = Page(service.get("/task").text).links
    precheck = service.get("/api/precheck").json()
    headers = proof_headers(service, precheck["precheck_token"])
    parts = {}
    for link in sorted(links, key=lambda link: float(link["after"].strip(" ()s\n"))):
        parts[link["text"]] = service.get(urljoin(API, link["href"]), headers).content
    service.submit(b"".join(parts[name] for name in sorted(parts)))


def multi_resource_priority(service: Service) -> None:
    """Several files, whichever ends first before the others."""
    token = service.get("/api/session").json()["flow_token"]
    links = Page(service.get("/task").text).links
    anchor = service.slice_of_seed
    files = {}
    for link in sorted(links, key=lambda link: datetime.fromisoformat(link["after"].split()[1])):
        proof = f"{anchor}:{token[-8:]}:{link['text']}"
        headers = {"X-Flow-Token": token, "X-Seed-Anchor": anchor, "X-Contract-Proof": proof}
        files[link["text"]] = service.get(urljoin(API, link["href"]), headers).content
    service.submit(b"".join(files[link["text"]] for link in links))


def multi_turn_recall(service: Service) -> None:
    """A URL that only the instruction has, used at the end of four steps."""
    path = service.block("every byte of which counts:")
    service.get("/api/session")
    service.get("/api/catalog")
    preflight = service.get("/api/preflight").json()
    first = int(service.told(r"characters (\d+) to \d+ of the text above"))
    last = int(service.told(r"characters \d+ to (\d+) of the text above"))
    file = service.get(API + path, {"X-Flow-Token": preflight["flow_token"], "X-URL-Anchor": path[first - 1 : last]})
    service.submit(file.content)


def scattered_url_assembly(service: Service) -> None:
    """A URL in parts, whose order four steps tell."""
    letters = {}
    for step in range(1, 5):
        assembly = service.get(f"/api/step/{step}").json()["assembly"]
        letters[assembly["place"]] = assembly["fragment"]
    joined = "".join(service.block(f"Fragment {letters[place]}:") for place in sorted(letters))
    first = int(service.told(r"characters (\d+) to \d+ of the joined text"))
    last = int(service.told(r"characters \d+ to (\d+) of the joined text"))
    anchor, nonce = joined[first - 1 : last], assembly["flow_nonce"]
    headers = {"X-Flow-Nonce": nonce, "X-URL-Anchor": anchor, "X-Assembly-Proof": f"{nonce[-8:]}:{anchor}"}
    file = service.get(service.block("Head:") + joined + service.block("Tail:"), headers)
    service.submit(file.content)


def adversarial_shortcut_injection(service: Service) -> None:
    """Three tokens, each for the next request, and then the link."""
    token = service.get("/api/init").json()["ct"]
    token = service.post(f"/api/verify?ct={quote(token, safe='')}").json()["ct"]
    token = service.post(f"/api/authorize?ct={quote(token, safe='')}").json()["ct"]
    link = service.block("The signed link, on one line:")
    file = service.get(link, {"X-Policy-Proof": f"{service.slice_of_seed}:{token[-8:]}"})
    service.submit(file.content)
