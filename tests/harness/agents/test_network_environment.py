"""Proxies and certificates in the environment: a wrong one is named, with its value, and nothing is asked."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.llm.provider import library, proxy_of, public_proxy
from harness.errors import Unreachable, UsageError
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import script

NAMES = (
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "ssl_cert_file",
    "ssl_cert_dir",
    "ssl_certificate",
    "sslkeylogfile",
)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No such variable but those of the test, and no HTTP client from before."""
    litellm = library()
    for name in [name for name in os.environ if name.lower() in NAMES]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(litellm, "client_session", None)


def asked(base: str = "http://127.0.0.1:9/v1") -> None:
    """Check and probe a model, as every command that asks one begins."""
    client = ModelClient(ModelSettings("openai/x", base, "k"), say=lambda line: None)
    client.check()
    client.probe()


WRONG = [
    (
        "ALL_PROXY",
        "socks5://user:secret-word@there:1080",
        r"ALL_PROXY=socks5://there:1080 cannot be used: .*socksio",
        "httpx.socks",
    ),
    ("all_proxy", "socks5h://there:1080", r"all_proxy=socks5h://there:1080 cannot be used", "unset all_proxy"),
    ("HTTP_PROXY", "ftp://there:1", r"HTTP_PROXY=ftp://there:1 cannot be used: Unknown scheme", "HTTP_PROXY=http://HOST:PORT"),
    ("HTTPS_PROXY", "http://[::1", r"HTTPS_PROXY=http://\[::1 cannot be used", "HTTPS_PROXY=http://HOST:PORT"),
    ("HTTP_PROXY", "http://there:port", r"HTTP_PROXY=http://there:port cannot be used: Invalid port", "HTTP_PROXY=http"),
    ("NO_PROXY", "localhost,[::1]", r"NO_PROXY=\[::1\] cannot be used: Invalid port", "NO_PROXY=::1"),
    ("no_proxy", "http://a:b:c", r"no_proxy=http://a:b:c cannot be used", "without brackets or ports"),
    ("SSL_CERT_FILE", "/no/such.pem", r"SSL_CERT_FILE=/no/such.pem cannot be used: .*No such file", "certificates in PEM"),
    ("SSL_CERT_FILE", "/etc/hostname", r"SSL_CERT_FILE=/etc/hostname cannot be used", "certificates in PEM"),
    ("SSL_CERTIFICATE", "/no/such.pem", r"SSL_CERTIFICATE=/no/such.pem cannot be used: no such file", "SSL_CERTIFICATE=FILE"),
    ("SSLKEYLOGFILE", "/no/such/folder/keys", r"SSLKEYLOGFILE=/no/such/folder/keys cannot be used", "unset SSLKEYLOGFILE"),
]


@pytest.mark.parametrize(("name", "value", "told", "hint"), WRONG)
def test_a_wrong_variable_is_named(name: str, value: str, told: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was a traceback; user and password of a proxy are not shown."""
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=told) as caught:
        asked()

    assert hint.replace(".", "[") in caught.value.hint.replace(".", "[")
    assert "secret-word" not in f"{caught.value} {caught.value.hint}"


def test_the_right_variable_is_named_among_many(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Variables that are right are not blamed for one that is wrong."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:8")
    monkeypatch.setenv("NO_PROXY", "::1,10.0.0.0/8,*.example.org,[fe80::1]")
    with pytest.raises(UsageError, match=r"^NO_PROXY=\[fe80::1\] cannot be used"):
        asked()


def test_a_dead_proxy_is_no_dead_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is named, not the server behind it; with the server in NO_PROXY it is asked directly."""
    monkeypatch.setenv("HTTP_PROXY", "http://user:secret-word@127.0.0.1:9")
    with OpenAIServer(script("hi")) as server:
        with pytest.raises(Unreachable, match=r"the proxy HTTP_PROXY=http://127\.0\.0\.1:9 cannot be used") as caught:
            asked(server.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        library().client_session = None
        asked(server.url.replace("/v1", "/v1/"))

    assert "NO_PROXY" in caught.value.hint
    assert "secret-word" not in str(caught.value)
    assert len(server.probes) == 1


def test_the_proxy_of_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable of its scheme counts before the one for all, and NO_PROXY before both."""
    monkeypatch.setenv("ALL_PROXY", "http://all:1")
    monkeypatch.setenv("https_proxy", "there:2")
    monkeypatch.setenv("NO_PROXY", "near.example")

    assert proxy_of(httpx.URL("https://far.example/v1")) == "https_proxy=http://there:2"
    assert proxy_of(httpx.URL("http://far.example/v1")) == "ALL_PROXY=http://all:1"
    assert proxy_of(httpx.URL("http://near.example/v1")) is None
    assert public_proxy("user:word@there:3") == "http://there:3"
