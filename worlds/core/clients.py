"""The `api` that solutions receive: a synchronous httpx client over a transport of ours."""

from __future__ import annotations

from typing import Any

import httpx

from worlds.core.wire import API_URL, Transport, WireRequest

_FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})


class WireTransport(httpx.BaseTransport):
    """An httpx transport over our raw one: the target goes through exactly as httpx would write it on a socket."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send what httpx would send; framing headers belong to the transport."""
        headers = tuple((k, v) for k, v in request.headers.multi_items() if k.lower() not in _FRAMING)
        answer = self._transport(WireRequest(request.method, request.url.raw_path, headers, request.read()))
        return httpx.Response(answer.status, headers=list(answer.headers), content=answer.body)


class _Cookies(httpx.Cookies):
    """Looks for cookies in answers that set one: to look takes as long as a world takes to answer."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Keep what the answer sets."""
        if "set-cookie" in response.headers:
            super().extract_cookies(response)


class _Client(httpx.Client):
    """Puts the base URL before a path itself: to join the two, httpx parses URLs four times a request."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._cookies = _Cookies()

    def build_request(self, method: str, url: httpx.URL | str, **given: Any) -> httpx.Request:
        """The request for a path, or for a whole URL."""
        return super().build_request(method, API_URL + url if isinstance(url, str) and url.startswith("/") else url, **given)


def client(transport: Transport) -> httpx.Client:
    """The synchronous client that solutions get, with the world's base URL."""
    return _Client(transport=WireTransport(transport), base_url=API_URL, trust_env=False)
