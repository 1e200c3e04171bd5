"""Episodes in Docker: a pod per episode, and a verifier that never shares a container with agent code.

The engine is connected and the SDK imported on first use. All resources carry labels for the run, the episode and its owner, so
that one run can be killed from any thread (`abort`), and resources of dead runs can be told from live ones (`sweep`).
"""

from __future__ import annotations

import math
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

from harness.errors import HarnessError, ImageFailure, RuntimeFailure, TaskInvalid, VerifierFailure, boundary
from harness.orphans import OWNER_LABEL, RUN_LABEL, Orphan, this_owner
from harness.paths import ROOT
from harness.plugins import optional
from harness.pod import ENGINE_POLICY, NO_POLICY, EpisodeSpec, Judgement, Pod, Probe
from harness.registry import Task
from harness.runtimes import commands
from harness.runtimes.docker.engine.client import (
    SETTLE_TRIES,
    Engine,
    Exec,
    deadline_s,
    fresh_name,
    hardened,
    labels,
    left_behind,
    regular_files,
    remove_episode,
    remove_run,
    sweep,
)
from harness.runtimes.docker.engine.images import Images
from harness.runtimes.docker.pod import LOG, NOBODY, VERIFIER, VERIFIER_MB, DockerPod
from harness.runtimes.docker.verifiers import Tested, WarmVerifiers, may_stay
from harness.runtimes.seccomp import policy_digest

PROVER = "1003:1003"
PROVER_MB = 2048
VERDICT_LIMIT = 1 << 20
_LOG_TAIL = 600
_TESTS = """
cat > "$1"
timeout -s KILL "$2" bash /tests/test.sh > /tmp/whole.log 2>&1 < /dev/null
code=$?
kill -9 -1
tail -c 262144 /tmp/whole.log > /tmp/verifier.log
tar -cf - -C /logs/verifier . -C /tmp verifier.log
exit $code
"""
_BUILDERS = 4
"""Number of concurrent image builds."""


class JudgedPod(Pod, Protocol):
    """Pod of a task that is not of our format (`parley.interop.foreign`), which is judged where it was played."""

    verdict: Judgement | VerifierFailure | None

    def start(self) -> None:
        """Start its services."""

    def close(self) -> bool:
        """Remove it; return True if nothing is left."""
        ...


