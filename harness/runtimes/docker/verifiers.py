"""Reusable verifiers: containers without network that judge one log after the other, each in its own process.

A container runs `validators.forking`, which has imported pytest. For each verdict, it loads the hidden tests of one task in a
new process and under a new user. A container judges one log at a time; there are as many containers as concurrent verdicts.
Reusable verifiers accept only hidden tests that may run in this process (`harness.trust`) and that consist only of files for
the base image. Each container ends with its connection, however this process ends. A container that does not answer is
discarded, and the log is judged once more by a new one. A container in which a verdict left anything (a file, an IPC object, a
process, a mount) is discarded after its answer.
"""

from __future__ import annotations

import struct
import tarfile
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

from harness.errors import RuntimeFailure, VerifierFailure, boundary
from harness.orphans import OWNER_LABEL, this_owner
from harness.pod import EpisodeSpec
from harness.registry import Task, contents_of
from harness.runtimes.archives import pack
from harness.runtimes.docker.engine.client import Engine, Streams, fresh_name, hardened, regular_files, security_options
from harness.runtimes.recipes import has_plain_verifier
from harness.trust import runs_here

MEMORY_MB = 1024
SCRATCH = "nosuid,nodev,size=256m,nr_inodes=65536,mode=1777"
LIFE_S = 6 * 3600
"""Real seconds after which a verifier ends by itself, in case its connection hangs and no process is left to remove it."""

MARGIN_S = 60.0
"""Seconds after the time limit of its tests within which an answer must arrive."""

ANSWER_LIMIT = 1 << 20
ASKED, SAID = struct.Struct(">QI"), struct.Struct(">iQ")
"""Headers of a question and of an answer, as in `validators.forking`: bytes and seconds; exit code and bytes."""

CLEAN = b"\1"
"""Marker after an answer if the verdict left nothing behind."""

Tested = tuple[int | None, dict[str, bytes]]
"""Exit code of hidden tests, and the files that they left."""


def may_stay(task: Task) -> bool:
    """Return True if a task's logs may be graded by a verifier that is reused for others."""
    return task.parley is not None and runs_here(task) and has_plain_verifier(task)


class WarmVerifier:
    """Container of a verifier."""

    def __init__(self, engine: Engine, image: str, cpus: float) -> None:
        """Create and start it, without waiting for its imports."""
        self._engine = engine
        host = hardened(
            MEMORY_MB, cpus, security_opt=security_options(is_used_again=True), network_mode="none", read_only=True,
            cap_add=["SETUID", "SETGID"], auto_remove=True, tmpfs={"/tmp": SCRATCH}, log_config={"Type": "none", "Config": {}},
        )  # fmt: skip
        self.container = engine.create(
            image, ["timeout", "-s", "KILL", str(LIFE_S), "python3", "-m", "validators.forking"], user="0:0", host=host,
            stdin_open=True, labels={OWNER_LABEL: this_owner()}, name=fresh_name("verifiers"),
        )  # fmt: skip
        self._streams: Streams | None = None
        self.is_clean = True
        try:
            self._streams = engine.attach(self.container)
            engine.start(self.container)
        except BaseException:
            self.remove()
            raise

    def ask(self, archive: bytes, limit_s: int) -> Tested | None:
        """Run the tests in an archive and return their outcome; None if the verifier gave no answer and is no longer usable."""
        streams = self._streams
        if streams is None:
            return None
        streams.limit(limit_s + MARGIN_S)
        self.is_clean = False
        try:
            streams.frames.send(ASKED.pack(len(archive), limit_s) + archive)
            answer = bytearray()
            while len(answer) < SAID.size or len(answer) <= (end := SAID.size + SAID.unpack_from(answer)[1]):
                if not (chunk := streams.frames.receive()) or len(answer) > ANSWER_LIMIT:
                    break
                answer += chunk
        except OSError:
            return None
        if len(answer) < SAID.size or len(answer) < end:
            return None
        self.is_clean = answer[end:] == CLEAN
        return SAID.unpack_from(answer)[0], regular_files(bytes(answer[SAID.size : end]))

    def hang_up(self) -> None:
        """Close the connection, so that the container ends by itself."""
        if self._streams is not None:
            self._streams.close()

    def remove(self) -> None:
        """Kill and remove it, from any thread."""
        self.hang_up()
        with suppress(RuntimeFailure):
            self._engine.remove(self.container)


class WarmVerifiers:
    """Reusable verifiers of one engine and one image."""

    def __init__(self, engine: Engine, image: str, cpus: float) -> None:
        self._engine, self._image, self._cpus = engine, image, cpus
        self._lock = threading.Lock()
        self._idle: list[WarmVerifier] = []
        # containers end with their connections, so this process does not have to wait for the runtime
        weakref.finalize(self, _hang_up, self._idle)
        self._busy: dict[WarmVerifier, str] = {}
        self._coming = 0

    def expect(self) -> None:
        """Start a verifier ahead of time unless one is idle."""
        with self._lock:
            if self._idle or self._coming:
                return
            self._coming += 1
        try:
            made = WarmVerifier(self._engine, self._image, self._cpus)
            with self._lock:
                self._idle.append(made)
        finally:
            with self._lock:
                self._coming -= 1

    def judge(self, spec: EpisodeSpec, log: bytes, check: Callable[[], None]) -> Tested:
        """Run a task's hidden tests on a log; `check` raises if the run was aborted. Raises VerifierFailure."""
        tests = {f"tests/{name}": file.data for name, file in contents_of(spec.task.path, "tests").items()}
        archive = pack({**tests, "events.jsonl": log})
        for _ in range(2):
            verifier = self._taken(spec.run_id)
            tested = None
            try:
                check()
                with boundary(VerifierFailure, "the verifier", tarfile.TarError, struct.error):
                    tested = verifier.ask(archive, int(spec.task.file.verifier.timeout_sec))
            finally:
                self._give_back(verifier, good=tested is not None and verifier.is_clean)
            if tested is not None:
                return tested
            check()
        raise VerifierFailure("the verifier did not answer twice in a row")

    def abort(self, run_id: str) -> None:
        """Kill the verifiers that are judging a log of a run, from any thread."""
        with self._lock:
            concerned = [verifier for verifier, run in self._busy.items() if run == run_id]
        for verifier in concerned:
            verifier.remove()

    def _taken(self, run_id: str) -> WarmVerifier:
        with self._lock:
            verifier = self._idle.pop() if self._idle else None
        made = verifier or WarmVerifier(self._engine, self._image, self._cpus)
        with self._lock:
            self._busy[made] = run_id
        return made

    def _give_back(self, verifier: WarmVerifier, *, good: bool) -> None:
        with self._lock:
            del self._busy[verifier]
            if good:
                self._idle.append(verifier)
        if not good:
            verifier.remove()


def _hang_up(verifiers: list[WarmVerifier]) -> None:
    for verifier in verifiers:
        verifier.hang_up()
