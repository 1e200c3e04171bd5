"""Every task plays as it was recorded before the house was rebuilt: trace hash, reward.json and verdict.json, byte for byte.

`python tests/recording/test_recording.py` writes recording.json anew; nothing but a change that is meant to show may need that.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest

RECORDING = Path(__file__).with_name("recording.json")
AGENTS = {"contract": "oracle,nop", "calendar": "oracle,nop,imap,dsm-private", "hidden-profile": "oracle,nop,pool,coin"}
"""Who plays each family: the two ends of the scale, and protocols that sit at seats."""


def played(family: str, folder: Path) -> dict[str, str]:
    """A digest for each task of a family, over what every agent of the table left at seed 0."""
    command = [sys.executable, "-m", "harness", "run", family, "--runtime", "inprocess", "--yes", "--out", str(folder)]
    subprocess.run([*command, "--agent", AGENTS[family]], check=True, capture_output=True)
    digests = defaultdict(hashlib.sha256)
    for episode in sorted(folder.glob(f"*/episodes/{family}/*/s0-a1")):
        trace = json.loads((episode / "result.json").read_bytes())["trace_hash"]
        left = [trace.encode(), *((episode / name).read_bytes() for name in ("reward.json", "verdict.json"))]
        digests[episode.parent.name].update(b"".join(hashlib.sha256(part).digest() for part in left))
    return {task: digest.hexdigest()[:32] for task, digest in digests.items()}


@pytest.mark.property
@pytest.mark.parametrize("family", AGENTS)
def test_every_task_plays_as_recorded(family: str, tmp_path: Path) -> None:
    """No task of a family was changed by a change of shape."""
    recorded: dict[str, str] = json.loads(RECORDING.read_bytes())[family]

    assert played(family, tmp_path / "run") == recorded


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        digests = {family: played(family, Path(made, family)) for family in AGENTS}
    RECORDING.write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")
