"""The one door to LiteLLM: a configured import, one call, and every way a call can fail sorted.

1. LiteLLM takes seconds to import and likes to fetch prices, tokenizers and headers; here it is imported late and offline.
2. A failed call is `Transient` (ask again), of that kind `Unconnected` (nobody was there to be asked), `Refused` (asking again
   is useless), `ContextFull` (the conversation is too long for the model), `UnreadableCall` (the model's own tool call broke
   LiteLLM) or, for what LiteLLM itself declines to send, `ParameterRefused`.
3. No message that leaves this room holds a secret: what the environment calls a key, token, secret or password is blanked.
"""

from __future__ import annotations

import atexit
import base64
import json
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from time import time
from traceback import walk_tb
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import httpx

from harness.printable import encodable
from worlds.core.errors import ParleyError

_OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "LITELLM_LOCAL_BLOG_POSTS")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION", re.IGNORECASE)
_SECRET_LENGTH = 8
"""Shorter values are too common as words to be blanked."""

_RETRIED = frozenset({408, 409, 425, 429})
_SHOWN = 300
_configuring = threading.Lock()
_WRAPPING = re.compile(r"^(?:litellm\.)?(?:\w+(?:Error|Exception|Timeout): |\w+Exception - )+")


class Transient(ParleyError):
    """The call failed in a way that time may cure; `retry_after` is what the provider asked for, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unconnected(Transient):
    """No connection was made: refused, no such host, no route, no common TLS."""


class Refused(ParleyError):
    """The provider will not answer this request, however often it is asked."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ParameterRefused(Refused):
    """LiteLLM knows that the model does not take a parameter."""


class ContextFull(ParleyError):
    """The conversation is longer than the model can read."""


class UnreadableCall(ParleyError):
    """The model wrote a tool call that LiteLLM cannot read: nested thousands deep, a number of thousands of digits."""


def library() -> ModuleType:
    """LiteLLM, offline and quiet; raises Refused where it cannot be imported."""
    for name in _OFFLINE:
        os.environ.setdefault(name, "True")
    # one thread imports and sets it up, and those that come meanwhile wait
    with _configuring:
        try:
            import litellm  # noqa: PLC0415 - 2 s, paid only by who calls a model
        except ImportError as error:
            raise Refused(f"LiteLLM cannot be imported: {error}") from None

        litellm.suppress_debug_info = True
        litellm.disable_hf_tokenizer_download = True
        for quiet in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx"):
            logging.getLogger(quiet).setLevel(logging.CRITICAL)
        # A key that is set to nothing is not set; LiteLLM looks for the name alone, and would send it.
        for name in [name for name in list(os.environ) if name.endswith("_API_KEY") and not os.environ.get(name, name).strip()]:
            os.environ.pop(name, None)
        if litellm.client_session is None:
            # Its types are finished when they are first used, with warnings that only its own filters of this moment hold back.
            litellm.ModelResponse()
            # One pool for all threads: left alone, LiteLLM builds one per thread and forgets to close it.
            litellm.client_session = httpx.Client(follow_redirects=True, limits=httpx.Limits(max_connections=None))
            atexit.register(litellm.client_session.close)
    return litellm


def ask(request: Mapping[str, Any], secrets: tuple[str, ...] = ()) -> Any:
    """One completion, LiteLLM's own retries off; raises Transient, Refused, ParameterRefused, ContextFull or UnreadableCall."""
    litellm = library()
    try:
        # Without this switch litellm 1.106 imports the package `mcp`, which it does not require, for any call with tools.
        response = litellm.completion(**request, max_retries=0, num_retries=0, _skip_mcp_handler=True)
    except Exception as error:  # noqa: BLE001 - LiteLLM lets its providers' own exceptions through
        # `from None`: the original may show the key, and so would a traceback of ours.
        raise _sorted(litellm, error, secrets) from None
    if not getattr(response, "choices", None):
        raise Transient("the provider answered without a choice")
    return response


def _sorted(litellm: ModuleType, error: Exception, secrets: tuple[str, ...]) -> ParleyError:
    said = _said(error, secrets)
    if _stumbled(error):
        return UnreadableCall("the reply held a tool call that cannot be read")
    if isinstance(error, litellm.ContextWindowExceededError):
        return ContextFull(said)
    if isinstance(error, litellm.UnsupportedParamsError):
        return ParameterRefused(said)
    if no_connection := _unconnected(error):
        return Unconnected(scrub(no_connection, secrets)[:_SHOWN])
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        return Refused(f"{type(error).__name__}: {said}")
    # A spent quota is a 429 too, and no waiting brings it back.
    if (status in _RETRIED or status >= 500) and "insufficient_quota" not in str(error):
        return Transient(f"{said} ({status})", _retry_after(error))
    return Refused(f"{said} ({status})", status)


def _stumbled(error: BaseException) -> bool:
    """Whether LiteLLM failed at the arguments of a tool call, which the model wrote, and calls that a server error.

    LiteLLM 1.106 parses them all, for the sake of one broken name, and expects no other exception than a JSONDecodeError.
    """
    return any(
        "parallel_tool_calls" in frame.f_code.co_name for link in _chain(error) for frame, _ in walk_tb(link.__traceback__)
    )


def _unconnected(error: BaseException) -> str | None:
    """Why no connection was made, as the system says it; None where one was. LiteLLM calls that an error 500 of the server."""
    for link in _chain(error):
        if isinstance(link, httpx.ConnectError):
            return str(encodable(str(link)))
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that it was raised from or meanwhile."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _said(error: Exception, secrets: tuple[str, ...]) -> str:
    """What the provider said, without LiteLLM's wrapping and without secrets, in one line that can be written down."""
    line = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    # what is cut first may end in half a secret, which nobody would know
    return str(encodable(scrub(_WRAPPING.sub("", line), secrets)[:_SHOWN]))


def _retry_after(error: Exception) -> float | None:
    """The seconds of a Retry-After header, given as a number or as a date."""
    response = getattr(error, "response", None)
    for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
        value = headers.get("retry-after") if headers is not None else None
        if value is not None:
            return _seconds(str(value))
    return None


def _seconds(value: str) -> float | None:
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None


def scrub(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` with every known secret blanked: the given ones and those of the environment."""
    known = {os.environ.get(name, "") for name in list(os.environ) if _SECRET_NAME.search(name)} | set(secrets)
    told = {form for one in known if len(one) >= _SECRET_LENGTH for form in _forms(one)}
    for secret in sorted(told, key=len, reverse=True):
        text = text.replace(secret, "[secret]")
    return text


def _forms(secret: str) -> tuple[str, ...]:
    """A secret as it is, and as an address, a header of basic authorisation and a document of JSON carry it."""
    encoded = base64.b64encode(secret.encode(errors="surrogateescape")).decode()
    return secret, quote(secret, safe="", errors="surrogateescape"), encoded, json.dumps(secret)[1:-1]


def secrets_of(api_base: str) -> tuple[str, ...]:
    """What must not be shown of an API base: user with password, the password, the values of its query."""
    parts = urlsplit(api_base)
    user = unquote(parts.netloc.rpartition("@")[0])
    values = [value for _, value in parse_qsl(parts.query)]
    return tuple(one for one in (user, user.partition(":")[2], *values) if one)


def host_of(api_base: str) -> str:
    """What makes two API bases one server to us: the host and the path, since a port may be another one each time."""
    parts = urlsplit(api_base)
    return f"{parts.hostname or ''}{parts.path}"


def public_address(api_base: str) -> str:
    """An API base without user, password and query, fit for a record."""
    parts = urlsplit(api_base)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
