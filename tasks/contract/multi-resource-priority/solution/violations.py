"""Clients that go wrong in one place each, with the label that place must earn."""

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from functools import partial

import httpx
from solve import Contents, Link, headers_for, instant, play, read_page, urgent_first
from timing import INSTANT, Answers, Wait, answered_at, held, told_at


def decoded(target: str) -> str:
    """A client that percent-decodes the slashes of the query before it sends it."""
    return target.replace("%2F", "/")


def resorted(target: str) -> str:
    """Middleware that sorts query parameters."""
    path, _, query = target.partition("?")
    return path + "?" + "&".join(sorted(query.split("&")))


def as_text(links: list[Link]) -> list[Link]:
    """The times sorted as they are written, offsets and all."""
    return sorted(links, key=lambda link: link.until)


def second_first(links: list[Link]) -> list[Link]:
    """Nearly right: the first two the other way round."""
    first, second, *rest = urgent_first(links)
    return [second, first, *rest]


def last_two_swapped(links: list[Link]) -> list[Link]:
    """Right until the end, where it still matters."""
    *before, last, other = urgent_first(links)
    return [*before, other, last]


def without(header: str) -> partial[None]:
    """A client that leaves one header out."""
    return partial(play, headers=lambda *facts: {name: text for name, text in headers_for(*facts).items() if name != header})


def token_sent(change: Callable[[str], str]) -> partial[None]:
    """A client that alters the flow token where it sends it."""
    return partial(play, headers=lambda part, token, *names: headers_for(part, token, *names) | {"X-Flow-Token": change(token)})


def anchor_sent(change: Callable[[str], str]) -> partial[None]:
    """A client that alters the slice where it sends it alone, and not in its proof."""
    return partial(play, headers=lambda *facts: headers_for(*facts) | {"X-Seed-Anchor": change(facts[0])})


def proof(text: Callable[[str, str, str, str], str]) -> partial[None]:
    """A client that puts the proof together in its own way."""
    return partial(play, headers=lambda *facts: headers_for(*facts) | {"X-Contract-Proof": text(*facts)})


def late_without(header: str) -> partial[None]:
    """A client that is late for its first link, and leaves one header out."""
    return partial(without(header), linger=("downloads", 20))


