"""Our SeatsAgent as Harbor makes and runs an agent, in front of a world of this process in place of a container."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from harbor.agents.factory import AgentFactory
from harbor.models.agent.context import AgentContext
from harbor.models.trajectories import Trajectory

from worlds.core.testing import world_in_process
from worlds.core.wire import WireRequest


class Container:
    """Runs the one command that the agent has."""

    def __init__(self, task: Path) -> None:
        self.world = world_in_process(task / "environment" / "api")
        self.commands = 0

    async def exec(self, command: str, env: dict[str, str], timeout_sec: int) -> Any:
        """Its request, answered as the program in the container would print it."""
        del command, timeout_sec
        self.commands += 1
        await asyncio.sleep(0)
        body = base64.b64decode("".join(env[f"PARLEY_BODY_{number}"] for number in range(int(env["PARLEY_PIECES"]))))
        answer = self.world(WireRequest(env["PARLEY_METHOD"], env["PARLEY_TARGET"].encode(), (), body))
        printed = f"parley-answer {answer.status} {base64.b64encode(answer.body).decode()}\n"
        return SimpleNamespace(return_code=0, stdout=printed, stderr=None)


async def played(task: Path, url: str, model: str, seconds: float) -> dict[str, Any]:
    """One trial, as far as it came in so many seconds."""
    container, context = Container(task), AgentContext()
    with tempfile.TemporaryDirectory() as folder:
        agent = AgentFactory.create_agent_from_import_path(
            "parley.interop.harbor:SeatsAgent", logs_dir=Path(folder), model_name=model, api_base=url
        )
        ended, why = "played", ""
        try:
            await agent.setup(container)
            await asyncio.wait_for(agent.run("the instruction", container, context), seconds)
        except Exception as error:  # noqa: BLE001 - its name is what Harbor keeps
            ended, why = type(error).__name__, str(error)
        trajectory = Trajectory.model_validate_json((Path(folder) / "trajectory.json").read_text())
    asked = container.commands
    # longer than the slow model's answer takes
    await asyncio.sleep(3.0 if ended == "TimeoutError" else 0.0)
    return {
        "ended": ended, "why": why, "name": agent.to_agent_info().name, "atif": agent.capabilities.atif,
        "steps": len(trajectory.steps), "seats": len(trajectory.subagent_trajectories or ()),
        "hash": container.world.events[-1].hash, "context": context.model_dump(mode="json"),
        "asked_after_the_end": container.commands - asked,
    }  # fmt: skip


async def main() -> None:
    """A game to its end, one whose provider fails, one for which there is no time, and a task without seats."""
    task, url, alone = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    told = {
        "whole": await played(task, url, "openai/imap", 120),
        "broken": await played(task, url, "openai/denied", 120),
        "late": await played(task, url, "openai/slow", 1.5),
        "alone": await played(alone, url, "openai/imap", 120),
    }
    print(json.dumps(told))


asyncio.run(main())
