"""Which containers of a run are up, by the service each of them is: for those who must end one, as a crash would."""

from __future__ import annotations

from harness.runtimes.docker.engine.client import Engine
from harness.runtimes.owner import RUN_LABEL


def services_up(engine: Engine, run_id: str) -> dict[str, str]:
    """The running containers of a run by service (`world` and `main` for a task of ours); the engine's ids.

    A container is called parley-<service>-<number>. Where several episodes of a run are open, one of each service is told.
    """
    containers = engine.labelled(f"{RUN_LABEL}={run_id}")["containers"]
    up = [container for container in containers if container["State"] == "running"]
    return {container["Names"][0].removeprefix("/parley-").rpartition("-")[0]: container["Id"] for container in up}