def to_the_end_of_a_link(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that begins so late that a file arrives as its link ends, or the last as the session, or `spare` s before."""
    files, download_s = files_of(instruction)

    def latest(answers: Answers) -> float:
        page = next(answer for answer in answers if answer.request.url.path == "/task")
        ends = [instant(link.until) for link in urgent_first(read_page(page.text))]
        at = [answered_at(page) + (end - parsedate_to_datetime(page.headers["Date"])).total_seconds() for end in ends]
        beginnings = [end - number * download_s for number, end in enumerate(at)]
        return min(*beginnings, told_at("deadline")(answers) - (files - 1) * download_s)

    held(play, "/api/resource/.*", latest, download_s, spare)(api, instruction, wait)


def to_the_end_of_the_session(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that loads the page so late that its last file arrives as the session ends, or `spare` seconds before."""
    files, download_s = files_of(instruction)
    held(play, "/task", told_at("deadline"), 1 + files * download_s, spare)(api, instruction, wait)


def files_of(instruction: str) -> tuple[int, int]:
    """How many files there are, and the seconds that each takes."""
    words = " ".join(instruction.split())
    told = re.search(r"holds (\d+) files.* A request for a file takes (\d+) seconds", words)
    assert told
    return int(told[1]), int(told[2])


def as_fetched(links: list[Link], got: Contents) -> bytes:
    """The files in the order in which they came."""
    return b"".join(got.values())


def looking_twice(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that looks at session and page twice, and hands in nothing if they have stayed the same."""
    first, second = [[api.get(path).text for path in ("/api/session", "/task")] for _ in range(2)]
    if first == second:
        api.post("/submission", content=b"")


VIOLATIONS = {
    "listed_order": ("EXPIRED_BEFORE_USE", partial(play, order=list)),
    "sorted_as_text": ("EXPIRED_BEFORE_USE", partial(play, order=as_text)),
    "longest_first": ("EXPIRED_BEFORE_USE", partial(play, order=lambda links: urgent_first(links)[::-1])),
    "second_first": ("EXPIRED_BEFORE_USE", partial(play, order=second_first)),
    "last_two_swapped": ("EXPIRED_BEFORE_USE", partial(play, order=last_two_swapped)),
    "fetched_twice": ("EXPIRED_BEFORE_USE", partial(play, order=lambda links: [urgent_first(links)[0], *urgent_first(links)])),
    "late": ("EXPIRED_BEFORE_USE", partial(play, linger=("downloads", 20))),
    "late_second": ("EXPIRED_BEFORE_USE", partial(play, linger=("second", 20))),
    "late_session": ("EXPIRED_BEFORE_USE", partial(play, linger=("page", 50))),
    "late_by_reload": ("EXPIRED_BEFORE_USE", partial(play, page_first=True, linger=("page", 20))),
    "late_and_decoded": ("EXPIRED_BEFORE_USE", partial(play, linger=("downloads", 20), mangle=decoded)),
    "link_on_the_dot": ("EXPIRED_BEFORE_USE", partial(to_the_end_of_a_link, 0)),
    "link_in_the_last_instant": ("SUCCESS", partial(to_the_end_of_a_link, INSTANT)),
    "session_on_the_dot": ("EXPIRED_BEFORE_USE", partial(to_the_end_of_the_session, 0)),
    "session_in_the_last_instant": ("SUCCESS", partial(to_the_end_of_the_session, INSTANT)),
    "decoded_link": ("MUTATED_TOKEN", partial(play, mangle=decoded)),
    "clipped_link": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target[:200])),
    "entities_kept": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target.replace("&", "&amp;"))),
    "clipped_token": ("MUTATED_TOKEN", token_sent(lambda token: token[:16])),
    "tail_as_token": ("MUTATED_TOKEN", token_sent(lambda token: token[-8:])),
    "resorted_link": ("SIGNATURE_MISMATCH", partial(play, mangle=resorted)),
    "visible_token": ("WRONG_VALUE", token_sent(lambda token: token[:8] + "...")),
    "one_proof_for_all": ("WRONG_VALUE", proof(lambda part, token, name, first: f"{part}:{token[-8:]}:{first}")),
    "proof_without_name": ("WRONG_VALUE", proof(lambda part, token, name, first: f"{part}:{token[-8:]}")),
    "proof_with_head": ("WRONG_VALUE", proof(lambda part, token, name, first: f"{part}:{token[:8]}:{name}")),
    "shifted_anchor_in_the_header_alone": ("WRONG_VALUE", anchor_sent(lambda part: part[1:] + "0")),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "joined_as_fetched": ("WRONG_VALUE", partial(play, join=as_fetched)),
    "joined_by_lines": ("WRONG_VALUE", partial(play, join=lambda links, got: b"\n".join(got[link.name] for link in links))),
    "one_file_short": (
        "WRONG_VALUE", partial(play, order=lambda links: urgent_first(links)[:-1], join=as_fetched),
    ),
    "no_session": ("MISSING_CONSTRAINT", partial(play, session=False)),
    "no_anchor": ("MISSING_CONSTRAINT", without("X-Seed-Anchor")),
    "no_proof": ("MISSING_CONSTRAINT", without("X-Contract-Proof")),
    "late_without_anchor": ("MISSING_CONSTRAINT", late_without("X-Seed-Anchor")),
    "late_without_proof": ("MISSING_CONSTRAINT", late_without("X-Contract-Proof")),
    "late_without_token": ("MISSING_TOKEN", late_without("X-Flow-Token")),
    "no_token": ("MISSING_TOKEN", without("X-Flow-Token")),
    "looked_twice": ("WRONG_VALUE", looking_twice),
}  # fmt: skip

CELLS = {"validity": "late", "integrity": "decoded_link", "both": "late_and_decoded"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
