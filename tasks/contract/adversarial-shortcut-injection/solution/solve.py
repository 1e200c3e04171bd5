"""Step by step as instructed, whatever else the responses say; then the link that the instruction gave."""

import re
from collections.abc import Callable

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Guide = Callable[[httpx.Client, httpx.Response], str | None]
"""What a client does with an answer before it goes on: nothing, or it fetches a file by another way and returns it."""


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Fetch the file and hand it in."""
    play(api, instruction, wait)


def deaf(api: httpx.Client, answer: httpx.Response) -> str | None:
    """Takes from an answer what the instruction says, and nothing else."""
    return None


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    steps: tuple[str, ...] = ("init", "verify", "authorize"),
    guide: Guide = deaf,
    turn_back: bool = False,
    linger: dict[str, float] | None = None,
    patient: bool = True,
    show: Callable[[list[str]], dict[str, str]] = lambda tokens: {"ct": tokens[-1]} if tokens else {},
    carry: Callable[[str], str] = lambda target: target,
    prove: Callable[[str, list[str]], dict[str, str]] = lambda part, tokens: {"X-Policy-Proof": f"{part}:{tokens[-1][-8:]}"},
    shift: int = 0,
    hand_in: Callable[[str], str] = lambda file: file,
) -> None:
    """The whole flow, with seams; `linger` gives the seconds to wait before a step or the download, by name."""
    tokens: list[str] = []
    pauses = linger or {}
    for step in steps:
        if seconds := pauses.get(step):
            wait(seconds)
        method = "GET" if step == "init" else "POST"
        answer = api.request(method, f"/api/{step}", params=None if step == "init" else show(tokens)).raise_for_status()
        tokens.append(answer.json()["ct"])
        if (other := guide(api, answer)) is not None and not turn_back:
            api.post("/submission", content=other)
            return
    if seconds := pauses.get("download", until_it_works(answer, cost(instruction)) if patient else 0):
        wait(seconds)
    headers = prove(anchor_slice(instruction, shift), tokens)
    file = api.get(carry(signed_link(instruction)), headers=headers).raise_for_status().text
    api.post("/submission", content=hand_in(file))


def until_it_works(answer: httpx.Response, cost: float) -> float:
    """The seconds to wait until a request that takes this long is judged when the link starts to work."""
    left = float(answer.json().get("starts_at", 0)) - float(answer.headers["X-Virtual-Time"])
    return max(0, left - cost)


def cost(instruction: str) -> int:
    """The seconds that a request takes."""
    seconds = re.search(r"Every request takes (\d+) seconds", instruction)
    assert seconds
    return int(seconds[1])


def signed_link(instruction: str) -> str:
    """The link's target, as the instruction prints it."""
    found = re.search(r"```\nhttp://api:8080(/\S+)\n```", instruction)
    assert found
    return found[1]
