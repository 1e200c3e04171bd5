"""Every way a model call can fail, sorted: what time may cure, what no try would help, and what is the model's own doing.

1. `Transient` is asked again; of that kind are `Unconnected` (nobody was there to be asked), `Crowded` (too many calls at once)
   and `NoApi` (a web page). `Refused` is not asked again, and `Denied` is a refusal that
   every other call would meet too: the key, the account, the model. `ContextFull` and `UnreadableCall` are about what was said.
2. LiteLLM names a status also where no server spoke ("Connection error", 500), and another one than the server did. What counts
   stands in the exceptions behind its own: an answer with a status, or a connection that broke.
3. What a message repeats of an answer is one line of it, without LiteLLM's wrapping.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from time import time
from traceback import walk_tb
from types import ModuleType
from typing import Any, Literal

import httpx

from harness.printable import encodable
from worlds.core.errors import ParleyError

_RETRIED = frozenset({408, 409, 425, 429})
_CROWDED = frozenset({429, 529})
_SHOWN = 300
_WRAPPING = re.compile(r"^(?:litellm\.)?(?:\w+(?:Error|Exception|Timeout): |\w+(?:Exception|Error) - )+")
_SPENT = re.compile(r"insufficient_quota|billing_(?:hard_limit_reached|not_active|error)|credit balance is too low")
_ONE_PROMPT = re.compile(r"moderation|flagged|content[ _](?:policy|filter)", re.IGNORECASE)
"""What a provider says that refuses one conversation, and not whoever asks."""

_PAGE = re.compile(r"<!doctype html|<html[\s>]", re.IGNORECASE)

_TOOLS = re.compile(
    r"not support (?:\w+ ){0,2}(?:tools?|functions?)\b|\b(?:tools?|functions?)\b[\w ]{0,20} (?:is|are) not (?:supported|"
    r"enabled)|not support parameters: \['tools'|support tool use|--enable-auto-tool-choice|--tool-call-parser|--jinja",
    re.IGNORECASE,
)
"""What servers say that take no tools, as they were started or with this model."""

Why = Literal["key", "quota", "access", "model"]


class CallFailure(ParleyError):
    """One model call failed."""

    where: str | None = None
    """The server that was really asked, where that is known."""

    waited_s: float = 0.0
    """Real seconds for which the provider kept us waiting before the call that failed."""


class Transient(CallFailure):
    """The call failed in a way that time may cure; `retry_after` is what the provider asked for, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unconnected(Transient):
    """No connection was made: refused, no such host, no route, no common TLS."""


class Crowded(Transient):
    """The provider gets more calls, or tokens, than it takes at a time."""


class NoApi(Transient):
    """A web page answered, which is no API of models."""


class Refused(CallFailure):
    """The provider will not answer this request, however often it is asked."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ParameterRefused(Refused):
    """LiteLLM knows that the model does not take a parameter."""


class Denied(Refused):
    """The provider answers no request like ours, whatever is said in it."""

    def __init__(self, message: str, status: int | None, why: Why) -> None:
        super().__init__(message, status)
        self.why: Why = why


class Withheld(Refused):
    """The provider's content filter withheld the reply."""


class ContextFull(CallFailure):
    """The conversation is longer than the model can read."""


class UnreadableCall(CallFailure):
    """The model wrote a tool call that LiteLLM cannot read: nested thousands deep, a number of thousands of digits."""


def refuses_tools(failure: CallFailure) -> bool:
    """True where a server says that it, or its model, takes no tools."""
    return _TOOLS.search(str(failure)) is not None


