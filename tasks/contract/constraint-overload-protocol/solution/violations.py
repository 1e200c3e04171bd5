"""Clients that go wrong in one place each, with the label that place must earn."""

from collections.abc import Callable
from functools import partial
from urllib.parse import quote, urlencode

import httpx
from solve import CHECKSUM, ID, SLICE, TOKEN, VERSION, Download, Seen, Wait, play, take
from timing import INSTANT, held, told_at

Edit = Callable[[Download, Seen], None]


def change(asked: str, how: Callable[[str], str | None]) -> Edit:
    """Change what stands where a rule asks for this; None leaves it out."""

    def edit(made: Download, seen: Seen) -> None:
        place, name = made.names[asked]
        value = how(made.parts[place].pop(name))
        if value is not None:
            made.parts[place][name] = value

    return edit


def last_rule_forgotten(made: Download, seen: Seen) -> None:
    """A client that loses the last of the plain headers in the list."""
    plain = [name for name in made.parts["header"] if name != "X-Session-Token"]
    del made.parts["header"][plain[-1]]


def as_form(made: Download, seen: Seen) -> None:
    """A client that sends a form, as curl does unless told otherwise."""
    made.sent, made.kind = urlencode(made.parts["body"]).encode(), "application/x-www-form-urlencoded"


def by_get(made: Download, seen: Seen) -> None:
    """A client for which a download is a GET."""
    made.method, made.sent = "GET", b""


def archived_version(made: Download, seen: Seen) -> None:
    """A client that takes the version from another row."""
    other = next(row for row in seen.catalog["resources"] if row["status"] != "available")
    change(VERSION, lambda value: other["version"])(made, seen)


def proof_in_capitals(made: Download, seen: Seen) -> None:
    """A client that writes a proof in capitals; where none is asked for, the slice."""
    proofs = [asked for asked in made.names if asked.startswith("these parts")]
    change(proofs[0] if proofs else SLICE, lambda value: value.upper())(made, seen)


def first_session(made: Download, seen: Seen) -> None:
    """A client that goes on with the token of a session that a later one ended."""
    change(TOKEN, lambda value: seen.sessions[0]["session_token"])(made, seen)


def first_checksum(made: Download, seen: Seen) -> None:
    """A client that keeps the checksum of the session before."""
    change(CHECKSUM, lambda value: seen.checksums[0])(made, seen)


def highest(seen: Seen) -> dict[str, str]:
    """A client that takes the newest for the right one."""
    return max(seen.catalog["resources"], key=lambda row: row["version"])


def first_row(seen: Seen) -> dict[str, str]:
    """A client that takes the first row."""
    return seen.catalog["resources"][0]


def over(seen: Seen) -> float:
    """A wait until after the end of the session."""
    return seen.sessions[-1]["expires_at"] - seen.now + 5


def on_the_dot(seen: Seen) -> float:
    """The wait after which the download is answered in the very second in which the session ends."""
    return seen.sessions[-1]["expires_at"] - seen.now - 10


