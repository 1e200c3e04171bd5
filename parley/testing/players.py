"""A scripted model that plays a task's own clients: the correct `solve`, or one of its violations.

The model is stateless: for each request it replays its client from the start, feeds it the answers in the conversation, and
returns the first request without an answer. Through the shell it runs one command that unpacks the solution's files and runs
solve.sh. Attempts are counted per task as conversations begin; the text of the first reply contains the attempt.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from harness.agents.solutions import players
from harness.registry import Task, files_of
from harness.runtimes.archives import pack
from parley.testing.scripts import Messages, ScriptedReply, call
from worlds.core.wire import API_URL

Choose = Callable[[Task, int], str]
"""A function of (task, attempt from 1) that returns `solve` or the name of a violation."""

DONE = "It is handed in."
_ANSWER = re.compile(r"status (\d+)\n(.*?)\n\n\[(?:no body|body of \d+ bytes, (utf-8|base64))\]\n?(.*)", re.DOTALL)
_UNSAID = frozenset({"host", "content-length", "connection", "accept-encoding", "transfer-encoding"})


class SolutionModel:
    """A `play` function for a `Script`, covering several tasks."""

    def __init__(self, tasks: Sequence[Task], choose: Choose, interface: str) -> None:
        self._tasks = {heading((task.path / "instruction.md").read_text(encoding="utf-8")): task for task in tasks}
        self._choose, self._speak = choose, {"tool": _by_tools, "shell": _by_shell}[interface]
        self._attempts = {task.task_id: itertools.count(1) for task in tasks}

    def __call__(self, messages: Messages) -> ScriptedReply | str:
        """Return the next reply."""
        instruction = next(str(m["content"]) for m in messages if m["role"] == "user")
        task = self._tasks[heading(instruction)]
        attempts = (re.fullmatch(r"Attempt (\d+)\.", str(message.get("content"))) for message in messages)
        attempt = next((int(match[1]) for match in attempts if match), None) or next(self._attempts[task.task_id])
        told = [str(message["content"]) for message in messages if message["role"] == "tool"]
        said = self._speak(task, self._choose(task, attempt), instruction, told)
        return said.model_copy(update={"text": f"Attempt {attempt}."}) if isinstance(said, ScriptedReply) and not told else said


def heading(instruction: str) -> str:
    """Return the first line with its numbers masked, since they depend on the seed. No two tasks share it."""
    return re.sub(r"\d+", "N", instruction.lstrip().partition("\n")[0])


class _Next(Exception):
    """The first action of the client that has no answer yet."""

    def __init__(self, reply: ScriptedReply) -> None:
        super().__init__()
        self.reply = reply


def _by_tools(task: Task, player: str, instruction: str, told: Sequence[str]) -> ScriptedReply | str:
    answers = iter(told)

    def answered(reply: ScriptedReply) -> httpx.Response:
        if (text := next(answers, None)) is None:
            raise _Next(reply)
        return _response(text)

    def wait(seconds: float) -> None:
        answered(call("wait", seconds=seconds))

    transport = httpx.MockTransport(lambda request: answered(_asked(request)))
    with httpx.Client(transport=transport, base_url=API_URL, trust_env=False) as api:
        try:
            players(task)[player][1](api, instruction, wait)
        except _Next as said:
            return said.reply
        except Exception as error:  # noqa: BLE001 - a wrong client may fail; the model then gives up
            return f"I give up: {error}"
    return DONE


def _by_shell(task: Task, player: str, instruction: str, told: Sequence[str]) -> ScriptedReply | str:
    if told:
        return DONE
    files = {path.name: path.read_bytes() for path in files_of(task.path / "solution")}
    packed = gzip.compress(pack({**files, "instruction.md": instruction.encode()}))
    text = base64.b64encode(packed).decode()
    return call(
        "run", command=f"mkdir -p /tmp/mine && cd /tmp/mine && echo {text} | base64 -d | tar xz && bash solve.sh {player}"
    )


def _asked(request: httpx.Request) -> ScriptedReply:
    """Return the tool call that sends this request."""
    body, encoding = request.read(), "utf-8"
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text, encoding = base64.b64encode(body).decode(), "base64"
    how: dict[str, Any] = {"body": text, "encoding": encoding} if body else {}
    if (request.method, request.url.raw_path) == ("POST", b"/submission"):
        return call("submit", **({"body": ""} | how))
    headers = [[name, value] for name, value in request.headers.multi_items() if name.lower() not in _UNSAID]
    return call("http_request", method=request.method, url=request.url.raw_path.decode("ascii"), headers=headers, **how)


def _response(told: str) -> httpx.Response:
    """Parse the response that the tool described; the text for a request that was not sent becomes a 400 without headers."""
    match = _ANSWER.fullmatch(told)
    if match is None:
        return httpx.Response(400, text=told)
    headers = [line.partition(": ")[::2] for line in match[2].splitlines()]
    body = base64.b64decode(match[4]) if match[3] == "base64" else match[4].encode()
    return httpx.Response(int(match[1]), headers=headers, content=body)
