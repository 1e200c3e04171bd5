"""Failed model calls: their classes, their classification, and their messages (docs/providers.md).

The server's own error takes precedence: a code over a phrase, and both over the HTTP status and LiteLLM's exception classes,
which have a status even if no server answered. An error inside a response with HTTP 200 counts as an error. Only the fields for
a server's messages are read, because many servers echo the request, and a conversation may contain any text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import time
from traceback import walk_tb
from types import ModuleType
from typing import Any, Literal, NamedTuple

import httpx

from harness.agents.llm.wire import WireExchange, leads_elsewhere
from harness.agents.llm.wire_log import Clean
from harness.errors import ProviderFailure, ProviderLost, RetriesExhausted, SetupFault, Unreachable
from worlds.core.errors import ParleyError
from worlds.core.replies import replace_surrogates

Why = Literal["key", "quota", "access", "model", "stream", "redirect"]

_DENIALS: dict[Why, str] = {
    "key": "does not accept the key",
    "quota": "says that the account's quota is used up",
    "access": "denies access to this account",
    "model": "does not know this model or this address",
    "stream": "answers only in streams, which a run does not request",
    "redirect": "redirects to another server, to which no key is sent",
}
_ANOTHER_SERVER = "--api-base URL of a server, or of a proxy before it, that answers without streaming"
_CURES: dict[Why, str] = {
    **dict.fromkeys(("quota", "access"), "check that account, or use the key of another"),
    "redirect": "--api-base with the new address, if the key may be sent there",
    "stream": _ANOTHER_SERVER,
}

CODES = {
    "context_length_exceeded": "OpenAI, Azure, Groq",
    "exceed_context_size_error": "llama.cpp",
    "request_too_large": "Anthropic",
    "model_context_window_exceeded": "Z.ai",
}
"""Error codes of servers for a prompt longer than the model's context."""

PHRASES = {
    r"maximum context length(?: (?:is|of) (?:only )?\d|\W*$)": "OpenAI, Azure, DeepSeek, OpenRouter, vLLM, mlx",
    r"exceeds? the context window": "OpenAI (responses)",
    r"invalid 'messages\[\d+\]\.content[^']*': string too long": "OpenAI (one message)",
    r"input tokens exceed the configured limit of \d": "Azure",
    r"reduce the length of the messages": "OpenAI, Groq, Cerebras",
    r"\bprompt is too long\b": "Anthropic, Fireworks, Vertex",
    r"input length and `?max_tokens`? exceed context limit": "Anthropic",
    r"request exceeds the maximum size": "Anthropic",
    r"input is too long for requested model": "Bedrock",
    r"too many input tokens\. max input tokens|number of input tokens exceeds maximum length": "Bedrock",
    r"input token count(?: \(\d+\))? exceeds the maximum number of tokens allowed": "Gemini, Vertex",
    r"prompt contains \d+ tokens.*too large for model": "Mistral",
    r"too many tokens: .*(?:cannot exceed|limit exceeded|maximum)": "Cohere",
    r"is longer than the maximum model length of \d": "vLLM",
    r"max_(?:completion_)?tokens must be at least 1, got -\d": "vLLM",
    r"requested token count exceeds the model's maximum context length": "SGLang",
    r"is longer than the model's context length": "SGLang",
    r"input length \(\d+ tokens\) exceeds the maximum allowed length": "SGLang",
    r"`inputs` (?:tokens \+ `max_new_tokens` must be <=|must have less than) \d": "TGI, Together",
    r"sum of prompt length \([\d.]+\)|prompt length \(\d+\) exceeds maximum \w+ length": "TensorRT-LLM",
    r"exceeds the available context size|context size has been exceeded": "llama.cpp",
    r"requested tokens(?: \(\d+\))? exceed context window of \d": "llama-cpp-python",
    r"input length exceeds the (?:maximum )?context length|prompt too long; exceeded (?:max )?context length": "Ollama",
    r"trying to keep the first \d+ tokens when context|to keep from the initial prompt is greater than": "LM Studio",
    r"input length \d+ exceeds context length \d": "LM Studio",
    r"maximum prompt length is \d": "xAI",
    r"exceeded model token limit": "Moonshot",
    r"context window exceeds limit": "MiniMax",
    r"prompt exceeds max length": "Z.ai",
    r"prompt token count of \d+ exceeds the limit": "GitHub Copilot",
    r"range of input length should be": "DashScope",
    r"current length is \d+ while limit is \d": "Cerebras",
    r"context window exceeded for given call": "LiteLLM proxy",
}
"""Error messages for such a prompt, in lower case. Recorded bodies are in
tests/harness/agents/context_bodies.toml."""

