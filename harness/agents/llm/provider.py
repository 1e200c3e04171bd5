"""Access to LiteLLM: a configured import, one call, and its response and failures without secrets (`harness.secrets`).

LiteLLM takes seconds to import, and by default downloads prices, tokenizers and headers. Here it is imported on first use, with
downloads disabled. Invalid proxies or certificates in the environment are reported before any call.
"""

from __future__ import annotations

import atexit
import difflib
import logging
import os
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import httpx

from harness.agents.llm.failures import ConnectionFailed, Refused, failure_of, parsed
from harness.agents.llm.wire import install, listening
from harness.errors import ClientFailure, UsageError
from harness.secrets import public_address, scrub, scrubbed, scrubber
from worlds.core.errors import ParleyError

_OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "LITELLM_LOCAL_BLOG_POSTS")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_NETWORK = {
    **dict.fromkeys(_PROXIES, "{name}=http://HOST:PORT, or unset it"),
    "no_proxy": "{name}={bare}: names of hosts or addresses, without brackets or ports",
    "ssl_cert_file": "{name}=FILE with certificates in PEM, or unset it",
    **dict.fromkeys(("ssl_cert_dir", "sslkeylogfile", "ssl_verify", "ssl_security_level"), "unset {name}"),
}
"""Variables read by HTTP clients, in upper or lower case, and the remedy if one is invalid."""

_UNMADE = (ImportError, OSError, ValueError, httpx.InvalidURL)
"""Exceptions raised when an HTTP client is created."""

_configuring = threading.Lock()


class WireAnswer(NamedTuple):
    """Response to one call: as translated by LiteLLM, None if that failed, and as a completion in OpenAI's format.

    `body` is the server's own if there is one, because LiteLLM renames and drops fields. `sent` is the request.
    """

    response: Any
    body: Mapping[str, Any]
    sent: bytes


def library() -> ModuleType:
    """Return LiteLLM, offline and quiet.

    Raises Refused if it cannot be imported, UsageError for a wrong proxy or certificate.
    """
    for name in _OFFLINE:
        os.environ.setdefault(name, "True")
    # one thread imports and configures it while the others wait
    with _configuring:
        for name, file in _given("ssl_certificate"):
            # LiteLLM reads this variable after its import
            if not Path(file).is_file():
                hint = f"{name}=FILE with a client's certificate, or unset it"
                raise UsageError(f"{name}={file} cannot be used: no such file", hint=hint)
        try:
            import litellm  # noqa: PLC0415 - 2 s, paid only by commands that call a model

            litellm.suppress_debug_info = True
            # silence warnings about fields whose types differ from OpenAI's; they are parsed here anyway
            warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
            litellm.disable_hf_tokenizer_download = True
            for quiet in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx"):
                logging.getLogger(quiet).setLevel(logging.CRITICAL)
            # A variable with an empty key counts as unset; LiteLLM would send the empty key.
            for name in [name for name, key in os.environ.items() if name.endswith("_API_KEY") and not key.strip()]:
                os.environ.pop(name, None)
            if litellm.client_session is None:
                # LiteLLM's types are completed on first use; only the current filters suppress the warnings of that.
                litellm.ModelResponse()
                install()
                # One connection pool for all threads; by default, LiteLLM creates one per thread and does not close it.
                litellm.client_session = httpx.Client(follow_redirects=True, limits=httpx.Limits(max_connections=None))
                atexit.register(litellm.client_session.close)
        except ImportError as error:
            if "socks" not in str(error):
                raise Refused(f"LiteLLM cannot be imported: {error}") from None
            raise _network_fault(error) from None
        except _UNMADE as error:
            raise _network_fault(error) from None
    return litellm


