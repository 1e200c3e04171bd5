"""Clients that go wrong in one place each, with the label that place must earn."""

import re
from email.utils import parsedate_to_datetime
from functools import partial
from urllib.parse import parse_qsl, quote, unquote, urlencode

from solve import BUSY_S, play
from timing import INSTANT, Answers, answered_at, held, told_at


def by_name(query: str) -> str:
    """Middleware that sorts the pairs."""
    return "&".join(sorted(query.split("&")))


def signature_first(query: str) -> str:
    """A client that puts the signature in front, as some services do."""
    rest, _, signature = query.rpartition("&")
    return f"{signature}&{rest}"


def swapped(query: str) -> str:
    """A client that keeps equal keys in a table and writes the later value first."""
    pairs = query.split("&")
    names = [pair.partition("=")[0] for pair in pairs]
    here, there = [place for place, name in enumerate(names) if name and names.count(name) == 2]
    pairs[here], pairs[there] = pairs[there], pairs[here]
    return "&".join(pairs)


def in_capitals(query: str) -> str:
    """A library that writes percent-escapes in capitals, as urllib3 does."""
    return re.sub("%..", lambda found: found[0].upper(), query)


def in_small_letters(query: str) -> str:
    """One that writes them in small letters."""
    return re.sub("%..", lambda found: found[0].lower(), query)


def without_empty(query: str) -> str:
    """A client that drops the parameter without a value."""
    return "&".join(pair for pair in query.split("&") if not pair or pair.partition("=")[2])


def rebuilt(query: str) -> str:
    """A client that parses the query and writes it again, with all it can keep."""
    return urlencode(parse_qsl(query, keep_blank_values=True))


def of_a_dictionary(query: str) -> str:
    """A client that keeps parameters in a dictionary: of two equal keys the last one stays."""
    return "&".join({pair.partition("=")[0]: pair for pair in query.split("&")}.values())


def too_early(spare: float, opens: float, ends: float) -> float:
    """A client that comes so long before the link works; where it works from the start, one that comes when that is over."""
    return opens - BUSY_S - spare if opens > BUSY_S else ends - BUSY_S


def expires(answers: Answers) -> float:
    """When the link ends, as its own query says, in virtual s."""
    page = next(answer for answer in answers if answer.request.url.path == "/task")
    (told,) = re.findall(r"expires=(\d+)", page.text)
    return answered_at(page) + int(told) - parsedate_to_datetime(page.headers["Date"]).timestamp()


VIOLATIONS = {
    "sorted_query": ("SIGNATURE_MISMATCH", partial(play, rewrite=by_name)),
    "signature_first": ("SIGNATURE_MISMATCH", partial(play, rewrite=signature_first)),
    "equal_keys_swapped": ("SIGNATURE_MISMATCH", partial(play, rewrite=swapped)),
    "escapes_in_capitals": ("MUTATED_TOKEN", partial(play, rewrite=in_capitals)),
    "escapes_in_small_letters": ("MUTATED_TOKEN", partial(play, rewrite=in_small_letters)),
    "decoded": ("MUTATED_TOKEN", partial(play, rewrite=unquote)),
    "encoded_again": ("MUTATED_TOKEN", partial(play, rewrite=lambda query: quote(query, safe="=&"))),
    "empty_parameter_dropped": ("MUTATED_TOKEN", partial(play, rewrite=without_empty)),
    "empty_pair_dropped": ("MUTATED_TOKEN", partial(play, rewrite=lambda query: query.replace("&&", "&"))),
    "parsed_and_rebuilt": ("MUTATED_TOKEN", partial(play, rewrite=rebuilt)),
    "equal_key_lost": ("MUTATED_TOKEN", partial(play, rewrite=of_a_dictionary)),
    "signature_lost": ("MUTATED_TOKEN", partial(play, rewrite=lambda query: query.rpartition("&")[0])),
    "shown_query": ("WRONG_VALUE", partial(play, rewrite=lambda query: query[:60] + "...")),
    "no_precheck": ("MISSING_CONSTRAINT", partial(play, skip="precheck")),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, skip="X-Seed-Anchor")),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, skip="X-Contract-Proof")),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, idle_after=lambda left: left - 7)),
    "token_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/resource/.*", told_at("deadline"), 8)),
    "token_in_the_last_instant": ("SUCCESS", held(play, "/api/resource/.*", told_at("deadline"), 8, INSTANT)),
    "link_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/precheck", expires, 13)),
    "link_in_the_last_instant": ("SUCCESS", held(play, "/api/precheck", expires, 13, INSTANT)),
    "looked_twice": ("SUCCESS", partial(play, looks=2)),
    "at_once": ("EXPIRED_BEFORE_USE", partial(play, idle_before=lambda opens, ends: 0 if opens > BUSY_S else ends - 12)),
    "an_instant_early": ("EXPIRED_BEFORE_USE", partial(play, idle_before=partial(too_early, INSTANT))),
    "token_lost_to_two_looks": ("EXPIRED_BEFORE_USE", partial(play, sequel=["/task"] * 2)),
    "late_link": ("EXPIRED_BEFORE_USE", partial(play, idle_before=lambda opens, ends: ends - 12)),
    "late_token_in_capitals": ("EXPIRED_BEFORE_USE", partial(play, idle_after=lambda left: left - 7, rewrite=in_capitals)),
    "late_link_sorted": ("EXPIRED_BEFORE_USE", partial(play, idle_before=lambda opens, ends: ends - 12, rewrite=by_name)),
    "shifted_anchor": ("WRONG_VALUE", partial(play, offset=1)),
    "proof_without_colon": ("WRONG_VALUE", partial(play, separator="")),
    "proof_of_the_token_before": ("WRONG_VALUE", partial(play, sequel=["/api/precheck"])),
    "trailing_newline": ("WRONG_VALUE", partial(play, deliver=lambda file: file + "\n")),
    "looked_twice_and_late": ("EXPIRED_BEFORE_USE", held(partial(play, looks=2), "/api/precheck", expires, 13)),
}

CELLS = {"validity": "late_token", "integrity": "escapes_in_capitals", "both": "late_token_in_capitals"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