class DockerRuntime:
    """Runtime `docker`."""

    name = "docker"
    plays_in_process = False

    def __init__(self, *, wall_s: float = 3600.0, root: Path = ROOT, say: Callable[[str], object] = lambda line: None) -> None:
        """Create the runtime; `wall_s`, the time limit of an agent, determines when an abandoned container ends."""
        self.wall_s, self._root, self._say = wall_s, root, say
        self._pool = ThreadPoolExecutor(max_workers=32, thread_name_prefix="parley-docker")
        self._lock = threading.Lock()
        self._task_images: dict[tuple[Path, str], dict[str, str] | HarnessError] = {}
        self._foreign: dict[tuple[str, str], JudgedPod] = {}
        self._verifiers: dict[tuple[str, str], Future[str]] = {}
        self._staying: WarmVerifiers | None = None
        self._aborted: set[str] = set()

    @cached_property
    def engine(self) -> Engine:
        """Docker engine; raises RuntimeFailure if none answers."""
        return Engine()

    @cached_property
    def images(self) -> Images:
        """Images of this engine."""
        return Images(self.engine, self._root)

    @cached_property
    def _cpus(self) -> float:
        """Number of CPUs per container, limited to those of the engine, which would refuse more."""
        with self.engine.doing("asking Docker for its CPUs") as api:
            return float(min(2, api.info()["NCPU"]))

    def probe(self) -> Probe:
        """Probe whether a container of a world's image starts and answers here; never raises."""
        try:
            began = time.monotonic()
            if not self.images.have_bases():
                return Probe(False, "the base images are missing; run: harness images", missing=True)
            self._try_out()
            return Probe(True, f"Docker {self.engine.version()} answered from a container in {time.monotonic() - began:.1f} s")
        except HarnessError as error:
            return Probe(False, str(error))

    def set_up(self) -> None:
        """Build the base images."""
        self.images.build_bases(say=self._say)

    def refuses(self, task: Task) -> str | None:
        """Return the reason why Docker cannot run a task, or None; raises TaskInvalid for an invalid foreign compose file."""
        why: str | None = optional("foreign refusal")(task) if task.parley is None else None
        return why

    def syscalls(self, task: Task) -> str:
        """Return the digest of our policy for tasks of our format; a foreign task has its engine's policy."""
        if not self.engine.filters_calls:
            return NO_POLICY
        return policy_digest() if task.parley is not None else ENGINE_POLICY

    def limits(self) -> str:
        """Return "", because this runtime has no limitations."""
        return ""

    def prepare(self, tasks: Sequence[Task]) -> Mapping[str, str]:
        """Build what changed; return image ids by kind for the base images, by `task:kind` for those of a task.

        Raises the first failure, unless only foreign tasks failed and others remain. In this case, it reports each failure in a
        line.
        """
        tags = dict(self.images.build_bases(say=self._say))
        lost: dict[str, HarnessError] = {}
        with ThreadPoolExecutor(max_workers=_BUILDERS) as pool:
            for task, images in zip(tasks, pool.map(self._built, tasks), strict=True):
                if isinstance(images, HarnessError):
                    if task.parley is not None:
                        raise images
                    lost[task.task_id] = images
                else:
                    tags |= {f"{task.task_id}:{room}": tag for room, tag in images.items() if tag not in tags.values()}
        for number, (task_id, why) in enumerate(lost.items(), start=1):
            if number == len(lost) == len(tasks):
                raise why
            self._say(f"{task_id} cannot be played: {why}" + (f"; try: {why.hint}" if why.hint else ""))
        return {name: self.images.image_id(tag) or "" for name, tag in tags.items()}

    @contextmanager
    def open(self, spec: EpisodeSpec) -> Iterator[Pod]:
        """Open a pod that is ready to answer."""
        check = partial(self._check_aborted, spec.run_id)
        settings: dict[str, Any] = {"cpus": self._cpus, "wall_s": self.wall_s, "check": check}
        images = self._images_of(spec.task)
        is_ours = spec.task.parley is not None
        foreign: JudgedPod | None = None if is_ours else optional("foreign pod")(self.engine, spec, images, **settings)
        pod = foreign or DockerPod(self.engine, spec, images, pool=self._pool, **settings)
        whole = False
        try:
            check()
            pod.start()
            check()
            if foreign is not None:
                self._foreign[_name(spec)] = foreign
            elif may_stay(spec.task):
                self._pool.submit(self._stayers().expect)
            else:
                self._verifiers[_name(spec)] = self._pool.submit(self._start_verifier, spec)
            yield pod
            whole = True
        finally:
            self._close(pod, spec, whole)

    def judge(self, spec: EpisodeSpec, log: bytes) -> Judgement:
        """Run the task's hidden tests on a log, in a container without network; a foreign task was judged by `finish`.

        Our own tasks use a reusable verifier if they may. Otherwise the log is judged by the verifier that was started while
        the agent played, or, if the pod is closed, by a new one.
        """
        self._check_aborted(spec.run_id)
        if spec.task.parley is None:
            return self._foreign_verdict(spec)
        if may_stay(spec.task):
            return _judgement(spec, self._stayers().judge(spec, log, lambda: self._check_aborted(spec.run_id)))
        waiting = self._verifiers.pop(_name(spec), None)
        container = waiting.result() if waiting else self._start_verifier(spec)
        try:
            self._check_aborted(spec.run_id)
            return _judgement(spec, self._tested(container, int(spec.task.file.verifier.timeout_sec), log))
        finally:
            self.engine.remove(container)

    def confined(self, run_id: str, command: Sequence[str], stdin: bytes, *, limit_s: float, most: int) -> bytes:
        """Run a program in the prover's container, whose image is built on first use, and return its stdout."""
        image = self.images.build_prover(say=self._say)
        self._check_aborted(run_id)
        alone = {"network_mode": "none", "read_only": True, "tmpfs": {"/tmp": "nosuid,nodev,size=256m,mode=1777"}}
        room = self.engine.running(
            image, ["sleep", str(math.ceil(limit_s) + 60)], user=PROVER, host=hardened(PROVER_MB, self._cpus, **alone),
            environment={"HOME": "/tmp"}, labels={RUN_LABEL: run_id, OWNER_LABEL: this_owner()}, name=fresh_name("prover"),
        )  # fmt: skip
        with room as container, closing(self.engine.execute(container, command, user=PROVER, workdir="/tmp")) as program:
            return _stdout_of_prover(program, stdin, limit_s, most)

    def leftovers(self) -> list[Orphan]:
        """Return the resources that dead runs of this host left behind: containers, volumes, networks."""
        return left_behind(self.engine)

    def sweep(self) -> list[str]:
        """Remove the resources that dead runs of this host left behind, and return their names."""
        return sweep(self.engine)

    def abort(self, run_id: str) -> None:
        """Kill and remove everything of a run, from any thread, and prevent further starts."""
        self._aborted.add(run_id)
        if self._staying is not None:
            self._staying.abort(run_id)
        remove_run(self.engine, run_id)

    def _images_of(self, task: Task) -> dict[str, str]:
        """Return the images of a task, built once; raises ImageFailure, in short form if `prepare` has reported the reason."""
        built = self._built(task)
        if isinstance(built, HarnessError):
            raise ImageFailure(f"its image cannot be built ({str(built).partition(': ')[0]})", hint=built.hint)
        return built

    def _built(self, task: Task) -> dict[str, str] | HarnessError:
        key = (task.path, task.digest)
        with self._lock:
            known = self._task_images.get(key)
        if known is None:
            try:
                known = self.images.task_images(task) if task.parley else optional("foreign images")(task, self.images)
            except (ImageFailure, TaskInvalid) as failure:
                known = failure
            with self._lock:
                self._task_images[key] = known
        return known

    def _stayers(self) -> WarmVerifiers:
        """Return the reusable verifiers of this runtime, which has one for each concurrent verdict."""
        image = self.images.build_bases()["verifier"]
        with self._lock:
            if self._staying is None:
                self._staying = WarmVerifiers(self.engine, image, self._cpus)
            return self._staying

    def _start_verifier(self, spec: EpisodeSpec) -> str:
        """Start a waiting verifier, which never shares a namespace, a volume or a network with agent code."""
        container = self.engine.create(
            self._images_of(spec.task)["verifier"], ["sleep", str(deadline_s(spec.task, self.wall_s))], user=NOBODY,
            host=hardened(VERIFIER_MB, self._cpus, network_mode="none"), environment=dict(spec.task.file.verifier.env),
            labels=labels(spec), name=fresh_name("verifier"),
        )  # fmt: skip
        with ExitStack() as unless_started:
            unless_started.callback(self.engine.remove, container)
            self._check_aborted(spec.run_id)
            self.engine.start(container)
            unless_started.pop_all()
        return container

    def _tested(self, container: str, limit_s: int, log: bytes) -> Tested:
        """Return the exit code of the tests and the files they left; one program reads the log and returns the outcome.

        Before that program reads the files, it kills all processes that the tests left, except the container's first one, which
        belongs to another user. A copy by archive would take 70 ms of the engine's CPU each time, more than a verdict.
        """
        command = ["bash", "-c", _TESTS, "tests", LOG, str(limit_s)]
        with closing(self.engine.execute(container, command, user=VERIFIER)) as running:
            running.limit(limit_s + 60)
            with boundary(VerifierFailure, "the verifier", OSError, tarfile.TarError):
                data = running.output(log, VERDICT_LIMIT)
                if data is None:
                    raise VerifierFailure(f"the verifier left more than {VERDICT_LIMIT} bytes")
                return running.exit_code(tries=SETTLE_TRIES), regular_files(data) if data else {}

    def _close(self, pod: DockerPod | JudgedPod, spec: EpisodeSpec, whole: bool) -> None:
        gone = False
        self._foreign.pop(_name(spec), None)
        try:
            if (waiting := self._verifiers.pop(_name(spec), None)) is not None:
                self.engine.remove(waiting.result())
            gone = pod.close()
        finally:
            if not (whole and gone):
                # After an interruption, a container may exist whose id never arrived.
                remove_episode(self.engine, spec.run_id, spec.episode_id)

    def _foreign_verdict(self, spec: EpisodeSpec) -> Judgement:
        pod = self._foreign.get(_name(spec))
        verdict = pod.verdict if pod else None
        if isinstance(verdict, Judgement):
            return verdict
        raise verdict or VerifierFailure("the pod of this foreign task was never finished")

    def _check_aborted(self, run_id: str) -> None:
        if run_id in self._aborted:
            raise RuntimeFailure(f"run {run_id} was aborted")

    def _try_out(self) -> None:
        """Start the world's base image, isolated as in an episode, and run a program in it."""
        host, marks = hardened(64, 1, network_mode="none", read_only=True), {OWNER_LABEL: this_owner()}
        room, program = ("parley/world:1", ["sleep", "60"]), ["python3", "-c", "input(); print('ready')"]
        with (
            self.engine.running(*room, host=host, labels=marks) as container,
            closing(self.engine.execute(container, program)) as said,
        ):
            said.limit(30)
            with self.engine.doing("speaking to a container"):
                said.frames.send(b"\n")
                if said.frames.receive() != b"ready\n":
                    raise RuntimeFailure(f"a container answered {said.frames.stderr[-200:]!r} instead of ready")