def ask(request: Mapping[str, Any], secrets: tuple[str, ...], silent_for: str) -> WireAnswer:
    """Make one call with this timeout; raises a CallFailure with the server's message."""
    litellm, clean, response, error = library(), scrubber(secrets), None, None
    with listening(clean) as calls:
        try:
            # Without this switch litellm 1.106 imports the package `mcp`, which it does not require, for any call with tools.
            response = litellm.completion(**request, max_retries=0, num_retries=0, _skip_mcp_handler=True)
        except Exception as raised:  # noqa: BLE001 - LiteLLM lets its providers' own exceptions through
            error = raised
        call = calls[-1] if calls else None
        failure, body = failure_of(litellm, error, call, clean, silent_for), parsed(call.text) if call else None
    if failure is None:
        choices = body.get("choices") or () if isinstance(body, dict) else ()
        if response is not None and not any(isinstance(one, dict) and "message" in one for one in choices):
            body = response.model_dump(exclude_none=True)
        # a reply is recorded in many places, and none of them may contain a key
        return WireAnswer(response, scrubbed(body or {}, secrets), call.request.content if call else b"")
    if call is not None:
        url = call.request.url
        failure.where = f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
        if isinstance(failure, ConnectionFailed):
            failure.proxy = proxy_of(url)
            told = ", ".join(f"{name}={value}" for name, value in _given("ssl_cert_file", "ssl_cert_dir"))
            if told and "CERTIFICATE_VERIFY_FAILED" in str(failure):
                failure.args = (f"{failure} ({told})",)
    raise failure


@contextmanager
def own_bugs() -> Iterator[None]:
    """Raise ClientFailure for an unexpected exception in a model call, which is a bug of ours."""
    try:
        yield
    except (ParleyError, OSError, MemoryError):
        raise
    except Exception as bug:
        frame = traceback.extract_tb(bug.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        raise ClientFailure(f"our model client failed at {where}: {type(bug).__name__}: {scrub(str(bug))}") from bug


def unknown_provider(model: str, *, has_base: bool) -> UsageError:
    """Return the error for a model with an unknown provider; `has_base` is true if an address was given."""
    prefix, slash, name = model.partition("/")
    providers = [str(getattr(p, "value", p)) for p in library().provider_list]
    near = difflib.get_close_matches(prefix, providers, n=1)
    if slash and near:
        return UsageError(f"no provider named {prefix!r}", hint=f"--model {near[0]}/{name}")
    hint = f"--model openai/{model}" if has_base else "--model PROVIDER/NAME, for example openai/gpt-5"
    return UsageError(scrub(f"no provider is known for the model {model!r}"), hint=hint)


def public_proxy(value: str) -> str:
    """Return the address of a proxy without user and password."""
    try:
        return public_address(value if "://" in value else f"http://{value}")
    except ValueError:
        return value.rpartition("@")[2]


def proxy_of(url: httpx.URL) -> str | None:
    """Return the variable and the address of the proxy for a URL, None without a proxy."""
    proxies = {} if proxy_bypass(url.host) else getproxies()
    for scheme in (url.scheme, "all"):
        if proxies.get(scheme):
            name = next((name for name, _ in _given(f"{scheme}_proxy")), f"{scheme}_proxy")
            return f"{name}={public_proxy(proxies[scheme])}"
    return None


def _given(*lower: str) -> list[tuple[str, str]]:
    """Return the variables of these names that are set, in upper or lower case."""
    return [(name, value) for name in sorted(os.environ) if name.lower() in lower and (value := os.environ.get(name))]


def _network_fault(error: Exception) -> UsageError:
    """Name the variable that prevents the creation of an HTTP client, by creating one with each of them alone."""
    given = _given(*_NETWORK)
    try:
        for name, value in given:
            for part in map(str.strip, value.split(",") if name.lower() == "no_proxy" else [value]):
                for other, _ in given:
                    os.environ.pop(other, None)
                os.environ[name] = part
                try:
                    httpx.Client().close()
                except _UNMADE as problem:
                    hint = _NETWORK[name.lower()].format(name=name, bare=part.strip("[]"))
                    if isinstance(problem, ImportError):
                        hint = f"pip install 'httpx[socks]', or unset {name}"
                    shown = public_proxy(part) if name.lower() in _PROXIES else part
                    why = (str(problem).splitlines() or [type(problem).__name__])[0]
                    return UsageError(f"{name}={shown} cannot be used: {why}", hint=hint)
    finally:
        os.environ.update(given)
    names = ", ".join(f"{name}={value}" for name, value in given if name.lower().startswith("ssl"))
    return UsageError(f"no HTTP client can be created: {error}", hint=f"check {names}" if names else "")
