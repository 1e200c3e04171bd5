"""Read the windows, wait for the first gap in which a token and a report fit, then take both at once."""

import re
from collections.abc import Callable
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Status = dict[str, Any]
"""What the status told, with `now`, when it did (virtual s), `report`, what a report takes, and `busy`, what it takes with a
status before it."""


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Fetch the report and hand it in."""
    play(api, instruction, wait)


def planned(status: Status) -> float:
    """How long to wait until what is to be done touches no window."""
    start = status["now"]
    for window in status["maintenance"]:
        if start < window["end"] and window["start"] <= start + status["busy"]:
            start = window["end"]
    return start - status["now"]


def postponed(status: Status) -> float:
    """How long to wait if a report that is asked for now touches a window after all, as the newest plan has it."""
    return planned(status) if planned({**status, "busy": status["report"]}) else 0


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    pause: Callable[[Status], float] = planned,
    replan: Callable[[Status], float] = postponed,
    takes: int = 1,
    linger: Callable[[Status], float] = lambda status: 0,
    mangle: Callable[[str], str] = lambda token: token,
    without: str = "",
    shift: int = 0,
    hand_in: Callable[[bytes, Status], bytes] = lambda report, status: report,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `takes` is how often a status is asked after the pause, the last one counts; `replan` is what it makes of that, and `linger`
    the wait after it.
    """
    status = ask(api, instruction)
    if seconds := pause(status):
        wait(seconds)
    for _ in range(takes):
        status = ask(api, instruction)
    while takes and (seconds := replan(status)):
        wait(seconds)
        status = ask(api, instruction)
    if seconds := linger(status):
        wait(seconds)
    token = mangle(status.get("status_token", "none-yet"))
    headers = {"X-Status-Token": token, "X-Seed-Anchor": anchor_slice(instruction, shift)}
    headers.pop(without, None)
    report = api.get("/api/report", headers=headers).raise_for_status().content
    api.post("/submission", content=hand_in(report, status))


def ask(api: httpx.Client, instruction: str) -> Status:
    """The status, and when it was told."""
    found = re.search(r"report takes (\d+) seconds, every other request (\d+) second", instruction)
    assert found
    answer = api.get("/api/status")
    now = float(answer.headers["X-Virtual-Time"])
    return {**answer.json(), "now": now, "report": int(found[1]), "busy": int(found[1]) + int(found[2])}
