"""Listing and removal of Docker resources by label: all of one run, or all that belong to dead processes.

Labels are on containers, named volumes and networks; anonymous volumes are removed with their container. A resource without our
owner label is never touched; a resource of a live owner is kept, even if it is stopped. The engine may create what a process
requested just before it was killed, so a sweep repeats until it finds nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from harness.orphans import EPISODE_LABEL, OWNER_LABEL, RUN_LABEL, Orphan, is_dead, moment
from harness.runtimes.docker.engine.client import Engine

_PASSES, _SETTLE_S = 5, 0.3
"""Number of passes of a sweep, and seconds in which the engine may finish its work between them."""


def left_behind(engine: Engine) -> list[Orphan]:
    """Return the resources that dead processes of this host left behind, with their owners, without removing them."""
    things = [
        Orphan(kind[:-1], _name(thing), labels[OWNER_LABEL].rsplit(":", 2)[1], labels.get(RUN_LABEL, ""), moment(made))
        for kind, all_of_it in engine.labelled(OWNER_LABEL).items()
        for thing in all_of_it
        if is_dead((labels := thing.get("Labels") or {}).get(OWNER_LABEL, ""))
        for made in [thing.get("Created") or thing.get("CreatedAt")]
    ]
    return sorted(things, key=lambda thing: (thing.kind, thing.name))


def sweep(engine: Engine) -> list[str]:
    """Remove the resources that dead processes of this host left behind, and return their names."""
    gone: list[str] = []
    for _ in range(_PASSES):
        went = _remove(engine, OWNER_LABEL, lambda labels: is_dead(labels.get(OWNER_LABEL, "")))
        if not went:
            break
        gone += went
        time.sleep(_SETTLE_S)
    return sorted(gone)


def services_up(engine: Engine, run_id: str) -> dict[str, str]:
    """Return the engine id of one running container of a run for each service (`world` and `main` for a task of ours)."""
    containers = engine.labelled(f"{RUN_LABEL}={run_id}")["containers"]
    up = [container for container in containers if container["State"] == "running"]
    return {container["Names"][0].removeprefix("/parley-").rpartition("-")[0]: container["Id"] for container in up}


def remove_run(engine: Engine, run_id: str) -> list[str]:
    """Kill and remove everything of one run."""
    return _remove(engine, f"{RUN_LABEL}={run_id}", lambda labels: OWNER_LABEL in labels)


def remove_episode(engine: Engine, run_id: str, episode_id: str) -> list[str]:
    """Kill and remove everything of one episode."""
    return _remove(engine, f"{EPISODE_LABEL}={episode_id}", lambda labels: labels.get(RUN_LABEL) == run_id)


def _remove(engine: Engine, label: str, wanted: Callable[[dict[str, str]], bool]) -> list[str]:
    by_kind = {kind: [x for x in things if wanted(x.get("Labels") or {})] for kind, things in engine.labelled(label).items()}
    volumes, networks = ([x["Name"] for x in by_kind[kind]] for kind in ("volumes", "networks"))
    # Containers first, because volumes and networks in use cannot be removed.
    names = {c["Id"]: _name(c) for c in by_kind["containers"]}
    gone = [names[number] for number in _each(engine.remove, names)]
    return sorted(gone + _each(engine.remove_volume, volumes) + _each(engine.remove_network, networks))


def _each(remove: Callable[[str], bool], names: Iterable[str]) -> list[str]:
    """Remove all of them concurrently, and return the removed ones. Others are in use by a process that just started them."""
    names = list(names)
    with ThreadPoolExecutor(max_workers=16) as pool:
        return [name for name, went in zip(names, pool.map(remove, names), strict=True) if went]


def _name(container: dict[str, Any]) -> str:
    """Return the name of a container, a volume or a network."""
    names = container.get("Names") or [container.get("Name") or container["Id"][:12]]
    return str(names[0]).lstrip("/")
