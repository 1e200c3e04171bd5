"""One program in a container of the prover's image: bytes in, bytes out, no network, nothing else of this host."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Mapping, Sequence

from harness.errors import RuntimeFailure
from harness.runtimes.docker.engine.client import Engine, Exec
from harness.runtimes.docker.engine.limits import hardened

PROVER = "1003:1003"
PROVER_MB = 2048
_SETTLE_TRIES, _SETTLE_PAUSE_S = 20, 0.05


def confined(
    engine: Engine, image: str, labels: Mapping[str, str], command: Sequence[str], stdin: bytes, *, cpus: float, limit_s: float,
    most: int,
) -> bytes:  # fmt: skip
    """What it says on stdout; raises RuntimeFailure where it fails, says too much, or does not end in time."""
    alone = {"network_mode": "none", "read_only": True, "tmpfs": {"/tmp": "nosuid,nodev,size=256m,mode=1777"}}
    container = engine.create(
        image, ["sleep", str(math.ceil(limit_s) + 60)], user=PROVER, host=hardened(PROVER_MB, cpus, **alone),
        environment={"HOME": "/tmp"}, labels=dict(labels), name=f"parley-prover-{secrets.token_hex(6)}",
    )  # fmt: skip
    try:
        engine.start(container)
        running = engine.execute(container, command, user=PROVER, workdir="/tmp")
        try:
            return _said(running, stdin, limit_s, most)
        except TimeoutError:
            raise RuntimeFailure(f"the prover was killed at its limit of {limit_s:g} s") from None
        except OSError as error:
            raise RuntimeFailure(f"the prover's container broke off: {error}") from None
        finally:
            running.close()
    finally:
        engine.remove(container)


def _said(running: Exec, stdin: bytes, limit_s: float, most: int) -> bytes:
    running.limit(limit_s)
    running.frames.send(stdin)
    running.end_input()
    said = bytearray()
    while chunk := running.frames.receive():
        said += chunk
        if len(said) > most:
            raise RuntimeFailure(f"the prover said more than {most} bytes")
    if (code := _code(running)) != 0:
        raise RuntimeFailure(f"the prover ended with {code}: {running.frames.stderr[-600:].decode('utf-8', 'replace').strip()}")
    return bytes(said)


def _code(running: Exec) -> int | None:
    """Its exit code, which the engine knows a moment after its last word; None where it closed its output and runs on."""
    for _ in range(_SETTLE_TRIES):
        if (code := running.exit_code()) is not None:
            return code
        time.sleep(_SETTLE_PAUSE_S)
    return None
