"""Environments of sandboxes: a copy of a Python interpreter, and packages for each kind of sandbox, built once in a cache.

Nothing of this project's own environment is visible in a sandbox, so each kind of sandbox (room) gets the contents of its
Docker image: an interpreter without its packages, with our sitecustomize, at /usr/local; the packages of
docker/<room>/requirements.txt, installed with hashes; and the required parts of this project, at /opt/parley. The interpreter
is copied because the original may be readable only by root. Each part is named by a hash of all its inputs, built under a
temporary name and renamed, under a lock, so that any number of processes may use it and an incomplete one is never visible.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.errors import RuntimeFailure, boundary
from harness.paths import ROOT, recipes
from harness.pod import ROOMS, Say
from harness.registry import files_of
from harness.runtimes import seccomp
from harness.runtimes.bubblewrap.rooms import Room, bwrap, system
from harness.runtimes.bubblewrap.sandbox import COUNTING_FILTER, FILTER, INSIDE, ROOMS_INSIDE

OLDEST = (3, 11)
COMPILE_LIMIT_S = 300
_LEFT_OUT = ("*-packages", "test", "tests", "idlelib", "turtledemo", "config-*", "*.opt-?.pyc", "EXTERNALLY-MANAGED")
_ASK = """
import json, sys, sysconfig
libraries = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
print(json.dumps([sys.version_info[:2], sys.version, sys.base_prefix, *libraries]))
"""
_PLACE = "import site; print(site.getsitepackages()[-1])"
_TRY = "import ctypes, hashlib, json, resource, select, socket, ssl, sqlite3, subprocess, zlib"


@dataclass(frozen=True)
class Interpreter:
    """Python interpreter of this host."""

    binary: Path
    version: str
    full_version: str
    prefix: Path
    libraries: tuple[Path, ...]
    """Folders of the standard library, below the prefix."""

    @property
    def identity(self) -> bytes:
        """Bytes that change if the interpreter is replaced, or if the way of copying it changes."""
        return f"{self.binary} {self.full_version} {self.binary.stat().st_mtime_ns} ".encode() + Path(__file__).read_bytes()

    def copy(self, target: Path, sitecustomize: Path) -> None:
        """Fill `target` with the files of /usr/local in a sandbox; raises RuntimeFailure if the copy does not run there."""
        (target / "bin").mkdir()
        shutil.copy(self.binary, target / "bin" / self.binary.name)
        for name in {"python", "python3", f"python{self.version}"} - {self.binary.name}:
            (target / "bin" / name).symlink_to(self.binary.name)
        # Login shells look here first. The target exists only in the agent's sandbox.
        (target / "bin" / "sleep").symlink_to("/opt/parley/bin/sleep")
        copying = {"ignore": shutil.ignore_patterns(*_LEFT_OUT), "ignore_dangling_symlinks": True, "dirs_exist_ok": True}
        for library in self.libraries:
            shutil.copytree(self.prefix / library, target / library, **copying)  # type: ignore[arg-type]
        if self.prefix != Path("/usr"):
            for shared in (*self.prefix.glob("lib/*.so*"), *self.prefix.glob("lib64/*.so*")):
                shutil.copy(shared, target / shared.relative_to(self.prefix))
        for library in self.libraries:
            (target / library / "sitecustomize.py").unlink(missing_ok=True)
        shutil.copy(sitecustomize, target / self.libraries[0] / "sitecustomize.py")
        compile_all(target, target / self.libraries[0])
        # the mount point of packages, because the rest is read-only
        said = _output([str(target / "bin" / "python3"), "-I", "-c", _PLACE]).strip()
        place = Path(said).relative_to(target.resolve())
        (target / place).mkdir(parents=True, exist_ok=True)
        (target / "packages-place").write_text(str(place), encoding="utf-8")
        self._try(target)

    def _try(self, target: Path) -> None:
        """Create the linker cache, then import what episodes need, both in a sandbox that sees only this copy of Python."""
        out = target / "etc"
        out.mkdir()
        (out / "ld.so.conf").write_text("/usr/local/lib\n/usr/local/lib64\n", encoding="ascii")
        alone = ["--unshare-pid", "--unshare-net", "--die-with-parent", "--proc", "/proc"]
        view = [bwrap(), *alone, *system(), "--ro-bind", str(target), "/usr/local"]
        _output([*view, "--bind", str(out), "/etc", "/sbin/ldconfig", "-X", "-C", "/etc/ld.so.cache", "-f", "/etc/ld.so.conf"])
        _output([*view, "--ro-bind", str(out), "/etc", "/usr/local/bin/python3", "-I", "-c", _TRY])


def compile_all(python: Path, folder: Path) -> None:
    """Compile all modules now, because a sandbox cannot write here. Files that do not compile are test data of a package."""
    compiler = [str(python / "bin" / "python3"), "-I", "-m", "compileall", "-q", "-j", "0", str(folder)]
    subprocess.run(compiler, capture_output=True, check=False, timeout=COMPILE_LIMIT_S)


def find_interpreters() -> Iterator[Interpreter]:
    """Yield the usable interpreters, best first: the one running this process, then the system's."""
    seen = set()
    for path in (Path(getattr(sys, "_base_executable", sys.executable)), Path("/usr/bin/python3")):
        binary = path.resolve()
        if binary in seen or not os.access(binary, os.X_OK):
            continue
        seen.add(binary)
        number, full, prefix, *libraries = json.loads(_output([str(binary), "-I", "-S", "-c", _ASK]))
        if tuple(number) >= OLDEST:
            relative = dict.fromkeys(Path(library).relative_to(prefix) for library in libraries)
            yield Interpreter(binary, ".".join(map(str, number)), full, Path(prefix), tuple(relative))


