"""Secrets known to this process: masking them in records, and finding them before publication.

Known secrets are the values of variables whose name contains key, token, secret or password, and those in a model's settings. A
model's key of less than 8 characters is masked only in messages, and only as a whole word. A key of less than 4 characters is
never masked.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable
from functools import reduce
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

HIDDEN = "[secret]"
ALLOWED = "PARLEY_PUBLISH_SECRETS"
"""Environment variable that allows publishing a folder that contains secrets."""

_NAMED = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION", re.IGNORECASE)
_LENGTH, _SHORTEST, UNDECODED = 8, 4, "surrogateescape"
"""Minimum length for masking anywhere, and as a word; error handler with which the environment decodes invalid bytes."""

SHAPES = {
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

_IN_PATH = re.compile(rf"{'|'.join(SHAPES.values())}|(?=[^/]*\d)(?=[^/]*[A-Za-z])[A-Za-z0-9_]{{24,}}")
"""Part of an address's path that resembles a key rather than the name of a route or a model."""


def scrub(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return `text` with every known secret removed: those given and those of the environment."""
    return scrubber(secrets)(text)


def scrubber(secrets: tuple[str, ...] = ()) -> Callable[[str], str]:
    """Return `scrub` as a function for many texts, which reads the environment once."""
    ordered = forms({*of_environment().values(), *secrets})
    short = sorted({one for one in secrets if _SHORTEST <= len(one) < _LENGTH}, key=len, reverse=True)
    word = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, short))})(?!\w)") if short else None

    def clean(text: str) -> str:
        rest = reduce(lambda rest, secret: rest.replace(secret, HIDDEN), ordered, text)
        return word.sub(HIDDEN, rest) if word else rest

    return clean


def scrubbed(value: Any, secrets: tuple[str, ...] = ()) -> Any:
    """Return a JSON value without known secrets of at least 8 characters; the same object if it contains none."""
    ordered = forms({*of_environment().values(), *secrets})

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return reduce(lambda rest, secret: rest.replace(secret, HIDDEN), ordered, value)
        if isinstance(value, dict):
            return {clean(key): clean(one) for key, one in value.items()}
        return [clean(one) for one in value] if isinstance(value, list) else value

    return clean(value)


def secrets_of(api_base: str) -> tuple[str, ...]:
    """Return the secret parts of an API base: user, password, the query, parts of the path that resemble keys."""
    parts = urlsplit(api_base)
    user = unquote(parts.netloc.rpartition("@")[0])
    values = [value for _, value in parse_qsl(parts.query)]
    return tuple(one for one in (user, user.partition(":")[2], *values, *_IN_PATH.findall(parts.path)) if one)


def host_of(api_base: str) -> str:
    """Return the identity of an API base's server: the host and the path. The port is ignored, because it may change."""
    parts = urlsplit(public_address(api_base))
    return f"{parts.hostname or ''}{parts.path}"


def public_address(api_base: str) -> str:
    """Return an API base without user, password, query and anything like a key in its path, suitable for a record."""
    parts = urlsplit(api_base)
    path = _IN_PATH.sub(HIDDEN, parts.path)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], path=path, query="", fragment="").geturl()


def of_environment() -> dict[str, str]:
    """Return the variables of this process whose values are secret."""
    named = {name: os.environ.get(name, "") for name in sorted(os.environ) if _NAMED.search(name) and name != ALLOWED}
    return {name: value for name, value in named.items() if len(value) >= _LENGTH}


def forms(secrets: set[str]) -> list[str]:
    """Return all forms of the secrets: verbatim, URL-quoted, in a basic authorization header, and in JSON."""
    told = [one for one in secrets if len(one) >= _LENGTH]
    forms = {form for one in told for form in (
        one, quote(one, safe="", errors=UNDECODED), base64.b64encode(one.encode(errors=UNDECODED)).decode(),
        json.dumps(one)[1:-1],
    )}  # fmt: skip
    return sorted(forms, key=len, reverse=True)
