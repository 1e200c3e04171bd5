"""Diagnosis of a model for `harness doctor --model`, by real calls through the client that plays, within a minute.

For each request that a server rejects, the report names the flag of `harness run` that avoids it, or a note if the client works
around it. A fault that no flag fixes makes the server unusable. A call that fails for other reasons leaves its row "not tried".
"""

from __future__ import annotations

import difflib
import json
import math
import re
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import httpx

from harness.agent import TIMEOUT_S, WALL_S
from harness.agents.llm.completion import Completion
from harness.agents.llm.failures import (
    CallFailure,
    ConnectionFailed,
    ContextOverflow,
    NotAnApi,
    RateLimited,
    Refused,
    RetryableFailure,
    parsed,
)
from harness.agents.llm.model import PROBE, READY, TOOL_PROBE, Messages, ModelClient, ModelSettings, tools_fault
from harness.agents.llm.parallel import side_by_side
from harness.agents.llm.provider import library
from harness.agents.llm.wire import WireExchange
from harness.agents.llm.wire_log import WireLog
from harness.errors import BoundaryError, HarnessError, SetupFault, Unreachable, UsageError
from harness.secrets import public_address

_MINUTE_S, _CALL_S, _FETCH_S = 60.0, 15.0, 5.0
_TOKENS, _CALL_TOKENS, _COUNT_TOKENS = 32, 400, 128
"""Limits of output tokens: for replies that are not read, for thinking and calling a tool, and for a longer reply."""

_COUNT = ({"role": "user", "content": "Count from 1 to 60 in digits, separated by blanks. Write nothing else."},)
_AT_ONCE, _LONG_REPLY, _LONG_EPISODE = 2, 4096, 8192
"""Concurrent calls of `harness run`, and output tokens of a long reply and of a long episode of a contract task."""

_LEAST, _ROOMY, _CHEAP, _UNKNOWN = 4096, 16_384, 32_768, 8192
"""Context sizes in tokens: least for a contract task; enough for most; largest to overfill by default; assumed if unknown."""

_CHAT = "/chat/completions"
_SIZES = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
"""Names of the context size in the model lists of servers."""

_SIZE = re.compile(r"(?:context|maximum|limit|n_ctx)\D{0,60}?(\d[\d,]{2,})", re.IGNORECASE)

Verdict = Literal["yes", "no", "note", "not tried"]
"""`note`: unusual, but a run can handle it, or does not need it."""


class CheckRow(NamedTuple):
    """Result of one check; `advice` is empty if nothing needs to be done."""

    check: str
    verdict: Verdict
    seen: str
    advice: str = ""


@dataclass
class Examination:
    """State of the examination of one model at one server: the rows of the report, and the flags that follow from them.

    `flags` are flags of `harness run` besides the model and its address, `unusable` is the reason why no run can work, and
    `called` is the reply to an offered tool, None if the server drops or rejects tools.
    """

    client: ModelClient
    deadline: float
    overfills: bool
    log: WireLog = field(default_factory=lambda: WireLog(keeps_all=True))
    rows: list[CheckRow] = field(default_factory=list)
    flags: dict[str, Any] = field(default_factory=dict)
    unusable: str = ""
    called: Completion | None = None
    quickest_s: float = math.inf

    def add(self, check: str, verdict: Verdict, seen: str, advice: str = "", **flags: Any) -> None:
        """Add a row, and the flags that it requires."""
        self.flags |= flags
        self.rows.append(CheckRow(check, verdict, seen, advice or " ".join(_typed(flags))))

    def note(self, check: str, is_usual: object, usual: str, unusual: str, advice: str = "") -> None:
        """Add a row about a peculiarity that a run can handle."""
        self.add(check, "yes" if is_usual else "note", usual if is_usual else unusual, "" if is_usual else advice)

    def rule_out(self, check: str, seen: str, advice: str) -> None:
        """Add a row about a fault that no flag fixes."""
        self.unusable = self.unusable or seen
        self.add(check, "no", seen, advice)

    @property
    def settings(self) -> dict[str, Any]:
        """Model, address and flags, in the form of a settings file."""
        base = self.client.settings.api_base
        return {"model": self.client.name, **({"api-base": public_address(base)} if base else {}), **self.flags}

    @property
    def command(self) -> str:
        """Command that runs one small task with all flags."""
        return shlex.join(["harness", "run", "presigned-url-download", "--interface", "tool", *_typed(self.settings)])

    def call(self, messages: Messages, tools: Messages = (), limit: int = _TOKENS, tries: int = 3) -> Completion:
        """Make one call, with retries of temporary failures; raises CallFailure and SetupFault."""
        while True:
            began, tries = time.monotonic(), tries - 1
            try:
                said = self.client.once(messages, tools, limit=limit, timeout_s=_CALL_S)
                self.quickest_s = min(self.quickest_s, time.monotonic() - began)
                return said
            except RetryableFailure as failure:
                pause = 1.0 if failure.retry_after is None else failure.retry_after
                if not tries or isinstance(failure, ConnectionFailed | NotAnApi) or time.monotonic() + pause > self.deadline:
                    raise
                time.sleep(pause)

    @property
    def chat(self) -> httpx.Request | None:
        """Last request for a chat completion in OpenAI's format."""
        return next((one.request for one in reversed(self.calls) if one.is_openais), None)

    @property
    def calls(self) -> list[WireExchange]:
        """All calls made so far."""
        return [one for one in self.log.last if isinstance(one, WireExchange)]

    @property
    def sent(self) -> Mapping[str, Any]:
        """Body of the last request for a chat completion."""
        return {} if self.chat is None else json.loads(self.chat.content)

    def fetch(self, path: str, body: Mapping[str, Any] | None = None) -> str:
        """Return the response text of an address relative to the chat's, requested with the same key; "" if there is none."""
        if (chat := self.chat) is None:
            return ""
        headers = {name: value for name, value in chat.headers.items() if name == "authorization"}
        address = httpx.URL(f"{str(chat.url).partition('?')[0].removesuffix(_CHAT)}/").join(path)
        try:
            session, method = library().client_session, "GET" if body is None else "POST"
            answer = session.request(method, address, json=body, headers=headers, timeout=_FETCH_S)
        except httpx.HTTPError:
            return ""
        return str(answer.text) if answer.status_code == httpx.codes.OK else ""

    def listed(self, path: str = "models") -> dict[str, Mapping[str, Any]]:
        """Return the server's list of models by name; empty if it has none."""
        rows = _object(self.fetch(path)).get("data")
        return {str(row["id"]): row for row in rows if isinstance(row, dict) and "id" in row} if isinstance(rows, list) else {}


