"""The way to one provider, shared by all: who waits, for what, and who pays for the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.llm.rate_limiter import RateLimiter, gate_of
from harness.errors import Cancelled, ProviderFailure
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, script

HELLO = [{"role": "user", "content": "hello"}]
GO = threading.Event()


def under_way(gate: RateLimiter, count: int) -> ExitStack:
    """So many calls that have been let through and have no answer yet."""
    stack = ExitStack()
    for _ in range(count):
        stack.enter_context(gate.passed(GO))
    return stack


def is_free(gate: RateLimiter) -> bool:
    """Whether one more is let through at once."""
    halt = threading.Event()
    halt.set()
    try:
        with gate.passed(halt):
            return True
    except Cancelled:
        return False


def widths(gate: RateLimiter) -> Iterator[int]:
    """How many are let through at a time, again and again."""
    while True:
        with ExitStack() as calls:
            count = 0
            while count < 100 and is_free(gate):
                calls.enter_context(gate.passed(GO))
                count += 1
            yield count


def test_nobody_is_held_back_before_a_provider_says_so() -> None:
    """A hundred at a time."""
    assert next(widths(RateLimiter())) == 100


def test_width_is_halved_when_it_is_crowded_and_grows_with_answers() -> None:
    """Eight under way and one too many: four; then one more for each round of answers."""
    gate = RateLimiter()
    with under_way(gate, 8):
        assert gate.crowded(time.monotonic()) == 4
    seen = []
    for width in widths(gate):
        seen.append(width)
        for _ in range(width):
            gate.answered()
        if len(seen) == 6:
            break

    assert (seen[0], seen[-1] > 6, seen == sorted(seen)) == (4, True, True)


def test_what_was_under_way_tells_nothing_new() -> None:
    """Eight that were asked together and all came at a bad time halve the width once."""
    gate, asked_at = RateLimiter(), time.monotonic()
    with under_way(gate, 8):
        assert [gate.crowded(asked_at) for _ in range(8)] == [4] + [None] * 7
    assert next(widths(gate)) == 4


def test_width_never_falls_below_one() -> None:
    """Somebody must ask, or nobody would learn that it is over."""
    gate = RateLimiter()
    for _ in range(5):
        with under_way(gate, 1):
            gate.crowded(time.monotonic())
    assert next(widths(gate)) == 1


def test_a_retry_after_holds_everybody_until_nobody_is_there() -> None:
    """The time is for all who are asking; later ones begin anew."""
    gate = RateLimiter()
    with gate.visited():
        assert gate.close(60.0)
        assert (is_free(gate), gate.close(1.0)) == (False, False)
    assert is_free(gate)


def test_who_was_not_answered_is_remembered_until_somebody_is() -> None:
    """The time runs from the first failure."""
    gate = RateLimiter()
    with gate.visited():
        assert gate.unanswered_s == 0.0
        gate.failed()
        time.sleep(0.02)
        gate.failed()
        assert gate.unanswered_s >= 0.02
        gate.answered()
        assert gate.unanswered_s == 0.0


def test_first_come_first_served() -> None:
    """In the order in which they queued, one at a time."""
    gate, served, halt = RateLimiter(), [], threading.Event()
    with under_way(gate, 1):
        gate.crowded(time.monotonic())

        def come(number: int) -> None:
            with gate.passed(halt):
                served.append(number)

        threads = []
        for number in range(5):
            threads.append(threading.Thread(target=come, args=(number,)))
            threads[-1].start()
            while len(gate._queue) <= number:
                time.sleep(0.001)
    for thread in threads:
        thread.join()

    assert served == [0, 1, 2, 3, 4]


def test_clients_of_one_address_share_a_gate() -> None:
    """By the address where one is given."""
    assert gate_of("http://one") is gate_of("http://one")
    assert gate_of("http://one") is not gate_of("http://two")


def ask_all(server: OpenAIServer, count: int, patience_s: float = 30.0) -> tuple[list[float | None], list[str]]:
    """So many clients of one server with one question each: what they waited, None for no answer; and what was said."""
    said: list[str] = []
    waited: list[float | None] = [None] * count

    def ask(number: int) -> None:
        settings = ModelSettings("openai/x", server.url, "k", patience_s=patience_s, first_pause_s=0.02)
        with suppress(ProviderFailure):
            waited[number] = ModelClient(settings, say=said.append).complete(HELLO).waited_s

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return waited, said


@pytest.mark.property
def test_one_is_told_and_all_wait() -> None:
    """Twelve ask at once and are told to come back in a second: nobody asks meanwhile, and all are answered."""
    limited = Fault(status=429, retry_after="1")
    with OpenAIServer(script("hi"), weather=lambda number, seconds: limited if seconds < 0.5 else None) as server:
        waited, said = ask_all(server, 12)
    early = [request.at for request in server.requests if request.at - server.requests[0].at < 0.95]

    assert None not in waited
    assert all(seconds is not None and seconds > 0.4 for seconds in waited)
    assert len(early) <= 12
    assert 1 <= len([line for line in said if "from now on" in line]) <= 3


@pytest.mark.property
def test_queueing_for_others_uses_up_nobodys_patience() -> None:
    """One at a time gets through, each takes a while, and together that is far longer than one's patience."""
    crowd = Fault(status=429)

    def weather(number: int, seconds: float) -> Fault | None:
        return crowd if number < 8 else Fault(kind="stall", stall_s=0.15)

    with OpenAIServer(script("hi"), weather=weather) as server:
        waited, _ = ask_all(server, 8, patience_s=1.5)

    assert None not in waited


@pytest.mark.property
def test_a_provider_that_answers_nobody_is_given_up_by_all() -> None:
    """All together share one patience, however long the queue is."""
    with OpenAIServer(script("hi"), weather=lambda number, seconds: Fault(status=429, retry_after="0.2")) as server:
        began = time.monotonic()
        waited, _ = ask_all(server, 10, patience_s=1.0)

    assert waited == [None] * 10
    assert time.monotonic() - began < 30