def sorted_failure(litellm: ModuleType, error: Exception, clean: Callable[[str], str]) -> CallFailure:
    """What LiteLLM raised as one of these; `clean` blanks secrets in what a message repeats."""
    said = _one_line(error, clean)
    if _stumbled(error):
        return UnreadableCall("the reply held a tool call that cannot be read")
    if isinstance(error, litellm.ContextWindowExceededError):
        return ContextFull(said)
    if isinstance(error, litellm.UnsupportedParamsError):
        return ParameterRefused(said)
    if (broken := _broken(error, clean)) is not None:
        return broken
    answer = _answer(error)
    if answer is None:
        return _unspoken(error, said)
    # LiteLLM leaves out the code of an error, which alone tells a spent quota from a busy minute
    status, text = answer.status_code, f"{error} {_body(answer)}"
    told = f"{'a web page' if _PAGE.search(said) else said} ({status})"
    if why := _denied(status, text):
        return Denied(told, status, why)
    if status in _RETRIED or status >= 500:
        return (Crowded if status in _CROWDED else Transient)(told, _retry_after(answer))
    return Refused(told, status)


def _one_line(error: Exception, clean: Callable[[str], str]) -> str:
    """What the provider said, without LiteLLM's wrapping and without secrets, in one line that can be written down."""
    line = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    # what is cut first may end in half a secret, which nobody would know
    return str(encodable(clean(_WRAPPING.sub("", f"{line} ").strip())[:_SHOWN])) or "an error without a word"


def spoken_to(error: BaseException) -> str | None:
    """The address that was really asked, without path and credentials, where one was."""
    for link in _chain(error):
        if isinstance(link, httpx.RequestError | httpx.HTTPStatusError):
            url = _url(link)
            return None if url is None else f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
    return None


def _url(error: httpx.RequestError | httpx.HTTPStatusError) -> httpx.URL | None:
    try:
        return error.request.url
    except RuntimeError:
        return None


def _denied(status: int, text: str) -> Why | None:
    """Why nothing of ours would be answered; None where that is not so."""
    if status == 402 or (status < 500 and _SPENT.search(text)):
        return "quota"
    if status == 403 and _ONE_PROMPT.search(text):
        return None
    reasons: dict[int, Why] = {401: "key", 403: "access", 404: "model"}
    return reasons.get(status)


def _broken(error: BaseException, clean: Callable[[str], str]) -> Transient | None:
    """A connection that was never made, or broke, or stayed silent: no server said anything then, whatever LiteLLM calls it."""
    for link in _chain(error):
        if isinstance(link, httpx.ConnectError | httpx.ConnectTimeout):
            return Unconnected(_word_of(link, clean) or "no connection in time")
        if isinstance(link, httpx.TimeoutException):
            return Transient("it was silent for longer than a call may be")
        if isinstance(link, httpx.TransportError):
            return Transient(f"the connection broke: {_word_of(link, clean) or type(link).__name__}")
    return None


def _word_of(error: Exception, clean: Callable[[str], str]) -> str:
    return str(encodable(clean(str(error))[:_SHOWN]))


def _unspoken(error: Exception, said: str) -> CallFailure:
    """What LiteLLM made of an answer without an error status, or raised before it asked anybody."""
    if _PAGE.search(str(error)):
        return NoApi("a web page, where a model's answer should be")
    if any(isinstance(link, ValueError) and "JSON" in type(link).__name__ for link in _chain(error)):
        return Transient("what is no JSON, where a model's answer should be")
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and (status in _RETRIED or status >= 500):
        return Transient(said)
    return Refused(said if isinstance(status, int) else f"{type(error).__name__}: {said}", status)


def _answer(error: BaseException) -> httpx.Response | None:
    """The server's own answer, which LiteLLM may call something else."""
    return next((link.response for link in _chain(error) if isinstance(link, httpx.HTTPStatusError)), None)


def _body(answer: httpx.Response) -> str:
    try:
        return answer.text
    except httpx.StreamError:
        return ""


def _stumbled(error: BaseException) -> bool:
    """Whether LiteLLM failed at the arguments of a tool call, which the model wrote, and calls that a server error.

    LiteLLM 1.106 parses them all, for the sake of one broken name, and expects no other exception than a JSONDecodeError.
    """
    return any(
        "parallel_tool_calls" in frame.f_code.co_name for link in _chain(error) for frame, _ in walk_tb(link.__traceback__)
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that it was raised from or meanwhile."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _retry_after(answer: httpx.Response) -> float | None:
    """The seconds of a Retry-After header, given as a number or as a date."""
    value: Any = answer.headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None
