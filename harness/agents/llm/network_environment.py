"""Environment variables that HTTP clients read: proxies and certificates. A wrong value is named before anything is asked."""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx

from harness.errors import UsageError

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CERTIFICATE", "SSL_VERIFY", "SSL_SECURITY_LEVEL", "SSLKEYLOGFILE")
_SOCKS_HINT = "pip install 'httpx[socks]'"


def network_fault(error: Exception) -> UsageError:
    """Return what to tell people when no HTTP client can be made: the variable that is wrong, its value and what to do."""
    for name, value in _variables(*_PROXIES):
        if problem := _problem(_use_proxy, value):
            hint = (
                f"{_SOCKS_HINT}, or unset {name}"
                if isinstance(problem, ImportError)
                else f"{name}=http://HOST:PORT, or unset it"
            )
            return _named(name, public_proxy(value), problem, hint)
    for name, value in _variables("no_proxy"):
        for host in filter(None, map(str.strip, value.split(","))):
            if problem := _problem(_use_no_proxy, host):
                bare = host.strip("[]")
                return _named(name, host, problem, f"{name}={bare}: names of hosts or addresses, without brackets or ports")
    for name, value in _variables("sslkeylogfile"):
        if not Path(value).parent.is_dir() or Path(value).is_dir():
            return _named(name, value, error, f"unset {name}")
    for name, value in _variables("ssl_cert_file"):
        if problem := _problem(_use_certificates, value):
            return _named(name, value, problem, f"{name}=FILE with certificates in PEM, or unset it")
    names = [f"{name}={value}" for name, value in _variables(*map(str.lower, _CERTIFICATES))]
    return UsageError(f"no HTTP client can be made: {error}", hint=f"check {', '.join(names)}" if names else "")


def check_client_certificate() -> None:
    """Raise UsageError where SSL_CERTIFICATE, which LiteLLM reads late, names no file."""
    for name, value in _variables("ssl_certificate"):
        if not Path(value).is_file():
            raise _named(
                name, value, FileNotFoundError("no such file"), f"{name}=FILE with a client's certificate, or unset it"
            )


def proxy_of(url: httpx.URL) -> str | None:
    """Return the variable and the address of the proxy through which a URL is asked, None where there is none."""
    proxies = getproxies()
    scheme = next((one for one in (url.scheme, "all") if proxies.get(one)), None)
    direct = [one.strip().lstrip("*.") for one in proxies.get("no", "").split(",") if one.strip()]
    if scheme is None or any(f".{url.host}".endswith(f".{one}") or not one for one in direct):
        return None
    name = next((name for name, _ in _variables(f"{scheme}_proxy")), f"{scheme}_proxy")
    return f"{name}={public_proxy(proxies[scheme])}"


def certificates_told() -> str:
    """Return the certificate variables that are set, for the message of a connection whose certificate is not trusted."""
    return ", ".join(f"{name}={value}" for name, value in _variables("ssl_cert_file", "ssl_cert_dir"))


def public_proxy(value: str) -> str:
    """Return the address of a proxy without user and password."""
    try:
        parts = urlsplit(_with_scheme(value))
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    except ValueError:
        return value.rpartition("@")[2]


def _variables(*lower: str) -> Iterator[tuple[str, str]]:
    """The variables of these names that are set, in whichever case they are written."""
    return ((name, os.environ[name]) for name in sorted(os.environ) if name.lower() in lower and os.environ[name])


def _with_scheme(value: str) -> str:
    return value if "://" in value else f"http://{value}"


def _use_proxy(value: str) -> None:
    httpx.Client(proxy=_with_scheme(value), trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)).close()


def _use_certificates(file: str) -> None:
    ssl.create_default_context(cafile=file)


def _use_no_proxy(host: str) -> None:
    """Build the pattern that httpx builds of a host in NO_PROXY; raises what httpx raises."""
    try:
        ipaddress.ip_address(host.split("/", maxsplit=1)[0])
    except ValueError:
        if host != "*":
            pattern = host if "://" in host else f"all://*{host}"
            httpx.Client(mounts={pattern: None}, trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)).close()


def _problem(use: Callable[[str], None], value: str) -> Exception | None:
    try:
        use(value)
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as problem:
        return problem
    return None


def _named(name: str, value: str, problem: Exception, hint: str) -> UsageError:
    why = (str(problem).splitlines() or [type(problem).__name__])[0]
    return UsageError(f"{name}={value} cannot be used: {why}", hint=hint)
