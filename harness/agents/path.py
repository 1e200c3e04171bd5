"""Pod whose requests and responses are changed on the way between an agent and its world (`harness.options`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.plugins import family_part
from harness.pod import CommandResult, Pod
from worlds.core.manifest import OptionValue
from worlds.core.wire import Transport, WireRequest, WireResponse


class RoutedPod:
    """Pod whose requests and responses are changed as the options say."""

    has_main = False

    def __init__(self, pod: Pod, family: str, options: Mapping[str, OptionValue]) -> None:
        self._pod, self._family, self._options = pod, family, options
        self.instruction = pod.instruction
        self.handles: Any = family_part(family, "path").STORE(pod.instruction) if options.get("handles") else None
        """Store of named values during an episode (`harness.agents.handles`); None without the option `handles`."""

        self._send = self._path(pod.call)

    def behind(self, transport: Transport) -> None:
        """Send the changed requests to `transport` instead of the world."""
        self._send = self._path(transport)

    def _path(self, send: Transport) -> Transport:
        path: Transport = family_part(self._family, "path").routed(send, self._options, self.handles)
        return path

    def call(self, request: WireRequest) -> WireResponse:
        """Send one request, with the changes of the options."""
        return self._send(request)

    def call_as_host(self, request: WireRequest) -> WireResponse:
        """Call the world directly, because the options do not affect the host's own calls."""
        return self._pod.call_as_host(request)

    def stop(self, cause: str) -> None:
        """Send the stop to the world."""
        self._pod.stop(cause)

    def run(self, command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = True) -> CommandResult:
        """Run a command in the pod."""
        return self._pod.run(command, timeout_s=timeout_s, stdin=stdin, virtual_time=virtual_time)

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files into the pod."""
        self._pod.put(files)

    def finish(self) -> bytes:
        """Finish the pod and return the log."""
        return self._pod.finish()
