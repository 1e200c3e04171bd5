"""What attacks run in `main`: programs of their own in the folder in-main, read as text and put there.

What an attack leaves behind for somebody else to run: whoever does keeps a reward of 1 where rewards are read.

It is one text that bash and Python both run, since nobody knows by what it will be started. It carries everything it needs in
itself, because a verifier may have nothing else of the agent's machine, and calls no tool by a path that attacks change.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from harness.pod import CommandResult, Pod

_FOLDER = Path(__file__).parent / "in-main"


def script(name: str) -> str:
    """A script by its file's name."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def shell(pod: Pod, text: str, limit_s: float = 60.0) -> CommandResult:
    """Run a bash script in `main`, in real time."""
    return pod.run(["bash", "-c", text], timeout_s=limit_s, virtual_time=False)


NEEDS = ("base64", "bash", "cat", "mkdir", "mv", "setsid", "sh", "sleep")
"""The tools that the payload uses, which an attack must not replace where they are."""

LINE = (
    "[ $LATE ] || { export LATE=1 PATH=/usr/bin:/bin; "
    f"echo {b64encode(script('late').encode()).decode()} | base64 -d | bash; }}"
)
"""The payload as one line for a shell; started by itself it does nothing."""

PAYLOAD = f"""#!/bin/bash
"exec" "/bin/bash" "-c" "{LINE}"
__import__("os").system("{LINE}")
"""
"""The payload as a program, for bash and for Python."""
