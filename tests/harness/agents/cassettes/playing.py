"""Episodes against a server that answers as a cassette does, through the real `harness run`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import typer

from harness.agents.llm.wire import Cassette, read_cassette
from harness.cli import app
from harness.errors import BoundaryError
from harness.records import Result
from parley.testing.openai_server import OpenAIServer, Received
from parley.testing.players import SolutionModel
from parley.testing.scripts import Messages, Script, ScriptedReply
from tests.harness.agents.imap_model import imap
from tests.shipped import SHIPPED

FOLDER = Path(__file__).parent
TASK = "presigned-url-download"
GAME = "uniform-31"


class Played(NamedTuple):
    """One episode, and what its server received."""

    result: Result
    trajectory: dict[str, Any]
    requests: list[Received]
    wire: Cassette | None


class Fallback:
    """A model that solves the task once the cassette has no answer left; tool calls of the cassette are none of its own."""

    def __init__(self) -> None:
        tasks = [task for task in SHIPPED if task.task_id == TASK]
        self._solve = SolutionModel(tasks, lambda task, attempt: "solve", "tool")

    def __call__(self, messages: Messages) -> ScriptedReply | str:
        """The next step, with ids that every server accepts."""
        mine = [one for one in messages if one["role"] != "tool" or one["tool_call_id"].startswith("mine")]
        said = self._solve(mine)
        if isinstance(said, str) or not said.tool_calls:
            return said
        number = sum(one["role"] == "tool" for one in messages)
        calls = tuple(one.model_copy(update={"id": f"mine{number:03}{index:02}"}) for index, one in enumerate(said.tool_calls))
        return said.model_copy(update={"tool_calls": calls})


def names() -> list[str]:
    """All cassettes."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def cassette(name: str) -> Cassette:
    """One of them."""
    return read_cassette(FOLDER / f"{name}.json")


def harness(*words: str | Path) -> None:
    """`harness` with these arguments, in this process; an episode that is ungraded is no error here."""
    arguments = [str(word) for word in words]
    try:
        # commands are found by what was typed
        with mock.patch("sys.argv", ["harness", *arguments]):
            typer.main.get_command(app).main(arguments, standalone_mode=False, prog_name="harness")
    except BoundaryError:
        return


def play(whole: Cassette, out: Path, *flags: str, model: str = "openai/any", task: str = TASK) -> Played:
    """One episode of a task against a server that answers as this cassette, and then as a scripted model."""
    rest = Script(play=Fallback()) if task == TASK else Script(match="scheduling assistant", play=imap)
    with OpenAIServer(rest, cassette=whole) as server:
        words: Sequence[str | Path] = ("--model", model, "--runtime", "inprocess", "--api-base", server.url, "--out", out)
        harness("run", task, *words, "--no-probe", "--patience", "2", *flags)
        requests = list(server.requests)
    (episode,) = out.glob("episodes/*/*/s0-a1")
    result = Result.model_validate_json((episode / "result.json").read_bytes())
    trajectory = json.loads((episode / "trajectory.json").read_bytes())
    wire = episode / "wire.json"
    return Played(result, trajectory, requests, read_cassette(wire) if wire.exists() else None)
