"""Cookies as RFC 6265bis has them: set by Set-Cookie, scoped by path, and returned byte for byte, quotes included.

1. A server reads the Cookie header strictly (section 4.2.1): one header, pairs joined by a semicolon and one space, no pair
   empty. A value is all that follows the first `=`; a pair without one is a cookie without a name (section 5.8.3).
2. A cookie goes to the paths that path-match its Path (section 5.1.4), and to no other. Their order says nothing.
3. Expires lies far in the future: a jar may run on real time while the contract runs on virtual time, so how long a cookie is
   honoured is told apart from it, and no jar is right or wrong by its clock.
"""

from __future__ import annotations

from worlds.core.calls import Call, Unreadable

FAR = "Thu, 31 Dec 2099 23:59:59 GMT"
"""When a jar may forget a cookie."""

RULE = "the Cookie header must be a cookie-string: pairs joined by a semicolon and one space (RFC 6265bis section 4.2.1)"


def set_cookie(name: str, value: str, path: str = "/") -> tuple[str, str]:
    """The header that sets a cookie for this host; `value` must consist of cookie-octets, in double quotes or not."""
    return "Set-Cookie", f"{name}={value}; Path={path}; Expires={FAR}; HttpOnly; SameSite=Lax"


def cookie_pairs(call: Call) -> list[tuple[str, str]]:
    """Name and value of every cookie of a request, in its order; raises Unreadable for what is no cookie-string."""
    headers = [value for name, value in call.request.headers if name.lower() == "cookie"]
    if len(headers) > 1:
        raise Unreadable("a request must carry one Cookie header (RFC 6265bis section 5.8.1)")
    pairs = headers[0].split("; ") if headers else []
    if any(not pair or ";" in pair for pair in pairs):
        raise Unreadable(RULE)
    return [_pair(pair) for pair in pairs]


def path_matches(path: str, cookie_path: str) -> bool:
    """Whether a request to `path` carries the cookies of `cookie_path` (RFC 6265bis section 5.1.4)."""
    return path == cookie_path or path.startswith(cookie_path if cookie_path.endswith("/") else f"{cookie_path}/")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    return (name, value) if equals else ("", text)
