"""Options that change requests and responses on the way between an agent and its world.

`mutate`, `handles` and `mitigate` are options of the world, so they are recorded in the first event, in the run's plan and in
every result. Their effect is defined by the world's family, in `parley.families.<family>.path`; a family without this module
does not have these options. A program in `main` connects to the world directly, so the options do not affect it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.errors import UsageError
from harness.plugins import family_part, family_part_or_none
from harness.pod import CommandResult, Pod
from worlds.core.manifest import OptionValue
from worlds.core.wire import Transport, WireRequest, WireResponse

OPTIONS = ("mutate", "handles", "mitigate")


def is_bent(options: Mapping[str, OptionValue]) -> bool:
    """Return True if these options change any request or response between agent and world."""
    handles = str(options.get("handles", False)).lower() == "true"
    return bool(options.get("mutate") or handles or "backoff" in str(options.get("mitigate")).split("+"))


def check_path(family: str, options: Mapping[str, OptionValue]) -> None:
    """Raise UsageError for a path option that the family does not have, or an unknown value."""
    asked = [name for name in OPTIONS if name in options]
    if asked and family_part_or_none(family, "path") is None:
        raise UsageError(f"the family {family!r} has no option {asked[0]!r}", hint="harness show TASK, which lists the options")
    if asked:
        family_part(family, "path").check(options)


class RoutedPod:
    """Pod whose requests and responses are changed as the options say."""

    has_main = False

    def __init__(self, pod: Pod, family: str, options: Mapping[str, OptionValue]) -> None:
        self._pod, self._family, self._options = pod, family, options
        self.instruction = pod.instruction
        self.handles: Any = family_part(family, "path").STORE(pod.instruction) if options.get("handles") else None
        """Store of named values for the duration of an episode (`harness.agents.handles`), None without the option."""

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