def _output(
    command: list[str], failure: str = "a Python for the sandboxes cannot be created", *, limit_s: int = 120, hint: str = "",
    cwd: str | None = "/",
) -> str:  # fmt: skip
    """Return a program's stdout; raises RuntimeFailure with the last line of its stderr if it fails."""
    done = subprocess.run(command, capture_output=True, check=False, timeout=limit_s, stdin=subprocess.DEVNULL, cwd=cwd)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeFailure(f"{failure}: {said[-1]}", hint=hint)
    return done.stdout.decode("utf-8", "replace")


OURS: Mapping[str, Mapping[str, str]] = {
    "agent": {f"docker/agent/{name}": f"bin/{name}" for name in ("sleep", "virtual-time", "parley_run.py")},
    "world": {"worlds": "site/worlds"},
    "verifier": {"worlds": "site/worlds", "validators": "site/validators"},
    "prover": {name: f"site/{name}" for name in ("worlds", "oracles", "validators", "harness", "parley")},
}
"""Files and folders of this project in each kind of sandbox, with their paths below /opt/parley."""

SITE = "/opt/parley/site"

BUILD_LIMIT_S = 900


class Environments:
    """Environments of all kinds of sandboxes in one cache folder: a given one, else PARLEY_CACHE, else ~/.cache/parley."""

    def __init__(self, root: Path = ROOT, cache: Path | None = None, say: Say = lambda line: None) -> None:
        self._docker, self._root, self._say = recipes(root), root, say
        if cache is None:
            chosen, base = os.environ.get("PARLEY_CACHE"), os.environ.get("XDG_CACHE_HOME")
            cache = Path(chosen).resolve() if chosen else Path(base or Path.home() / ".cache") / "parley"
        self.folder = cache / "sandbox"
        self._rooms: dict[str, Room] = {}

    @cached_property
    def python(self) -> Path:
        """Copy of the interpreter; raises RuntimeFailure if no Python here can be copied."""
        problems = []
        shim = self._source("agent/sitecustomize.py")
        for interpreter in find_interpreters():
            name = f"python-{interpreter.version}-{_digest([interpreter.identity, shim.read_bytes()])}"
            try:
                return self._build(name, lambda folder, interpreter=interpreter: interpreter.copy(folder, shim))  # type: ignore[misc]
            except RuntimeFailure as failure:
                problems.append(str(failure))
        raise RuntimeFailure("; ".join(problems) or "no Python of at least 3.11 can be copied", hint="harness doctor")

    def room(self, name: str) -> Room:
        """Return the environment of one kind of sandbox, built if something changed."""
        if name not in self._rooms:
            self._rooms[name] = self.bare(name, self._packages(name))
        return self._rooms[name]

    def bare(self, name: str, packages: Path) -> Room:
        """Return a room with the packages of a given folder; a probe, which installs nothing, passes an empty one."""
        place = (self.python / "packages-place").read_text(encoding="utf-8")
        return Room(self.python, packages, self._ours(name), place)

    def digests(self) -> dict[str, str]:
        """Return the ids of the environments, for the record."""
        rooms = {name: self.room(name) for name in ROOMS}
        return {n: "+".join(p.name for p in (room.python, room.packages, room.ours)) for n, room in rooms.items()}

    def _packages(self, room: str) -> Path:
        requirements = self._source(f"{room}/requirements.txt")
        digest = _digest([self.python.name.encode(), requirements.read_bytes(), SITE.encode()])

        def fill(folder: Path) -> None:
            self._say(f"installing the packages of the {room} sandbox")
            installing = [*_installer(self.python), "--target", str(folder), "-r", str(requirements)]
            failure = f"the {room} packages cannot be installed"
            _output(installing, failure, limit_s=BUILD_LIMIT_S, hint=" ".join(installing), cwd=None)
            # pip's scripts name the interpreter of this host; a sandbox runs `python3 -m`.
            shutil.rmtree(folder / "bin", ignore_errors=True)
            if room != "agent":
                (folder / "parley.pth").write_text(SITE + "\n", encoding="utf-8")
            compile_all(self.python, folder)

        return self._build(f"packages-{room}-{digest}", fill)

    def _ours(self, room: str) -> Path:
        filters = {FILTER: seccomp.program(), COUNTING_FILTER: seccomp.program(uncounted=False)}
        made = {str(Path(place).relative_to(ROOMS_INSIDE)): code for place, code in filters.items()}
        # The parent packages, of which only the names are needed.
        packages = [Path(*INSIDE.relative_to(ROOT).parts[:depth], "__init__.py") for depth in range(1, 4)]
        files = {str(path.relative_to(ROOT)): path for path in (*files_of(INSIDE), *(ROOT / path for path in packages))}
        for name, place in OURS[room].items():
            source = self._docker / name.removeprefix("docker/") if name.startswith("docker/") else self._root / name
            paths = [source] if source.is_file() else files_of(source)
            files |= {str(Path(place, path.relative_to(source))): path for path in paths}
        contents = {**{name: path.read_bytes() for name, path in files.items()}, **made}
        digest = _digest(part for name, content in contents.items() for part in (name.encode(), content))

        def fill(folder: Path) -> None:
            for name, path in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, folder / name)
            for name, code in made.items():
                (folder / name).write_bytes(code)
            compile_all(self.python, folder)

        return self._build(f"{room}-{self.python.name}-{digest}", fill)

    def _source(self, name: str) -> Path:
        path = self._docker / name
        if not path.is_file():
            hint = "harness run --runtime inprocess"
            raise RuntimeFailure(f"{path} is missing, and sandboxes are built from it", hint=hint)
        return path

    def _build(self, name: str, fill: Callable[[Path], None]) -> Path:
        """Return the part called `name`. The first process fills it while the others wait."""
        ready = self.folder / name
        if ready.is_dir():
            return ready
        with boundary(RuntimeFailure, f"building {ready}", OSError, shutil.Error), ExitStack() as stack:
            self.folder.mkdir(parents=True, exist_ok=True)
            fcntl.flock(stack.enter_context((self.folder / f"{name}.lock").open("w", encoding="ascii")), fcntl.LOCK_EX)
            if ready.is_dir():
                return ready
            for left in self.folder.glob(f".{name}.*"):
                shutil.rmtree(left)
            beside = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=self.folder))
            try:
                fill(beside)
                _let_all_read(beside)
                beside.rename(ready)
            finally:
                shutil.rmtree(beside, ignore_errors=True)
        return ready


def _digest(parts: Iterable[bytes]) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(b"%d:" % len(part) + part)
    return total.hexdigest()[:16]


def _installer(python: Path) -> list[str]:
    """Return the command of an installer that works for another interpreter; raises RuntimeFailure if there is none."""
    target = str(python / "bin" / "python3")
    if importlib.util.find_spec("pip"):
        quiet = ["-q", "--root-user-action=ignore", "--no-compile", "--disable-pip-version-check"]
        return [sys.executable, "-m", "pip", "--python", target, "install", *quiet, "--only-binary=:all:", "--require-hashes"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "-q", "--python", target, "--only-binary=:all:", "--require-hashes"]
    raise RuntimeFailure("neither pip nor uv is available to install the sandboxes' packages", hint="python3 -m ensurepip")


def _let_all_read(folder: Path) -> None:
    """Make the folder readable for every user that a sandbox may run as, whatever umask it was built under."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o755 if path.is_dir() or mode & 0o100 else 0o644))
