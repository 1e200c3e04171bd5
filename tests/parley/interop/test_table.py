"""A table of one model behind somebody else's container: requests as commands there, a conversation for each seat."""

from __future__ import annotations

import base64
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec, Budget
from harness.agent_factory import make_agent
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.errors import WorldFailure
from parley.bulk import run_in_process
from parley.interop.table import COMMAND, ContainerGame, ModelTable, Run
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script
from tests.harness.agents.atif import SCHEMA
from tests.harness.agents.imap_model import imap
from tests.parley.interop.recorded import spec_of
from tests.shipped import SHIPPED
from worlds.core.testing import InProcess, world_in_process
from worlds.core.wire import Transport, WireRequest, request

GAME = next(task for task in SHIPPED if task.task_id == "uniform-01")


class Echo(BaseHTTPRequestHandler):
    """Answers what it was sent, with the status 418."""

    def do_POST(self) -> None:
        """The method, the target and the body as they arrived."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = b"POST " + self.path.encode() + b"\n" + body
        self.send_response(418)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.fixture
def echo() -> Iterator[str]:
    """The address of a server that says what it was sent."""
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def in_shell(command: str, variables: Mapping[str, str]) -> str:
    """Runs a command as a container would, with this interpreter as its python3, among other output."""
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **variables}
    done = subprocess.run(["bash", "-c", f"echo warning; {command}"], env=environment, capture_output=True, check=False)
    return done.stdout.decode() + done.stderr.decode()


@pytest.mark.property
@pytest.mark.parametrize("size", [0, 1, 300_000])
def test_a_request_goes_through_a_command(echo: str, size: int) -> None:
    """Its bytes arrive whole, however long they are, and the answer comes back with its status."""
    body = bytes(number % 256 for number in range(size))
    answer = ContainerGame(in_shell, echo).call_as_host(request("POST", "/turns/1-0-1?x=1", body=body))

    assert answer.status == 418
    assert answer.body == b"POST /turns/1-0-1?x=1\n" + body


def test_no_answer_is_the_worlds_failure() -> None:
    """What the container printed instead is told."""
    with pytest.raises(WorldFailure, match=r"printed last: ConnectionRefusedError"):
        ContainerGame(in_shell, "127.0.0.1:9").call_as_host(request("GET", "/session"))


def beside(transport: Transport) -> Run:
    """What the program in the container does, done here: a request out of variables, its answer as the marked line."""

    def run(command: str, variables: Mapping[str, str]) -> str:
        assert command == COMMAND
        pieces = [variables[f"PARLEY_BODY_{number}"] for number in range(int(variables["PARLEY_PIECES"]))]
        asked = WireRequest(
            variables["PARLEY_METHOD"], variables["PARLEY_TARGET"].encode(), (), base64.b64decode("".join(pieces))
        )
        answer = transport(asked)
        return f"noise\nparley-answer {answer.status} {base64.b64encode(answer.body).decode()}\n"

    return run


def table_at(server: OpenAIServer, world: InProcess, turns: int = 120) -> ModelTable:
    """Five seats of a calendar, each a conversation with the server's model."""
    settings = ModelSettings("openai/scripted", api_base=server.url, patience_s=1.0, first_pause_s=0.01)
    return ModelTable(
        ModelClient(settings), ContainerGame(beside(world)), Budget(turns=turns), "the instruction", "parley-seats", "s"
    )


@pytest.mark.property
def test_each_seat_is_a_conversation_of_its_own() -> None:
    """A model that plays a protocol plays its game to the letter, and both records have every reply."""
    world = world_in_process(GAME.path / "environment" / "api")
    (policies,) = run_in_process([spec_of(GAME)], make_agent(AgentSpec(kind="seats", name="imap"), {}), Budget())
    with OpenAIServer(Script(play=imap)) as server:
        table = table_at(server, world)
        table.play()
    document, told = table.record(), table.told()
    seats = document["subagent_trajectories"]
    SCHEMA.validate(document)

    assert world.events[-1].hash == policies.result.trace_hash
    assert {
        len({message["content"] for message in asked.messages if message["role"] == "system"}) for asked in server.requests
    } == {1}
    assert [seat["agent"]["name"] for seat in seats] == [f"seat {number}" for number in range(5)]
    assert sum(step["source"] == "agent" for seat in seats for step in seat["steps"]) == len(document["steps"]) - 1
    assert (told["turns"], told["stopped_by"]) == (len(server.requests), None)
    assert [seat["tokens"]["calls"] for seat in told["seats"]] == [12] * 5


def test_a_budget_leaves_the_game_where_it_stands() -> None:
    """Nobody can end it there: it is not answered any more, and the record says why."""
    world = world_in_process(GAME.path / "environment" / "api")
    with OpenAIServer(Script(play=imap)) as server:
        table = table_at(server, world, turns=2)
        table.play()

    assert table.told()["stopped_by"] == "turns"
    assert 2 <= len(server.requests) == len(table.record()["steps"]) - 1 < 10