_ANY_CODE = re.compile(rf"\b(?:{'|'.join(CODES)})\b")
_ANY_PHRASE = re.compile("|".join(f"(?:{phrase})" for phrase in PHRASES), re.MULTILINE)
_TOKEN_RATE = re.compile(r"tokens per (?:min|minute|hour|day)\b|\bTP[MD]\b|too many tokens, please wait", re.IGNORECASE)
_LIMIT_AND_REQUESTED = re.compile(r"limit:? (\d+),? .*?requested:? (\d+)", re.IGNORECASE)
_TOO_LARGE_OTHER = re.compile(r"image|audio|video|file|attachment|document", re.IGNORECASE)

_CODE_KEYS = frozenset({"code", "type", "__type", "status", "reason", "error_code", "error_type", "errorType", "name"})
_SENTENCE_KEYS = frozenset({
    "message", "msg", "error", "detail", "details", "errorMessage", "error_message", "error_description", "description", "raw",
})  # fmt: skip
_CONTAINER_KEYS = _SENTENCE_KEYS | {"errors", "metadata", "innererror", "inner_error", "body", "response"}
_DEEPEST, _LONGEST, _SHOWN = 8, 100_000, 300
_PAGE = re.compile(r"<!doctype html|<html[\s>]", re.IGNORECASE)
_EVENTS = re.compile(r"^data: ?(?:\{|\[DONE\])", re.MULTILINE)
_CAUSE_LINE = re.compile(r"^[\w.]*(?:Error|Exception)\b.*:")
"""Line that names an exception, like the last line of a traceback."""

_STATUS_OF = {
    "authentication": 401, "api_key": 401, "permission": 403, "not_found": 404, "rate_limit": 429, "overloaded": 529,
    "exceed_context_size": 400, "invalid": 400, "validation": 400, "badrequest": 400,
}  # fmt: skip
"""Status that a server should have sent instead of 200, by a part of the error code in the body."""

_RETRIED, _CROWDED = frozenset({408, 409, 425, 429}), frozenset({429, 529})
_DENIED: dict[int, Why] = {401: "key", 402: "quota", 403: "access", 404: "model"}
_SPENT = re.compile(r"insufficient_quota|billing_(?:hard_limit_reached|not_active|error)|credit balance is too low")
_ONE_PROMPT = re.compile(r"moderation|flagged|content[ _](?:policy|filter)", re.IGNORECASE)
"""Words of a rejection that concerns one conversation, not the account."""

_STREAMS_ALONE = re.compile(
    r"only supports? (?:the )?stream|stream(?:ing)?\W+(?:is required|must be (?:set to )?true)(?! for)|for non-streaming calls",
    re.IGNORECASE,
)
_NOT_CURED = re.compile(
    r"jinja|raise_exception|roles must alternate|roles should be alternating|chat.?template|TemplateError|not implemented",
    re.IGNORECASE,
)
"""Words of errors with status 500 that no retry fixes: the chat template rejects the conversation."""

_FILTERED = frozenset({"content_filter", "ResponsibleAIPolicyViolation", "content_policy_violation", "data_inspection_failed"})
_TOOLS = re.compile(
    r"(?:not|n't) support\W+(?:\w+\W+){0,2}(?:tools?|functions?)\b|"
    r"\b(?:tools?|functions?)\b[\w ]{0,20} (?:is|are) not (?:supported|enabled)|"
    r"support tool use|--enable-auto-tool-choice|--tool-call-parser|--jinja",
    re.IGNORECASE,
)
_WRAPPING = re.compile(r"^(?:litellm\.)?(?:\w+(?:Error|Exception|Timeout): |\w+(?:Exception|Error) - )+")
_PAUSE = re.compile(
    r'(?:(?:try again|retry) (?:in|after) |"retryDelay": *")((?:[\d.]+(?:ms|h|m|s))+|[\d.]+(?= ?sec))', re.IGNORECASE
)
_UNIT_S = {"h": 3600, "m": 60, "s": 1, "ms": 0.001, "": 1}


