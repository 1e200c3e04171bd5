"""The path between an agent and its world, with toggles: mutations, value handles, mitigations.

Seen from the agent: `mutate` does to its bytes what production paths do; then, with `handles`, names become the values they
stand for; then, with `mitigate=backoff`, waits that were asked for are waited out; then comes the world, which by
`mitigate=ttl` adds X-Expires-In to answers that issue something. All are world options, so that they stand in the first event,
in the frozen plan and in every record. What runs in `main` speaks to the world directly and has no such path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness import families
from harness.agents.backoff import BackOff
from harness.agents.handles import HandleStore, resolving
from harness.errors import UsageError
from harness.runtimes.base import CommandResult, Pod
from worlds.core.manifest import OptionValue
from worlds.core.wire import Transport, WireRequest, WireResponse

MITIGATIONS = ("backoff", "ttl")


def is_bent(options: Mapping[str, OptionValue]) -> bool:
    """Whether these options put anything between agent and world that the harness has to do."""
    handles = str(options.get("handles", False)).lower() == "true"
    return bool(options.get("mutate") or handles or "backoff" in _mitigations(options))


def check_path(family: str, options: Mapping[str, OptionValue]) -> None:
    """Raise UsageError for a mutation or mitigation that does not exist."""
    if text := options.get("mutate"):
        families.part(family, "path").check(str(text))
    for name in _mitigations(options):
        if name not in MITIGATIONS:
            raise UsageError(f"mitigate must be {' or '.join(MITIGATIONS)}, joined by +, not {name!r}")


class RoutedPod:
    """A pod whose requests take the path that the options describe; `note` is added to what the agent reads."""

    has_main = False

    def __init__(self, pod: Pod, family: str, options: Mapping[str, OptionValue]) -> None:
        self._pod, self._family, self._options = pod, family, options
        self.instruction = pod.instruction
        self.handles = HandleStore(pod.instruction) if options.get("handles") else None
        self._send = self._path(pod.call)

    def behind(self, transport: Transport) -> None:
        """Put `transport` in the world's place, at the far end of the path."""
        self._send = self._path(transport)

    def _path(self, send: Transport) -> Transport:
        if "backoff" in _mitigations(self._options):
            send = BackOff(send)
        if self.handles is not None:
            send = resolving(send, self.handles)
        if text := self._options.get("mutate"):
            mutated: Transport = families.part(self._family, "path").mutating(send, str(text))
            return mutated
        return send

    def call(self, request: WireRequest) -> WireResponse:
        """Send one request along the path."""
        return self._send(request)

    def call_as_host(self, request: WireRequest) -> WireResponse:
        """Straight to the world: the host's own calls take no path."""
        return self._pod.call_as_host(request)

    def stop(self, cause: str) -> None:
        """Tell the world."""
        self._pod.stop(cause)

    def run(self, command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = True) -> CommandResult:
        """As the pod itself would answer."""
        return self._pod.run(command, timeout_s=timeout_s, stdin=stdin, virtual_time=virtual_time)

    def put(self, files: Mapping[str, bytes]) -> None:
        """As the pod itself would."""
        self._pod.put(files)

    def finish(self) -> bytes:
        """The log."""
        return self._pod.finish()


def _mitigations(options: Mapping[str, OptionValue]) -> list[str]:
    return [name for name in str(options.get("mitigate") or "").split("+") if name]
