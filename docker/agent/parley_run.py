"""Runs one command for the host inside `main`, with bounded time and memory and an exact result.

Input on stdin: one JSON line {command, timeout, cap, files, stdin}, then archives of the given sizes, which are unpacked first,
then `stdin` bytes for the command.
Output on stdout: one JSON line {code, omitted, size} or {error}, then `size` bytes of the command's output.
1. The command gets its own session. At the timeout its whole process group is killed and `code` is null.
2. stdout and stderr share one pipe. The first quarter and the last three quarters of `cap` bytes are kept, the rest is counted.
3. The run ends when the command itself ends: a background child that still holds the pipe is not waited for.
It imports little and runs with -I -S, because it starts again for every command, in an environment that its agent controls.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time

DRAIN_S = 0.05
"""Seconds after the command's end in which output of its children is still read."""

CHUNK = 65_536


class Kept:
    """The head and the tail of a stream, and its total size."""

    def __init__(self, cap: int) -> None:
        self._head_room, self._tail_room = cap // 4, cap - cap // 4
        self._head, self._tail, self._total = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        """Add the next bytes."""
        self._total += len(data)
        taken = self._head_room - len(self._head)
        self._head += data[:taken]
        self._tail += data[taken:]
        if len(self._tail) > 2 * self._tail_room + CHUNK:
            del self._tail[: -self._tail_room or None]

    def result(self) -> tuple[bytes, int]:
        """Return the kept bytes, and the number of bytes omitted from the middle."""
        output = bytes(self._head + self._tail[max(0, len(self._tail) - self._tail_room) :])
        return output, self._total - len(output)


class Child:
    """The command, its pipe ends, and the moment it ends."""

    def __init__(self, command: list[str], stdin: bytes, cap: int) -> None:
        self._wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._output, output_end = os.pipe()
        input_end, self._input = os.pipe()
        os.set_blocking(self._input, False)
        self._stdin, self.kept = memoryview(stdin), Kept(cap)
        self.pid = os.posix_spawnp(
            command[0], command, os.environ, setsid=True, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
            file_actions=[(os.POSIX_SPAWN_DUP2, end, fd) for end, fd in ((input_end, 0), (output_end, 1), (output_end, 2))],
        )  # fmt: skip
        os.close(input_end)
        os.close(output_end)
        self._open = True
        self._feed()

    def follow(self, until: float) -> int | None:
        """Transfer bytes until the command ends. Return its exit code, or None at the timeout."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            left = until - time.monotonic()
            if left <= 0:
                return None
            self._move(left)

    def drain(self) -> None:
        """Read what is still in the pipe, and what children write within DRAIN_S."""
        until = time.monotonic() + DRAIN_S
        while self._open and (left := until - time.monotonic()) > 0:
            self._move(left)

    def kill(self) -> None:
        """Kill the process group and reap the command."""
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def _move(self, seconds: float) -> None:
        readers = [self._wake, *([self._output] if self._open else [])]
        writers = [self._input] if self._stdin else []
        ready, writable, _ = select.select(readers, writers, [], seconds)
        if self._wake in ready:
            os.read(self._wake, CHUNK)
        if self._output in ready:
            data = os.read(self._output, CHUNK)
            self._open = bool(data)
            self.kept.add(data)
        if writable:
            self._feed()

    def _feed(self) -> None:
        """Write as much to the command's stdin as it accepts, and close it after the last byte."""
        try:
            while self._stdin:
                self._stdin = self._stdin[os.write(self._input, self._stdin[:CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._stdin = self._stdin[:0]
        os.close(self._input)


def run(asked: dict[str, object], stdin: bytes) -> tuple[dict[str, object], bytes]:
    """Run one command. Return the header and its output."""
    command = [str(part) for part in asked["command"]]  # type: ignore[attr-defined]
    try:
        child = Child(command, stdin, int(asked["cap"]))  # type: ignore[call-overload]
    except (OSError, ValueError) as error:
        # What a shell says of a command it cannot start.
        text = f"{command[0]}: {getattr(error, 'strerror', None) or error}\n".encode()
        return {"code": 127 if isinstance(error, FileNotFoundError) else 126, "omitted": 0, "size": len(text)}, text
    code = child.follow(time.monotonic() + float(asked["timeout"]))  # type: ignore[arg-type]
    if code is None:
        child.kill()
    child.drain()
    output, omitted = child.kept.result()
    return {"code": code, "omitted": omitted, "size": len(output)}, output


UNPACK = ("tar", "-xf", "-", "-C", "/", "--no-same-owner", "--no-overwrite-dir")
UNPACK_LIMIT_S = 60.0


def unpacked(archive: bytes, cap: int) -> tuple[dict[str, object], bytes]:
    """Unpack an archive. Return the header and output as for any command."""
    return run({"command": UNPACK, "timeout": UNPACK_LIMIT_S, "cap": cap}, archive)


def main() -> None:
    """Serve one request and exit."""
    asked = json.loads(sys.stdin.buffer.readline())
    for size in asked["files"]:
        header, output = unpacked(sys.stdin.buffer.read(int(size)), asked["cap"])
        if header["code"] != 0:
            break
    else:
        header, output = run(asked, sys.stdin.buffer.read(int(asked["stdin"])))
    sys.stdout.buffer.write(json.dumps(header).encode() + b"\n" + output)
    sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