class CallFailure(ParleyError):
    """Failure of one model call.

    `where` is the server that was actually called. `proxy` is the variable and address of the proxy that the call should have
    used. `retry_after` is the pause that the server requested, in seconds. `why` is the reason of an AccessDenied. `waited_s`
    is the time of waiting for the provider before the failed call, in real seconds.
    """

    where: str | None = None
    proxy: str | None = None
    waited_s: float = 0.0

    def __init__(
        self, message: str, status: int | None = None, *, retry_after: float | None = None, why: Why = "access"
    ) -> None:
        super().__init__(message)
        self.status, self.retry_after, self.why = status, retry_after, why


class RetryableFailure(CallFailure):
    """Failure for which a retry may help."""


class ResponseTimeout(RetryableFailure):
    """Missing or incomplete response: a timeout, or a broken connection."""


class ConnectionFailed(ResponseTimeout):
    """Failed connection: refused, unknown host, no route, no common TLS version."""


class RateLimited(RetryableFailure):
    """Rate limit: the provider receives more calls or tokens than it accepts at a time."""


class NotAnApi(RetryableFailure):
    """Web page as the response, from a server that is not a model API."""

    hint = "--api-base URL of an API; most end in /v1"


class UnexpectedStream(NotAnApi):
    """Streamed response to a request that did not ask for a stream."""

    hint = _ANOTHER_SERVER


class Refused(CallFailure):
    """Request that the provider rejects, so that a retry is useless."""


class UnsupportedParameter(Refused):
    """Rejection predicted by LiteLLM: the model does not accept a parameter."""


class AccessDenied(Refused):
    """Rejection that applies to every request of ours, whatever its content."""


class ContentFiltered(Refused):
    """Reply withheld by the provider's content filter."""


class ContextOverflow(CallFailure):
    """Conversation longer than the model's context."""


class MalformedToolCall(CallFailure):
    """Tool call of the model that cannot be parsed: nested thousands deep, or rejected by the server (`tool_use_failed`)."""


class Telling:
    """Messages about the failures of one model. A failure that affects every call becomes ProviderLost, which ends the run."""

    def __init__(self, name: str, base: str | None, keys: Callable[[], Sequence[str]]) -> None:
        """Store the model's name, its typed address without secrets, and a callback for the variables that hold its key."""
        self._name, self._base, self._keys = name, base, keys

    @property
    def name(self) -> str:
        """Name of the model, with its address if one was typed."""
        return f"{self._name} at {self._base}" if self._base else self._name

    def gave_up(self, last: RetryableFailure, seconds: float) -> RetriesExhausted:
        """Return the failure for a call whose retry time is used up."""
        asked = f", which asks to wait {last.retry_after:g} s" if last.retry_after else ""
        hint = "check that the server is up, or run again later with --resume"
        failure = RetriesExhausted(
            f"{self._name}: no answer from {self._at(last)} in {seconds:.0f} s{asked}: {last}", hint=hint
        )
        failure.name = "provider_timeout" if isinstance(last, ResponseTimeout) else "provider_error"
        return failure

    def never_there(self, failure: ConnectionFailed) -> Unreachable:
        """Return the failure for a server that never accepted a connection."""
        if failure.proxy is not None:
            told = f"the proxy {failure.proxy} cannot be used"
            variable = failure.proxy.partition("=")[0]
            hint = f"start that proxy, unset {variable}, or name the host of {self._at(failure)} in NO_PROXY"
        elif self._base is None:
            told = f"{self._at(failure)} cannot be reached"
            hint = "check the network of this machine, or --api-base URL of a server that it can reach"
        else:
            told, hint = f"no server answers at {self._base}", "start that server, or use another --api-base URL"
        return Unreachable(f"{self._name}: {told}: {failure}", hint=hint)

    def refused(self, refusal: Refused) -> ProviderFailure:
        """Return the failure for a provider that rejects this request, or every request."""
        if isinstance(refusal, AccessDenied):
            told = f"{self._name}: {self._at(refusal)} {_DENIALS[refusal.why]}: {refusal}"
            return ProviderLost(told, hint=self._cure(refusal.why))
        is_withheld = isinstance(refusal, ContentFiltered)
        did = "" if is_withheld else " refused the request"
        failure = ProviderFailure(f"{self._name}: {self._at(refusal)}{did}: {refusal}")
        failure.name = "content_filter" if is_withheld else "provider_refusal"
        return failure

    def no_tools(self, failure: CallFailure) -> SetupFault:
        """Return the failure for a server that does not support tools."""
        told = f"{self._name}: {self._at(failure)} does not support tools: {failure}; run with --protocol text"
        return SetupFault(told, "tools_not_seen", hint="harness run ... --protocol text")

    def not_ready(self, last: RetryableFailure) -> ProviderLost:
        """Return the failure for the probe before a run, if it got no reply."""
        if isinstance(last, NotAnApi):
            return ProviderLost(f"{self._name}: {self._at(last)} answers with {last}", hint=last.hint)
        hint = "check that the server is up and has loaded the model, or start anyway with --no-probe"
        return ProviderLost(f"{self._name}: no answer from {self._at(last)} to a first call: {last}", hint=hint)

    def _at(self, failure: CallFailure) -> str:
        return self._base or failure.where or "its provider"

    def _cure(self, why: Why) -> str:
        if why == "key":
            return f"check {' and '.join(self._keys()) or 'the API key'}"
        of = f"; {self._base.rstrip('/')}/models lists the served models" if self._base else ""
        return _CURES.get(why, f"check --model {self._name}{of}")


