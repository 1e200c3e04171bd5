"""The one way to LiteLLM: a configured import, one call, and its failures without secrets.

1. LiteLLM takes seconds to import and fetches prices, tokenizers and headers; here it is imported late and offline.
2. Failures are classified in `harness.agents.llm.failures`. The server's own answer is kept beside LiteLLM's, so that no word
   of it is lost where LiteLLM cannot read it.
3. Messages hold no secret: values of variables whose name says key, token, secret or password are replaced.
"""

from __future__ import annotations

import atexit
import base64
import difflib
import json
import logging
import os
import re
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import httpx

from harness.agents.llm.answer import Wire, WireAnswer, raise_failure
from harness.agents.llm.failures import (
    CallFailure,
    ParameterRefused,
    Refused,
    Silent,
    Transient,
    Unconnected,
    answer_failure,
    body_failure,
    body_text,
    sorted_failure,
    spoken_to,
)
from harness.agents.llm.hidden_errors import hidden_error, not_a_completion
from harness.agents.llm.network_environment import certificates_told, check_client_certificate, network_fault, proxy_of
from harness.agents.llm.wire import install, listening
from harness.errors import ClientFailure, UsageError
from worlds.core.errors import ParleyError

_OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "LITELLM_LOCAL_BLOG_POSTS")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION", re.IGNORECASE)
_SECRET_LENGTH = 8
"""Shorter values are too common as words to be blanked."""

_configuring = threading.Lock()
_last = threading.local()
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
        # of replies whose fields have other types than OpenAI's, which are read here all the same
        warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
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
            install()
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


def ask(request: Mapping[str, Any], secrets: tuple[str, ...] = ()) -> WireAnswer:
    """Make one call, without LiteLLM's own retries; raises a CallFailure with the server's words."""
    litellm, wire, response = library(), Wire(), None
    _last.answer = None
    try:
        with listening(lambda: scrubber(secrets)):
            # Without this switch litellm 1.106 imports the package `mcp`, which it does not require, for any call with tools.
            response = litellm.completion(**request, max_retries=0, num_retries=0, _skip_mcp_handler=True, logger_fn=wire)
    except Exception as error:  # noqa: BLE001 - LiteLLM lets its providers' own exceptions through
        if not wire.is_readable:
            # `from None`: the original may show the key, and so would a traceback of ours.
            raise _classified(litellm, error, secrets) from None
    answered: httpx.Response | None = _last.answer
    if failure := _failure_inside(answered, wire.body, secrets):
        raise failure
    if wire.body is not None and wire.body.get("choices") is None:
        value = _json_of(answered)
        if isinstance(value, dict) and "choices" not in value:
            raise Refused(not_a_completion(value, lambda text: scrub(text, secrets)))
    if response is None and wire.body is None:
        raise Transient("it answered without a choice")
    answer = wire.answer(response)
    raise_failure(answer.body, lambda text: scrub(text, secrets))
    return answer


def _remember(answer: httpx.Response) -> None:
    """Keep a server's answer for the thread that asked."""
    _last.answer = answer


def _classified(litellm: ModuleType, error: Exception, secrets: tuple[str, ...]) -> CallFailure:
    """The failure of a call for which LiteLLM raised."""
    answer: httpx.Response | None = _last.answer
    value = _json_of(answer)
    failure = _failure_inside(None, value, secrets)
    if failure is None:
        failure = sorted_failure(litellm, error, answer, lambda text: scrub(text, secrets))
        if (
            value is not None
            and isinstance(failure, Transient | Refused)
            and not isinstance(failure, ParameterRefused | Silent)
        ):
            failure = Refused(not_a_completion(value, lambda text: scrub(text, secrets)))
    failure.where = spoken_to(error)
    if isinstance(failure, Unconnected) and failure.where is not None:
        failure.proxy = proxy_of(httpx.URL(failure.where))
        if "CERTIFICATE_VERIFY_FAILED" in str(failure) and (told := certificates_told()):
            failure.args = (f"{failure} ({told})",)
    return failure


def _json_of(answer: httpx.Response | None) -> Any:
    """The JSON of an answer with HTTP 200, None where there is none."""
    try:
        return json.loads(body_text(answer)) if answer is not None and answer.is_success else None
    except (ValueError, RecursionError):
        return None


def _failure_inside(answer: httpx.Response | None, value: Any, secrets: tuple[str, ...]) -> CallFailure | None:
    """The failure that LiteLLM passed over: an answer with an error status, or an error in the JSON of one with HTTP 200."""

    def clean(text: str) -> str:
        return scrub(text, secrets)

    if answer is not None and answer.is_error:
        return answer_failure(answer, clean)
    hidden = hidden_error(value)
    return body_failure(hidden.status, hidden.body, clean, shown="inside HTTP 200") if hidden else None


@contextmanager
def own_bugs() -> Iterator[None]:
    """Raise ClientFailure for an exception that no part of a model call means to raise: a bug of ours."""
    try:
        yield
    except (ParleyError, OSError, MemoryError):
        raise
    except Exception as bug:
        frame = traceback.extract_tb(bug.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        raise ClientFailure(f"our model client failed at {where}: {type(bug).__name__}: {scrub(str(bug))}") from bug


def unknown_provider(model: str, *, has_base: bool) -> UsageError:
    """Return what is said of a model whose provider is not known; `has_base`: an address was given."""
    prefix, slash, name = model.partition("/")
    providers = [str(getattr(p, "value", p)) for p in library().provider_list]
    near = difflib.get_close_matches(prefix, providers, n=1)
    if slash and near:
        return UsageError(f"no provider is called {prefix!r}", hint=f"--model {near[0]}/{name}")
    hint = f"--model openai/{model}" if has_base else "--model PROVIDER/NAME, for example openai/gpt-5"
    return UsageError(scrub(f"no provider is known for the model {model!r}"), hint=hint)


def scrub(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` with every known secret blanked: the given ones and those of the environment."""
    return scrubber(secrets)(text)


def scrubber(secrets: tuple[str, ...] = ()) -> Callable[[str], str]:
    """Return `scrub` for many texts: the environment is read once."""
    known = {os.environ.get(name, "") for name in list(os.environ) if _SECRET_NAME.search(name)} | set(secrets)
    told = {form for one in known if len(one) >= _SECRET_LENGTH for form in _forms(one)}
    ordered = sorted(told, key=len, reverse=True)
    return lambda text: reduce(lambda rest, secret: rest.replace(secret, "[secret]"), ordered, text)


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
