"""Collect the tokens in order, hash them once, and download before the window closes."""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator

import httpx
from reading import anchor_slice, seed_string

Wait = Callable[[float], None]


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Download the file and hand it in."""
    play(api, instruction, wait)


def joined(tokens: list[str], separator: str, seed: str) -> str:
    """The text that is hashed."""
    return "".join([*tokens, separator, seed])


def proven(part: str, tokens: list[str], digest: str) -> str:
    """The proof of the chain."""
    return f"{part}:{tokens[-1][-8:]}:{digest[:8]}"


def revised_once(told: list[int]) -> Iterator[int]:
    """The steps whose tokens were replaced, each once."""
    yield from dict.fromkeys(told)


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    renewed: Callable[[list[int]], Iterable[int]] = revised_once,
    steps: Callable[[int], list[int]] = lambda length: list(range(1, length + 1)),
    again: Callable[[int], list[int]] = lambda length: [],
    linger: Callable[[float], float] = lambda left: 0,
    text: Callable[[list[str], str, str], str | bytes] = joined,
    shown: Callable[[str], str | None] = lambda digest: digest,
    proof: Callable[[str, list[str], str], str] = proven,
    without: str = "",
    shift: int = 0,
    hand_in: Callable[[bytes, list[str]], bytes] = lambda content, tokens: content,
) -> None:
    """The whole flow, with seams; `again` are steps to fetch once more, `linger` gets the seconds left to the deadline."""
    length, separator = chain(instruction)
    newest, told, left = dict[int, str](), list[int](), 0.0
    # what was replaced is fetched again when nothing can replace it any more
    for number in itertools.chain(steps(length), renewed(told)):
        answer = api.get(f"/api/chain/{number}").raise_for_status()
        newest[number] = answer.json()["token"]
        told += [answer.json()["revised"]] if "revised" in answer.json() else []
        left = answer.json()["deadline"] - float(answer.headers["X-Virtual-Time"])
    tokens = list(newest.values())
    for number in again(length):
        api.get(f"/api/chain/{number}").raise_for_status()
    if seconds := linger(left):
        wait(seconds)
    hashed = text(tokens, separator, seed_string(instruction))
    digest = hashlib.sha256(hashed.encode() if isinstance(hashed, str) else hashed).hexdigest()
    part, auth = anchor_slice(instruction, shift), shown(digest)
    headers = {"X-Seed-Anchor": part, "X-Chain-Proof": proof(part, tokens, auth or digest)}
    headers.pop(without, None)
    answer = api.get("/api/download", params={"auth": auth} if auth else None, headers=headers).raise_for_status()
    api.post("/submission", content=hand_in(answer.content, tokens))


def chain(instruction: str) -> tuple[int, str]:
    """How many steps there are, and the separator."""
    length, separator = re.search(r"a chain of (\d+) tokens", instruction), re.search(r"the separator `(\S+)`", instruction)
    assert length
    assert separator
    return int(length[1]), separator[1]