class ErrorBody(NamedTuple):
    """Information about an error in a response body."""

    codes: frozenset[str] = frozenset()
    sentences: tuple[str, ...] = ()
    """Messages of the server, outermost first."""

    @property
    def text(self) -> str:
        """All messages and codes in one string, for searching."""
        return "\n".join((*self.sentences, *self.codes))

    @property
    def line(self) -> str:
        """Informative line of each message, joined into one line; "" if the body contains none."""
        lines = dict.fromkeys(filter(None, map(_informative_line, self.sentences)))
        return ": ".join(line for line in lines if not any(line != other and line in other for other in lines))


def refuses_tools(failure: CallFailure) -> bool:
    """Return True if a server says that it, or its model, does not support tools."""
    return _TOOLS.search(str(failure)) is not None


def failure_of(
    litellm: ModuleType, error: Exception | None, call: WireExchange | None, clean: Clean, silent_for: str
) -> CallFailure | None:
    """Return the failure of a call, None if it succeeded, from LiteLLM's exception and the last exchange on the wire."""
    if isinstance(error, litellm.UnsupportedParamsError) or (error is not None and call is None):
        return _unsent(litellm, error, clean)
    if call is None:
        return None
    if call.broken is not None:
        return _unanswered(call.broken, clean, silent_for)
    if 300 <= call.status < 400 and leads_elsewhere(call.request.url, call.headers):
        return AccessDenied(clean(f"{call.headers['location'][:_SHOWN]} ({call.status})"), call.status, why="redirect")
    if not 200 <= call.status < 300:
        return answer_failure(call.status, call.headers, call.text, clean)
    value = parsed(call.text)
    if (hidden := hidden_error(value)) is not None:
        return body_failure(*hidden, clean, shown="inside HTTP 200")
    is_read = error is None and not call.is_openais
    return None if is_read or (isinstance(value, dict) and "choices" in value) else _no_completion(error, call, value, clean)


def answer_failure(status: int, headers: Mapping[str, str], text: str, clean: Clean) -> CallFailure:
    """Classify a response with an error status."""
    return body_failure(status, read_error_body(text), clean, asked_pause(headers, text))