def _stdout_of_prover(program: Exec, stdin: bytes, limit_s: float, most: int) -> bytes:
    """Return the program's stdout; raises RuntimeFailure if it fails, prints too much, or times out."""
    try:
        program.limit(limit_s)
        said = program.output(stdin, most)
    except TimeoutError:
        raise RuntimeFailure(f"the prover was killed at its limit of {limit_s:g} s") from None
    except OSError as error:
        raise RuntimeFailure(f"the prover's container broke off: {error}") from None
    if said is None:
        raise RuntimeFailure(f"the prover printed more than {most} bytes")
    if (code := program.exit_code(tries=SETTLE_TRIES)) != 0:
        raise RuntimeFailure(f"the prover ended with {code}: {program.frames.stderr[-600:].decode('utf-8', 'replace').strip()}")
    return said


def _judgement(spec: EpisodeSpec, tested: Tested) -> Judgement:
    code, left = tested
    output = left.get("verifier.log", b"")
    try:
        return Judgement(left["reward.json"], left["verdict.json"], output)
    except KeyError as missing:
        limit = spec.task.file.verifier.timeout_sec
        why = f"was killed at its limit of {limit:g} s" if code == commands.KILLED else f"ended with {code}"
        tail = output.decode("utf-8", "replace").strip()[-_LOG_TAIL:]
        raise VerifierFailure(f"the verifier {why} and left no {missing.args[0]}: {tail}") from None


def _name(spec: EpisodeSpec) -> tuple[str, str]:
    return spec.run_id, spec.episode_id
