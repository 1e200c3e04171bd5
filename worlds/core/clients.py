"""The `api` object that solutions receive: a synchronous httpx client over a raw transport."""

from __future__ import annotations

from typing import Any

import httpx

from worlds.core.wire import API_URL, Transport, WireRequest

_FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})


class WireTransport(httpx.BaseTransport):
    """httpx transport over a raw transport; it sends the target exactly as httpx would write it on a socket."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request that httpx would send, without framing headers, which the transport sets."""
        headers = tuple((k, v) for k, v in request.headers.multi_items() if k.lower() not in _FRAMING)
        answer = self._transport(WireRequest(request.method, request.url.raw_path, headers, request.read()))
        return httpx.Response(answer.status, headers=list(answer.headers), content=answer.body)


class _Cookies(httpx.Cookies):
    """Cookie jar that skips responses without Set-Cookie, because parsing takes as long as a world's response."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Store the cookies of a response that sets any."""
        if "set-cookie" in response.headers:
            super().extract_cookies(response)


class _Client(httpx.Client):
    """Client that joins base URL and path itself, because httpx parses URLs four times per request to do so."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._cookies = _Cookies()

    def build_request(self, method: str, url: httpx.URL | str, **given: Any) -> httpx.Request:
        """Build the request for a path or an absolute URL."""
        return super().build_request(method, API_URL + url if isinstance(url, str) and url.startswith("/") else url, **given)


def client(transport: Transport) -> httpx.Client:
    """Return the synchronous client for solutions, with the world's base URL."""
    return _Client(transport=WireTransport(transport), base_url=API_URL, trust_env=False)