def latest_only(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that follows the link and hands in what it gets."""
    seen = Seen("")
    for step in ("session", "catalog"):
        take(api, step, seen)
    api.post("/submission", content=api.get(seen.catalog["latest"]["href"]).content)


def unread_docs(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that asks for the file by what it has, without the rules."""
    seen = Seen("")
    for step in ("session", "catalog", "session", "checksum"):
        take(api, step, seen)
    chosen = {"id": seen.row["id"], "version": seen.row["version"], "checksum": seen.checksums[0]}
    api.post("/api/download", json=chosen, headers={"X-Session-Token": seen.token})


def shown(path: str, change: Callable[[str], str], api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that asks for catalogue or checksum with something else than its token, and goes no further."""
    seen = Seen("")
    take(api, "session", seen)
    api.get(path, headers={"X-Session-Token": change(seen.token)})


def astray(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that makes up a link of its own before it starts."""
    api.get("/api/latest/0000000000000000")
    play(api, instruction, wait)


VIOLATIONS = {
    "astray_at_first": ("SUCCESS", astray),
    "clipped_for_the_catalogue": ("MUTATED_TOKEN", partial(shown, "/api/catalog", lambda token: token[:24])),
    "clipped_for_the_checksum": ("MUTATED_TOKEN", partial(shown, "/api/checksum", lambda token: token[:24])),
    "no_token_for_the_catalogue": ("MISSING_TOKEN", partial(shown, "/api/catalog", lambda token: "")),
    "no_token_for_the_checksum": ("MISSING_TOKEN", partial(shown, "/api/checksum", lambda token: "")),
    "catalogue_of_an_earlier_session": ("SUCCESS", partial(play, steps="docs session catalog session checksum")),
    "catalogue_as_the_session_ends": ("EXPIRED_BEFORE_USE", held(play, "/api/catalog", told_at("expires_at"), 10)),
    "catalogue_in_the_last_instant": ("SUCCESS", held(play, "/api/catalog", told_at("expires_at"), 10, INSTANT)),
    "checksum_as_the_session_ends": ("EXPIRED_BEFORE_USE", held(play, "/api/checksum", told_at("expires_at"), 10)),
    "latest_only": ("SHORTCUT_TAKEN", latest_only),
    "latest_first": ("SHORTCUT_TAKEN", partial(play, steps="docs session catalog latest checksum")),
    "unread_docs": ("MISSING_CONSTRAINT", unread_docs),
    "last_rule_forgotten": ("MISSING_CONSTRAINT", partial(play, edit=last_rule_forgotten)),
    "no_slice": ("MISSING_CONSTRAINT", partial(play, edit=change(SLICE, lambda value: None))),
    "no_checksum": ("MISSING_CONSTRAINT", partial(play, edit=change(CHECKSUM, lambda value: None))),
    "no_version": ("MISSING_CONSTRAINT", partial(play, edit=change(VERSION, lambda value: None))),
    "by_get": ("MISSING_CONSTRAINT", partial(play, edit=by_get)),
    "as_form": ("MISSING_CONSTRAINT", partial(play, edit=as_form)),
    "no_session": ("MISSING_CONSTRAINT", partial(play, steps="docs catalog")),
    "no_catalog": ("MISSING_CONSTRAINT", partial(play, steps="docs session checksum")),
    "no_checksum_asked": ("MISSING_CONSTRAINT", partial(play, steps="docs session catalog")),
    "new_session_for_the_download": (
        "MISSING_CONSTRAINT",
        partial(play, steps="docs session catalog checksum session"),
    ),
    "no_session_token": ("MISSING_TOKEN", partial(play, edit=change(TOKEN, lambda value: None))),
    "archived_version": ("WRONG_VALUE", partial(play, edit=archived_version)),
    "highest_version": ("WRONG_VALUE", partial(play, row=highest)),
    "first_row": ("WRONG_VALUE", partial(play, row=first_row)),
    "other_resource": ("WRONG_VALUE", partial(play, edit=change(ID, lambda value: "res_00000000"))),
    "proof_in_capitals": ("WRONG_VALUE", partial(play, edit=proof_in_capitals)),
    "shifted_slice": ("WRONG_VALUE", partial(play, shift=1)),
    "visible_token": ("WRONG_VALUE", partial(play, edit=change(TOKEN, lambda value: value[:12] + "..."))),
    "clipped_token": ("MUTATED_TOKEN", partial(play, edit=change(TOKEN, lambda value: value[:16]))),
    "clipped_checksum": ("MUTATED_TOKEN", partial(play, edit=change(CHECKSUM, lambda value: value[:39]))),
    "bare_checksum": (
        "MUTATED_TOKEN",
        partial(play, edit=change(CHECKSUM, lambda value: value.strip(":").removeprefix("sha-256=:"))),
    ),
    "twice_encoded_checksum": ("MUTATED_TOKEN", partial(play, edit=change(CHECKSUM, lambda value: quote(value, safe="")))),
    "unencoded_checksum": ("MUTATED_TOKEN", partial(play, edit=change(CHECKSUM, lambda value: value.replace("+", " ")))),
    "checksum_of_the_first_session": (
        "MUTATED_TOKEN",
        partial(play, steps="docs session checksum session catalog checksum", edit=first_checksum),
    ),
    "first_session": (
        "EXPIRED_BEFORE_USE",
        partial(play, steps="docs session catalog session checksum", edit=first_session),
    ),
    "late_download": ("EXPIRED_BEFORE_USE", partial(play, linger=("download", over))),
    "download_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=("download", on_the_dot))),
    "two_detours": ("EXPIRED_BEFORE_USE", partial(play, steps="session docs catalog checksum docs catalog")),
    "late_and_clipped": (
        "EXPIRED_BEFORE_USE",
        partial(play, linger=("download", over), edit=change(TOKEN, lambda value: value[:16])),
    ),
    "file_with_newline": ("WRONG_VALUE", partial(play, hand_in=lambda content, seen: content + b"\n")),
    "download_as_it_ends": ("EXPIRED_BEFORE_USE", held(play, "/api/download", told_at("expires_at"), 10)),
    "download_in_the_last_instant": ("SUCCESS", held(play, "/api/download", told_at("expires_at"), 10, INSTANT)),
}

CELLS = {"validity": "late_download", "integrity": "clipped_token", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
