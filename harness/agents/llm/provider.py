"""The one door to LiteLLM: a configured import, one call, and what is said of its failures without any secret.

1. LiteLLM takes seconds to import and likes to fetch prices, tokenizers and headers; here it is imported late and offline.
2. How a call can fail is sorted in `harness.agents.llm.failures`.
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
from collections.abc import Mapping
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import httpx

from harness.agents.llm.failures import Refused, Transient, sorted_failure, spoken_to

_OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "LITELLM_LOCAL_BLOG_POSTS")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION", re.IGNORECASE)
_SECRET_LENGTH = 8
"""Shorter values are too common as words to be blanked."""

_configuring = threading.Lock()


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
    """One completion, LiteLLM's own retries off; raises a CallFailure, which says what was asked where."""
    litellm = library()
    try:
        # Without this switch litellm 1.106 imports the package `mcp`, which it does not require, for any call with tools.
        response = litellm.completion(**request, max_retries=0, num_retries=0, _skip_mcp_handler=True)
    except Exception as error:  # noqa: BLE001 - LiteLLM lets its providers' own exceptions through
        # `from None`: the original may show the key, and so would a traceback of ours.
        failure = sorted_failure(litellm, error, lambda text: scrub(text, secrets))
        failure.where = spoken_to(error)
        raise failure from None
    if not getattr(response, "choices", None):
        raise Transient("it answered without a choice")
    return response


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
