"""Page, precheck, unlock, download, each once and straight on, every token exactly as it was given."""

import html
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import httpx
from reading import anchor_slice

FORM = "application/x-www-form-urlencoded"
STEPS = ("page", "precheck", "unlock", "download")
Got = dict[str, list[Any]]
"""By step, every answer to it, oldest first: pages as (form token, link), the others as parsed."""


def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Fetch the file and hand it in."""
    play(api, instruction, wait)


def newest_form_token(got: Got) -> str:
    """The form token of the page loaded last."""
    token: str = got["page"][-1][0]
    return token


def newest_unlock_token(got: Got) -> str:
    """The unlock token got last; a made-up one where none was got."""
    return str(got["unlock"][-1]["unlock_token"]) if got["unlock"] else "none-yet"


def play(
    api: httpx.Client,
    instruction: str,
    wait: Callable[[float], None],
    *,
    steps: Sequence[str | int] = STEPS,
    renews: bool = True,
    form_token: Callable[[Got], str] = newest_form_token,
    encode: Callable[[dict[str, str]], str] = urlencode,
    kind: str = FORM,
    unlock_token: Callable[[Got], str | None] = newest_unlock_token,
    mangle: Callable[[str], str] = lambda target: target,
    anchor: bool = True,
    shift: int = 0,
    hand_in: Callable[[Got], bytes] = lambda got: got["download"][-1],
) -> None:
    """The whole flow, with seams; a number among the steps is a wait.

    Who `renews` opens another window after the first unlock, where one does not cover unlock and download.
    """
    got: Got = {step: [] for step in STEPS}
    for step in steps:
        if isinstance(step, int):
            wait(step)
        elif step == "page":
            got[step].append(read_page(api.get("/task").text))
        elif step == "precheck":
            got[step].append(read_precheck(api.get("/api/precheck")))
        elif step == "unlock":
            headers = {"Content-Type": kind, **({"X-Seed-Anchor": anchor_slice(instruction, shift)} if anchor else {})}
            body = encode({"csrf_token": form_token(got)}).encode()
            got[step].append(api.post("/api/unlock", content=body, headers=headers).raise_for_status().json())
            if renews and len(got[step]) == 1 and got["precheck"][-1]["lasts"] <= 2 * cost(instruction):
                got["precheck"].append(api.get("/api/precheck").json())
        else:
            token = unlock_token(got)
            answer = api.get(mangle(got["page"][-1][1]), headers={} if token is None else {"X-Unlock-Token": token})
            got[step].append(answer.raise_for_status().content)
    api.post("/submission", content=hand_in(got))


def read_page(page: str) -> tuple[str, str]:
    """Form token and link of a page, as HTML defines their values."""
    token = re.search(r'name="csrf_token" value="([^"]+)"', page)
    link = re.search(r'<a id="download" href="([^"]+)"', page)
    assert token
    assert link
    return html.unescape(token[1]), html.unescape(link[1])


def read_precheck(answer: httpx.Response) -> dict[str, Any]:
    """A precheck, and for how long its window lasts."""
    opened = answer.json()
    return {**opened, "lasts": opened["deadline"] - float(answer.headers["X-Virtual-Time"])}


def cost(instruction: str) -> int:
    """The seconds that an unlock takes, and a download."""
    told = re.search(r"the unlock takes (\d+), and so does the download", " ".join(instruction.split()))
    assert told
    return int(told[1])
