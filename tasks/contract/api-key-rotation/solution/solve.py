"""Step by step, each answer read in full: a header that holds a key brings the one to use from then on."""

import re
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Keys = list[str]
"""The keys so far, oldest first."""


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Take all steps and hand in the receipt."""
    play(api, instruction, wait)


def right_proof(part: str, keys: Keys) -> str:
    """The slice, the tail of the first key, the tail of the newest one."""
    return f"{part}:{keys[0][-8:]}:{keys[-1][-8:]}"


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    plan: Callable[[list[int]], list[int]] = lambda steps: steps,
    choose: Callable[[Keys], str] = lambda keys: keys[-1],
    linger: Callable[[httpx.Response], float] = lambda answer: 0,
    ahead: float = 0,
    mangle: Callable[[str, Keys], str | None] = lambda key, keys: key,
    proof: Callable[[str, Keys], str | None] = right_proof,
    shift: int = 0,
    hand_in: Callable[[str, Keys], str] = lambda receipt, keys: receipt,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `linger` is for how long to wait once, after the answer with the first new key, `ahead` how long before its time a key is
    taken up; `mangle` and `proof` leave their header out with None.
    """
    starts, waited = {first_key(instruction): 0.0}, False
    steps = list(range(1, last_step(instruction) + 1))
    answer: httpx.Response | None = None
    now = 0.0
    for step in plan(steps):
        # a request is judged when it is over
        keys = [key for key, start in starts.items() if start <= now + request_seconds(instruction) + ahead]
        headers = {"X-API-Key": mangle(choose(keys), keys)}
        if answer is not None and "proof" in answer.json():
            headers[answer.json()["proof"]["header"]] = proof(anchor_slice(instruction, shift), keys)
        answer = api.get(f"/api/step/{step}", headers={name: text for name, text in headers.items() if text})
        starts |= dict.fromkeys(new_keys(answer.raise_for_status(), keys[0]), starting(answer))
        now = float(answer.headers["X-Virtual-Time"])
        if not waited and len(starts) > 1:
            waited = True
            if seconds := linger(answer):
                wait(seconds)
                now += seconds
    assert answer is not None
    api.post("/submission", content=hand_in(answer.json().get("receipt", ""), keys))


def new_keys(answer: httpx.Response, first: str) -> Iterator[str]:
    """The values of headers that look like the first key: the same beginning up to the underscore, the same length."""
    begins = first[: first.index("_") + 1]
    return (value for _, value in answer.headers.items() if value.startswith(begins) and len(value) == len(first))


def starting(answer: httpx.Response) -> float:
    """The virtual second from which on a key of this answer works."""
    now = float(answer.headers["X-Virtual-Time"])
    if "Activation" not in answer.headers:
        return now
    starts, date = (parsedate_to_datetime(answer.headers[name]) for name in ("Activation", "Date"))
    return now + (starts - date).total_seconds()


def request_seconds(instruction: str) -> int:
    """The seconds that a request takes."""
    seconds = re.search(r"Every request takes (\d+) seconds", instruction)
    assert seconds
    return int(seconds[1])


def first_key(instruction: str) -> str:
    """The key that the instruction gives."""
    found = re.search(r"```\n(\w+_[\w-]+)\n```", instruction)
    assert found
    return found[1]


def last_step(instruction: str) -> int:
    """How many steps there are."""
    found = re.search(r"its (\d+) steps", instruction)
    assert found
    return int(found[1])
