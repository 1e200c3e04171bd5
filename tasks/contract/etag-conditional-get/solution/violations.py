"""Clients that go wrong in one place each, with the label that place must earn."""

from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
from reading import anchor_slice
from solve import TOKEN, Document, Habits, Wait, Writer, cost, lasts, max_age, new_state, play
from timing import INSTANT, Answers, answered_at, held

INVENTED = 'W/"aW52ZW50ZWQ+L2J5L21l"'


def strong(tag: str) -> str:
    """A client that makes the tag strong."""
    return tag.removeprefix("W/")


def unquoted(tag: str) -> str:
    """A client that keeps only what stands between the quotes."""
    return strong(tag).strip('"')


def matching(change: Any) -> Any:
    """The last tag, changed, in If-Match."""
    return lambda tags: {"If-Match": change(tags[-1])}


def shown(change: Any) -> Any:
    """The last token, changed."""
    return lambda tokens: {TOKEN: change(tokens[-1])}


def as_text(document: Document, state: str) -> Document:
    """A client that writes numbers as strings."""
    return {**{name: str(value) for name, value in document.items()}, "state": state}


def reordered(document: Document, state: str) -> Document:
    """A client that writes the fields in another order, which a JSON object does not have."""
    return dict(reversed({**document, "state": state}.items()))


def only_the_change(document: Document, state: str) -> Document:
    """A client that takes PUT for PATCH."""
    return {"state": state}


