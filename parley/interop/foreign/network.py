"""Networks of one episode, which contain no other containers and are removed with the episode.

`outer` has egress. `inner` has none: it is an internal bridge without an address of the host, so that neither the outside nor a
service of the host can be reached. The networks of an episode depend on its phases:
1. Always public: outer alone. 2. Never public: inner if several services communicate, otherwise none.
3. Public in some phases: both; every container is on inner, and on outer while the phase is public.
Docker isolates bridge networks from each other. A public network can reach the host at its addresses, as under Harbor.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from harness.errors import RuntimeFailure
from harness.runtimes.docker.engine.client import Engine

_NO_HOST = {"com.docker.network.bridge.inhibit_ipv4": "true"}
_EXHAUSTED = ("address pool", "predefined address")


class Networks:
    """Networks of one episode, or of its verifier."""

    def __init__(self, engine: Engine, labels: Mapping[str, str], public: Mapping[str, bool], *, many: bool) -> None:
        """Prepare the networks; `public` maps phases to egress, and `many` is true if several containers communicate."""
        self._engine, self._labels, self._public = engine, dict(labels), dict(public)
        self._ever, self._always = any(public.values()), all(public.values())
        self._needs_inner = not self._always and (many or self._ever)
        self._inner = self._outer = ""
        self._names: dict[str, str] = {}
        self._joined = False

    def create(self) -> None:
        """Create the networks of the phases; raises RuntimeFailure, also if Docker has no free address range."""
        if self._needs_inner:
            self._inner = self._create(internal=True, options=_NO_HOST)
        if self._ever:
            self._outer = self._create()

    def settings(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return the settings for creating a service's container: its network mode, and more arguments of create_container."""
        first = self._inner or self._outer
        if not first:
            return "none", {}
        with self._engine.doing("naming a service") as api:
            there = api.create_endpoint_config(aliases=[name])
            return first, {"networking_config": api.create_networking_config({first: there})}

    def add(self, name: str, container: str) -> None:
        """Register a created container, so that phases include it."""
        self._names[container] = name
        if self._joined:
            self._connect(container)

    def enter(self, phase: str) -> None:
        """Connect or disconnect egress of every container, as the phase requires."""
        wanted = self._public[phase]
        if not (self._inner and self._outer) or wanted == self._joined:
            return
        self._joined = wanted
        for container in self._names:
            if wanted:
                self._connect(container)
            else:
                with self._engine.doing("leaving a network") as api:
                    api.disconnect_container_from_network(container, self._outer, force=True)

    def close(self) -> bool:
        """Remove the networks; return False if a container is still connected."""
        gone = [self._engine.remove_network(name) for name in (self._inner, self._outer) if name]
        if all(gone):
            self._inner = self._outer = ""
        return all(gone)

    def _connect(self, container: str) -> None:
        with self._engine.doing("joining a network") as api:
            api.connect_container_to_network(container, self._outer, aliases=[self._names[container]])

    def _create(self, **settings: Any) -> str:
        name = f"parley-net-{secrets.token_hex(6)}"
        try:
            with self._engine.doing("creating a network") as api:
                api.create_network(name, driver="bridge", labels=self._labels, **settings)
        except RuntimeFailure as failure:
            if any(words in str(failure) for words in _EXHAUSTED):
                raise RuntimeFailure(
                    "Docker has no address left for the network of one more episode",
                    hint="harness run ... -n 1, or docker network ls",
                ) from None
            raise
        return name