def examine(settings: ModelSettings, say: Callable[[str], None], *, overfill: bool = False) -> Examination:
    """Examine a model at a server; `overfill` also sends an overlong prompt for a large context, which costs its tokens."""
    client = ModelClient(replace(settings, max_tokens=_TOKENS, timeout_s=_CALL_S), say=say)
    tried = Examination(client, time.monotonic() + _MINUTE_S - _CALL_S, overfill)
    try:
        client.check()
    except UsageError as wrong:
        tried.rule_out("key and model", str(wrong), wrong.hint)
        return tried
    with tried.log.recording():
        for name, check in CHECKS.items() if _connected(tried) else ():
            if time.monotonic() > tried.deadline:
                tried.add(name, "not tried", "the examination took a minute")
                continue
            try:
                check(tried)
            except (CallFailure, BoundaryError) as failure:
                tried.add(name, "not tried", f"the call failed: {failure}")
    return tried


def _connected(tried: Examination) -> bool:
    """Make a run's first calls, at another address or with another model if that helps; return False if none is answered."""
    try:
        tried.client.probe()
        tried.call(PROBE)
    except (CallFailure, BoundaryError) as failure:
        if _corrected(tried):
            return _connected(tried)
        hint = failure.hint if isinstance(failure, HarnessError) else "see the log of the server"
        tried.rule_out("reachable" if isinstance(failure, Unreachable) else "key and model", str(failure), hint)
        return False
    tried.add("reachable", "yes", "a first small call was answered")
    tried.add("key and model", "yes", "accepted")
    return True


def _corrected(tried: Examination) -> bool:
    """Use the server's own model instead, or append /v1 to its address; return False if neither is possible."""
    settings, wanted = tried.client.settings, str(tried.sent.get("model", ""))
    names = list(tried.listed())
    if near := names if len(names) == 1 else difflib.get_close_matches(wanted, names, n=1):
        settings = replace(settings, name=settings.name.removesuffix(wanted) + near[0])
        told = ("model", f"the server does not serve {wanted!r}, but {near[0]!r}", f"--model {settings.name}")
    elif settings.api_base is not None and tried.listed("v1/models"):
        settings = replace(settings, api_base=f"{settings.api_base.rstrip('/')}/v1")
        told = ("address", "the path of the API is /v1", f"--api-base {public_address(settings.api_base or '')}")
    if settings == tried.client.settings:
        return False
    tried.add(told[0], "no", *told[1:])
    tried.client = ModelClient(settings, say=tried.client.say)
    return True