def write_at_the_end(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that writes when the version is about to change, and asks for its token after that."""
    wait(max_age(api.get("/api/resource")))
    answer = api.get("/api/resource")
    wait(max_age(answer) - cost(instruction) - spare)
    written = {**answer.json(), "state": new_state(instruction)}
    api.put("/api/resource", headers={"If-Match": answer.headers["ETag"]}, json=written).raise_for_status()
    newest = api.get("/api/resource").headers["ETag"]
    token = api.get("/api/resource", headers={"If-None-Match": newest}).headers[TOKEN]
    headers = {TOKEN: token, "X-Seed-Anchor": anchor_slice(instruction)}
    api.post("/submission", content=api.get("/api/confirm", headers=headers).raise_for_status().json()["confirmation"])


def token_by_the_end(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that takes tag and time from the answer to its write, and asks for its token when that time is all but over."""
    wait(max_age(api.get("/api/resource")))
    answer = api.get("/api/resource")
    body = {**answer.json(), "state": new_state(instruction)}
    written = api.put("/api/resource", headers={"If-Match": answer.headers["ETag"]}, json=body)
    wait(max_age(written) - cost(instruction) - spare)
    newest = api.get("/api/resource", headers={"If-None-Match": written.headers["ETag"]}).headers
    headers = {"X-Seed-Anchor": anchor_slice(instruction), TOKEN: newest.get(TOKEN, "")}
    api.post("/submission", content=api.get("/api/confirm", headers=headers).raise_for_status().json()["confirmation"])


def confirmed_at_the_end(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that confirms when its token ends, or `spare` seconds before."""

    def token_end(answers: Answers) -> float:
        given = next(answer for answer in reversed(answers) if TOKEN in answer.headers)
        return answered_at(given) + lasts(instruction)

    held(play, "/api/confirm", token_end, cost(instruction), spare)(api, instruction, wait)


def written_as_read(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that looks at what it has written, and writes it once more as it is."""
    before, after = (Writer(api, instruction, wait, habits) for habits in (Habits(), Habits(edit=lambda document, _: document)))
    wait(max_age(before.read({})))
    before.read({})
    before.write()
    wait(max_age(after.read({})))
    after.read({})
    after.write()
    after.get_tokens()
    after.confirm()


def looked_with_other_tags(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that reads under conditions which nothing fulfils: a tag of nobody's, and then the one that is over."""
    writer = Writer(api, instruction, wait, Habits())
    wait(max_age(writer.read({"If-None-Match": INVENTED})))
    writer.revalidate()
    writer.write()
    writer.get_tokens()
    writer.confirm()


VIOLATIONS = {
    "straight_on": ("VERSION_CONFLICT", partial(play, hasty=True)),
    "first_tag_again": ("VERSION_CONFLICT", partial(play, match=lambda tags: {"If-Match": tags[0]})),
    "late_write": ("VERSION_CONFLICT", partial(play, linger=("write", 20))),
    "unconditional_write": ("MISSING_CONSTRAINT", partial(play, match=lambda tags: {})),
    "any_version": ("MISSING_CONSTRAINT", partial(play, match=lambda tags: {"If-Match": "*"})),
    "strong_if_none_match": ("MUTATED_TOKEN", partial(play, condition=strong)),
    "unquoted_if_none_match": ("MUTATED_TOKEN", partial(play, condition=unquoted)),
    "single_quoted_if_none_match": ("MUTATED_TOKEN", partial(play, condition=lambda tag: f"'{unquoted(tag)}'")),
    "strong_if_match": ("MUTATED_TOKEN", partial(play, match=matching(strong))),
    "unquoted_if_match": ("MUTATED_TOKEN", partial(play, match=matching(unquoted))),
    "encoded_if_match": ("MUTATED_TOKEN", partial(play, match=matching(lambda tag: f'W/"{quote(unquoted(tag), safe="")}"'))),
    "clipped_if_match": ("MUTATED_TOKEN", partial(play, match=matching(lambda tag: tag[:20]))),
    "invented_if_match": ("MUTATED_TOKEN", partial(play, match=matching(lambda tag: INVENTED))),
    "written_twice": ("VERSION_CONFLICT", partial(play, writes=2)),
    "written_as_it_changes": ("VERSION_CONFLICT", partial(write_at_the_end, 0)),
    "written_the_instant_before": ("SUCCESS", partial(write_at_the_end, INSTANT)),
    "written_as_read": ("SUCCESS", written_as_read),
    "looked_with_other_tags": ("SUCCESS", looked_with_other_tags),
    "token_as_it_changes": ("MISSING_TOKEN", partial(token_by_the_end, 0)),
    "token_the_instant_before": ("SUCCESS", partial(token_by_the_end, INSTANT)),
    "old_document": ("WRONG_VALUE", partial(play, based_on=lambda documents: documents[0])),
    "unchanged_document": ("WRONG_VALUE", partial(play, edit=lambda document, state: document)),
    "reordered_document": ("SUCCESS", partial(play, edit=reordered)),
    "only_the_change": ("WRONG_VALUE", partial(play, edit=only_the_change)),
    "numbers_as_text": ("WRONG_VALUE", partial(play, edit=as_text)),
    "not_written": ("MISSING_CONSTRAINT", partial(play, writes=0)),
    "neither_written_nor_token": ("MISSING_TOKEN", partial(play, writes=0, show=lambda tokens: {})),
    "no_token": ("MISSING_TOKEN", partial(play, show=lambda tokens: {})),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, linger=("confirm", 9))),
    "token_for_the_first_version": ("EXPIRED_BEFORE_USE", partial(play, early=True)),
    "token_on_the_dot": ("EXPIRED_BEFORE_USE", partial(confirmed_at_the_end, 0)),
    "token_in_the_last_instant": ("SUCCESS", partial(confirmed_at_the_end, INSTANT)),
    "replaced_token": ("EXPIRED_BEFORE_USE", partial(play, checks=2, show=lambda tokens: {TOKEN: tokens[0]})),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, linger=("confirm", 9), show=shown(lambda token: token[:16]))),
    "clipped_token": ("MUTATED_TOKEN", partial(play, show=shown(lambda token: token[:16]))),
    "encoded_token": ("MUTATED_TOKEN", partial(play, show=shown(lambda token: "".join(f"%{ord(c):02X}" for c in token)))),
    "visible_token": ("WRONG_VALUE", partial(play, show=shown(lambda token: token[:8] + "..."))),
    "quoted_token": ("MUTATED_TOKEN", partial(play, show=shown(lambda token: f'"{token}"'))),
    "late_without_anchor": ("MISSING_CONSTRAINT", partial(play, linger=("confirm", 9), anchor=lambda part: {})),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, anchor=lambda part: {})),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "token_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda confirmation, tokens: tokens[-1])),
    "quoted_confirmation": ("WRONG_VALUE", partial(play, hand_in=lambda confirmation, tokens: f'"{confirmation}"')),
    "echoed_confirmation": ("WRONG_VALUE", partial(play, hand_in=lambda confirmation, tokens: confirmation + "\n")),
}

CELLS = {"validity": "late_token", "integrity": "clipped_token", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
