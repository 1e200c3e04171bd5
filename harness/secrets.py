"""Secrets that this process knows: how they are blanked in what is recorded, and found in what is published.

Known are the values of variables whose name says key, token, secret or password, and what a model's settings hold. A model's
key of less than 8 characters is blanked in messages alone, where it stands as a word. Of less than 4, nothing is blanked.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from harness.bounds import FILE_BYTES
from harness.errors import UsageError
from harness.packs import PackedFiles, files_of
from harness.run_files import is_packed

HIDDEN = "[secret]"
ALLOWED = "PARLEY_PUBLISH_SECRETS"
"""Environment variable that allows publishing a folder that contains secrets."""

_NAMED = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION", re.IGNORECASE)
_LENGTH, _SHORTEST, _ODD = 8, 4, "surrogateescape"
"""Characters from which on a value is blanked anywhere, and as a word; how the environment holds bytes that are no text."""

_SHAPES = {
    "sk-": r"sk-(?:ant-|proj-|or-v1-)?[A-Za-z0-9_-]{32,}",
    "AKIA": r"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])",
    "AIza": r"AIza[0-9A-Za-z_-]{35}",
    "hf_": r"hf_[A-Za-z0-9]{30,}",
    "gsk_": r"gsk_[A-Za-z0-9]{40,}",
    "ghp_": r"ghp_[A-Za-z0-9]{36}",
    "github_pat_": r"github_pat_[A-Za-z0-9_]{40,}",
    "xoxb-": r"xoxb-[0-9A-Za-z-]{20,}",
}
"""Patterns of API keys by their prefix."""

_SHAPED = {begin.encode(): re.compile(rf"(?<![A-Za-z0-9]){shape}".encode()) for begin, shape in _SHAPES.items()}
_IN_PATH = re.compile(rf"{'|'.join(_SHAPES.values())}|(?=[^/]*\d)(?=[^/]*[A-Za-z])[A-Za-z0-9_]{{24,}}")
"""A part of an address's path that no name of a route or a model looks like."""


def scrub(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return `text` with every known secret removed: those given and those of the environment."""
    return scrubber(secrets)(text)


def scrubber(secrets: tuple[str, ...] = ()) -> Callable[[str], str]:
    """Return `scrub` for many texts: the environment is read once."""
    ordered = _forms({*_of_environment().values(), *secrets})
    short = sorted({one for one in secrets if _SHORTEST <= len(one) < _LENGTH}, key=len, reverse=True)
    word = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, short))})(?!\w)") if short else None

    def clean(text: str) -> str:
        rest = reduce(lambda rest, secret: rest.replace(secret, HIDDEN), ordered, text)
        return word.sub(HIDDEN, rest) if word else rest

    return clean


def scrubbed(value: Any, secrets: tuple[str, ...] = ()) -> Any:
    """Return a JSON value without known secrets of at least 8 characters; the same object if it contains none."""
    ordered = _forms({*_of_environment().values(), *secrets})

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return reduce(lambda rest, secret: rest.replace(secret, HIDDEN), ordered, value)
        if isinstance(value, dict):
            return {clean(key): clean(one) for key, one in value.items()}
        return [clean(one) for one in value] if isinstance(value, list) else value

    return clean(value)


def secrets_of(api_base: str) -> tuple[str, ...]:
    """Return what must not be shown of an API base: user, password, the query, parts of the path that look like keys."""
    parts = urlsplit(api_base)
    user = unquote(parts.netloc.rpartition("@")[0])
    values = [value for _, value in parse_qsl(parts.query)]
    return tuple(one for one in (user, user.partition(":")[2], *values, *_IN_PATH.findall(parts.path)) if one)


def host_of(api_base: str) -> str:
    """Return what makes two API bases one server to us: the host and the path, since a port may be another one each time."""
    parts = urlsplit(public_address(api_base))
    return f"{parts.hostname or ''}{parts.path}"


def public_address(api_base: str) -> str:
    """Return an API base without user, password, query and anything like a key in its path, suitable for a record."""
    parts = urlsplit(api_base)
    path = _IN_PATH.sub(HIDDEN, parts.path)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], path=path, query="", fragment="").geturl()


def refuse_secrets(name: str, data: bytes) -> None:
    """Raise UsageError where a file that is about to be published holds a secret; the message names the file, and no secret."""
    if os.environ.get(ALLOWED) == "1":
        return
    for variable, value in _of_environment().items():
        if any(form.encode(errors=_ODD) in data for form in _forms({value})):
            raise _refusal(name, f"the value of {variable}")
    for begin, shape in _SHAPED.items():
        if begin in data and shape.search(data):
            raise _refusal(name, f"what looks like an API key ({begin.decode()}...)")


def refuse_secrets_in(run: Path) -> None:
    """Raise UsageError where a file of a run, in a folder or packed, holds a secret."""
    for name, data in _files(run):
        refuse_secrets(f"{run}/{name}", data)


def _files(run: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each file with its bytes, or each piece for a packed run.

    Unreadable files are skipped, as they are not published.
    """
    if is_packed(run):
        yield from ((piece.path, piece.data) for piece in PackedFiles(run).everything())
        return
    files = files_of(run)
    for folder, _, names in os.walk(run):
        for name in (os.path.relpath(f"{folder}/{name}", run) for name in sorted(names)):
            with suppress(OSError):
                yield name, files.read(name, FILE_BYTES)


def _refusal(name: str, what: str) -> UsageError:
    return UsageError(
        f"{name} holds {what}, and is not published", hint=f"take it out of the file; where it is no secret, {ALLOWED}=1"
    )


def _of_environment() -> dict[str, str]:
    named = {name: os.environ.get(name, "") for name in sorted(os.environ) if _NAMED.search(name) and name != ALLOWED}
    return {name: value for name, value in named.items() if len(value) >= _LENGTH}


def _forms(secrets: set[str]) -> list[str]:
    """Return all forms of the secrets: verbatim, URL-quoted, in a basic authorization header, and in JSON."""
    told = [one for one in secrets if len(one) >= _LENGTH]
    forms = {form for one in told for form in (
        one, quote(one, safe="", errors=_ODD), base64.b64encode(one.encode(errors=_ODD)).decode(), json.dumps(one)[1:-1],
    )}  # fmt: skip
    return sorted(forms, key=len, reverse=True)
