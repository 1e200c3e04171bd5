"""Services beside `main` in a foreign folder: their names, ports and paths.

Ports and paths are extracted from the folder's files, since an attacker would read a service's source. Open ports are found
from `main`, and requests are sent from there as raw bytes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import NamedTuple

from harness.pod import Pod
from harness.registry import Task
from parley.proof.attacks.recording import read_out
from parley.proof.attacks.scripts import script, shell

COMMON_PORTS = (80, 3000, 5000, 8000, 8080, 8888, 9000)

COMMON_PATHS = (
    "/", "/openapi.json", "/docs", "/redoc", "/swagger.json", "/debug", "/admin", "/state", "/status", "/config", "/answer",
    "/answers", "/solution", "/expected", "/flag", "/secret", "/token", "/tokens", "/logs", "/log", "/events", "/clock",
    "/healthz", "/metrics", "/.git/HEAD", "/.git/config", "/.env", "/server.py", "/app.py", "/main.py", "/reset", "/internal",
    "/__debug__", "/_debug", "/debug/vars", "/dump",
)  # fmt: skip
"""Paths that services often answer unintentionally."""

MOST_REQUESTS, ASKING_S = 200, 60

_PORTS = (
    re.compile(r":(\d{2,5})\b"),
    re.compile(r"(?i)(?:expose|port|listen)\W{0,4}(\d{2,5})\b"),
    re.compile(r", (\d{4,5})\)"),
)
_PATH = re.compile(r"""["'](/[\w\-./{}<>:]*)["']""")
_PLACE = re.compile(r"\{[^}]*\}|<[^>]*>|:\w+")


class Asked(NamedTuple):
    """A GET request and its raw answer, which is empty if there was none."""

    host: str
    port: int
    target: str
    answer: bytes

    def __str__(self) -> str:
        return f"GET http://{self.host}:{self.port}{self.target}"


def services_beside(task: Task) -> list[str]:
    """Return the services in a folder's compose file except `main`."""
    file = task.path / "environment" / "docker-compose.yaml"
    if not file.is_file():
        return []
    document = import_module("yaml").safe_load(file.read_text(encoding="utf-8"))
    return [str(name) for name in (document.get("services") or {}) if name != "main"]


def ports_named(task: Task) -> list[int]:
    """Return the ports that the folder's files name, and common ones."""
    named: set[int] = {int(port) for pattern in _PORTS for text in _texts(task) for port in pattern.findall(text)}
    return sorted(port for port in named.union(COMMON_PORTS) if 0 < port < 65536)


def paths_of(task: Task) -> list[str]:
    """Return the paths that the services' sources name, with placeholders filled in, and common unintended ones."""
    named = {_PLACE.sub("1", path) for text in _texts(task, "environment") for path in _PATH.findall(text)}
    return list(dict.fromkeys((*COMMON_PATHS, *sorted(path for path in named if len(path) < 200))))


def named_in(path: str, text: str) -> bool:
    """Return True if the text contains exactly this path."""
    return path != "/" and re.search(rf"{re.escape(path)}(?![\w/.-]*\w)", text) is not None


def open_ports(pod: Pod, task: Task) -> list[tuple[str, int]]:
    """Return the open ports beside and in `main` as pairs of host and port, as seen from `main`."""
    pod.put({"/tmp/parley-ports": script("ports").encode()})
    ports = " ".join(map(str, ports_named(task)))
    lines = shell(pod, f"bash /tmp/parley-ports {' '.join(services_beside(task))} -- {ports}").output.decode("utf-8", "replace")
    words = [line.split() for line in lines.splitlines()]
    return [("127.0.0.1" if host == "listening" else host, int(port)) for host, port in words if port.isdigit()]


def get(pod: Pod, places: Sequence[tuple[str, int]], targets: Iterable[str]) -> list[Asked]:
    """Request each target at each place from `main`, then the paths listed in any openapi.json among the answers."""
    asked = _send(pod, [(host, port, target) for host, port in places for target in targets][:MOST_REQUESTS])
    known = {(one.host, one.port, one.target) for one in asked}
    more = [(one.host, one.port, path) for one in asked if one.target.endswith(".json") for path in _described(one.answer)]
    return asked + _send(pod, [one for one in dict.fromkeys(more) if one not in known][:MOST_REQUESTS])


def _send(pod: Pod, wanted: Sequence[tuple[str, int, str]]) -> list[Asked]:
    if not wanted:
        return []
    lines = []
    for host, port, target in wanted:
        raw = f"GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        lines.append(f"{host} {port} {base64.b64encode(raw.encode()).decode()}\n")
    pod.put({"/tmp/parley-ask": script("ask").encode(), "/tmp/parley-asked": "".join(lines).encode()})
    shell(pod, f"bash /tmp/parley-ask /tmp/parley-asked /tmp/parley-answers {ASKING_S}", ASKING_S + 10)
    answers = read_out(pod, "/tmp/parley-answers").splitlines()
    return [Asked(*one, base64.b64decode(line)) for one, line in zip(wanted, answers, strict=False)]


def _described(answer: bytes) -> list[str]:
    """Return the paths of an OpenAPI document that support GET."""
    try:
        paths = json.loads(answer.partition(b"\r\n\r\n")[2])["paths"]
        return [_PLACE.sub("1", path) for path, methods in paths.items() if "get" in methods]
    except (ValueError, TypeError, KeyError, AttributeError):
        return []


def _texts(task: Task, room: str = "") -> list[str]:
    files = (path for path in task.files(room) if path.stat().st_size < 1 << 20)
    return [path.read_text(encoding="utf-8", errors="replace") for path in files]
