"""Holds one request back until a window that an answer told is just over, or over in one instant.

Boilerplate contract/4, written by `harness sync`: edits here are lost.
"""

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime

import httpx

Wait = Callable[[float], None]
Client = Callable[[httpx.Client, str, Wait], None]
Answers = list[httpx.Response]
"""All answers so far."""

INSTANT = 0.001
"""The shortest time there is, in s."""

_DATE = re.compile(r"\w{3}, \d\d \w{3} \d{4} [0-9:]{8} GMT")


def held(play: Client, path: str, ends: Callable[[Answers], float], cost: float, spare: float = 0, turn: int = 1) -> Client:
    """`play`, but its request number `turn` to `path` (a pattern) takes effect `spare` seconds before the window ends.

    `ends` finds the end, in virtual s, in the answers so far; `cost` is what the request itself takes until it is judged.
    """

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        answers: Answers = []
        sent: list[str] = []

        def before(request: httpx.Request) -> None:
            if re.fullmatch(path, request.url.path):
                sent.append(request.url.path)
                if len(sent) == turn:
                    wait(round(ends(answers) - cost - spare - answered_at(answers[-1]), 3))

        def after(answer: httpx.Response) -> None:
            answer.read()
            answers.append(answer)

        api.event_hooks = {"request": [before], "response": [after]}
        play(api, instruction, wait)

    return client


def told_at(field: str) -> Callable[[Answers], float]:
    """The virtual second that this field of an answer tells, the newest one."""
    return lambda answers: float(newest(answers, field)[1])


def told_within(field: str) -> Callable[[Answers], float]:
    """The virtual second at which so much time has passed since the answer as this field of it tells."""

    def end(answers: Answers) -> float:
        answer, seconds = newest(answers, field)
        return answered_at(answer) + float(seconds)

    return end


def after(path: str, seconds: float) -> Callable[[Answers], float]:
    """The virtual second at which so much time has passed since the first answer to `path` (a pattern)."""
    return lambda answers: answered_at(next(a for a in answers if re.fullmatch(path, a.request.url.path))) + seconds


def dated(answers: Answers) -> float:
    """The virtual second of the latest date that an answer names."""
    answer, dates = next((a, found) for a in reversed(answers) if (found := _DATE.findall(a.text)))
    left = max(map(parsedate_to_datetime, dates)) - parsedate_to_datetime(answer.headers["Date"])
    return answered_at(answer) + left.total_seconds()


def newest(answers: Answers, field: str) -> tuple[httpx.Response, str]:
    """The newest answer in which this field holds a number, and the number."""
    for answer in reversed(answers):
        if text := re.search(rf"\b{field}\b\W{{1,4}}([0-9.]+)", answer.text):
            return answer, text[1]
    raise LookupError(f"no answer has {field}")


def answered_at(answer: httpx.Response) -> float:
    """When an answer came, in virtual s."""
    return float(answer.headers["X-Virtual-Time"])