def body_failure(status: int, body: ErrorBody, clean: Clean, retry_after: float | None = None, shown: str = "") -> CallFailure:
    """Classify an error by its status and its body; `shown` replaces the status in messages."""
    told = f"{_shown(body.line, clean) or 'an error without a message'} ({shown or status})"
    if is_context_full(status, body):
        return ContextOverflow(told)
    if "tool_use_failed" in body.codes:
        return MalformedToolCall(told)
    if status < 500 and body.codes & _FILTERED:
        return ContentFiltered(told, status)
    if is_rate := _is_token_rate(body):
        numbers = _LIMIT_AND_REQUESTED.search(body.text)
        if numbers and int(numbers[2]) > int(numbers[1]):
            return Refused(f"{told}; the request alone is larger than the account's limit of tokens per minute", status)
    if why := _denied(status, body.text):
        return AccessDenied(told, status, why=why)
    if status in _CROWDED or is_rate:
        return RateLimited(told, status, retry_after=retry_after)
    if status in _RETRIED or (status >= 500 and status != 501 and not _NOT_CURED.search(body.text)):
        return RetryableFailure(told, status, retry_after=retry_after)
    return Refused(told, status)


def is_context_full(status: int | None, body: ErrorBody) -> bool:
    """Return True if a prompt exceeds the model's context, or the limit of a proxy in front of the model (status 413)."""
    text = body.text.lower()
    if _ANY_CODE.search(text):
        return True
    if _is_token_rate(body) or status in {401, 402, 403, 404, 429, 529}:
        return False
    return bool(_ANY_PHRASE.search(text)) or (status == 413 and not _TOO_LARGE_OTHER.search(text))


def hidden_error(value: Any) -> tuple[int, ErrorBody] | None:
    """Return the error in the JSON of a response with HTTP 200, and the status in its body or implied by its text."""
    if not isinstance(value, Mapping):
        return None
    listed = value.get("choices")
    choices = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    error = value.get("error") or next(filter(None, (one.get("error") for one in choices)), None)
    if not error:
        return None
    body = _read({"error": error})
    # some servers put the error type beside the message, not below it
    body = body._replace(codes=body.codes | {str(value[key]) for key in ("type", "error_type", "code") if value.get(key)})
    codes = [str(error.get(key)) for key in ("code", "status", "status_code")] if isinstance(error, Mapping) else []
    numbers = [int(code) for code in codes if code.isdigit() and 400 <= int(code) <= 599]
    words = " ".join(body.codes).lower()
    return next(iter(numbers), next((status for part, status in _STATUS_OF.items() if part in words), 502)), body


def read_error_body(text: str) -> ErrorBody:
    """Parse a body of JSON, plain text or HTML."""
    text = text[:_LONGEST].strip()
    if _PAGE.search(text):
        return ErrorBody(sentences=("a web page",))
    value = parsed(text)
    return _read(value) if value is not None else ErrorBody(sentences=(text,) if text else ())


