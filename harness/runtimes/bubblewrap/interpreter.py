"""Copies a Python interpreter to where anybody may run it: binary, libraries and standard library, no packages.

The copy finds its standard library by its own place (getpath looks upwards from the binary), so it works wherever it is
mounted. One that was built shared may look for libpython at an absolute path: the sandbox gets a linker cache that knows
/usr/local/lib, made by running ldconfig in a sandbox.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RuntimeFailure
from harness.runtimes.bubblewrap.view import bwrap, system

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
    """One interpreter of this host."""

    binary: Path
    version: str
    full_version: str
    prefix: Path
    libraries: tuple[Path, ...]
    """The standard library's folders, below the prefix."""

    @property
    def identity(self) -> bytes:
        """What changes when another interpreter stands in the same place, or it is copied in another way."""
        return f"{self.binary} {self.full_version} {self.binary.stat().st_mtime_ns} ".encode() + Path(__file__).read_bytes()

    def copy(self, target: Path, sitecustomize: Path) -> None:
        """Fill `target` with what a sandbox sees as /usr/local; raises RuntimeFailure when the copy does not run there."""
        (target / "bin").mkdir()
        shutil.copy(self.binary, target / "bin" / self.binary.name)
        for name in {"python", "python3", f"python{self.version}"} - {self.binary.name}:
            (target / "bin" / name).symlink_to(self.binary.name)
        # Login shells look here first. Only the agent's sandbox has what this points to.
        (target / "bin" / "sleep").symlink_to("/opt/parley/bin/sleep")
        self._copy_libraries(target)
        for library in self.libraries:
            (target / library / "sitecustomize.py").unlink(missing_ok=True)
        shutil.copy(sitecustomize, target / self.libraries[0] / "sitecustomize.py")
        compile_all(target, target / self.libraries[0])
        _make_places(target, _output([str(target / "bin" / "python3"), "-I", "-c", _PLACE]))
        self._try(target)

    def _copy_libraries(self, target: Path) -> None:
        copying = {"ignore": shutil.ignore_patterns(*_LEFT_OUT), "ignore_dangling_symlinks": True, "dirs_exist_ok": True}
        for library in self.libraries:
            shutil.copytree(self.prefix / library, target / library, **copying)  # type: ignore[arg-type]
        if self.prefix != Path("/usr"):
            for shared in (*self.prefix.glob("lib/*.so*"), *self.prefix.glob("lib64/*.so*")):
                shutil.copy(shared, target / shared.relative_to(self.prefix))

    def _try(self, target: Path) -> None:
        """Make the linker cache, then import what episodes need, both in a sandbox that sees nothing else of this Python."""
        out = target / "etc"
        out.mkdir()
        (out / "ld.so.conf").write_text("/usr/local/lib\n/usr/local/lib64\n", encoding="ascii")
        alone = ["--unshare-pid", "--unshare-net", "--die-with-parent", "--proc", "/proc"]
        view = [bwrap(), *alone, *system(), "--ro-bind", str(target), "/usr/local"]
        _output([*view, "--bind", str(out), "/etc", "/sbin/ldconfig", "-X", "-C", "/etc/ld.so.cache", "-f", "/etc/ld.so.conf"])
        _output([*view, "--ro-bind", str(out), "/etc", "/usr/local/bin/python3", "-I", "-c", _TRY])


def compile_all(python: Path, folder: Path) -> None:
    """Compile now, since a sandbox cannot write here. What does not compile is test data of a package."""
    compiler = [str(python / "bin" / "python3"), "-I", "-m", "compileall", "-q", "-j", "0", str(folder)]
    subprocess.run(compiler, capture_output=True, check=False, timeout=COMPILE_LIMIT_S)


def find_interpreters() -> Iterator[Interpreter]:
    """The interpreters that can serve, best first: the one that runs this, then the system's."""
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


def _make_places(target: Path, packages: str) -> None:
    """Where packages are mounted must be there, since the rest is read-only."""
    place = Path(packages.strip()).relative_to(target.resolve())
    (target / place).mkdir(parents=True, exist_ok=True)
    (target / "packages-place").write_text(str(place), encoding="utf-8")


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL, cwd="/")
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise RuntimeFailure(f"a Python for the sandboxes cannot be made: {said}")
    return done.stdout