def _tools(tried: Examination) -> None:
    """Check tool calls: offer a tool, and see whether it is called, ignored, dropped by the server, or called as text."""
    try:
        said = tried.call(TOOL_PROBE, (READY,), _CALL_TOKENS)
        fault = tools_fault(said, lambda: tried.call(TOOL_PROBE), tried.client.name)
    except SetupFault as refused:
        fault = refused
    except Refused as refusal:
        fault = SetupFault(f"a request with a tool is rejected: {refusal}", "tools_not_seen")
    if fault is not None:
        tried.add("tools seen", "no", str(fault), protocol="text")
        return
    tried.called = said
    unsure, advice = "the model sees the tool but did not call it", ""
    if said.usage.estimated:
        unsure = "the model called no tool, and the server reports no token counts to show whether it sees tools"
        advice = "--protocol text, if episodes contain no tool calls"
    tried.note("tools seen", said.actions, "the model called the offered tool", unsure, advice)


def _results(tried: Examination) -> None:
    """Send turns as they occur in an episode: a call and its result, a call without text, two concurrent calls."""
    turns: dict[str, tuple[str, dict[str, Any]]] = {
        "tool results": ("the result of a tool call", {}),
        "empty content": ("a tool call without text", {"content": None}),
        "parallel calls": ("a turn with two tool calls", {"calls": 2}),
    }
    for check, (what, how) in turns.items():
        if (said := tried.called) is None or "protocol" in tried.flags:
            tried.add(check, "not tried", "--protocol text sends no tool calls")
            continue
        try:
            tried.call(_turn(said, **how), (READY,))
            tried.add(check, "yes", f"{what} is accepted")
        except (Refused, SetupFault) as refusal:
            tried.add(check, "no", f"{what} is rejected: {refusal}", protocol="text")


def _reasoning(tried: Examination) -> None:
    """Check whether reasoning is sent back as in a run, and whether the server requires it."""
    if tried.called is not None and "protocol" not in tried.flags:
        said, offered = tried.called, [READY]
        turn, bare = _turn(said), _turn(said, bare=True)
    else:
        said, offered = tried.call(PROBE, limit=_CALL_TOKENS), []
        plain = {"role": "assistant", "content": said.message["content"]}
        turn, bare = [*PROBE, said.message, *PROBE], [*PROBE, plain, *PROBE]
    if not said.reasoning:
        tried.add("reasoning", "note", "none is returned")
    elif tried.call(turn, offered).lost_reasoning:
        tried.add("reasoning", "note", "rejected or not sent back: the model plays without its earlier reasoning")
    else:
        try:
            tried.call(bare, offered)
            insists = ""
        except Refused:
            insists = "; the server requires it"
        tried.add("reasoning", "yes", f"sent back in the next turn and accepted{insists}")


def _turn(said: Completion, content: str | None = "I call it.", *, calls: int = 1, bare: bool = False) -> list[dict[str, Any]]:
    """Return a conversation with a tool call and its result; `bare` omits the other fields that the server returned."""
    made = list(said.message.get("tool_calls") or [])[:1]
    for number in range(len(made), calls):
        made.append({"id": f"ready{number}xyz", "type": "function", "function": {"name": "ready", "arguments": "{}"}})
    told = [{"role": "tool", "tool_call_id": call["id"], "content": "The tool is ready."} for call in made]
    message = {**({} if bare else said.message), "role": "assistant", "content": content, "tool_calls": made}
    return [*TOOL_PROBE, message, *told]


def _requests(tried: Examination) -> None:
    """Send a system message, and report workarounds of the client and its knowledge of tokens and prices."""
    client = tried.client
    try:
        said = tried.call([{"role": "system", "content": "You are brief."}, *PROBE])
    except Refused as refusal:
        tried.rule_out("system role", f"a system message is rejected: {refusal}", "serve the model with another chat template")
        return
    effective, price = client.effective, client.price
    folded = "rejected; a run puts the text before the first user message"
    tried.note("system role", not client.quirks.refuses_system, "accepted", folded)
    if "temperature" in client.requested and "temperature" not in effective:
        tried.add("temperature", "no", "rejected; a run does not send it", temperature="default")
    else:
        tried.add("temperature", "yes", "accepted")
    sent = "a run sends max_completion_tokens" if "max_completion_tokens" in effective else "--reply-tokens has no effect"
    tried.note("output limit", "max_tokens" in effective, "max_tokens is accepted", f"max_tokens is rejected; {sent}")
    uncounted = "token counts are not reported; a run estimates them and marks them as estimated"
    tried.note("usage", not said.usage.estimated, "token counts are reported", uncounted)
    told = f"${price.input:g} in, ${price.output:g} out per million tokens" if price else ""
    tried.note("price", price, told, "unknown", "--prices FILE, if you use --cost or --max-cost")


