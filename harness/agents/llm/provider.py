"""The one way to LiteLLM: a configured import, one call, and its failures without secrets.

1. LiteLLM takes seconds to import and fetches prices, tokenizers and headers; here it is imported late and offline.
2. Failures are classified in `harness.agents.llm.failures`. The server's own answer is kept beside LiteLLM's, so that no word
   of it is lost where LiteLLM cannot read it.
3. Messages hold no secret: values of variables whose name says key, token, secret or password are replaced.
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

from harness.agents.llm.failures import (
    CallFailure,
    Refused,
    Transient,
    Unconnected,
    answer_failure,
    body_failure,
    body_text,
    sorted_failure,
    spoken_to,
)
from harness.agents.llm.network_environment import certificates_told, check_client_certificate, network_fault, proxy_of
from harness.agents.llm.odd_answers import has_negative_usage, hidden_error, readable_response, unreadable

_OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "LITELLM_LOCAL_BLOG_POSTS")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION", re.IGNORECASE)
_SECRET_LENGTH = 8
"""Shorter values are too common as words to be blanked."""

_configuring = threading.Lock()
_wire = threading.local()
"""`answer`: the last response that a server sent to this thread."""


def library() -> ModuleType:
    """LiteLLM, offline and quiet; raises Refused where it cannot be imported, UsageError for a wrong proxy or certificate."""
    for name in _OFFLINE:
        os.environ.setdefault(name, "True")
    # one thread imports and configures it while the others wait
    with _configuring:
        check_client_certificate()
        try:
            import litellm  # noqa: PLC0415 - 2 s, paid only by commands that call a model
        except ImportError as error:
            raise Refused(f"LiteLLM cannot be imported: {error}") from None
        except (OSError, ValueError, httpx.InvalidURL) as error:
            raise network_fault(error) from None

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
            try:
                litellm.client_session = httpx.Client(
                    follow_redirects=True,
                    limits=httpx.Limits(max_connections=None),
                    event_hooks={"response": [_remember]},
                )
            except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
                raise network_fault(error) from None
            atexit.register(litellm.client_session.close)
    return litellm


def ask(request: Mapping[str, Any], secrets: tuple[str, ...] = ()) -> Any:
    """Make one call, LiteLLM's own retries off; raises a CallFailure with the server's words."""
    litellm, _wire.answer = library(), None
    try:
        # Without this switch litellm 1.106 imports the package `mcp`, which it does not require, for any call with tools.
        response = litellm.completion(**request, max_retries=0, num_retries=0, _skip_mcp_handler=True)
    except Exception as error:  # noqa: BLE001 - LiteLLM lets its providers' own exceptions through
        answer: httpx.Response | None = _wire.answer
        value = _json_of(answer)
        failure = _failure_inside(answer, value, secrets)
        if failure is None and (response := readable_response(litellm, value)) is not None:
            return response
        if failure is None:
            failure = sorted_failure(litellm, error, answer, lambda text: scrub(text, secrets))
            if value is not None and type(failure) in {Transient, Refused}:
                failure = unreadable(value)
        _add_route(failure, error)
        # `from None`: the original may show the key, and so would a traceback of ours.
        raise failure from None
    if (failure := _failure_inside(_wire.answer, _json_of(_wire.answer), secrets)) is not None:
        raise failure
    if not getattr(response, "choices", None):
        raise Transient("it answered without a choice")
    if has_negative_usage(getattr(response, "usage", None)):
        response.usage = None
    return response


def _remember(answer: httpx.Response) -> None:
    """Keep a server's answer for the thread that asked."""
    _wire.answer = answer


def _json_of(answer: httpx.Response | None) -> Any:
    """The JSON of an answer with HTTP 200, None where there is none."""
    try:
        return json.loads(body_text(answer)) if answer is not None and answer.is_success else None
    except (ValueError, RecursionError):
        return None


def _failure_inside(answer: httpx.Response | None, value: Any, secrets: tuple[str, ...]) -> CallFailure | None:
    """The failure that the last answer tells, though LiteLLM may have made a response of it: an error inside HTTP 200."""

    def clean(text: str) -> str:
        return scrub(text, secrets)

    if answer is not None and answer.is_error:
        return answer_failure(answer, clean)
    hidden = hidden_error(value)
    return body_failure(hidden.status, hidden.body, clean, shown="inside HTTP 200") if hidden else None


def _add_route(failure: CallFailure, error: Exception) -> None:
    """Say of a failure which server was asked, through which proxy and with which certificates."""
    failure.where = spoken_to(error)
    if isinstance(failure, Unconnected) and failure.where is not None:
        failure.proxy = proxy_of(httpx.URL(failure.where))
        if "CERTIFICATE_VERIFY_FAILED" in str(failure) and (told := certificates_told()):
            failure.args = (f"{failure} ({told})",)


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
