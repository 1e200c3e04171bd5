"""Step by step, each answer read in full: a header that holds a key brings the one to use from then on."""

import re
from collections.abc import Callable, Iterator

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
    linger: float = 0,
    mangle: Callable[[str, Keys], str | None] = lambda key, keys: key,
    proof: Callable[[str, Keys], str | None] = right_proof,
    shift: int = 0,
    hand_in: Callable[[str, Keys], str] = lambda receipt, keys: receipt,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `linger` waits once, when the first new key has come; `mangle` and `proof` leave their header out with None.
    """
    keys, waited = [first_key(instruction)], False
    steps = list(range(1, last_step(instruction) + 1))
    answer: httpx.Response | None = None
    for step in plan(steps):
        headers = {"X-API-Key": mangle(choose(keys), keys)}
        if answer is not None and "proof" in answer.json():
            headers[answer.json()["proof"]["header"]] = proof(anchor_slice(instruction, shift), keys)
        answer = api.get(f"/api/step/{step}", headers={name: text for name, text in headers.items() if text})
        keys += new_keys(answer.raise_for_status(), keys[0])
        if linger and not waited and len(keys) > 1:
            wait(linger)
            waited = True
    assert answer is not None
    api.post("/submission", content=hand_in(answer.json().get("receipt", ""), keys))


def new_keys(answer: httpx.Response, first: str) -> Iterator[str]:
    """The values of headers that look like the first key: the same beginning up to the underscore, the same length."""
    begins = first[: first.index("_") + 1]
    return (value for _, value in answer.headers.items() if value.startswith(begins) and len(value) == len(first))


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
