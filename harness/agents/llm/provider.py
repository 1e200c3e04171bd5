"""The one door to LiteLLM: a configured import, one call, and what is said of its failures without any secret.

1. LiteLLM takes seconds to import and likes to fetch prices, tokenizers and headers; here it is imported late and offline.
2. How a call can fail is sorted in `harness.agents.llm.failures`.
3. No message that leaves this room holds a secret: what the environment calls a key, token, secret or password is blanked.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import httpx

from harness.agents.llm.answer import Wire, WireAnswer, raise_failure
from harness.agents.llm.failures import Refused, sorted_failure, spoken_to
from harness.errors import ClientFailure, UsageError
from worlds.core.errors import ParleyError

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
            litellm.client_session = httpx.Client(follow_redirects=True, limits=httpx.Limits(max_connections=None))
            atexit.register(litellm.client_session.close)
    return litellm


def ask(request: Mapping[str, Any], secrets: tuple[str, ...] = ()) -> WireAnswer:
    """Make one call, without LiteLLM's own retries; raises a CallFailure, which says what was asked where."""
    litellm, wire, response = library(), Wire(), None
    try:
        # Without this switch litellm 1.106 imports the package `mcp`, which it does not require, for any call with tools.
        response = litellm.completion(**request, max_retries=0, num_retries=0, _skip_mcp_handler=True, logger_fn=wire)
    except Exception as error:  # noqa: BLE001 - LiteLLM lets its providers' own exceptions through
        if not wire.is_readable:
            # `from None`: the original may show the key, and so would a traceback of ours.
            failure = sorted_failure(litellm, error, lambda text: scrub(text, secrets))
            failure.where = spoken_to(error)
            raise failure from None
    answer = wire.answer(response)
    raise_failure(answer.body, lambda text: scrub(text, secrets))
    return answer


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
