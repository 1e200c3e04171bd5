"""Classes of failed model calls, and the classification of what LiteLLM and servers return.

1. `Transient` failures are retried: `Unconnected` (no connection), `Crowded` (rate limits), `NoApi` (a web page). `Refused` is
   not retried, and `Denied` is a refusal that every other call would meet too: the key, the account, the model.
   `ContextFull` and `UnreadableCall` are about what was said.
2. LiteLLM names a status also where no server answered ("Connection error", 500), or another status than the server did. What
   counts is the server's own answer, or the connection that broke, behind LiteLLM's exception.
3. Messages repeat the server's own words in one line, without LiteLLM's wrapping.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from traceback import walk_tb
from types import ModuleType
from typing import Literal

import httpx

from harness.agents.llm.context_errors import is_context_full, is_token_rate, never_fits
from harness.agents.llm.error_body import ErrorBody, informative_line, read_error_body
from harness.agents.llm.retry_after import asked_pause
from harness.printable import encodable
from worlds.core.errors import ParleyError

_RETRIED = frozenset({408, 409, 425, 429})
_CROWDED = frozenset({429, 529})
_SHOWN = 300
_WRAPPING = re.compile(r"^(?:litellm\.)?(?:\w+(?:Error|Exception|Timeout): |\w+(?:Exception|Error) - )+")
_SPENT = re.compile(r"insufficient_quota|billing_(?:hard_limit_reached|not_active|error)|credit balance is too low")
_ONE_PROMPT = re.compile(r"moderation|flagged|content[ _](?:policy|filter)", re.IGNORECASE)
"""Words of a refusal that is about one conversation, not about the account."""

_STREAM = re.compile(r"data: ?(?:\{|\[DONE\])")
"""Server-sent events in what LiteLLM repeats of an answer."""

_NOT_CURED = re.compile(
    r"jinja|raise_exception|roles must alternate|roles should be alternating|chat.?template|TemplateError|not implemented",
    re.IGNORECASE,
)
"""Words of errors that servers send with status 500 and that no retry cures: the chat template refuses the conversation."""

_FILTERED = frozenset({"content_filter", "ResponsibleAIPolicyViolation", "content_policy_violation", "data_inspection_failed"})
"""Codes of a content filter that refuses a prompt."""

_TOOLS = re.compile(
    r"(?:not|n't) support\W+(?:\w+\W+){0,2}(?:tools?|functions?)\b|"
    r"\b(?:tools?|functions?)\b[\w ]{0,20} (?:is|are) not (?:supported|enabled)|"
    r"support tool use|--enable-auto-tool-choice|--tool-call-parser|--jinja",
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
    """A failure that a retry may cure; `retry_after` is the pause that the provider asked for, in seconds."""

    is_silence = False
    """True where the server said nothing: no connection, a timeout, a broken connection."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Silent(Transient):
    """The server sent no complete answer: a timeout, or a connection that broke."""

    is_silence = True


class Unconnected(Silent):
    """No connection was made: refused, no such host, no route, no common TLS."""

    proxy: str | None = None
    """The variable and the address of the proxy that should have made it, where there is one."""


class Crowded(Transient):
    """A rate limit: the provider gets more calls, or tokens, than it takes at a time."""


class NoApi(Transient):
    """A web page answered, which is no API of models."""


class Streamed(NoApi):
    """A stream answered a request that asked for none."""


class Refused(CallFailure):
    """The provider will not answer this request, however often it is repeated."""

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
    """The model wrote a tool call that cannot be read: nested thousands deep, or refused by the server (`tool_use_failed`)."""


def refuses_tools(failure: CallFailure) -> bool:
    """True where a server says that it, or its model, takes no tools."""
    return _TOOLS.search(str(failure)) is not None


def sorted_failure(
    litellm: ModuleType, error: Exception, answer: httpx.Response | None, clean: Callable[[str], str]
) -> CallFailure:
    """Classify what LiteLLM raised; `answer` is the last one of the server, `clean` removes secrets from messages."""
    if _stumbled(error):
        return UnreadableCall("the reply held a tool call that cannot be read")
    said = _shown(_WRAPPING.sub("", f"{informative_line(str(error))} "), clean) or type(error).__name__
    if isinstance(error, litellm.UnsupportedParamsError):
        return ParameterRefused(said)
    if (broken := _broken(error, clean)) is not None:
        return broken
    failed = next((link.response for link in _chain(error) if isinstance(link, httpx.HTTPStatusError)), answer)
    if failed is not None and failed.is_error:
        return answer_failure(failed, clean)
    return _unspoken(error, said)


def answer_failure(answer: httpx.Response, clean: Callable[[str], str]) -> CallFailure:
    """Classify a server's answer with an error status."""
    raw = body_text(answer)
    return body_failure(answer.status_code, read_error_body(raw), clean, asked_pause(answer.headers, raw))


def body_failure(
    status: int, body: ErrorBody, clean: Callable[[str], str], retry_after: float | None = None, shown: str = ""
) -> CallFailure:
    """Classify an error by its status and what its body says; `shown` stands for the status in messages."""
    said = "a web page" if body.is_page else _shown(body.line, clean) or "an error without a message"
    told = f"{said} ({shown or status})"
    if is_context_full(status, body):
        return ContextFull(told)
    if "tool_use_failed" in body.codes:
        return UnreadableCall(told)
    if status < 500 and body.codes & _FILTERED:
        return Withheld(told, status)
    if is_token_rate(body) and never_fits(body):
        return Refused(f"{told}; the request alone is larger than the account's limit of tokens per minute", status)
    if why := _denied(status, body.text):
        return Denied(told, status, why)
    if status in _CROWDED or is_token_rate(body):
        return Crowded(told, retry_after)
    if status in _RETRIED or (status >= 500 and status != 501 and not _NOT_CURED.search(body.text)):
        return Transient(told, retry_after)
    return Refused(told, status)


def body_text(answer: httpx.Response) -> str:
    """The body of an answer; "" where it was never read."""
    try:
        return answer.text
    except httpx.StreamError:
        return ""


def _shown(text: str, clean: Callable[[str], str]) -> str:
    """One line without secrets that can be written down."""
    # secrets are removed before the text is cut: half a secret would not be recognised
    return str(encodable(clean(text.strip())[:_SHOWN]))


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
    """Return the failure of a connection that was not made, broke or stayed silent; no server said anything then."""
    for link in _chain(error):
        if isinstance(link, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            return Unconnected(_shown(str(link), clean) or "no connection in time")
        if isinstance(link, httpx.TimeoutException):
            return Silent("one call was silent for longer than --timeout allows")
        if isinstance(link, httpx.TransportError):
            return Silent(f"the connection broke: {_shown(str(link), clean) or type(link).__name__}")
    return None


def _unspoken(error: Exception, said: str) -> CallFailure:
    """Classify what LiteLLM raised without an error status of the server: an odd answer, or no request at all."""
    body = read_error_body(str(error))
    if body.is_page:
        return NoApi("a web page, where a model's answer should be")
    if _STREAM.search(said):
        return Streamed("a stream of events, which was not requested, where one JSON document should be")
    if any(isinstance(link, ValueError) and "JSON" in type(link).__name__ for link in _chain(error)):
        return Transient("what is no JSON, where a model's answer should be")
    status = getattr(error, "status_code", None)
    if is_context_full(status, body):
        return ContextFull(said)
    if isinstance(status, int) and (status in _RETRIED or status >= 500):
        return Transient(said)
    return Refused(said if isinstance(status, int) else f"{type(error).__name__}: {said}", status)


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
