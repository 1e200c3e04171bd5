"""What an agent does in a sandbox of a node stays there: no port of the cluster answers it, and what it says runs nowhere."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
from pathlib import Path
from typing import Any

from two_nodes import TwoNodes

TASK = "presigned-url-download"
KNOCK = "n=0; for at in {}; do (exec 3<>/dev/tcp/$at) 2> /dev/null && n=$((n+1)); done; exit $n"
"""Its exit code is how many of these places answered."""

OWN = "127.0.0.1/8080"
"""The world's own port, in its pod."""


class Planted:
    """An object that makes a folder when it is read from a pickle."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._folder),)


def listening() -> set[int]:
    """The TCP ports that somebody listens on here."""
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}


def test_an_agent_reaches_no_port_of_ray_and_no_pickle_of_it_is_read(cluster: TwoNodes, tmp_path: Path) -> None:
    """It knocks at every port of this machine on every address, and says pickles wherever it can say anything."""
    host, _, port = cluster.address.rpartition(":")
    addresses = {
        "127.0.0.1",
        host,
        *subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split(),
    }
    places = [f"{address}/{number}" for address in sorted(addresses) for number in sorted(listening())]
    with socket.create_connection((host, int(port)), timeout=5):
        pass
    said = pickle.dumps(Planted(tmp_path / "planted"), protocol=0).decode()
    post = {"method": "POST", "target": "/submission", "headers": [["X-Said", "c os"]], "body": said}
    actions = [{"run": KNOCK.format(" ".join([OWN, *places]))}, {"run": said}, {"request": post}, {"submit": said}]
    script = tmp_path / "actions.json"
    script.write_text(json.dumps(actions))

    done = cluster.run(TASK, "--script", script, "--runtime", "bubblewrap", "--out", tmp_path / "run")

    assert len(places) > 10
    (folder,) = (tmp_path / "run/episodes/contract" / TASK).glob("s*")
    assert (folder / "agent.log").read_text().splitlines()[0].startswith("run: exit 1,"), done.stderr
    assert json.loads((folder / "result.json").read_bytes())["reward"] == 0
    assert not (tmp_path / "planted").exists()
    pickle.loads(said.encode())
    assert (tmp_path / "planted").is_dir()
