"""Running containers of a run by service, for callers that must kill one to simulate a crash."""

from __future__ import annotations

from harness.runtimes.docker.engine.client import Engine
from harness.runtimes.ownership import RUN_LABEL


def services_up(engine: Engine, run_id: str) -> dict[str, str]:
    """Return the engine ids of a run's running containers by service (`world` and `main` for a task of ours).

    Containers are named parley-<service>-<number>. If several episodes of a run are open, one container of each service is
    returned.
    """
    containers = engine.labelled(f"{RUN_LABEL}={run_id}")["containers"]
    up = [container for container in containers if container["State"] == "running"]
    return {container["Names"][0].removeprefix("/parley-").rpartition("-")[0]: container["Id"] for container in up}
