"""Persistent verifier: judges each log in a process of its own, forked from one that has already imported pytest.

`python3 -m validators.forking` is the first process of a container without network. It runs as root, with no capability but
changing its user. For each log the host writes a head (two numbers: bytes that follow, time limit in s) and then an archive of
the hidden tests and the log.
1. The first process reads only the head. It forks a keeper, which switches to a new user with its own folder in memory, reads
the archive, and forks the judge. The first process never holds a test or a log.
2. At the limit, or after the judge's end, the keeper kills all processes of its user, sends a head (exit code, bytes that
follow) and the results, and removes every file of that user. If it ends without an answer, the first process ends too: the host
cannot know how much of the stream was read.
3. The first process compares files, IPC objects, processes and mounts with those at its start, and adds CLEAN or DIRTY.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import pkgutil
import shutil
import signal
import struct
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from validators import warm

ASKED, SAID = struct.Struct(">QI"), struct.Struct(">iQ")
"""Heads of request and answer: bytes and seconds; exit code and bytes."""

FIRST_USER = 20_000
WRITABLE_FOLDERS = ("/tmp", "/dev/shm", "/dev/mqueue")
"""All writable places of the container."""

WRITABLE = {"tmpfs", "mqueue", "devpts"}
"""File system types that are searched for leftover files."""

CLEAN, DIRTY = b"\1", b"\0"
SETTLE_S = 2.0
"""Seconds in which the last processes of a verdict must end."""

TEST_LOG = "verifier.log"
OUTPUT_LIMITS = {"verdict/reward.json": 1 << 18, "verdict/verdict.json": 1 << 18, TEST_LOG: 1 << 18}
"""Files of a judge's folder that are returned, with the maximum bytes of each."""

KILLED = 128 + signal.SIGKILL
POLL_S = 0.01


def main() -> None:
    """Judge logs until stdin ends."""
    _import_all()
    before = list_system_state()
    for user in count(FIRST_USER):
        head = _read(ASKED.size)
        if len(head) < ASKED.size:
            return
        keeper = os.fork()
        if keeper == 0:
            _keep(user, *ASKED.unpack(head))
        if os.waitpid(keeper, 0)[1]:
            sys.exit(f"the keeper of user {user} failed")
        if left := find_residue(before):
            _write(DIRTY)
            sys.exit(f"user {user} left {sorted(left)[:9]}")
        _write(CLEAN)


def find_residue(before: set[str]) -> set[str]:
    """Return the differences from a baseline, after a grace period for the processes of a verdict to end."""
    until = time.monotonic() + SETTLE_S
    while (left := before ^ list_system_state()) and time.monotonic() < until:
        time.sleep(POLL_S)
    return left


def list_system_state() -> set[str]:
    """Return everything that a verdict could leave behind, as lines: files, IPC objects, processes and mounts."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    lines = {f"mount {line}" for line in mounts}
    for line in mounts:
        if line.partition(" - ")[2].split()[0] in WRITABLE:
            lines |= {f"file {path}" for path in _files(line.split()[4])}
    for kind in ("msg", "sem", "shm"):
        with suppress(OSError):
            lines |= {f"{kind} {line}" for line in Path(f"/proc/sysvipc/{kind}").read_text(encoding="ascii").splitlines()[1:]}
    return lines | {f"process {path.name}" for path in Path("/proc").iterdir() if path.name.isdecimal()}


def _files(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        for path in (Path(folder, name) for name in (*folders, *names)):
            with suppress(FileNotFoundError):
                status = path.lstat()
                yield f"{path} {status.st_ino} {status.st_mode:o} {status.st_uid} {status.st_size}"


def _import_all() -> None:
    gc.disable()
    for root in ("_pytest", "validators"):
        package = importlib.import_module(root)
        for module in pkgutil.walk_packages(package.__path__, f"{root}."):
            with suppress(ModuleNotFoundError):
                importlib.import_module(module.name)
    gc.freeze()


def _keep(user: int, size: int, limit_s: int) -> None:
    """Judge one log as a user of its own; exits with 0 if the whole answer was written. Never returns."""
    try:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        folder = Path(f"/tmp/{user}")
        folder.mkdir(mode=0o700)
        _unpack(_read(size), folder)
        code = _judged(folder, limit_s)
        _write(SAID.pack(code, len(left := _left(folder))) + left)
        _wipe(user)
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - a keeper must never run on as a second first process
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    os._exit(1)


def _unpack(data: bytes, folder: Path) -> None:
    """Write the files of the host's archive, which holds plain files only."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for entry in archive:
            if (content := archive.extractfile(entry)) is not None:
                path = folder / entry.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())


def _judged(folder: Path, limit_s: int) -> int:
    """Run the tests, kill all processes of their user, and return the exit code."""
    judge = os.fork()
    if judge == 0:
        _judge(folder)
    until = time.monotonic() + limit_s
    while not (ended := os.waitpid(judge, os.WNOHANG))[0] and time.monotonic() < until:
        time.sleep(POLL_S)
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    if not ended[0]:
        ended = os.waitpid(judge, 0)
    code = os.waitstatus_to_exitcode(ended[1])
    return code if code >= 0 else 128 - code


def _judge(folder: Path) -> None:
    """Run the tests as `bash /tests/test.sh` would. Never returns."""
    code = 1
    try:
        os.setsid()
        nothing, said = os.open(os.devnull, os.O_RDWR), os.open(folder / TEST_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for number, file in enumerate((nothing, said, said)):
            os.dup2(file, number)
        os.environ.update(HOME=str(folder), TMPDIR=str(folder))
        os.chdir(folder)
        gc.enable()
        code = warm.judge(folder / "tests", folder / "events.jsonl", folder / "verdict")
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:  # noqa: BLE001 - see _keep
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    os._exit(code)


def _left(folder: Path) -> bytes:
    """Return an archive of reward.json, verdict.json and the end of the log: plain files of limited size."""
    answer = io.BytesIO()
    with tarfile.open(fileobj=answer, mode="w") as archive:
        for name, most in OUTPUT_LIMITS.items():
            path = folder / name
            with suppress(OSError), os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                # the end of what was said; a verdict that is too long is none
                file.seek(max(0, size - most) if name == TEST_LOG else 0)
                entry, data = tarfile.TarInfo(path.name), file.read(most + 1)
                entry.size = len(data)
                if len(data) <= most:
                    archive.addfile(entry, io.BytesIO(data))
    return answer.getvalue()


def _wipe(user: int) -> None:
    for place in WRITABLE_FOLDERS:
        for path in Path(place).iterdir():
            if path.lstat().st_uid == user:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _read(size: int) -> bytes:
    """Read up to `size` bytes of stdin, fewer at its end; never more, since the rest belongs to the next reader."""
    data = bytearray()
    while len(data) < size and (chunk := os.read(0, min(size - len(data), 1 << 20))):
        data += chunk
    return bytes(data)


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    main()