def _concurrency(tried: Examination) -> None:
    """Make concurrent calls, and report the rate limit headers; request a streamed reply, which a run never does."""
    try:
        list(side_by_side(lambda _: tried.call(PROBE, tries=1), range(_AT_ONCE)))
        crowded = False
    except RateLimited:
        crowded = True
    headers = {name: value for one in tried.calls for name, value in one.headers.items()
               if "ratelimit" in name or name == "retry-after"}  # fmt: skip
    limits = ", ".join(f"{name}: {value}" for name, value in sorted(headers.items())[:4])
    if crowded:
        seen = f"a second concurrent call gets status 429 ({limits or 'without a time to wait'})"
        tried.add("concurrency", "no", seen, workers=1)
    else:
        tried.add("concurrency", "yes", f"{_AT_ONCE} concurrent calls work; rate limit headers: {limits or 'none'}")
    streams = tried.fetch(_CHAT[1:], {**tried.sent, "stream": True}).startswith("data:")
    tried.add("streaming", "note", f"{'accepted' if streams else 'not accepted'}; a run does not use it")


def _speed(tried: Examination) -> None:
    """Measure tokens per second in one longer reply."""
    began, about = time.monotonic(), "about"
    try:
        tokens = tried.call(_COUNT, limit=_COUNT_TOKENS, tries=1).usage.completion_tokens
    except RetryableFailure:
        if time.monotonic() - began < _CALL_S / 2:
            raise
        tokens, about = _COUNT_TOKENS, "fewer than"
    rate = max(tokens, 1) / max(time.monotonic() - began, 0.001)
    needed = {"timeout": (_LONG_REPLY / rate, TIMEOUT_S), "wall": (_LONG_EPISODE / rate, WALL_S)}
    flags = {name: 120 * math.ceil(seconds / 60) for name, (seconds, default) in needed.items() if seconds > default}
    seen = f"{about} {rate:.0f} tokens per second; a small call takes {tried.quickest_s:.1f} s"
    tried.add("speed", "note" if flags else "yes", seen, "", **flags)


def _context(tried: Examination) -> None:
    """Report the context size from the server, LiteLLM's table or an error, after overfilling it if that is cheap."""
    size = _told_size(tried)
    if tried.overfills or (size <= _CHEAP if size else tried.client.price is None):
        size = _overfilled(tried, size)
    else:
        tried.add("overflow", "not tried", "an overlong prompt would be charged", "--overfill sends one")
    if 0 < size < _LEAST:
        seen = f"{size} tokens are too few: a contract task needs at least {_LEAST}"
        tried.rule_out("context size", seen, "serve the model with a larger context")
    elif size:
        tried.note("context size", size >= _ROOMY, f"{size} tokens", f"{size} tokens, too few for long episodes")
    else:
        tried.add("context size", "note", "not known", "--context N, if you know it")


def _told_size(tried: Examination) -> int:
    """Return the context size in tokens according to /models, /props or LiteLLM's table; 0 if it is unknown."""
    rows, made = tried.listed(), _object(tried.fetch("../props")).get("default_generation_settings")
    row = rows.get(str(tried.sent.get("model"))) or (next(iter(rows.values())) if len(rows) == 1 else {})
    for size in (*map(row.get, _SIZES), made.get("n_ctx") if isinstance(made, dict) else None):
        if isinstance(size, int) and size > 0:
            return size
    try:
        return int(library().get_model_info(tried.client.name)["max_input_tokens"] or 0)
    except Exception:  # noqa: BLE001 - LiteLLM raises various exceptions for an unknown model
        return 0


def _overfilled(tried: Examination, size: int) -> int:
    """Send an overlong prompt and report the response; return the context size if it becomes known."""
    try:
        said = tried.call([{"role": "user", "content": "word " * int(1.25 * (size or _UNKNOWN))}], tries=1)
    except (ContextOverflow, Refused) as failure:
        named = _SIZE.search(str(failure))
        size = size or (int(named[1].replace(",", "")) if named else 0)
        if isinstance(failure, ContextOverflow):
            tried.add("overflow", "yes", f"recognised: {failure}")
        else:
            tried.add("overflow", "no", f"not recognised: {failure}", "", **({"context": size} if size else {}))
    except RetryableFailure as failure:
        tried.add("overflow", "not tried", f"the call failed: {failure}")
    else:
        seen = f"a prompt of {said.usage.prompt_tokens} tokens is accepted"
        if size:
            tried.add("overflow", "no", f"{seen}, so the server truncates prompts", context=size)
        else:
            tried.add("overflow", "note", seen)
    return size


def _object(text: str) -> dict[str, Any]:
    value = parsed(text)
    return value if isinstance(value, dict) else {}


def _typed(flags: Mapping[str, Any]) -> list[str]:
    return [word for name, value in flags.items() for word in (f"--{name}", f"{value}")]


CHECKS: Mapping[str, Callable[[Examination], None]] = {
    "tools seen": _tools, "tool results": _results, "reasoning": _reasoning, "system role": _requests,
    "concurrency": _concurrency, "speed": _speed, "context size": _context,
}  # fmt: skip
"""Checks by the first row that they add."""
