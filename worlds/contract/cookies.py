"""Cookies as in RFC 6265bis: set by Set-Cookie, scoped by path, and returned byte for byte, including quotes.

1. The server parses the Cookie header strictly (section 4.2.1): one header, non-empty pairs joined by a semicolon and a space.
A value is everything after the first `=`; a pair without `=` is a cookie without a name (section 5.8.3).
2. A cookie is sent to the paths that path-match its Path (section 5.1.4) only. The order of cookies has no meaning.
3. Expires lies far in the future, because a jar may use real time while the contract uses virtual time. The lifetime of a
cookie is announced separately, so no jar behaves differently because of its clock.
"""

from __future__ import annotations

from worlds.core.calls import Call, Unreadable

FAR = "Thu, 31 Dec 2099 23:59:59 GMT"
"""Expires attribute of every cookie."""

RULE = "the Cookie header must be a cookie-string: pairs joined by a semicolon and one space (RFC 6265bis section 4.2.1)"


def set_cookie(name: str, value: str, path: str = "/") -> tuple[str, str]:
    """Return the header that sets a cookie for this host; `value` must be cookie-octets, optionally in double quotes."""
    return "Set-Cookie", f"{name}={value}; Path={path}; Expires={FAR}; HttpOnly; SameSite=Lax"


def cookie_pairs(call: Call) -> list[tuple[str, str]]:
    """Return name and value of every cookie of a request, in order; raises Unreadable for an invalid cookie-string."""
    headers = [value for name, value in call.request.headers if name.lower() == "cookie"]
    if len(headers) > 1:
        raise Unreadable("a request must carry one Cookie header (RFC 6265bis section 5.8.1)")
    pairs = headers[0].split("; ") if headers else []
    if any(not pair or ";" in pair for pair in pairs):
        raise Unreadable(RULE)
    return [_pair(pair) for pair in pairs]


def path_matches(path: str, cookie_path: str) -> bool:
    """Return True if a request to `path` carries the cookies of `cookie_path` (RFC 6265bis section 5.1.4)."""
    return path == cookie_path or path.startswith(cookie_path if cookie_path.endswith("/") else f"{cookie_path}/")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    return (name, value) if equals else ("", text)