def asked_pause(headers: Mapping[str, str], body: str) -> float | None:
    """Return the seconds to wait, from `Retry-After`, a phrase such as "try again in 7.66s", or a limit's reset time."""
    if (milliseconds := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    if (asked := headers.get("retry-after")) is not None:
        with suppress(ValueError):
            return max(0.0, parsedate_to_datetime(asked).timestamp() - time())
        return _seconds(asked)
    if words := _PAUSE.search(body):
        return _seconds(words[1])
    resets = [headers.get(f"x-ratelimit-reset-{of}", "") for of in ("requests", "tokens")
              if headers.get(f"x-ratelimit-remaining-{of}") == "0"]  # fmt: skip
    return max(filter(None, map(_seconds, resets)), default=None)


def parsed(text: str) -> Any:
    """Parse a text as JSON; return None if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _seconds(text: str) -> float | None:
    """Parse the seconds of "1m26.4s", "120ms" or "7.66"; return None if the text is not a duration."""
    parts = re.findall(r"([\d.]+)(ms|h|m|s|$)", text)
    with suppress(ValueError):
        if parts and "".join(map("".join, parts)) == text:
            return sum(float(number) * _UNIT_S[unit] for number, unit in parts)
    return None


def _informative_line(text: str) -> str:
    """Return the most informative line of a message: the last that names an exception, or else the first with words."""
    lines = [line.strip() for line in text.splitlines()]
    named = [line for line in lines if _CAUSE_LINE.match(line)]
    return named[-1] if named else next((line for line in lines if re.search(r"\w", line)), "")


def _read(value: Any) -> ErrorBody:
    fields = list(_fields(value))
    codes = frozenset(one for is_code, one in fields if is_code)
    return ErrorBody(codes, tuple(dict.fromkeys(one for is_code, one in fields if not is_code)))


def _fields(value: Any, depth: int = 0) -> Iterator[tuple[bool, str]]:
    """Yield each code (with True) and sentence (with False) of a value. Proxies often nest a server's body in their message."""
    if isinstance(value, list) and depth <= _DEEPEST:
        for one in value:
            yield from _fields(one, depth + 1)
    elif isinstance(value, dict) and depth <= _DEEPEST:
        for key, one in value.items():
            if isinstance(one, str):
                inner = parsed(one) if key in _SENTENCE_KEYS and one.lstrip()[:1] in {"{", "["} else None
                said = [(key in _CODE_KEYS, one)] if key in _CODE_KEYS | _SENTENCE_KEYS and one.strip() else []
                yield from list(_fields(inner, depth + 1)) or said
            elif key in _CONTAINER_KEYS:
                yield from _fields(one, depth + 1)


def _is_token_rate(body: ErrorBody) -> bool:
    """Return True if a body mentions a rate limit that counts tokens, whatever its status."""
    return "rate_limit_exceeded" in body.codes or bool(_TOKEN_RATE.search(body.text))


def _shown(text: str, clean: Clean) -> str:
    """Return a text as one recordable line without secrets."""
    # remove secrets before the text is cut, because a part of a secret would not be recognized
    return str(replace_surrogates(clean(text.strip())[:_SHOWN]))


def _denied(status: int, text: str) -> Why | None:
    """Return the reason why the server would reject every call of ours; None if it rejects only this call."""
    if status < 500 and _SPENT.search(text):
        return "quota"
    if status == 403 and _ONE_PROMPT.search(text):
        return None
    return _DENIED.get(status) or ("stream" if _STREAMS_ALONE.search(text) else None)


def _unanswered(broken: Exception, clean: Clean, silent_for: str) -> ResponseTimeout:
    """Classify a connection that was not made, broke or timed out, without a response of the server."""
    said = _shown(str(broken), clean)
    if isinstance(broken, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return ConnectionFailed(said or "no connection in time")
    if isinstance(broken, httpx.TimeoutException):
        return ResponseTimeout(f"one call received no data for longer than {silent_for}")
    return ResponseTimeout(f"the connection broke: {said or type(broken).__name__}")


def _no_completion(error: Exception | None, call: WireExchange, value: Any, clean: Clean) -> CallFailure:
    """Classify a response with HTTP 200 that is not a completion."""
    if error is not None and _stumbled(error):
        return MalformedToolCall("the reply contained a tool call that cannot be parsed")
    if _PAGE.search(call.text):
        return NotAnApi("a web page instead of a model's answer")
    if value is None:
        if _EVENTS.search(call.text):
            return UnexpectedStream("a stream of events, which was not requested, instead of JSON")
        return RetryableFailure("data that is not JSON instead of a model's answer")
    body = _read({"error": value})
    # at other addresses, the last response may have been a provider's access token
    whole = json.dumps(value) if call.is_openais else str(error)
    told = f"it answered with JSON that is not a completion: {_shown(body.line or whole, clean)}"
    return ContextOverflow(told) if is_context_full(None, body) else Refused(told)


def _unsent(litellm: ModuleType, error: Exception, clean: Clean) -> CallFailure:
    """Classify an exception of LiteLLM without a recorded call."""
    line = _WRAPPING.sub("", f"{_informative_line(str(error))} ")
    said, status = _shown(line, clean) or type(error).__name__, getattr(error, "status_code", None)
    if isinstance(error, litellm.UnsupportedParamsError):
        return UnsupportedParameter(said)
    if is_context_full(status, read_error_body(str(error))):
        return ContextOverflow(said)
    if isinstance(status, int) and (status in _RETRIED or status >= 500):
        return RetryableFailure(said)
    return Refused(said if isinstance(status, int) else f"{type(error).__name__}: {said}", status)


def _stumbled(error: BaseException | None) -> bool:
    """Return True if LiteLLM failed to parse the arguments of a model's tool call, and reports a server error.

    To fix one malformed name, LiteLLM 1.106 parses the arguments of all calls, and expects only JSONDecodeError.
    """
    while error is not None:
        if any("parallel_tool_calls" in frame.f_code.co_name for frame, _ in walk_tb(error.__traceback__)):
            return True
        error = error.__cause__ or error.__context__
    return False
